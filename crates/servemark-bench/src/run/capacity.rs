//! Checks before a run whether this machine can generate the planned load.
//!
//! A client close to its capacity adds its own delay to every answer long before anything fails,
//! so a plan that needs more than 70 % of the machine's capacity causes a warning with numbers.
//! The run is never refused: the audit in its report shows the effect of the load.

pub(crate) mod cache;
mod figures;

use std::fmt;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;
use std::time::Duration;

use servemark_client::Capacity;
use servemark_core::Session;
use servemark_plan::BenchPlan;

use self::cache::SelftestCache;
pub use self::figures::{Figures, FiguresSource};
use super::draw::Load;
use super::server;
use crate::RunContext;

/// Estimated client load of a plan, as far as it is known beforehand.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct PlannedLoad {
    /// Requests started per second; 0 if unknown because each request waits for another.
    requests_per_second: f64,
    /// Output chunks per second.
    chunks_per_second: f64,
    /// Concurrent connections.
    connections: f64,
}

impl PlannedLoad {
    pub(crate) fn of(plan: &BenchPlan, load: &Load) -> Self {
        let samples = load.sessions.iter().flat_map(Session::samples);
        let tokens: u64 = samples.map(|sample| u64::from(sample.output_tokens)).sum();
        let generates = plan.wire.generates() && tokens > 0;
        let tokens = if generates { tokens as f64 / load.requests() as f64 } else { 0.0 };
        Self::new(rate(plan, load), server::connections(plan), tokens)
    }

    /// Returns the part of the load that one of several processes has.
    pub(crate) fn of_one_rank(self, ranks: NonZeroUsize) -> Self {
        let ranks = ranks.get() as f64;
        Self {
            requests_per_second: self.requests_per_second / ranks,
            chunks_per_second: self.chunks_per_second / ranks,
            connections: self.connections / ranks,
        }
    }

    /// Estimates the load of requests with `tokens` output tokens each, at `rate` requests per
    /// second, in at most `streams` streams. If `rate` or `streams` is not set, it follows from
    /// the other and from the usual speed of a stream.
    fn new(rate: Option<f64>, streams: Option<usize>, tokens: f64) -> Self {
        let streams = streams.map(|streams| streams as f64);
        let by_rate = rate.map(|rate| rate * tokens);
        let by_streams = streams.filter(|_| tokens > 0.0).map(|streams| streams * USUAL_SPEED);
        let chunks = by_rate.into_iter().chain(by_streams).reduce(f64::min);
        let in_flight = by_rate.map(|chunks| chunks / USUAL_SPEED);
        Self {
            requests_per_second: rate.unwrap_or_default(),
            chunks_per_second: chunks.unwrap_or_default(),
            connections: streams.or(in_flight).unwrap_or_default(),
        }
    }
}

/// Requests per second of a plan whose requests do not wait for each other.
fn rate(plan: &BenchPlan, load: &Load) -> Option<f64> {
    let traced = || {
        let span = load.schedule.span().as_secs_f64();
        (span > 0.0).then(|| load.requests() as f64 / span)
    };
    plan.load.arrivals.mean_rate().or_else(traced)
}

/// Capacity of this machine that a run may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MachineCapacity {
    pub(crate) figures: Figures,
    pub(crate) source: FiguresSource,
    /// Number of client threads, each of which uses one core.
    pub(crate) shards: usize,
    pub(crate) capacity: Capacity,
}

impl MachineCapacity {
    /// Returns the capacity of this machine. At most one thread per core counts.
    pub(crate) fn of(context: &RunContext, shards: NonZeroUsize) -> Self {
        let cores = available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let known =
            context.cache.as_deref().map(|folder| SelftestCache::of_this_machine(folder).figures());
        let (figures, source) = known.unwrap_or((Figures::ASSUMED, FiguresSource::Assumed));
        Self { figures, source, shards: shards.min(cores).get(), capacity: Capacity::measure() }
    }

    /// Returns a warning if the estimated load is too high for an accurate measurement.
    pub(crate) fn warning(&self, demand: &PlannedLoad) -> Option<String> {
        let lines = [self.cores(demand), self.descriptors(demand), self.ports(demand)];
        let lines: Vec<String> = lines.into_iter().flatten().collect();
        if lines.is_empty() {
            return None;
        }
        Some(format!(
            "Warning: this plan is close to what this machine can measure well.\n  {}\n{ADVICE}",
            lines.join("\n  ")
        ))
    }

    fn cores(&self, demand: &PlannedLoad) -> Option<String> {
        let PlannedLoad { chunks_per_second: chunks, requests_per_second: requests, .. } = demand;
        let each = &self.figures;
        let busy = chunks / each.chunks_per_second + requests / each.requests_per_second;
        let share = busy / self.shards as f64;
        (share > SHARE).then(|| {
            format!(
                "an estimated client load of {} output chunks/s and {} requests/s needs {} of {}; one \
                 core handles {} chunks/s or {} requests/s ({})",
                whole(*chunks),
                whole(*requests),
                percent(share),
                cores(self.shards),
                whole(each.chunks_per_second),
                whole(each.requests_per_second),
                self.source,
            )
        })
    }

    fn descriptors(&self, demand: &PlannedLoad) -> Option<String> {
        let free = self.capacity.descriptors();
        let cure = "raise the hard limit of open files (ulimit -Hn)";
        connections(demand, free, "file descriptors that are free", cure)
    }

    fn ports(&self, demand: &PlannedLoad) -> Option<String> {
        let ports = self.capacity.ports();
        let cure = "widen net.ipv4.ip_local_port_range";
        connections(demand, ports, "local ports that one address can be reached from", cure)
    }
}

fn connections(demand: &PlannedLoad, has: u64, what: &str, cure: &str) -> Option<String> {
    let share = demand.connections / has as f64;
    (share > SHARE).then(|| {
        let (needed, has) = (whole(demand.connections), whole(has as f64));
        format!("{needed} connections need {} of the {has} {what}; {cure}", percent(share))
    })
}

impl fmt::Display for FiguresSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Assumed => f.write_str("assumed; servemark selftest measures it"),
            Self::Measured(age) => write!(f, "measured by servemark selftest {} ago", ago(*age)),
        }
    }
}

fn ago(age: Duration) -> String {
    match age.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} minutes", seconds / 60),
        seconds @ 7_200..172_800 => format!("{} hours", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

fn cores(cores: usize) -> String {
    if cores == 1 { "one core".to_owned() } else { format!("{cores} cores") }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Formats a number without decimals, with commas between thousands.
pub(crate) fn whole(number: f64) -> String {
    let digits = format!("{number:.0}");
    let parted = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    parted.collect::<Vec<_>>().join(",")
}

/// Share of the capacity above which a client's own delays grow quickly.
pub(crate) const SHARE: f64 = 0.7;

/// Assumed output tokens per second of one stream.
pub(crate) const USUAL_SPEED: f64 = 50.0;

const ADVICE: &str = "Above 70 % the client's own delays get into what it reports. Lower the rate \
or the concurrency, use more cores (`load.shards`), or share the load among several machines.";

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: MachineCapacity = MachineCapacity {
        figures: Figures::new(100_000.0, 10_000.0),
        source: FiguresSource::Assumed,
        shards: 1,
        capacity: Capacity::new(1_000, 28_232),
    };

    #[track_caller]
    fn check(means: MachineCapacity, demand: PlannedLoad, expected: &[&str]) {
        let warning = means.warning(&demand);
        assert_eq!(warning.is_some(), !expected.is_empty(), "{warning:?}");
        for part in expected {
            assert!(warning.as_deref().unwrap_or_default().contains(part), "{part}: {warning:?}");
        }
    }

    #[test]
    fn seventy_percent_is_let_pass() {
        check(SMALL, PlannedLoad::new(None, Some(700), 1.0), &[]);
        check(SMALL, PlannedLoad::new(Some(7_000.0), Some(700), 0.0), &[]);
        check(SMALL, PlannedLoad::default(), &[]);
    }

    #[test]
    fn pieces_and_requests_share_the_cores() {
        let demand = PlannedLoad::new(Some(4_000.0), Some(600), 10.0);
        assert_eq!((demand.chunks_per_second, demand.connections), (30_000.0, 600.0));
        check(SMALL, demand, &[]);
        let faster = PlannedLoad::new(Some(5_000.0), Some(600), 10.0);
        let words = "client load of 30,000 output chunks/s and 5,000 requests/s needs 80 % of one \
                     core; one core handles 100,000 chunks/s or 10,000 requests/s (assumed; \
                     servemark selftest measures it)";
        check(SMALL, faster, &[words, "close to what this machine can measure well", ADVICE]);
        check(MachineCapacity { shards: 2, ..SMALL }, faster, &[]);
    }

    #[test]
    fn an_open_loop_needs_as_many_streams_as_its_answers_take() {
        let demand = PlannedLoad::new(Some(100.0), None, 500.0);
        assert_eq!((demand.chunks_per_second, demand.connections), (50_000.0, 1_000.0));
        let words = "1,000 connections need 100 % of the 1,000 file descriptors that are free; \
                     raise the hard limit of open files (ulimit -Hn)";
        check(SMALL, demand, &[words]);
    }

    #[test]
    fn ports_run_out_as_well() {
        let roomy =
            MachineCapacity { capacity: Capacity::new(1 << 20, 28_232), shards: 64, ..SMALL };
        let words = "20,000 connections need 71 % of the 28,232 local ports";
        check(roomy, PlannedLoad::new(None, Some(20_000), 100.0), &[words]);
    }

    #[test]
    fn the_age_of_a_measurement_is_told() {
        let measured = |seconds| FiguresSource::Measured(Duration::from_secs(seconds)).to_string();
        assert_eq!(measured(59), "measured by servemark selftest 59 s ago");
        assert_eq!(measured(200_000), "measured by servemark selftest 2 days ago");
        assert_eq!(measured(7_199), "measured by servemark selftest 119 minutes ago");
    }

    #[test]
    fn thousands_are_parted() {
        for (number, text) in [(0.0, "0"), (999.4, "999"), (1_000.0, "1,000"), (1e6, "1,000,000")] {
            assert_eq!(whole(number), text);
        }
    }
}
