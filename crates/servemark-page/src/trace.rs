//! What a comparison's page shows of one run.

use std::collections::BTreeMap;

use serde_json::Value;
use servemark_core::RunLog;
use servemark_metrics::{Audit, Latency, MetricPolicy, Metrics, RequestScore};
use servemark_report::{NativeTable, Report, TablePart};

use crate::run::distribution::Spread;
use crate::run::flow::{self, Flow};
use crate::run::times::Times;
use crate::run::{LATENCIES, joined, started};
use crate::series::Panel;

/// What a comparison's page shows of one run. It is small, whatever the size of the run's log.
#[derive(Clone, Debug)]
pub struct RunTrace {
    pub(crate) spreads: Vec<(Latency, Spread)>,
    pub(crate) panels: Vec<Panel>,
    /// Seconds from the first request to the last end.
    pub(crate) seconds: f64,
    /// Names and values of what was run.
    pub(crate) facts: Vec<(String, String)>,
    /// Settings of the plan by their paths.
    pub(crate) plan: BTreeMap<String, String>,
}

impl RunTrace {
    /// Reads a run by a policy's definitions.
    pub fn of(log: &RunLog, policy: &MetricPolicy) -> Self {
        let scores = RequestScore::of_log(log, policy);
        let metrics = Metrics::of_scores(log, policy, &scores);
        let audit = Audit::of(log);
        let report = Report::new(log, &metrics, &audit).with_scores(&scores);
        let spread = |(latency, _)| Some((latency, Spread::of(latency, &metrics, &scores)?));
        let times = Times::of(log, &scores);
        Self {
            spreads: LATENCIES.into_iter().filter_map(spread).collect(),
            panels: times.map_or_else(Vec::new, |times| panels(&times, log, &metrics, &scores)),
            seconds: times.map_or(0.0, |times| times.to),
            facts: facts(&report),
            plan: settings(&log.header().plan),
        }
    }

    /// Returns the distribution of a latency.
    pub(crate) fn spread(&self, latency: Latency) -> Option<&Spread> {
        self.spreads.iter().find(|(of, _)| *of == latency).map(|(_, spread)| spread)
    }

    /// Returns a series of a panel by the panel's id and the line's key.
    pub(crate) fn series(&self, id: &str, key: &str) -> Option<&Value> {
        self.panels.iter().find(|panel| panel.id == id)?.series(key)
    }
}

fn panels(
    times: &Times,
    log: &RunLog,
    metrics: &Metrics,
    scores: &[RequestScore<'_>],
) -> Vec<Panel> {
    let flow = Flow::of(times, metrics, scores);
    let latency = |(latency, title)| flow::latency(latency, title, times, metrics, scores);
    let of_requests = LATENCIES.into_iter().filter(|(latency, _)| *latency != Latency::Itl);
    let mut panels: Vec<Panel> = of_requests.filter_map(latency).collect();
    panels.extend(flow.gaps());
    panels.extend(flow.tokens());
    panels.push(flow::in_flight(times, log, scores));
    panels
}

fn facts(report: &Report<'_>) -> Vec<(String, String)> {
    let header = report.log.header();
    let mut facts = vec![("started".to_owned(), started(header.clock_started_unix_ns))];
    let sections = NativeTable::sections(report);
    for section in sections.iter().filter(|section| section.part == TablePart::Run) {
        facts.extend(
            joined(&section.lines).into_iter().map(|(name, value)| (name.to_owned(), value)),
        );
    }
    let requests = report.metrics.requests;
    let outcome = format!("{} ok, {} failed", requests.completed, requests.failed);
    facts.push(("outcome".to_owned(), outcome));
    facts.push(("client audit".to_owned(), report.audit.verdict.to_string()));
    let verdicts = report.metrics.verdict_names().unwrap_or_else(|| "none".to_owned());
    facts.push(("run verdicts".to_owned(), verdicts));
    facts.push(("servemark".to_owned(), header.servemark.clone()));
    facts
}

/// Returns the values of a document by their paths, such as `load.arrivals.rate`.
fn settings(document: &Value) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    collect(document, String::new(), &mut found);
    found
}

fn collect(value: &Value, path: String, found: &mut BTreeMap<String, String>) {
    let below =
        |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                collect(value, below(name), found);
            }
        }
        Value::String(text) => {
            found.insert(path, text.clone());
        }
        Value::Null => {}
        other => {
            found.insert(path, other.to_string());
        }
    }
}
