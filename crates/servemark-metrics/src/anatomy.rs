//! Anatomy of a request: which part of its time passed where.
//!
//! The client knows when a request was due, sent, answered and read. The server's own times, where
//! it reports them, divide the time between sending and the first answer. Durations need no clock;
//! instants need the server's clock placed on ours, which [`ServerClock`] does. Time that is in no
//! reported part is a part of its own, [`RequestPart::InsideServer`].

mod clock;
mod facts;
mod part;
mod request;

use serde::Serialize;
use servemark_core::{RequestRecord, RunLog};

pub use self::clock::ServerClock;
pub use self::facts::AnatomyFacts;
pub use self::part::RequestPart;
pub use self::request::RequestAnatomy;
use crate::statistics;

/// The parts of the requests of a run. Times are in milliseconds, shares from 0 to 1.
///
/// It covers the answered requests of the measurement. The total of a request is the time from due
/// until its answer ended, plus the delay until the client had read the first output. In a closed
/// loop, where all requests are due at once and a concurrency limit decides when each is sent, a
/// request counts as due when the limit lets it through.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Anatomy {
    /// Number of requests.
    pub requests: usize,
    /// Number of these requests with any time from the server.
    pub with_server_times: usize,
    /// The parts that are known for any request, in the order in which they happen.
    pub parts: Vec<PartSummary>,
    /// The server's clock on ours; absent if the server reports no instants.
    pub clock: Option<ServerClock>,
    /// Parts that the server reports only together with others, which are in
    /// [`InsideServer`](RequestPart::InsideServer).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<RequestPart>,
    /// Parts of the server and ways to it that are not known for any request, in the order in which
    /// they happen. Their time is in [`InsideServer`](RequestPart::InsideServer).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub untold: Vec<RequestPart>,
    /// Median of the shortest round trips that the kernel measured on the requests' connections:
    /// the ways there and back take at least this time together. Absent if the kernel reports none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round_trip_ms: Option<f64>,
    /// Whether the run is a closed loop.
    pub closed_loop: bool,
    /// How far the parts of a request are from its total. The parts of a request sum to more than
    /// its total if the server reports longer times than the client could see.
    pub residual_ms: Residual,
}

/// One part over all requests that have it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PartSummary {
    /// Name of the part.
    pub name: RequestPart,
    /// Number of requests that have the part.
    pub samples: usize,
    /// Mean over these requests.
    pub mean_ms: f64,
    /// Median over these requests.
    pub p50_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// Largest value.
    pub max_ms: f64,
    /// Share of the part in the total of all requests.
    pub share_of_mean: f64,
    /// Share of the part in the total of the slowest hundredth of the requests, which decide the
    /// 99th percentile.
    pub share_of_p99: f64,
    /// Share of the part in the time from due to the first output; absent for what follows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_of_mean_ttft: Option<f64>,
    /// Share of the part in the time to the first output of the hundredth of the requests whose
    /// first output came latest; absent for what follows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share_of_p99_ttft: Option<f64>,
}

/// Percentiles of the absolute difference between the sum of a request's parts and its total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Residual {
    /// Median over the requests.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    #[serde(rename = "p99.9")]
    pub p999: f64,
}

impl Anatomy {
    /// Splits the times of the answered requests of a run's measurement.
    pub fn of(log: &RunLog) -> Self {
        let facts = AnatomyFacts::of(log);
        let (mut with_server_times, mut hides_prefill) = (0, false);
        let mut all: Vec<RequestAnatomy> = Vec::new();
        for record in log.measured() {
            let Some(anatomy) = RequestAnatomy::of(record, &facts) else { continue };
            with_server_times += usize::from(record.server_times.is_some());
            hides_prefill |= anatomy.hides_prefill;
            all.push(anatomy);
        }
        let worst = slowest(&all, |anatomy| Some(anatomy.total_ms));
        let latest = slowest(&all, |anatomy| anatomy.ttft_ms);
        let parts = RequestPart::ALL
            .into_iter()
            .filter_map(|part| PartSummary::of(part, &all, &worst, &latest));
        let parts: Vec<PartSummary> = parts.collect();
        let together = if hides_prefill { TOGETHER.to_vec() } else { Vec::new() };
        let is_untold = |part: &RequestPart| {
            !all.is_empty() && !together.contains(part) && parts.iter().all(|it| it.name != *part)
        };
        Self {
            requests: all.len(),
            with_server_times,
            clock: facts.clock,
            untold: TOLD_BY_SERVER.into_iter().filter(is_untold).collect(),
            parts,
            together,
            round_trip_ms: round_trip_ms(log),
            closed_loop: facts.is_closed_loop,
            residual_ms: Residual::of(&all),
        }
    }

    /// Returns the summary of a part, if any request has it.
    pub fn part(&self, name: RequestPart) -> Option<&PartSummary> {
        self.parts.iter().find(|part| part.name == name)
    }
}

impl PartSummary {
    fn of(
        name: RequestPart,
        all: &[RequestAnatomy],
        slowest: &[&RequestAnatomy],
        latest: &[&RequestAnatomy],
    ) -> Option<Self> {
        let mut values: Vec<f64> = all.iter().filter_map(|anatomy| anatomy.part_ms(name)).collect();
        let mean_ms = statistics::mean(&values)?;
        servemark_statistics::sort(&mut values);
        let percentile = |percent| statistics::percentile(&values, percent).unwrap_or_default();
        let total = |anatomy: &RequestAnatomy| Some(anatomy.total_ms);
        let ttft = |anatomy: &RequestAnatomy| anatomy.ttft_ms;
        let precedes = name.precedes_first_output() && all.iter().any(|it| it.ttft_ms.is_some());
        Some(Self {
            name,
            samples: values.len(),
            mean_ms,
            p50_ms: percentile(50.0),
            p99_ms: percentile(99.0),
            max_ms: percentile(100.0),
            share_of_mean: share(name, all.iter(), total),
            share_of_p99: share(name, slowest.iter().copied(), total),
            share_of_mean_ttft: precedes.then(|| share(name, all.iter(), ttft)),
            share_of_p99_ttft: precedes.then(|| share(name, latest.iter().copied(), ttft)),
        })
    }
}

impl Residual {
    fn of(all: &[RequestAnatomy]) -> Self {
        let mut residuals: Vec<f64> = all.iter().map(RequestAnatomy::residual_ms).collect();
        servemark_statistics::sort(&mut residuals);
        let [p50, p99, p999] = [50.0, 99.0, 99.9]
            .map(|percent| statistics::percentile(&residuals, percent).unwrap_or_default());
        Self { p50, p99, p999 }
    }
}

/// Parts that only a server's times can tell. A transfer of caches is not among them, because most
/// servers have none.
const TOLD_BY_SERVER: [RequestPart; 5] = [
    RequestPart::RequestTransit,
    RequestPart::ServerFrontend,
    RequestPart::ServerQueue,
    RequestPart::Prefill,
    RequestPart::ResponseTransit,
];

/// Parts of the time from the queue to the first token.
const TOGETHER: [RequestPart; 2] = [RequestPart::Prefill, RequestPart::KvTransfer];

/// Returns the share of a part in a time of requests; zero without any time.
fn share<'a>(
    name: RequestPart,
    requests: impl Iterator<Item = &'a RequestAnatomy>,
    of: impl Fn(&RequestAnatomy) -> Option<f64>,
) -> f64 {
    let (mut part, mut whole) = (0.0, 0.0);
    for anatomy in requests {
        let Some(time) = of(anatomy) else { continue };
        part += anatomy.part_ms(name).unwrap_or_default();
        whole += time;
    }
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn round_trip_ms(log: &RunLog) -> Option<f64> {
    let shortest = |record: &RequestRecord| Some(f64::from(record.socket?.min_rtt_us?) / 1e3);
    let mut shortest: Vec<f64> = log.measured().filter_map(shortest).collect();
    servemark_statistics::sort(&mut shortest);
    statistics::percentile(&shortest, 50.0)
}

/// Returns the hundredth of the requests for which a time is longest, at least one of them.
fn slowest(
    all: &[RequestAnatomy],
    of: impl Fn(&RequestAnatomy) -> Option<f64>,
) -> Vec<&RequestAnatomy> {
    let timed = all.iter().filter_map(|anatomy| Some((of(anatomy)?, anatomy)));
    let mut timed: Vec<(f64, &RequestAnatomy)> = timed.collect();
    timed.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let count = timed.len().div_ceil(100);
    timed.into_iter().take(count).map(|(_, anatomy)| anatomy).collect()
}
