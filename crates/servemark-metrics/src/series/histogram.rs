//! Quantiles of histograms whose counts only grow.

use std::collections::BTreeMap;

use serde::Serialize;
use servemark_core::{HistogramReading, RunLog, SeriesKind};

use super::{Axis, Replayed, replay};

/// The quantiles of a histogram in stretches of at least a second: shorter ones hold too few
/// values.
#[derive(Debug)]
pub(super) struct Window {
    bounds: Vec<f64>,
    start: Option<(f64, HistogramReading)>,
    pub(super) points: Vec<(&'static str, Vec<(f64, f64)>)>,
}

const QUANTILES: [(&str, f64); 2] = [("0.5", 0.5), ("0.99", 0.99)];

/// Shortest stretch in seconds.
const SHORTEST: f64 = 1.0;

impl Window {
    pub(super) fn of(bounds: Vec<f64>) -> Self {
        let points = QUANTILES.map(|(name, _)| (name, Vec::new())).to_vec();
        Self { bounds, start: None, points }
    }

    /// Adds a reading; `is_first` says that none of the readings before it belongs to it.
    pub(super) fn add(&mut self, now: f64, reading: &HistogramReading, is_first: bool) {
        let Some((then, start)) = self.start.as_ref().filter(|_| !is_first) else {
            self.start = Some((now, reading.clone()));
            return;
        };
        let grown = difference(start, reading);
        if now - then < SHORTEST || grown.total() <= 0.0 {
            return;
        }
        for ((_, quantile), (_, points)) in QUANTILES.iter().zip(&mut self.points) {
            if let Some(value) = histogram_quantile(&self.bounds, &grown.counts, *quantile) {
                points.push((now, value));
            }
        }
        self.start = Some((now, reading.clone()));
    }
}

/// Returns a histogram with the same buckets and no values.
fn zero(reading: &HistogramReading) -> HistogramReading {
    HistogramReading::new(vec![0.0; reading.counts.len()], 0.0)
}

/// Returns by how much a histogram grew. One that fell began again at zero.
fn difference(earlier: &HistogramReading, later: &HistogramReading) -> HistogramReading {
    if later.total() < earlier.total() || later.counts.len() != earlier.counts.len() {
        return later.clone();
    }
    let counts = later.counts.iter().zip(&earlier.counts).map(|(later, earlier)| later - earlier);
    HistogramReading::new(counts.collect(), later.sum - earlier.sum)
}

/// Returns a quantile, from 0 to 1, of a histogram with cumulative `counts`, the last of which
/// counts all values. Values are taken to lie evenly in their bucket; those above the highest bound
/// count as that bound. `None` for a histogram without values or bounds.
///
/// ```
/// use servemark_metrics::histogram_quantile;
///
/// assert_eq!(histogram_quantile(&[1.0, 2.0], &[1.0, 3.0, 4.0], 0.5), Some(1.5));
/// ```
pub fn histogram_quantile(bounds: &[f64], counts: &[f64], quantile: f64) -> Option<f64> {
    let all = counts.last().copied().filter(|all| *all > 0.0)?;
    let rank = quantile * all;
    let place = counts.iter().position(|count| *count >= rank)?;
    let Some(&high) = bounds.get(place) else { return bounds.last().copied() };
    let (low, below) = match place.checked_sub(1) {
        Some(lower) => (bounds[lower], counts[lower]),
        None => (0.0_f64.min(high), 0.0),
    };
    let within = counts[place] - below;
    let part = if within > 0.0 { (rank - below) / within } else { 1.0 };
    Some(low + (high - low) * part.clamp(0.0, 1.0))
}

/// Source, name and unit of a histogram, and the text of its bounds.
type Key<'a> = (usize, &'a str, &'a str, String);

/// Bounds and counts of histograms that were added up.
type Sum = (Vec<f64>, HistogramReading);

/// A histogram of a server over the whole measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HistogramSummary {
    /// Address of the source, without anything secret.
    pub source: String,
    /// Name of the quantity.
    pub name: String,
    /// Unit of the values.
    pub unit: String,
    /// Number of values.
    pub count: f64,
    /// Mean of the values.
    pub mean: f64,
    /// Median, between the bounds of its bucket.
    pub p50: f64,
    /// 99th percentile, between the bounds of its bucket.
    pub p99: f64,
}

impl HistogramSummary {
    /// Sums up the histograms of a run's servers, from the last reading before the first due time
    /// to the last reading of all. Histograms of one name and the same bounds are added up. One that
    /// appears during the run, in a source that was read before, counts from zero.
    pub fn of(log: &RunLog) -> Vec<Self> {
        let axis = Axis::of(log);
        let telemetry = log.telemetry();
        let mut spans: Vec<Option<(HistogramReading, HistogramReading)>> =
            vec![None; telemetry.series.len()];
        let was_read_before = |source: usize| {
            let mut before = telemetry.samples.iter().take_while(|it| axis.seconds(it.at) <= 0.0);
            before.any(|it| it.source == source && it.error.is_none())
        };
        replay(telemetry, |event| {
            let Replayed::Reading { id, at, histogram: Some(reading), .. } = event else { return };
            let is_before = axis.seconds(at) <= 0.0;
            match &mut spans[id] {
                Some((_, last)) if !is_before => last.clone_from(reading),
                span => {
                    let appeared = !is_before && was_read_before(telemetry.series[id].source);
                    let first = if appeared { zero(reading) } else { reading.clone() };
                    *span = Some((first, reading.clone()));
                }
            }
        });
        let mut summed: BTreeMap<Key<'_>, Sum> = BTreeMap::new();
        for (head, span) in telemetry.series.iter().zip(spans) {
            let Some((first, last)) = span.filter(|_| head.kind == SeriesKind::Histogram) else {
                continue;
            };
            let grown = difference(&first, &last);
            let key =
                (head.source, head.name.as_str(), head.unit.as_str(), format!("{:?}", head.bounds));
            let (_, sum) = summed.entry(key).or_insert_with(|| (head.bounds.clone(), zero(&grown)));
            sum.sum += grown.sum;
            sum.counts.iter_mut().zip(&grown.counts).for_each(|(sum, count)| *sum += count);
        }
        let all = summed.into_iter().filter_map(|((source, name, unit, _), (bounds, reading))| {
            let count = reading.total();
            Some(Self {
                source: telemetry.sources.get(source)?.name.clone(),
                name: name.to_owned(),
                unit: unit.to_owned(),
                count,
                mean: reading.sum / count,
                p50: histogram_quantile(&bounds, &reading.counts, 0.5)?,
                p99: histogram_quantile(&bounds, &reading.counts, 0.99)?,
            })
        });
        all.collect()
    }
}
