//! Summaries of the series of one name during the measurement.

use std::collections::BTreeMap;

use serde::Serialize;
use servemark_core::RunLog;

use super::{Axis, RunSeries};

/// The series of one name and source during the measurement, as one figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SeriesSummary {
    /// Address of the source, without anything secret.
    pub source: String,
    /// Name of the quantity.
    pub name: String,
    /// Unit of the values.
    pub unit: String,
    /// Mean over the samples.
    pub mean: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

impl SeriesSummary {
    /// Summarises the series of a run from its first due time to its end, the most important names
    /// first. Values of one name are added up where they are counts or rates; of shares and other
    /// readings the mean is taken.
    pub fn of(log: &RunLog, series: &RunSeries) -> Vec<Self> {
        let end = log.footer().map(|footer| footer.ended);
        let end = end.or_else(|| log.measured().map(|record| record.ended).max());
        let until = end.map_or(f64::INFINITY, |end| Axis::of(log).seconds(end));
        let mut by_name: BTreeMap<(usize, usize), Joined> = BTreeMap::new();
        let mut sources: Vec<&str> = Vec::new();
        for (place, one) in series.series.iter().enumerate() {
            let Some(rank) = NAMES.iter().position(|(name, _)| *name == one.name) else { continue };
            if one.labels.contains_key("quantile") {
                continue;
            }
            let source = sources.iter().position(|known| *known == one.source);
            let source = source.unwrap_or_else(|| {
                sources.push(&one.source);
                sources.len() - 1
            });
            let (_, values) = by_name.entry((source, rank)).or_insert((place, BTreeMap::new()));
            for (at, value) in one.points.iter().filter(|(at, _)| (0.0..=until).contains(at)) {
                values.entry(at.to_bits()).or_default().push(*value);
            }
        }
        let sums = by_name.into_iter().filter_map(|((_, rank), (place, values))| {
            let (name, adds_up) = NAMES[rank];
            let joined = values.values().map(|values| {
                let sum: f64 = values.iter().sum();
                if adds_up { sum } else { sum / values.len() as f64 }
            });
            let joined: Vec<f64> = joined.collect();
            let mean = crate::statistics::mean(&joined)?;
            Some(Self {
                source: series.series[place].source.clone(),
                name: name.to_owned(),
                unit: series.series[place].unit.clone(),
                mean,
                min: joined.iter().copied().fold(f64::INFINITY, f64::min),
                max: joined.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            })
        });
        sums.collect()
    }
}

/// Position of the first series of a name, and the values of all by the bits of their time.
type Joined = (usize, BTreeMap<u64, Vec<f64>>);

/// The quantities that are summed up, in order, and whether their series add up.
const NAMES: [(&str, bool); 20] = [
    ("running", true),
    ("waiting", true),
    ("kv_use", false),
    ("prefix_hit_rate", false),
    ("preemptions", true),
    ("batch_size", false),
    ("prompt_tokens", true),
    ("computed_prompt_tokens", true),
    ("generated_tokens", true),
    ("generation_rate", true),
    ("accept_length", false),
    ("requests", true),
    ("gpu_use", false),
    ("gpu_memory_used", true),
    ("gpu_power", true),
    ("gpu_energy", true),
    ("gpu_sm_clock", false),
    ("gpu_memory_clock", false),
    ("gpu_temperature", false),
    ("gpu_throttle", false),
];
