//! Latencies that the program defines itself.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use servemark_core::{RequestRecord, RunLog};
use servemark_statistics::Observations;

use crate::{Estimates, MetricPolicy, Summary};

/// A latency of each request that the program defines.
///
/// A report shows it if the policy lists it ([`MetricPolicy::with_own_latencies`]), and an
/// [`Objective`](crate::Objective) can limit it as [`Latency::Own`](crate::Latency::Own). Text
/// forms such as `headers:p99<50ms` know it once it is registered.
///
/// ```
/// use servemark_metrics::{Goal, Latency, Objective, OwnLatency};
///
/// const HEADERS: OwnLatency = OwnLatency::new("headers", "Time to headers", |record| {
///     Some(record.headers?.since(record.sent?))
/// });
///
/// HEADERS.register();
/// let objective: Objective = "headers:p99<50ms".parse()?;
/// let Goal::Latency { measure, .. } = objective.goal else { panic!("a share of requests") };
/// assert_eq!(measure, Latency::Own(HEADERS));
/// # Ok::<(), servemark_metrics::MetricsError>(())
/// ```
#[derive(Clone, Copy)]
pub struct OwnLatency {
    name: &'static str,
    label: &'static str,
    of: fn(&RequestRecord) -> Option<Duration>,
}

/// Latencies that text forms know, in the order in which they were registered.
static REGISTERED: Mutex<Vec<OwnLatency>> = Mutex::new(Vec::new());

impl OwnLatency {
    /// Creates a latency with its name in objectives and JSON, its label in tables, and its value
    /// for a request that succeeded; `None` if the request has no value.
    pub const fn new(
        name: &'static str,
        label: &'static str,
        of: fn(&RequestRecord) -> Option<Duration>,
    ) -> Self {
        Self { name, label, of }
    }

    /// Makes the latency known to text forms in this program. A latency of the same name is
    /// replaced.
    pub fn register(self) {
        let mut known = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|other| other.name != self.name);
        known.push(self);
    }

    /// Returns the registered latency of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let known = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|latency| latency.name == name).copied()
    }

    /// Returns the name in objectives and JSON.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the label in tables.
    pub const fn label(&self) -> &'static str {
        self.label
    }

    /// Returns the value of a request in seconds; `None` if the request has none.
    pub fn seconds_of(&self, record: &RequestRecord) -> Option<f64> {
        (self.of)(record).map(|latency| latency.as_secs_f64())
    }
}

/// Equal if the names are: a name stands for one definition in a program.
impl PartialEq for OwnLatency {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for OwnLatency {}

impl Hash for OwnLatency {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for OwnLatency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnLatency").field(&self.name).finish()
    }
}

/// A latency of the program, summarised over the requests that succeeded.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OwnSummary {
    /// Name of the latency.
    pub name: &'static str,
    /// Label of the latency in tables.
    pub label: &'static str,
    /// The summary.
    #[serde(flatten)]
    pub summary: Summary,
}

impl OwnSummary {
    /// Summarises the latencies that a policy lists.
    pub(crate) fn of_log(log: &RunLog, policy: &MetricPolicy) -> Vec<Self> {
        if policy.own_latencies.is_empty() {
            return Vec::new();
        }
        let mut records: Vec<&RequestRecord> =
            log.measured().filter(|record| record.is_success()).collect();
        records.sort_by_key(|record| record.started());
        let of = |latency: &OwnLatency| Self::of(*latency, &records, policy);
        policy.own_latencies.iter().map(of).collect()
    }

    fn of(latency: OwnLatency, records: &[&RequestRecord], policy: &MetricPolicy) -> Self {
        let values = || records.iter().map(|record| latency.seconds_of(record));
        let present: Vec<f64> = values().flatten().collect();
        let mut sample = Observations::default();
        values().for_each(|value| sample.push(value));
        let summary = Summary::of(&present, policy);
        let estimates = Estimates::of(&sample, policy);
        let OwnLatency { name, label, .. } = latency;
        Self { name, label, summary: Summary { estimates, ..summary } }
    }
}

#[cfg(test)]
mod tests {
    use servemark_core::{
        Delta, Finish, Header, Phase, Recorder, RunFacts, Sample as Request, Stamp,
    };

    use super::*;
    use crate::{Evidence, JudgedPart, Metrics, Objective, SloVerdict};

    const HEADERS: OwnLatency = OwnLatency::new("own_headers", "Time to headers", |record| {
        Some(record.headers?.since(record.sent?))
    });

    fn log() -> RunLog {
        let ms = |ms: u64| Stamp::ZERO + Duration::from_millis(ms);
        let record = |index: usize| {
            let sent = 10 * index as u64;
            let mut recorder =
                Recorder::new(index, Phase::Measure, &Request::new("", 1, 1), ms(sent));
            recorder.record_sent(ms(sent));
            // The first request has no headers, and thus no value.
            if index > 0 {
                recorder.headers(ms(sent + 2 + (7 * index as u64) % 3), 200);
            }
            recorder.output(ms(sent + 5), Delta::content("a"));
            recorder.finish(Ok(Finish::default()), ms(sent + 5))
        };
        let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
        RunLog::new(header, (0..1000).map(record).collect(), None)
    }

    #[test]
    fn an_own_latency_has_a_summary_with_an_interval() {
        let policy = MetricPolicy::native().with_own_latencies([HEADERS]);
        let metrics = Metrics::score(&log(), &policy);
        let [own] = metrics.own.as_slice() else { panic!("{:?}", metrics.own) };
        assert_eq!((own.name, own.summary.samples), ("own_headers", 999));
        let mean = own.summary.mean_ms.unwrap();
        assert!((mean - 3.0).abs() < 0.01, "{mean}");
        let estimated = own.summary.estimates.as_ref().unwrap().mean.value.unwrap();
        assert!((mean - estimated).abs() < 1e-9, "{mean} {estimated}");
        assert!(Metrics::score(&log(), &MetricPolicy::native()).own.is_empty());
    }

    #[test]
    fn an_own_latency_is_judged_by_its_text_form_once_it_is_registered() {
        assert!("own_unknown:p50<5ms".parse::<Objective>().is_err());
        HEADERS.register();
        let objectives = Objective::list("own_headers:p50<4.5ms,own_headers:p50<1ms").unwrap();
        assert_eq!(objectives[0].to_string(), "own_headers:p50<4.5ms");
        let mut evidence = Evidence::of(&objectives);
        evidence.add(&log(), &MetricPolicy::native(), JudgedPart::Whole);
        let verdicts: Vec<_> =
            evidence.judge(0.95).into_iter().map(|judgement| judgement.verdict).collect();
        assert_eq!(verdicts, [SloVerdict::Holds, SloVerdict::Fails]);
    }
}
