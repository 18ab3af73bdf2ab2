//! What runs show of objectives: not what their numbers were, but what can be said of the server.
//!
//! A percentile of a sample is one draw of a random number. What is judged here are bounds on the
//! server's own percentile, which hold whatever the distribution is; the method is told in
//! `docs/methodology.md`. Runs of one load are pooled.

mod gate;
mod growth;
mod judgement;

use servemark_core::{RequestRecord, RunFacts, RunLog};
use servemark_statistics::Sample;

pub use self::gate::gate;
pub use self::growth::Growth;
use self::growth::Series;
pub use self::judgement::{Judgement, Standing, UndecidedReason};
use crate::goodput::is_good;
use crate::objective::{Goal, Measure, Objective};
use crate::waits::queue_wait;
use crate::{MetricPolicy, RequestScore, Statistic};

/// What runs of one load show of objectives.
///
/// ```
/// # use servemark_core::{Header, RunFacts, RunLog};
/// use servemark_metrics::{Evidence, MetricPolicy, Objective, Standing, Stretch};
///
/// # let header = Header::new(0, RunFacts::default(), Default::default());
/// # let log = RunLog::new(header, Vec::new(), None);
/// let mut evidence = Evidence::of(&Objective::list("ttft:p99<2s,success>=99%")?);
/// evidence.add(&log, &MetricPolicy::native(), Stretch::Whole);
/// let judged = evidence.judge(0.95);
/// assert!(judged.iter().all(|judgement| judgement.standing == Standing::Undecided));
/// # Ok::<(), servemark_metrics::MetricsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Evidence {
    samples: Vec<(Objective, Sample)>,
    ttft: Series,
    e2el: Series,
    requests: usize,
}

/// Which requests of a run are judged.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Stretch {
    /// All.
    Whole,
    /// Those under the load that is asked about: without the first so large a share, in which
    /// queues have not yet become what the load makes of them, and without those that a limit of
    /// concurrency let through last, behind which nothing came.
    Settled(f64),
}

impl Evidence {
    /// Of these objectives, and of no run yet.
    pub fn of(objectives: &[Objective]) -> Self {
        let samples = objectives.iter().map(|objective| (*objective, Sample::default()));
        let (ttft, e2el) = (Series::default(), Series::default());
        Self { samples: samples.collect(), ttft, e2el, requests: 0 }
    }

    /// Adds a run.
    pub fn add(&mut self, log: &RunLog, policy: &MetricPolicy, stretch: Stretch) {
        let scores = RequestScore::of_log(log, policy);
        let mut all: Vec<Seen<'_>> = log.measured().zip(&scores).collect();
        all.sort_by_key(|(record, _)| record.started());
        let judged = stretch.of(&all, log);
        self.requests += judged.len();
        for (objective, sample) in &mut self.samples {
            for seen in judged {
                read(objective.goal, *seen, policy, sample);
            }
        }
        self.ttft.add(judged.iter().filter_map(|(_, score)| Some(score.waited_s + score.ttft_s?)));
        let ends = judged.iter().filter(|(_, score)| score.success);
        self.e2el.add(ends.map(|(_, score)| score.waited_s + score.latency_s));
    }

    /// How many requests there are to judge by.
    pub fn requests(&self) -> usize {
        self.requests
    }

    /// What can be said of each objective with so much confidence, from 0 to 1, on either side of
    /// its limit.
    pub fn judge(&self, confidence: f64) -> Vec<Judgement> {
        let judge = |(objective, sample): &(Objective, Sample)| {
            Judgement::of(*objective, sample, 1.0 - confidence)
        };
        self.samples.iter().map(judge).collect()
    }

    /// Whether responses came later and later while requests were sent: a server that is asked for
    /// more than it can do, whose latencies are a matter of how long one looks.
    pub fn growth(&self) -> Option<Growth> {
        let grows = |series: &Series, of| series.growth(of);
        grows(&self.ttft, Measure::ResponseTtft)
            .or_else(|| grows(&self.e2el, Measure::ResponseE2el))
    }
}

type Seen<'a> = (&'a RequestRecord, &'a RequestScore<'a>);

impl Stretch {
    fn of<'a, 'b>(self, all: &'b [Seen<'a>], log: &RunLog) -> &'b [Seen<'a>] {
        let Self::Settled(share) = self else { return all };
        let last = sent_last(&log.header().facts);
        let first = crate::statistics::whole(all.len() as f64 * share);
        let end = all.len().saturating_sub(last).max(first);
        &all[first..end]
    }
}

/// Number of requests that a limit of concurrency let through last, behind which nothing came; none
/// in an open loop.
pub(crate) fn sent_last(facts: &RunFacts) -> usize {
    match (facts.request_rate, facts.max_concurrency) {
        (None, Some(limit)) => limit,
        _ => 0,
    }
}

/// Puts what a request shows of a goal into its column.
fn read(goal: Goal, (record, score): Seen<'_>, policy: &MetricPolicy, sample: &mut Sample) {
    match goal {
        Goal::Success { .. } => sample.push([if score.success { 1.0 } else { 0.0 }]),
        Goal::Goodput { .. } => sample.push([if is_good(score, policy) { 1.0 } else { 0.0 }]),
        Goal::Latency { statistic: Statistic::Mean, .. } if !score.success => {}
        Goal::Latency { .. } if !score.success => sample.push([f64::INFINITY]),
        Goal::Latency { measure, .. } => match measure {
            Measure::E2el => sample.push([score.latency_s]),
            Measure::Itl => sample.push(score.itl_sample()),
            Measure::Queue => sample.push(queue_wait(record)),
            Measure::ResponseE2el => sample.push([score.waited_s + score.latency_s]),
            Measure::ResponseTtft => sample.push(score.ttft_s.map(|ttft| score.waited_s + ttft)),
            Measure::Tpot => sample.push(score.tpot_s(policy.tpot)),
            Measure::Ttft => sample.push(score.ttft_s),
        },
    }
}

#[cfg(test)]
mod tests;
