//! The two output rates that evalscope prints for one run.

use std::fmt;

use super::EvalscopeRun;
use super::field::Field;

/// The two output rates that evalscope prints for one run. Both count the tokens of the successful
/// requests, but they are divided by different durations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvalscopeRates {
    /// Output tokens per second in the summary.
    pub summary_per_s: f64,
    /// Time from the start of the first request to the end of the last one, in seconds.
    pub summary_s: f64,
    /// Output tokens per second in the column `Overall` of the workload table.
    pub workload_per_s: f64,
    /// Time from the start of the successful request that ended first to the end of the last
    /// successful one, in seconds.
    pub workload_s: f64,
}

impl EvalscopeRun {
    /// Returns the output rates of the summary and of the workload table, if the run has both.
    pub fn output_rates(&self) -> Option<EvalscopeRates> {
        let summary_per_s = self.numbers.get(Field::OutputRate).filter(|rate| *rate > 0.0)?;
        let workload_per_s = self.workload.overall().output;
        (self.generates && workload_per_s > 0.0).then(|| EvalscopeRates {
            summary_per_s,
            summary_s: self.numbers.at(Field::Duration),
            workload_per_s,
            workload_s: self.workload.duration_s(),
        })
    }
}

impl EvalscopeRates {
    /// Returns whether the two rates differ enough to look like two results.
    pub fn differ(&self) -> bool {
        (self.workload_per_s / self.summary_per_s - 1.0).abs() > NOTICEABLE
    }
}

impl fmt::Display for EvalscopeRates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { summary_per_s, summary_s, workload_per_s, workload_s } = self;
        write!(
            f,
            "evalscope has two output rates of this run: {summary_per_s:.2} tok/s in the summary, over \
             the {summary_s:.3} s from the first start to the last end, and {workload_per_s:.2} tok/s in \
             the workload table, over the {workload_s:.3} s since the start of the request that ended \
             first (docs/compat/evalscope.md)"
        )
    }
}

/// Smallest relative difference of the rates that is reported.
const NOTICEABLE: f64 = 0.005;
