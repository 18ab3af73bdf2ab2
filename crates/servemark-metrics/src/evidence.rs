//! Evidence that runs give on objectives: what can be said of the server, not only of the sample.
//!
//! A percentile of a sample is one draw of a random number. This module judges bounds on the
//! server's own percentile, which hold for any distribution; `docs/methodology.md` describes the
//! method. Runs of one load are pooled.

mod backlog_trend;
mod gate;
mod judgement;
mod margin;

use servemark_core::{RequestRecord, RunFacts, RunLog};
use servemark_statistics::{Observations, UnmetWaits};

pub use self::backlog_trend::BacklogTrend;
use self::backlog_trend::Series;
pub(crate) use self::backlog_trend::{growth_at_server, growth_of};
pub use self::gate::{gate, load_doubt};
pub use self::judgement::{Judgement, SloVerdict, UndecidedReason};
pub use self::margin::{Capacity, LoadEvidence};
use crate::goodput::is_good;
use crate::latency_sample::AnswerLengths;
use crate::objective::{Goal, Objective};
use crate::unmet_waits::{pooled, unmet_waits};
use crate::{AnatomyFacts, Latency, MetricPolicy, RequestScore, Statistic};

/// Evidence that runs of one load give on objectives.
///
/// ```
/// # use servemark_core::{Header, RunFacts, RunLog};
/// use servemark_metrics::{Evidence, MetricPolicy, Objective, SloVerdict, JudgedPart};
///
/// # let header = Header::new(0, RunFacts::default(), Default::default());
/// # let log = RunLog::new(header, Vec::new(), None);
/// let mut evidence = Evidence::of(&Objective::list("ttft:p99<2s,success>=99%")?);
/// evidence.add(&log, &MetricPolicy::native(), JudgedPart::Whole);
/// let judged = evidence.judge(0.95);
/// assert!(judged.iter().all(|judgement| judgement.verdict == SloVerdict::Undecided));
/// # Ok::<(), servemark_metrics::MetricsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Evidence {
    samples: Vec<(Objective, Observations)>,
    /// Waits in seconds that no request of a run met; absent without a run.
    unmet_waits: Option<UnmetWaits>,
    /// Lengths of the answers of the first run, used for all runs. If each run had its own,
    /// latencies of an answer of the mean length would jump from run to run.
    lengths: Option<AnswerLengths>,
    ttft: Series,
    e2el: Series,
    requests: usize,
    /// Whether the requests of any run were sent at a rate, independent of the answers to earlier
    /// ones.
    is_open_loop: bool,
}

/// Part of a run whose requests are judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JudgedPart {
    /// All requests.
    Whole,
    /// The requests under the settled load. It leaves out the first requests, by the given share
    /// from 0 to 1, in which queues have not yet reached the length that the load gives them. It
    /// also leaves out the last requests that a concurrency limit let through, because no requests
    /// queued behind them.
    SettledLoad(f64),
}

impl Evidence {
    /// Creates evidence on these objectives, without any run.
    pub fn of(objectives: &[Objective]) -> Self {
        let samples = objectives.iter().map(|objective| (*objective, Observations::default()));
        let (ttft, e2el) = (Series::default(), Series::default());
        Self {
            samples: samples.collect(),
            unmet_waits: None,
            lengths: None,
            ttft,
            e2el,
            requests: 0,
            is_open_loop: false,
        }
    }

    /// Adds the part `stretch` of a run.
    pub fn add(&mut self, log: &RunLog, policy: &MetricPolicy, stretch: JudgedPart) {
        let scores = RequestScore::of_log(log, policy);
        let mut all: Vec<JudgedRequest<'_>> = log.measured().zip(&scores).collect();
        all.sort_by_key(|(record, _)| record.started());
        let judged = stretch.of(&all, log);
        self.requests += judged.len();
        self.is_open_loop |= log.header().facts.request_rate.is_some();
        let is_of_part = |(objective, _): &(Objective, Observations)| objective.is_of_part();
        let is_asked = self.samples.iter().any(is_of_part);
        let anatomy = if is_asked { AnatomyFacts::of(log) } else { AnatomyFacts::default() };
        let of_run = unmet_waits(&log.header().facts, &scores);
        let unmet_waits = self.unmet_waits.map_or(of_run, |others| pooled(others, of_run));
        self.unmet_waits = Some(unmet_waits);
        let lengths = || AnswerLengths::of(judged.iter().map(|(_, score)| *score));
        let lengths = *self.lengths.get_or_insert_with(lengths);
        let reading = Reading { policy, anatomy, lengths };
        for (objective, sample) in &mut self.samples {
            for request in judged {
                reading.add(objective.goal, *request, sample);
            }
            let unmet = if objective.has_waits() { unmet_waits } else { UnmetWaits::default() };
            *sample = std::mem::take(sample).with_unmet_waits(unmet);
        }
        self.ttft.add(judged.iter().filter_map(|(_, score)| Some(score.waited_s + score.ttft_s?)));
        let ends = judged.iter().filter(|(_, score)| score.success);
        self.e2el.add(ends.map(|(_, score)| score.waited_s + score.latency_s));
    }

    /// Returns the number of judged requests.
    pub fn requests(&self) -> usize {
        self.requests
    }

    /// Judges each objective by the interval of its figure with the given confidence, from 0 to 1.
    pub fn judge(&self, confidence: f64) -> Vec<Judgement> {
        let judge = |(objective, sample): &(Objective, Observations)| {
            Judgement::of(*objective, sample, 1.0 - confidence)
        };
        self.samples.iter().map(judge).collect()
    }

    /// Returns how much responses became later while requests were sent. That shows a server with
    /// more load than it can handle; its latencies then depend on how long the run lasts.
    pub fn growth(&self) -> Option<BacklogTrend> {
        let grows = |series: &Series, of| series.growth(of);
        grows(&self.ttft, Latency::ResponseTtft)
            .or_else(|| grows(&self.e2el, Latency::ResponseE2el))
    }
}

impl Evidence {
    /// Returns the growth of a backlog of requests that were sent at a rate. With a concurrency
    /// limit alone, requests are sent when others have ended, so no backlog can grow.
    pub fn backlog(&self) -> Option<BacklogTrend> {
        self.growth().filter(|_| self.is_open_loop)
    }
}

type JudgedRequest<'a> = (&'a RequestRecord, &'a RequestScore<'a>);

impl JudgedPart {
    fn of<'a, 'b>(self, all: &'b [JudgedRequest<'a>], log: &RunLog) -> &'b [JudgedRequest<'a>] {
        let Self::SettledLoad(share) = self else { return all };
        let last = sent_last(&log.header().facts);
        let first = crate::statistics::whole(all.len() as f64 * share);
        let end = all.len().saturating_sub(last).max(first);
        &all[first..end]
    }
}

/// Returns the number of last requests that a concurrency limit let through, behind which no
/// requests queued; zero in an open loop.
pub(crate) fn sent_last(facts: &RunFacts) -> usize {
    match (facts.request_rate, facts.max_concurrency) {
        (None, Some(limit)) => limit,
        _ => 0,
    }
}

/// Policy and facts of a run, by which the values of its requests are read.
struct Reading<'a> {
    policy: &'a MetricPolicy,
    anatomy: AnatomyFacts,
    lengths: AnswerLengths,
}

impl Reading<'_> {
    /// Adds what a request shows of a goal to the goal's sample.
    fn add(&self, goal: Goal, (record, score): JudgedRequest<'_>, sample: &mut Observations) {
        match goal {
            Goal::Success { .. } => sample.push([if score.success { 1.0 } else { 0.0 }]),
            Goal::Goodput { .. } => {
                sample.push([if is_good(score, self.policy) { 1.0 } else { 0.0 }]);
            }
            Goal::Latency { statistic: Statistic::Mean, .. } if !score.success => {}
            Goal::Latency { .. } if !score.success => sample.push([f64::INFINITY]),
            Goal::Latency { measure, .. } => {
                let values = measure.of_request(record, score, self.policy.tpot, &self.anatomy);
                self.lengths.add(measure, score, values, sample);
            }
        }
    }
}

#[cfg(test)]
mod tests;
