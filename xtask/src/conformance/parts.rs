//! Compares the parts of requests' times with the engine's own histograms.

use std::time::Duration;

use anyhow::Context;
use serde_json::Value;

use super::checks::unless;
use super::process::poll;
use super::record::Record;
use super::server::Server;

/// A histogram on the engine's page of metrics, and the time of a request that it counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeHistogram {
    pub(super) name: &'static str,
    pub(super) time: RequestTime,
}

/// A time of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum RequestTime {
    /// In the server's queue, as the server reports it with the answer.
    Queue,
    /// From the queue to the first token, as the server reports it with the answer.
    Prefill,
    /// From the first token to the last, as the server reports it with the answer.
    Decode,
    /// To the first output, as the client measured it.
    Ttft,
    /// To the end, as the client measured it.
    Latency,
}

impl RequestTime {
    /// Returns the time of a request in seconds.
    fn of(self, record: &Record) -> Option<f64> {
        let seconds = |ms: Option<f64>| Some(ms? / 1e3);
        match self {
            Self::Queue => seconds(record.server_ms.queue),
            Self::Prefill => seconds(record.server_ms.prefill),
            Self::Decode => seconds(record.server_ms.decode),
            Self::Ttft => record.ttft(),
            Self::Latency => record.latency(),
        }
    }

    /// Returns by how many seconds the time may be below and above the histogram's. The client's
    /// times begin before the server's and end after them.
    const fn tolerance(self) -> (f64, f64) {
        match self {
            Self::Queue | Self::Prefill | Self::Decode => (ROUNDING, ROUNDING),
            Self::Ttft | Self::Latency => (0.0, FARTHEST),
        }
    }
}

/// The parts of a run's requests, and the engine's histograms of the run.
#[derive(Debug)]
pub(super) struct Parts {
    /// The parts in the document of our program.
    pub(super) anatomy: Value,
    pub(super) histograms: Vec<(TimeHistogram, Buckets)>,
}

/// Numbers of values up to each bound, in ascending order of the bounds. The last bound is infinite.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Buckets(Vec<(f64, u64)>);

impl Parts {
    /// Returns the largest difference between the sum of a request's parts and its total, but for
    /// one request in a thousand, in milliseconds.
    pub(super) fn residual_ms(&self) -> Option<f64> {
        self.anatomy["residual_ms"]["p99.9"].as_f64()
    }

    /// Returns what is wrong with the parts and what differs from the histograms.
    pub(super) fn faults(&self, records: &[Record]) -> Vec<String> {
        let (all, told) = (&self.anatomy["requests"], &self.anatomy["with_server_times"]);
        let is_small = self.residual_ms().is_some_and(|ms| ms < MOST_RESIDUAL_MS);
        let of_parts = [
            unless(is_small, &format!("parts do not sum up: {}", self.anatomy["residual_ms"])),
            unless(all == told, &format!("the server told its times of {told} of {all} requests")),
        ];
        let compared =
            self.histograms.iter().filter_map(|(TimeHistogram { name, time }, buckets)| {
                let times: Option<Vec<f64>> =
                    records.iter().map(|record| time.of(record)).collect();
                match times {
                    None => Some(format!("{name}: not all requests have the time")),
                    Some(times) => {
                        buckets.fault(&times, time.tolerance()).map(|it| format!("{name}: {it}"))
                    }
                }
            });
        of_parts.into_iter().flatten().chain(compared).collect()
    }
}

impl Buckets {
    /// Parses the histogram of a name. Those of several labels are added up.
    fn of(page: &str, name: &str) -> Self {
        let mut all: Vec<(f64, u64)> = Vec::new();
        for line in page.lines() {
            let Some((bound, count)) = bucket(line, name) else { continue };
            match all.iter_mut().find(|(other, _)| other.total_cmp(&bound).is_eq()) {
                Some((_, sum)) => *sum += count,
                None => all.push((bound, count)),
            }
        }
        all.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        Self(all)
    }

    /// Returns the increase since `before`, which may lack bounds that nothing was counted for.
    fn since(&self, before: &Self) -> Self {
        let counted =
            |bound: f64| before.0.iter().find(|(other, _)| other.total_cmp(&bound).is_eq());
        let grown = self.0.iter().map(|&(bound, count)| {
            let earlier = counted(bound).map_or(0, |(_, earlier)| *earlier);
            (bound, count.saturating_sub(earlier))
        });
        Self(grown.collect())
    }

    /// Returns how these times differ from the buckets, if they do. Each may be `tolerance` below
    /// and above the counted one.
    fn fault(&self, times: &[f64], (below, above): (f64, f64)) -> Option<String> {
        let up_to = |bound: f64| times.iter().filter(|time| **time <= bound).count() as u64;
        if self.0.last().map(|(_, count)| *count) != Some(times.len() as u64) {
            return Some(format!("it has {:?} of {} requests", self.0.last(), times.len()));
        }
        let differs = |&&(bound, count): &&(f64, u64)| {
            !(up_to(bound - below)..=up_to(bound + above)).contains(&count)
        };
        let (bound, count) = self.0.iter().find(differs)?;
        Some(format!("{count} requests took up to {bound} s, and by the log {}", up_to(*bound)))
    }
}

/// Returns the bound and the count of a line, if it is a bucket of the histogram.
fn bucket(line: &str, name: &str) -> Option<(f64, u64)> {
    let labels = line.strip_prefix(name)?.strip_prefix("_bucket{")?;
    let (labels, count) = labels.rsplit_once("} ")?;
    let bound = labels.split(',').find_map(|label| label.strip_prefix("le=\""))?;
    let bound = bound.trim_end_matches('"').parse().ok()?;
    Some((bound, count.trim().strip_suffix(".0").unwrap_or(count).parse().ok()?))
}

/// Returns the histograms of a server when they no longer change: a server updates them a little
/// later than it answers.
pub(super) fn histograms(
    server: &Server,
    names: &'static [TimeHistogram],
) -> anyhow::Result<Vec<(TimeHistogram, Buckets)>> {
    let read = || -> anyhow::Result<Vec<Buckets>> {
        let page = server.metrics()?;
        Ok(names.iter().map(|histogram| Buckets::of(&page, histogram.name)).collect())
    };
    let mut last = read()?;
    let settled = poll(LONGEST_COUNT, || {
        let now = read()?;
        let is_settled = now == last;
        last.clone_from(&now);
        Ok(is_settled.then_some(now))
    });
    Ok(names.iter().copied().zip(settled.context("the server's histograms")?).collect())
}

/// Returns the increase of each histogram.
pub(super) fn increase(
    before: &[(TimeHistogram, Buckets)],
    after: Vec<(TimeHistogram, Buckets)>,
) -> Vec<(TimeHistogram, Buckets)> {
    let pairs = before.iter().zip(after);
    pairs.map(|((_, before), (name, after))| (name, after.since(before))).collect()
}

/// Largest residual in milliseconds: the parts of 99.9 % of the requests sum up within it.
const MOST_RESIDUAL_MS: f64 = 0.1;
/// Seconds by which a time may be rounded on its way.
const ROUNDING: f64 = 1e-3;
/// Maximum delay of the client behind the server, in seconds, on a machine that the engine fully
/// uses.
const FARTHEST: f64 = 0.1;
const LONGEST_COUNT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::super::record::ServerMs;
    use super::super::record::tests::finished;
    use super::*;

    const PAGE: &str = "\
# TYPE t histogram
t_bucket{engine=\"0\",le=\"0.1\",model_name=\"tiny\"} 1.0
t_bucket{engine=\"0\",le=\"+Inf\",model_name=\"tiny\"} 2.0
t_bucket{engine=\"1\",le=\"0.1\",model_name=\"tiny\"} 2.0
t_bucket{engine=\"1\",le=\"+Inf\",model_name=\"tiny\"} 2.0
t_count{engine=\"0\"} 4.0
t_seconds_bucket{le=\"0.1\"} 7.0
";

    #[test]
    fn buckets_of_all_labels_are_added_up() {
        let buckets = Buckets::of(PAGE, "t");
        assert_eq!(buckets, Buckets(vec![(0.1, 3), (f64::INFINITY, 4)]));
        assert_eq!(buckets.since(&Buckets(vec![(0.1, 2)])).0[0], (0.1, 1));
    }

    #[test]
    fn times_agree_within_their_buckets() {
        let buckets = Buckets(vec![(0.1, 1), (0.2, 2), (f64::INFINITY, 3)]);
        let fault = |times: &[f64]| buckets.fault(times, (0.0, 0.05));
        assert_eq!(fault(&[0.05, 0.15, 9.0]), None);
        // Half a tenth later than the server counted them.
        assert_eq!(fault(&[0.12, 0.25, 9.0]), None);
        let found = fault(&[0.05, 0.06, 9.0]).unwrap();
        assert_eq!(found, "1 requests took up to 0.1 s, and by the log 2");
        assert_eq!(fault(&[0.12, 0.26, 9.0]).unwrap().split(' ').next(), Some("2"));
        assert!(fault(&[0.05, 0.15]).unwrap().contains("of 2 requests"));
    }

    #[test]
    fn parts_that_do_not_sum_up_are_a_fault() {
        let histogram = TimeHistogram { name: "t", time: RequestTime::Queue };
        let buckets = Buckets(vec![(0.1, 1), (f64::INFINITY, 1)]);
        let record = Record {
            server_ms: ServerMs { queue: Some(20.0), ..ServerMs::default() },
            ..finished()
        };
        let parts = |residual: f64, told: u64| Parts {
            anatomy: serde_json::json!({
                "requests": 1,
                "with_server_times": told,
                "residual_ms": {"p99.9": residual},
            }),
            histograms: vec![(histogram, buckets.clone())],
        };
        assert_eq!(parts(0.0, 1).faults(std::slice::from_ref(&record)), Vec::<String>::new());
        assert_eq!(parts(0.2, 0).faults(&[record]).len(), 2);
        assert_eq!(parts(0.0, 1).faults(&[finished()]), ["t: not all requests have the time"]);
    }
}
