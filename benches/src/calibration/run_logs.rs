//! Counts how often the intervals of a whole run log miss the truth of the queue that it is from.

use std::fmt;
use std::time::Duration;

use servemark::core::{
    Delta, Finish, Phase, Recorder, RequestRecord, RunLog, Sample, Sink, Stamp, Usage,
};
use servemark::metrics::{Estimated, Latency, MetricPolicy, Metrics};
use servemark_rng::NumpyRandom;

use super::Tally;
use super::processes::{Process, Visit, mean_p50_p99};
use super::searches::{self, log_of_records};

/// Results of the run logs of one queue and one length.
#[derive(Clone, Debug)]
pub struct LogCell {
    name: &'static str,
    requests: usize,
    /// Refused intervals of each figure, and intervals that miss the truth.
    figures: [Tally; FIGURES],
}

/// Mean, median and 99th percentile of TTFT and of the end-to-end latency in milliseconds, and the
/// rate of output tokens.
const FIGURES: usize = 7;

impl LogCell {
    /// Head of the table whose rows are cells.
    pub const HEAD: &'static str = "\
| process | requests | TTFT mean: misses | refused | p50: misses | refused | p99: misses | refused | \
E2E mean: misses | refused | p50: misses | refused | p99: misses | refused | \
output tokens/s: misses | refused |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|";

    /// Scores this number of runs; absent for a process that is no queue.
    pub fn simulate(process: &Process, requests: usize, runs: u32) -> Option<Self> {
        let truth = truth(process)?;
        let mut cell = Self { name: process.name, requests, figures: [Tally::default(); FIGURES] };
        for run in 0..runs {
            let visits = process.visits(requests, &mut NumpyRandom::seeded(FIRST_SEED + run))?;
            cell.add(&log_of(&visits, process.rate()), truth);
        }
        Some(cell)
    }

    fn add(&mut self, log: &RunLog, truth: [f64; FIGURES]) {
        let metrics = Metrics::score(log, &MetricPolicy::native());
        for ((tally, estimate), truth) in
            self.figures.iter_mut().zip(estimates(&metrics)).zip(truth)
        {
            let interval = estimate.and_then(|found| Some((found.low?, found.high?)));
            tally.add(interval, truth, LEAST);
        }
    }
}

fn estimates(metrics: &Metrics) -> [Option<&Estimated>; FIGURES] {
    let of = |latency: Latency| metrics.latency(latency)?.estimates.as_ref();
    let [ttft, e2el] = [Latency::Ttft, Latency::E2el].map(of);
    let rates = metrics.rate_estimates.as_ref();
    [
        ttft.map(|found| &found.mean),
        ttft.and_then(|found| found.percentile(50.0)),
        ttft.and_then(|found| found.percentile(99.0)),
        e2el.map(|found| &found.mean),
        e2el.and_then(|found| found.percentile(50.0)),
        e2el.and_then(|found| found.percentile(99.0)),
        rates.map(|found| &found.output_tokens_per_s),
    ]
}

/// Returns the long-run figures of a queue, from a run of two million requests without its start.
fn truth(process: &Process) -> Option<[f64; FIGURES]> {
    let visits = process.long_run()?;
    let [ttft, e2el] = [|visit: &Visit| visit.first_token, |visit: &Visit| visit.end].map(|end| {
        mean_p50_p99(visits.iter().map(|visit| 1e3 * (end(visit) - visit.due)).collect())
    });
    let tokens: f64 = visits.iter().map(|visit| f64::from(visit.tokens)).sum();
    let rate = process.rate()? * tokens / visits.len() as f64;
    Some([ttft[0], ttft[1], ttft[2], e2el[0], e2el[1], e2el[2], rate])
}

impl Process {
    /// Returns the log of a run: of a queue with its arrivals and services, of another process with
    /// its values alone as latencies.
    pub(super) fn run_log(&self, requests: usize, random: &mut NumpyRandom) -> RunLog {
        match self.visits(requests, random) {
            Some(visits) => log_of(&visits, self.rate()),
            None => searches::log_of(self.run(requests, random), self.rate()),
        }
    }
}

fn log_of(visits: &[Visit], rate: Option<f64>) -> RunLog {
    let each = visits.iter().enumerate();
    log_of_records(each.map(|(index, visit)| recorded(index, visit)).collect(), rate)
}

fn recorded(index: usize, visit: &Visit) -> RequestRecord {
    let [due, first_token, end] = [visit.due, visit.first_token, visit.end]
        .map(|seconds| Stamp::ZERO + Duration::from_secs_f64(seconds));
    let sample = Sample::new("", 1, visit.tokens);
    let mut recorder = Recorder::new(index, Phase::Measure, &sample, due);
    recorder.record_sent(due);
    recorder.at(first_token).delta(Delta::content("x"));
    recorder.at(end).delta(Delta::content("y"));
    recorder.body(end, 2);
    recorder.at(end).usage(Usage::new(Some(1), Some(visit.tokens)));
    recorder.finish(Ok(Finish::default()), end)
}

/// Displays a row of the table; shares are percentages of all runs.
impl fmt::Display for LogCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| {} | {} |", self.name, self.requests)?;
        self.figures.iter().try_for_each(|tally| write!(f, "{tally}"))
    }
}

/// Difference in milliseconds below which times are equal to the stamps.
const LEAST: f64 = 1e-3;
/// First seed of the runs of every cell. All cells use the same seeds, so that a table can be
/// reproduced.
const FIRST_SEED: u32 = 9000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::cells;

    #[test]
    fn figures_of_a_light_queue_miss_as_rarely_as_they_say() {
        let process = cells().into_iter().find(|process| process.name == "M/G/16, 50 %").unwrap();
        let cell = LogCell::simulate(&process, 1000, 40).unwrap();
        for tally in cell.figures {
            assert!(tally.missed <= 6, "{cell}");
        }
        let [.., e2el_mean, _, _, rate] = cell.figures;
        assert!(e2el_mean.refused <= 20 && rate.refused <= 4, "{cell}");
    }

    #[test]
    fn a_process_without_requests_has_no_run_log() {
        let process = cells().into_iter().find(|process| process.name == "bimodal").unwrap();
        assert!(LogCell::simulate(&process, 400, 1).is_none());
    }
}
