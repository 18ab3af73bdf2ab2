//! A run with its numbers as evalscope reports them.

use servemark_core::RunLog;
use servemark_metrics::{Handoff, PerRequest, TraceFigures, TurnPlaces, Workload};
use servemark_pyjson::repr;

use super::field::Field;
use super::numbers::{Figures, Numbers};
use super::percentiles::{Percentiles, Samples};
use super::points::{Point, points};
use super::speeds::{Speed, speeds};
use super::{EvalscopeOptions, EvalscopeStyle};
use crate::Report;

/// A run with its numbers as evalscope reports them. It contains everything that tables, files and
/// pages need, so that the run log can be dropped.
#[derive(Clone, Debug)]
pub struct EvalscopeRun {
    pub(super) options: EvalscopeOptions,
    pub(super) generates: bool,
    /// Number of planned sessions, or of requests if the run has no sessions.
    pub(super) number: usize,
    pub(super) numbers: Numbers,
    pub(super) percentiles: Percentiles,
    pub(super) traces: Option<TraceFigures>,
    pub(super) workload: Workload,
    pub(super) speeds: Vec<Speed>,
    pub(super) points: Vec<Point>,
}

impl EvalscopeRun {
    /// Returns the run of a report whose metrics follow the definitions of the options' version
    /// ([`EvalscopeStyle::policy`]).
    pub fn of(report: &Report<'_>, options: EvalscopeOptions) -> Self {
        let (log, policy, scores) = (report.log, &report.metrics.policy, report.scores());
        let per_request = PerRequest::of(&scores, policy);
        let handoff = options.handoff.then(|| Handoff::of(&scores, policy));
        let is_newest = options.style == EvalscopeStyle::Newest;
        let handoff = handoff.as_ref().filter(|_| is_newest);
        let places = TurnPlaces::of(log, &scores, policy);
        let generates = log.header().facts.generates();
        let decides = options.decides;
        let figures = Figures { report, per_request: &per_request, places, handoff, decides };
        let latencies = &report.metrics.latencies;
        let samples = Samples { latencies, per_request: &per_request, handoff, generates };
        Self {
            options,
            generates,
            number: number(log),
            numbers: Numbers::of(&figures, options),
            percentiles: Percentiles::of(&samples, options.style),
            traces: TraceFigures::of(log, &scores).filter(|_| is_newest),
            // Versions before 1.14 have no workload figures.
            workload: if is_newest { Workload::of(log, &scores) } else { Workload::default() },
            speeds: if options.speeds { speeds(&scores) } else { Vec::new() },
            points: points(report, &scores),
        }
    }

    /// Returns the name of the run's folder: `parallel_4_number_20`, or `rate_2.5_number_15` if the
    /// concurrency has no limit.
    pub fn folder(&self) -> String {
        let load = match self.numbers.at(Field::Concurrency) {
            limit if limit >= 0.0 => format!("parallel_{limit}"),
            _ => format!("rate_{}", repr(self.numbers.rate())),
        };
        format!("{load}_number_{}", self.number)
    }

    /// Returns the sort key of runs in a sweep: concurrency limit, then request rate. No limit
    /// sorts last.
    pub(super) fn load(&self) -> [f64; 2] {
        let unlimited = |value: f64| if value < 0.0 { f64::INFINITY } else { value };
        [self.numbers.at(Field::Concurrency), self.numbers.rate()].map(unlimited)
    }
}

fn number(log: &RunLog) -> usize {
    let facts = &log.header().facts;
    if facts.sessions > 0 { facts.sessions } else { facts.requests }
}
