//! Simulates searches of servers whose capacity is known, and counts how often their answers miss
//! it.

use std::fmt;
use std::time::Duration;

use servemark::backends::{BackendName, BackendSpec, CommonSpec};
use servemark::core::{
    Delta, Finish, Footer, Header, Phase, Recorder, RequestRecord, RunFacts, RunLog, Sample, Sink,
    Stamp, Usage,
};
use servemark::datasets::{DatasetSpec, RandomSpec};
use servemark::metrics::{Goal, Objective, Statistic};
use servemark::mock::MockSpec;
use servemark::plan::{
    BenchPlan, Grain, LoadBracket, Point, SearchRange, ServerSpec, SloSearchSpec, SloSpec,
    WorkloadSpec,
};
use servemark::runner::LoadSpec;
use servemark::schedule::ArrivalSpec;
use servemark::{PointRun, Probe, Run, SloAnswer, SloSearch, SweepRunError};
use servemark_rng::NumpyRandom;

use super::processes::Process;

/// Results of searches of one server for the largest rate that meets one objective.
#[derive(Clone, Debug)]
pub struct SearchCell {
    process: Process,
    objective: Objective,
    /// Least duration of the first round at a load, in seconds.
    seconds: u64,
    capacity: f64,
    searches: u32,
    /// Number of searches in which the capacity lies between `holds` and `fails`.
    enclosed: u32,
    /// Number of searches in which the capacity lies in the interval of the estimate.
    covered: u32,
    /// Widths of the brackets, relative to the capacity.
    widths: Vec<f64>,
    /// Relative errors of the estimates.
    errors: Vec<f64>,
    loads: usize,
    requests: usize,
}

impl SearchCell {
    /// Head of the table whose rows are cells.
    pub const HEAD: &'static str = "\
| server | objective | first round | capacity | A <= truth <= C | width | estimate: error | p90 | \
interval: misses | loads | requests |
|---|---|---|---|---|---|---|---|---|---|---|";

    /// Servers of the study and the objectives of their searches.
    fn searched() -> [(Process, &'static str); 4] {
        let queue = |varies| Process::queue(varies);
        [
            (queue(false), "ttft:p99<1s"),
            (queue(false), "ttft:median<200ms"),
            (queue(true), "ttft:mean<500ms"),
            (Process::engine(), "ttft:p99<1s"),
        ]
    }

    /// Returns the servers of the study.
    pub fn servers() -> impl Iterator<Item = Process> {
        Self::searched().into_iter().map(|(process, _)| process)
    }

    /// Returns the searches of the wanted servers, with first rounds of this number of seconds.
    pub fn all(seconds: u64, is_wanted: impl Fn(&Process) -> bool) -> Vec<Self> {
        let wanted = Self::searched().into_iter().filter(|(process, _)| is_wanted(process));
        wanted.map(|(process, objective)| Self::new(process, objective, seconds)).collect()
    }

    fn new(process: Process, objective: &str, seconds: u64) -> Self {
        let objective = objective.parse().expect("an objective");
        Self::with_capacity(capacity(process, objective), process, objective, seconds)
    }

    fn with_capacity(capacity: f64, process: Process, objective: Objective, seconds: u64) -> Self {
        Self {
            process,
            objective,
            seconds,
            capacity,
            searches: 0,
            enclosed: 0,
            covered: 0,
            widths: Vec::new(),
            errors: Vec::new(),
            loads: 0,
            requests: 0,
        }
    }

    /// Runs this number of searches, each with another start and other draws.
    #[must_use]
    pub fn simulate(mut self, searches: u32) -> Self {
        for seed in 0..searches {
            let answer = self.search(seed);
            self.add(&answer);
        }
        self.widths.sort_unstable_by(f64::total_cmp);
        self.errors.sort_unstable_by(f64::total_cmp);
        self
    }

    fn search(&self, seed: u32) -> SloAnswer {
        let mut random = NumpyRandom::seeded(FIRST_SEED + seed);
        let start = self.process.capacity() * (0.3 + 0.4 * random.random_sample());
        let range = SearchRange::around(start, Grain::Share(0.02)).expect("a range");
        let slo = SloSpec::new([self.objective]);
        let spec = SloSearchSpec::new(base(), "request_rate", slo).expect("a search").within(range);
        let mut effort = spec.effort.clone();
        effort.duration = Duration::from_secs(self.seconds);
        let probe = Simulated { process: self.process, random };
        let mut search = SloSearch::driving(probe, spec.with_effort(effort), 1);
        search.by_ref().for_each(|round| drop(round.expect("a simulated round")));
        search.answer()
    }

    fn add(&mut self, answer: &SloAnswer) {
        let truth = self.capacity;
        let LoadBracket { holds, fails, .. } = answer.bracket();
        let (holds, fails) = (holds.unwrap_or(0.0), fails.unwrap_or(f64::INFINITY));
        self.searches += 1;
        self.enclosed += u32::from((holds..=fails).contains(&truth));
        self.widths.push((fails - holds) / truth);
        if let Some(found) = answer.tiers[0].capacity {
            let is_above = found.low.is_none_or(|low| low <= truth);
            let is_below = found.high.is_none_or(|high| truth <= high);
            self.covered += u32::from(is_above && is_below);
            let error = found.value.map_or(f64::INFINITY, |value| (value / truth - 1.0).abs());
            self.errors.push(error);
        }
        self.loads += answer.trials.len();
        let rounds = answer.trials.iter().flat_map(|trial| &trial.rounds);
        self.requests += rounds.map(|round| round.metrics.requests.completed).sum::<usize>();
    }
}

/// Returns the largest rate that meets an objective in the long run, as the mean over several long
/// runs.
fn capacity(process: Process, objective: Objective) -> f64 {
    let of_run = |seed: u32| capacity_of(process, objective, seed);
    (0..LONG_RUNS).map(of_run).sum::<f64>() / f64::from(LONG_RUNS)
}

/// Returns the largest rate that meets an objective in one long run.
fn capacity_of(process: Process, objective: Objective, seed: u32) -> f64 {
    let Goal::Latency { statistic, limit_ms, .. } = objective.goal else {
        unreachable!("all objectives of the study are of a latency")
    };
    let place = match statistic {
        Statistic::Mean => 0,
        Statistic::Median => 1,
        Statistic::Percentile(_) => 2,
    };
    let (mut low, mut high) = (0.1 * process.capacity(), 1.2 * process.capacity());
    for _ in 0..HALVINGS {
        let rate = f64::midpoint(low, high);
        let observed = process.at_rate(rate).truth(seed)[place];
        *(if observed * 1e3 < limit_ms { &mut low } else { &mut high }) = rate;
    }
    f64::midpoint(low, high)
}

/// A server that is simulated request by request.
struct Simulated {
    process: Process,
    random: NumpyRandom,
}

impl Probe for Simulated {
    fn probe(&mut self, point: Point) -> Result<PointRun, SweepRunError> {
        let requests = point.plan.workload.requests;
        let rate = point.plan.load.arrivals.mean_rate().expect("the load is a rate");
        let values = self.process.at_rate(rate).run(requests, &mut self.random);
        let log = log_of(values, Some(rate));
        Ok(PointRun::new(point, Run::of_log(log)))
    }
}

/// Returns the log of a run with these latencies in seconds. Requests are due at a rate, or all at
/// once without one.
pub(super) fn log_of(values: Vec<f64>, rate: Option<f64>) -> RunLog {
    let apart = rate.map_or(0.0, f64::recip);
    let each = values.into_iter().enumerate();
    log_of_records(
        each.map(|(index, ttft)| recorded(index, index as f64 * apart, ttft)).collect(),
        rate,
    )
}

/// Returns the log of a complete run with these records.
pub(super) fn log_of_records(records: Vec<RequestRecord>, rate: Option<f64>) -> RunLog {
    let mut facts = RunFacts::default();
    facts.requests = records.len();
    facts.request_rate = rate;
    let mut footer = Footer::default();
    footer.ended = records.iter().map(|record| record.ended).max().unwrap_or_default();
    RunLog::new(Header::new(0, facts, serde_json::Value::Null), records, Some(footer))
}

/// Returns a request with one piece of output. Its latency does not depend on its recorded due
/// time.
fn recorded(index: usize, due: f64, ttft: f64) -> RequestRecord {
    let at = |seconds: f64| Stamp::ZERO + Duration::from_secs_f64(seconds);
    let (due, end) = (at(due), at(due + ttft));
    let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 1, 1), due);
    recorder.record_sent(due);
    recorder.at(end).delta(Delta::content("x"));
    recorder.body(end, 1);
    recorder.at(end).usage(Usage::new(Some(1), Some(1)));
    recorder.finish(Ok(Finish::default()), end)
}

fn base() -> BenchPlan {
    let backend = BackendName::Sglang;
    BenchPlan::new(
        ServerSpec::Simulated(MockSpec::default()),
        backend,
        BackendSpec::new(backend, CommonSpec::default()),
        WorkloadSpec::new(DatasetSpec::Random(RandomSpec::default()), 1),
        LoadSpec::new(ArrivalSpec::at_rate(1.0).expect("a rate")),
    )
}

/// Displays a row of the table; shares and errors are in percent.
impl fmt::Display for SearchCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let searches = f64::from(self.searches.max(1));
        let percent = |count: u32| 100.0 * f64::from(count) / searches;
        let at = |values: &[f64], tenths: usize| {
            values.get(values.len() * tenths / 10).map_or(f64::NAN, |value| 100.0 * value)
        };
        write!(
            f,
            "| {} | {} | {} s | {:.2} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.0} |",
            self.process.name,
            self.objective,
            self.seconds,
            self.capacity,
            percent(self.enclosed),
            at(&self.widths, 5),
            at(&self.errors, 5),
            at(&self.errors, 9),
            percent(self.searches - self.covered),
            self.loads as f64 / searches,
            self.requests as f64 / searches,
        )
    }
}

/// First seed of the searches of every cell. All cells use the same seeds, so that a table can be
/// reproduced.
const FIRST_SEED: u32 = 5000;
/// Number of long runs; the mean of their results is taken as the capacity.
const LONG_RUNS: u32 = 8;
/// Number of bisection steps, which determine the capacity to a thousandth.
const HALVINGS: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_encloses_the_capacity_of_a_simulated_queue() {
        // A run of two million requests has this capacity.
        let objective = "ttft:median<200ms".parse().unwrap();
        let mut cell = SearchCell::with_capacity(14.82, Process::queue(false), objective, 30);
        let answer = cell.search(1);
        cell.add(&answer);
        assert_eq!((cell.searches, cell.enclosed), (1, 1), "{answer}");
        let capacity = answer.tiers[0].capacity.unwrap().value.unwrap();
        assert!((capacity / cell.capacity - 1.0).abs() < 0.15, "{answer}");
    }
}
