//! What limits a run: causes with their evidence, and how sure they are.
//!
//! Each cause is read from what the run shows: the parts of its requests, the series of its server,
//! the client audit. Without evidence there is no cause.

mod cache_room;
mod preemptions;

use std::fmt;

use serde::Serialize;
use servemark_core::RunLog;

use self::cache_room::CacheRoom;
use self::preemptions::Preemptions;
use crate::series::end_s;
use crate::{Anatomy, Audit, LoadVerdict, PartSummary, RequestPart, RunSeries, Series};

/// A cause that limits a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Limit {
    /// The cause.
    pub cause: LimitCause,
    /// Evidence of the cause, as a sentence with its numbers.
    pub evidence: String,
    /// Confidence in the cause.
    pub confidence: Confidence,
    /// Share of the whole time that the cause explains, from 0 to 1, which orders causes.
    #[serde(skip)]
    weight: f64,
}

/// A cause that can limit a run.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LimitCause {
    /// The client did not offer the load that was asked for.
    Client,
    /// The concurrency limit of the client.
    Gate,
    /// The server's queue, while its key-value cache has no room for the next request.
    QueueKvCache,
    /// The server's queue, for another reason, such as its number of places.
    Queue,
    /// Computing prompts.
    Prefill,
    /// Moving key-value caches between workers.
    KvTransfer,
    /// Generating tokens.
    Decode,
    /// Requests that were put back into the queue and computed again.
    Preemption,
    /// The way to the server and back.
    Network,
    /// Time inside the server that it does not account for.
    InsideServer,
    /// A GPU that lowered its clocks.
    GpuThrottled,
}

impl LimitCause {
    /// Returns the cause in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Client => "this client",
            Self::Gate => "the concurrency limit of the load",
            Self::QueueKvCache => "the server's queue, because its KV cache has no room",
            Self::Queue => "the server's queue",
            Self::Prefill => "prefill",
            Self::KvTransfer => "the transfer of KV caches",
            Self::Decode => "decode",
            Self::Preemption => "preemptions",
            Self::Network => "the network",
            Self::InsideServer => "the server outside queue and prefill",
            Self::GpuThrottled => "a throttled GPU",
        }
    }
}

/// How sure a cause is. Closed, in ascending order.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// One source of evidence, or evidence that has another explanation too.
    Medium,
    /// Direct evidence.
    High,
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Medium => "likely",
            Self::High => "sure",
        })
    }
}

impl Limit {
    /// Returns the causes that limit a run, the one that explains most of the time first.
    pub fn of(log: &RunLog, audit: &Audit) -> Vec<Self> {
        let (anatomy, mut series, end_s) = (Anatomy::of(log), RunSeries::of(log), end_s(log));
        series.series.retain(|series| is_lasting(series, end_s));
        let evidence = RunEvidence {
            anatomy: &anatomy,
            has_parts: sums_up(&anatomy),
            has_gate: log.header().facts.max_concurrency.is_some(),
            series: &series.series,
            end_s,
            preemptions: Preemptions::of(log),
        };
        let mut limits: Vec<Self> = [
            client(audit),
            evidence.gate(),
            evidence.queue(),
            evidence.part(RequestPart::Prefill, LimitCause::Prefill),
            evidence.part(RequestPart::KvTransfer, LimitCause::KvTransfer),
            evidence.inside(),
            evidence.network(audit),
            evidence.decode(),
            evidence.preemption(),
            evidence.throttled(),
        ]
        .into_iter()
        .flatten()
        .collect();
        limits.sort_by(|one, other| other.weight.total_cmp(&one.weight));
        limits
    }

    fn new(cause: LimitCause, weight: f64, confidence: Confidence, evidence: String) -> Self {
        Self { cause, evidence, confidence, weight }
    }
}

/// Shows the cause, how sure it is, and its evidence.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.cause.words(), self.confidence, self.evidence)
    }
}

/// Bits of NVML's reasons for lower clocks that slow a GPU against its setting: the software's power
/// limit, a hardware slowdown, heat (seen by software, by hardware), and the power brake. The others
/// are an idle GPU, clocks that were set, and clocks that follow another GPU's or a display's.
const THROTTLING: [u32; 5] = [0x4, 0x8, 0x20, 0x40, 0x80];

/// Share of the time to the first output from which a part of it is a cause.
const CAUSE: f64 = 0.4;

/// Share of the whole time from which generating tokens is a cause.
const DECODE: f64 = 0.6;

/// Share of the requests that were preempted, or of the time that this took, from which preemptions
/// are a cause.
const PREEMPTED: f64 = 0.01;

/// Largest difference from one of the sum of the parts' shares with which they are evidence.
const RESIDUAL: f64 = 0.1;

/// Least part of the measurement between the first and the last reading of a series that is evidence.
const LASTING: f64 = 1.0 / 3.0;

/// Measurements of a run from which its limits are found.
struct RunEvidence<'a> {
    anatomy: &'a Anatomy,
    /// Whether the parts of the time to the first output sum up to what the client measured.
    has_parts: bool,
    /// Whether the load has a concurrency limit.
    has_gate: bool,
    series: &'a [Series],
    /// Seconds from the first due time to the end of the measurement.
    end_s: f64,
    preemptions: Preemptions,
}

impl RunEvidence<'_> {
    /// Returns a part that can be evidence. Of parts that do not sum up, only those remain that the
    /// client measured itself: the wait at the gate, and the generation of a streamed answer.
    fn evident(&self, part: RequestPart) -> Option<&PartSummary> {
        let streams = || self.anatomy.parts.iter().any(|part| part.share_of_mean_ttft.is_some());
        let is_evidence = self.has_parts
            || part == RequestPart::GateWait
            || part == RequestPart::Decode && streams();
        self.anatomy.part(part).filter(|_| is_evidence)
    }

    /// Returns the share of a part in the time to the first output, or in all of it for documents.
    fn share(&self, part: RequestPart) -> f64 {
        let part = self.evident(part);
        part.map_or(0.0, |part| part.share_of_mean_ttft.unwrap_or(part.share_of_mean))
    }

    /// Returns the share of a part in the whole time.
    fn weight(&self, part: RequestPart) -> f64 {
        self.evident(part).map_or(0.0, |part| part.share_of_mean)
    }

    fn mean_ms(&self, part: RequestPart) -> f64 {
        self.evident(part).map_or(0.0, |part| part.mean_ms)
    }

    /// Returns the values of a series during the measurement, one list for each of its labels.
    fn values<'b>(&'b self, name: &'b str) -> impl Iterator<Item = Vec<f64>> + 'b {
        let named = self.series.iter().filter(move |series| series.name == name);
        named.map(|series| {
            let during = series.points.iter().filter(|(at, _)| (0.0..=self.end_s).contains(at));
            during.map(|&(_, value)| value).collect()
        })
    }

    /// Without a limit a request waits at the gate only for the client itself, which the client
    /// audit judges.
    fn gate(&self) -> Option<Limit> {
        let share = self.share(RequestPart::GateWait);
        let mean = self.mean_ms(RequestPart::GateWait);
        (self.has_gate && share >= CAUSE).then(|| {
            let message = format!("requests waited {mean:.1} ms at the gate, {}", of_ttft(share));
            let weight = self.weight(RequestPart::GateWait);
            Limit::new(LimitCause::Gate, weight, Confidence::High, message)
        })
    }

    fn queue(&self) -> Option<Limit> {
        let (share, mean) =
            (self.share(RequestPart::ServerQueue), self.mean_ms(RequestPart::ServerQueue));
        let waiting: f64 = self.values("waiting").filter_map(|values| mean_of(&values)).sum();
        let running: f64 = self.values("running").filter_map(|values| mean_of(&values)).sum();
        let by_parts = share >= CAUSE;
        // Requests that wait longer than they are served show a queue without any server times.
        let by_series = waiting >= 1.0 && waiting >= running;
        if !by_parts && !by_series {
            return None;
        }
        let mut limits = Vec::new();
        if by_parts {
            limits.push(format!(
                "requests spent {mean:.1} ms in the server's queue, {}",
                of_ttft(share)
            ));
        }
        if waiting > 0.0 {
            limits.push(format!("{waiting:.1} requests waited and {running:.1} ran on the mean"));
        }
        let room = CacheRoom::of(self.series, self.end_s);
        let cause = if room.is_lacking() { LimitCause::QueueKvCache } else { LimitCause::Queue };
        limits.extend(room.words());
        // A cache that is not full may hold as many requests as the server has places for.
        let is_direct = by_parts && (room.is_full() || !room.is_lacking());
        let confidence = if is_direct { Confidence::High } else { Confidence::Medium };
        // By Little's law, requests in the queue have this share of the time of all in the server.
        let by_series = waiting / (waiting + running).max(1.0);
        let weight = self.weight(RequestPart::ServerQueue).max(by_series);
        Some(Limit::new(cause, weight, confidence, limits.join("; ")))
    }

    fn part(&self, part: RequestPart, cause: LimitCause) -> Option<Limit> {
        let (share, mean) = (self.share(part), self.mean_ms(part));
        (share >= CAUSE).then(|| {
            let message = format!("{} took {mean:.1} ms, {}", cause.words(), of_ttft(share));
            Limit::new(cause, self.weight(part), Confidence::High, message)
        })
    }

    /// The rest inside the server is a cause only where the server reports queue and prefill and
    /// the ways are known; otherwise it may be any of them.
    fn inside(&self) -> Option<Limit> {
        let is_known =
            [RequestPart::ServerQueue, RequestPart::Prefill, RequestPart::RequestTransit];
        let is_known = is_known.iter().all(|part| self.evident(*part).is_some());
        let parts = [RequestPart::InsideServer, RequestPart::ServerFrontend];
        let share: f64 = parts.iter().map(|part| self.share(*part)).sum();
        let mean: f64 = parts.iter().map(|part| self.mean_ms(*part)).sum();
        (is_known && share >= CAUSE).then(|| {
            let message = format!(
                "requests spent {mean:.1} ms in the server outside its queue and prefill, {}",
                of_ttft(share)
            );
            let weight = parts.iter().map(|part| self.weight(*part)).sum();
            Limit::new(LimitCause::InsideServer, weight, Confidence::High, message)
        })
    }

    /// The ways are known from the server's instants, or at least the shortest round trip from the
    /// kernel.
    fn network(&self, audit: &Audit) -> Option<Limit> {
        let ways = [RequestPart::RequestTransit, RequestPart::ResponseTransit];
        let share: f64 = ways.iter().map(|part| self.share(*part)).sum();
        let mean: f64 = ways.iter().map(|part| self.mean_ms(*part)).sum();
        if share >= CAUSE {
            let message = format!("the ways there and back took {mean:.1} ms, {}", of_ttft(share));
            let weight = ways.iter().map(|part| self.weight(*part)).sum();
            return Some(Limit::new(LimitCause::Network, weight, Confidence::High, message));
        }
        let rtt_ms = audit.network.min_rtt.median_us? / 1e3;
        let inside = self.mean_ms(RequestPart::InsideServer);
        let on_the_way = rtt_ms / inside.max(rtt_ms);
        let share = self.share(RequestPart::InsideServer) * on_the_way;
        (share >= CAUSE).then(|| {
            let message = format!("the shortest round trip is {rtt_ms:.1} ms, {}", of_ttft(share));
            let weight = self.weight(RequestPart::InsideServer) * on_the_way;
            Limit::new(LimitCause::Network, weight, Confidence::Medium, message)
        })
    }

    /// The time in which preempted answers paused is part of the decoding, and explained by the
    /// preemptions.
    fn decode(&self) -> Option<Limit> {
        let part = self.evident(RequestPart::Decode)?;
        (part.share_of_mean >= DECODE).then(|| {
            let message = format!(
                "generating took {:.1} ms, {:.0} % of the whole time",
                part.mean_ms,
                part.share_of_mean * 100.0
            );
            let weight = (part.share_of_mean - self.preemptions.paused_share).max(0.0);
            Limit::new(LimitCause::Decode, weight, Confidence::High, message)
        })
    }

    /// A preemption that no answer shows by a pause may have come before the first output, or cost
    /// nothing. No server reports the time that a preemption cost, and the longest pauses may have
    /// another reason.
    fn preemption(&self) -> Option<Limit> {
        let Preemptions { count, share_of_requests, paused_s, paused_share } = self.preemptions;
        (count > 0.0 && share_of_requests.max(paused_share) >= PREEMPTED).then(|| {
            let pauses = if paused_share >= PREEMPTED {
                let percent = paused_share * 100.0;
                format!("at most {paused_s:.2} s, {percent:.0} % of the whole time")
            } else {
                "less than 1 % of the whole time".to_owned()
            };
            let message = format!(
                "the server preempted {count:.0} requests; as many of the longest pauses in \
                 answers, attributed to them by their length, took {pauses}"
            );
            Limit::new(LimitCause::Preemption, paused_share, Confidence::Medium, message)
        })
    }

    fn throttled(&self) -> Option<Limit> {
        let has = |reasons: f64, bit: u32| (reasons / f64::from(bit)).rem_euclid(2.0) >= 1.0;
        let is_slowed = |reasons: f64| THROTTLING.iter().any(|bit| has(reasons, *bit));
        let shares = self.values("gpu_throttle").filter_map(|values| {
            let slowed = values.iter().filter(|reasons| is_slowed(**reasons)).count();
            (!values.is_empty()).then(|| slowed as f64 / values.len() as f64)
        });
        let share = shares.fold(0.0, f64::max);
        (share >= 0.1).then(|| {
            let message =
                format!("a GPU lowered its clocks for {:.0} % of the time", share * 100.0);
            Limit::new(LimitCause::GpuThrottled, CAUSE * share, Confidence::High, message)
        })
    }
}

/// Returns whether a series has readings over a good part of the measurement. One that has not,
/// because its server ended or began meanwhile, says little of the whole.
fn is_lasting(series: &Series, end_s: f64) -> bool {
    let mut times = series.points.iter().map(|(at, _)| *at).filter(|at| (0.0..=end_s).contains(at));
    let first = times.next();
    let last = times.next_back().or(first);
    first.zip(last).is_some_and(|(first, last)| last - first >= LASTING * end_s)
}

/// Returns whether the parts of the requests sum up to their times, before the first output and over
/// all. They do not if a server reports times that the client cannot have seen: a wrong unit, an
/// instant of another clock.
fn sums_up(anatomy: &Anatomy) -> bool {
    let is_one = |shares: Vec<f64>| {
        let is_within = shares.iter().all(|share| (-RESIDUAL..=1.0 + RESIDUAL).contains(share));
        shares.is_empty() || is_within && (shares.iter().sum::<f64>() - 1.0).abs() <= RESIDUAL
    };
    let parts = &anatomy.parts;
    is_one(parts.iter().map(|part| part.share_of_mean).collect())
        && is_one(parts.iter().filter_map(|part| part.share_of_mean_ttft).collect())
}

fn client(audit: &Audit) -> Option<Limit> {
    let is_limited = audit.load.verdict == LoadVerdict::ClientLimited;
    let reason = audit.load.reasons.first().filter(|_| is_limited)?;
    Some(Limit::new(LimitCause::Client, 1.0, Confidence::High, reason.reason.clone()))
}

fn of_ttft(share: f64) -> String {
    format!("{:.0} % of the time to the first output", share * 100.0)
}

fn mean_of(values: &[f64]) -> Option<f64> {
    crate::statistics::mean(values)
}
