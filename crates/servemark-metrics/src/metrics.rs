//! Metrics of a run under one policy.

mod latencies;

use serde::Serialize;
use servemark_core::{RequestRecord, RunLog, Stamp};

pub use self::latencies::{Latencies, PartLatency, ResponseTimes};
use crate::absences::absences;
use crate::failures::failures;
use crate::loaded::stage_span_s;
use crate::policy::{CountedRequests, DurationRule, MetricPolicy, PeakRule};
use crate::rate_estimates::RateLimit;
use crate::saturation::saturated;
use crate::seconds::seconds_between;
use crate::totals::counts_input;
use crate::unmet_waits::unmet_waits;
use crate::{
    Absence, AcceptLength, Cost, Energy, FailureGroup, Goodput, ItemTotals, Latency, OwnSummary,
    Plateau, Probes, RateEstimates, Rates, RequestScore, RunVerdict, ServerCounts, ServerWork,
    SessionMetrics, SettledRun, ShareEstimates, SteadyState, Summary, Throughput, TokenTotals,
    TruthComparison, Waits, peak, statistics,
};

/// Metrics of a run under one policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Metrics {
    /// Policy that the metrics were computed with.
    pub policy: MetricPolicy,
    /// Whether the run was completed, interrupted or killed.
    pub completeness: Completeness,
    /// Number of requests by how they ended.
    pub requests: RequestCounts,
    /// Failed requests by kind, most common first.
    pub failures: Vec<FailureGroup>,
    /// Duration of the measurement in seconds, by the policy's rule.
    pub duration_s: f64,
    /// Numbers of tokens, and the sources of the counts.
    pub tokens: TokenTotals,
    /// Token counts that the server reported.
    pub server_counts: ServerCounts,
    /// Periods in the middle of the run in which the server was away.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absences: Vec<Absence>,
    /// Totals of requests that ask for several answers at once.
    pub items: ItemTotals,
    /// Rates over the duration.
    pub throughput: Throughput,
    /// Number of requests in flight.
    pub concurrency: Concurrency,
    /// Rates that server and arrivals sustain, with confidence intervals; absent unless the policy
    /// asks for intervals and the run suffices for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_estimates: Option<RateEstimates>,
    /// Shares of the process's requests, with confidence intervals; absent unless the policy asks for
    /// intervals and there are requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_estimates: Option<ShareEstimates>,
    /// Latencies from the policy's origin.
    pub latencies: Latencies,
    /// Latencies that the program defines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<OwnSummary>,
    /// Parts of the requests' time that the policy lists.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartLatency>,
    /// Latencies from when a request was due.
    pub response: ResponseTimes,
    /// Delays that the client itself added.
    pub waits: Waits,
    /// Load that was asked for and load that was offered.
    pub rates: Rates,
    /// Energy of the GPUs; absent if neither their power nor their energy was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// Cost and throughput per GPU; absent if the number of GPUs was not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Number of requests that met the objectives; absent without objectives.
    pub goodput: Option<Goodput>,
    /// Figures of sessions of several turns; absent without such sessions.
    pub sessions: Option<SessionMetrics>,
    /// Acceptance length of speculative decoding.
    pub accept_length: AcceptLength,
    /// The server's own counters of its work.
    pub server_work: ServerWork,
    /// Latencies of small requests that were sent beside the load; absent if none was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probes: Option<Probes>,
    /// Seconds of speech in the answered requests per second of the run; absent without speech.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inverse_real_time_factor: Option<f64>,
    /// The run without its warm-up; absent unless the policy asks for intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled: Option<SettledRun>,
    /// Verdicts on the run; empty unless the policy asks for intervals.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<RunVerdict>,
    /// Longest part of the run under its full load; absent unless the policy asks for it and any
    /// request succeeded.
    pub steady_state: Option<SteadyState>,
    /// Part of the run at the load that was asked for; absent unless the policy asks for it and the
    /// load was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plateau: Option<Plateau>,
    /// Comparison with what the bundled simulator really did, if it was the target.
    pub truth: Option<TruthComparison>,
}

impl Metrics {
    /// Returns the summary of a latency; absent for a part of a request's time and for a latency of
    /// the program that the policy does not list.
    pub fn latency(&self, latency: Latency) -> Option<&Summary> {
        match latency {
            Latency::Own(own) => {
                let found = self.own.iter().find(|known| known.name == own.name());
                found.map(|known| &known.summary)
            }
            Latency::Part(part) => {
                let found = self.parts.iter().find(|known| known.name == part);
                found.map(|known| &known.summary)
            }
            Latency::Queue => Some(&self.waits.queue),
            Latency::ResponseE2el => Some(&self.response.e2el),
            Latency::ResponseTtft => Some(&self.response.ttft),
            of_service => self.latencies.summary(of_service),
        }
    }

    /// Scores a run by a policy's definitions.
    ///
    /// ```
    /// # use servemark_core::{Header, RunFacts, RunLog};
    /// use servemark_metrics::{MetricPolicy, Metrics};
    ///
    /// # let header = Header::new(0, RunFacts::default(), Default::default());
    /// # let log = RunLog::new(header, Vec::new(), None);
    /// let ours = Metrics::score(&log, &MetricPolicy::native());
    /// let as_sglang = Metrics::score(&log, &MetricPolicy::sglang());
    /// assert_eq!(ours.latencies.ttft.mean_ms, None);
    /// assert_eq!(as_sglang.latencies.ttft.mean_ms, Some(0.0));
    /// ```
    pub fn score(log: &RunLog, policy: &MetricPolicy) -> Self {
        Self::of_scores(log, policy, &RequestScore::of_log(log, policy))
    }

    /// Scores a run from requests that are already scored, one for each request of the log's
    /// measurement.
    pub fn of_scores(log: &RunLog, policy: &MetricPolicy, scores: &[RequestScore<'_>]) -> Self {
        let duration_s = duration_s(log, policy.duration, scores);
        let tokens = TokenTotals::of(log, policy, scores);
        let requests = RequestCounts::of(log);
        let peak_tokens = peak_tokens(scores, policy.peak);
        let saturated = policy.confidence.and_then(|_| saturated(&log.header().facts, scores));
        let limit = RateLimit::from_saturation(&log.header().facts, scores, || saturated.is_some());
        let waits = unmet_waits(&log.header().facts, scores);
        let settled = SettledRun::of(log, policy, scores, limit);
        let throughput = Throughput::of(requests.completed, &tokens, peak_tokens, duration_s);
        let hardware = log.header().facts.hardware;
        Self {
            policy: policy.clone(),
            completeness: Completeness::of(log),
            requests,
            failures: failures(log),
            duration_s,
            energy: Energy::of(log, tokens.output, requests.completed),
            cost: Cost::of(hardware, &tokens, &throughput, requests.completed, duration_s),
            throughput,
            tokens,
            server_counts: ServerCounts::of(log),
            absences: absences(log),
            items: ItemTotals::of(log, duration_s),
            concurrency: Concurrency::of(log, policy, scores, duration_s),
            rate_estimates: RateEstimates::of(scores, policy, limit),
            share_estimates: ShareEstimates::of(scores, policy),
            latencies: Latencies::of(policy, scores, waits),
            response: ResponseTimes::of(policy, scores, waits),
            own: OwnSummary::of_log(log, policy),
            parts: PartLatency::of(policy, scores, waits),
            waits: Waits::of(log, policy),
            rates: Rates::of(log),
            goodput: Goodput::of(scores, policy, duration_s),
            sessions: SessionMetrics::of(log, policy, scores),
            accept_length: AcceptLength::of(log),
            server_work: ServerWork::of(log, duration_s),
            probes: Probes::of(log, policy),
            inverse_real_time_factor: inverse_real_time_factor(log, duration_s),
            verdicts: RunVerdict::of(log, policy, scores, saturated, settled.as_ref()),
            settled,
            steady_state: steady_state(log, policy, scores),
            plateau: Plateau::of(log, policy, scores, duration_s),
            truth: TruthComparison::of(log),
        }
    }

    /// Returns the names of the verdicts on the run, separated by commas; absent if there are none.
    pub fn verdict_names(&self) -> Option<String> {
        let names: Vec<&str> = self.verdicts.iter().map(|verdict| verdict.kind.name()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }
}

/// Returns the steady part of a run, if the policy asks for one.
fn steady_state(
    log: &RunLog,
    policy: &MetricPolicy,
    scores: &[RequestScore<'_>],
) -> Option<SteadyState> {
    let steady = SteadyState::of(scores, policy.steady_state?)?;
    let counts = counts_input(log, policy.prompt_tokens);
    Some(if counts { steady } else { steady.without_input() })
}

/// Whether a run was completed. The enum is closed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Completeness {
    /// The run was completed.
    Complete,
    /// The user interrupted the run.
    Interrupted,
    /// The run was killed: its log has no footer.
    Killed,
}

impl Completeness {
    /// Returns how a run ended that is not complete, in words.
    pub fn how_it_ended(self) -> Option<&'static str> {
        match self {
            Self::Complete => None,
            Self::Interrupted => Some("was interrupted"),
            Self::Killed => Some("was killed"),
        }
    }

    fn of(log: &RunLog) -> Self {
        match log.footer() {
            None => Self::Killed,
            Some(footer) if footer.interrupted => Self::Interrupted,
            Some(_) => Self::Complete,
        }
    }
}

/// Number of requests by how they ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RequestCounts {
    /// Number of planned requests.
    pub planned: usize,
    /// Number of requests that succeeded.
    pub completed: usize,
    /// Number of requests that failed.
    pub failed: usize,
    /// Number of failed tries that were repeated, those of the warm-up included. They do not count
    /// as requests of their own.
    #[serde(skip_serializing_if = "is_zero")]
    pub retried: usize,
    /// Number of requests that were resent on a new connection because the server had not processed
    /// them. Each counts as one request, with the outcome of the second sending.
    #[serde(skip_serializing_if = "is_zero")]
    pub resent: usize,
}

impl RequestCounts {
    fn of(log: &RunLog) -> Self {
        let completed = log.measured().filter(|record| record.is_success()).count();
        Self {
            planned: log.header().facts.requests,
            completed,
            failed: log.measured().count() - completed,
            retried: log.retried().count(),
            resent: log.measured().filter(|record| record.resent.is_some()).count(),
        }
    }

    /// Returns the number of planned requests that neither succeeded nor failed, because the run
    /// stopped before.
    pub fn unfinished(&self) -> usize {
        self.planned.saturating_sub(self.completed + self.failed)
    }
}

/// Number of requests in flight.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Concurrency {
    /// Mean number of requests in flight: the sum of latencies divided by the duration.
    pub mean: Option<f64>,
    /// Largest number of requests in flight, by the policy's rule.
    pub peak: usize,
    /// Concurrency limit that was set.
    pub limit: Option<usize>,
}

impl Concurrency {
    fn of(
        log: &RunLog,
        policy: &MetricPolicy,
        scores: &[RequestScore<'_>],
        duration_s: f64,
    ) -> Self {
        let counts = |record: &RequestRecord| counts(record, policy.in_flight_of);
        let records = || log.measured().filter(|record| counts(record));
        let in_flight = log.measured().zip(scores).filter(|(record, _)| counts(record));
        let in_flight: Vec<_> =
            in_flight.map(|(_, score)| (score.start_s, score.latency_s)).collect();
        let latencies: Vec<f64> = in_flight.iter().map(|&(_, latency)| latency).collect();
        let spans: Vec<_> =
            in_flight.iter().map(|&(start, latency)| (start, start + latency)).collect();
        Self {
            mean: (duration_s > 0.0).then(|| statistics::sum(&latencies) / duration_s),
            peak: match policy.peak {
                PeakRule::Exact => {
                    peak::most_open(records().map(|record| (record.started(), record.ended)))
                }
                PeakRule::SecondBuckets => peak::most_in_a_bucket(&spans, first_start(&spans)),
            },
            limit: log.header().facts.max_concurrency,
        }
    }
}

fn peak_tokens(scores: &[RequestScore<'_>], rule: PeakRule) -> usize {
    let successes = || scores.iter().filter(|score| score.success);
    match rule {
        PeakRule::Exact => {
            let streams: Vec<_> = successes().collect();
            peak::fullest_second(&streams, |score| score.token_times())
        }
        PeakRule::SecondBuckets => {
            let spans: Vec<_> =
                successes().map(|score| (score.start_s, score.start_s + score.latency_s)).collect();
            let last = spans.iter().map(|&(_, end)| end).fold(f64::NEG_INFINITY, f64::max);
            let times = successes().flat_map(RequestScore::token_times);
            peak::fullest_bucket(times, first_start(&spans), last)
        }
    }
}

fn inverse_real_time_factor(log: &RunLog, duration_s: f64) -> Option<f64> {
    let successes = log.measured().filter(|record| record.is_success());
    let speech_s: f64 = successes.map(|record| record.planned.audio_ns as f64 / 1e9).sum();
    (speech_s > 0.0 && duration_s > 0.0).then(|| speech_s / duration_s)
}

fn first_start(spans: &[(f64, f64)]) -> f64 {
    spans.iter().map(|&(start, _)| start).fold(f64::INFINITY, f64::min)
}

/// Returns the seconds from the start of the measurement to its end, by the rule. A log without a
/// footer, from a killed run, ends with its last request.
fn duration_s(log: &RunLog, rule: DurationRule, scores: &[RequestScore<'_>]) -> f64 {
    let first = |instant: fn(&RequestRecord) -> Stamp| log.measured().map(instant).min();
    let first_due = || first(|record| record.scheduled);
    let start = match rule {
        DurationRule::BeganToEnd => log.footer().and_then(|footer| footer.began).or_else(first_due),
        DurationRule::FirstDueToEnd | DurationRule::FirstDueToLastByte => first_due(),
        DurationRule::FirstSentToEnd => first(RequestRecord::started),
        DurationRule::OfSuccesses => return stage_span_s(scores),
        DurationRule::FirstDoneToEnd => {
            log.measured().min_by_key(|record| record.ended).map(RequestRecord::started)
        }
    };
    let start = start.unwrap_or_default();
    let last = log.measured().map(|record| record.ended).max();
    let noticed = log.footer().map(|footer| footer.ended);
    let end = match rule {
        DurationRule::FirstDueToLastByte => last.or(noticed),
        _ => noticed.or(last),
    };
    seconds_between(start, end.unwrap_or_default())
}

fn counts(record: &RequestRecord, rule: CountedRequests) -> bool {
    match rule {
        CountedRequests::All => record.sent.is_some(),
        CountedRequests::Successes => record.is_success(),
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields by reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
