//! Combines several runs at one load: means of their numbers and sums of their counts.

use servemark_metrics::Workload;

use super::EvalscopeRun;
use super::field::Field;
use super::numbers::Numbers;
use super::percentiles::{PercentileRow, Percentiles};

impl EvalscopeRun {
    /// Returns what evalscope's search reports of a load: the means over its runs, without the data
    /// that only a single run has. Returns `None` if there are no runs.
    pub fn mean(runs: &[Self]) -> Option<Self> {
        let first = runs.first()?;
        Some(Self {
            numbers: numbers(first, runs),
            percentiles: percentiles(first, runs),
            traces: None,
            workload: Workload::default(),
            speeds: Vec::new(),
            points: Vec::new(),
            ..first.clone()
        })
    }
}

fn numbers(first: &EvalscopeRun, runs: &[EvalscopeRun]) -> Numbers {
    let of = |&(field, _): &(Field, f64)| {
        let values: Vec<f64> = runs.iter().filter_map(|run| run.numbers.get(field)).collect();
        let sum: f64 = values.iter().sum();
        let is_sum = field.is_count() && field != Field::Concurrency;
        (field, if is_sum { sum } else { sum / values.len() as f64 })
    };
    Numbers { entries: first.numbers.entries.iter().map(of).collect() }
}

fn percentiles(first: &EvalscopeRun, runs: &[EvalscopeRun]) -> Percentiles {
    let labels = first.percentiles.labels.clone();
    let mean = |row: &PercentileRow| {
        let of = |label: &String| {
            let known = runs.iter().filter_map(|run| run.percentiles.get(label, row.sample));
            let known: Vec<f64> = known.collect();
            let sum: f64 = known.iter().sum();
            (!known.is_empty()).then(|| sum / known.len() as f64)
        };
        PercentileRow { sample: row.sample, values: labels.iter().map(of).collect() }
    };
    let rows = first.percentiles.rows.iter().map(mean).collect();
    Percentiles { labels, rows }
}
