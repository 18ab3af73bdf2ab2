//! Speculative decoding figures from the server's counters.

use std::io;

use serde_json::{Value, json};
use servemark_core::{CountedWork, RunLog, SpeculationCounters};
use servemark_metrics::Speculation;
use servemark_pyjson::{Style, Text, to_writer};

use crate::{Report, ReportFormat};

/// The block of speculative decoding figures. Writes nothing if the server's counters were not
/// read.
#[derive(Clone, Copy, Debug, Default)]
pub struct AisbenchSpeculation;

/// The speculative decoding figures as a JSON object, with the raw counters before and after the
/// run.
#[derive(Clone, Copy, Debug, Default)]
pub struct AisbenchSpeculationJson;

impl ReportFormat for AisbenchSpeculation {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        if server_counters(report.log).is_none() {
            return Ok(());
        }
        let server = host(&report.log.header().facts.target);
        let title = format!("{RULE} Speculative Decoding Metrics  [{server}] {RULE}");
        let rule = "=".repeat(title.chars().count() - 2);
        writeln!(out, "\n{rule}\n{title}\n{rule}")?;
        let rows = report.metrics.server_work.speculation.as_ref().map_or_else(nothing, figures);
        let mut rows = rows.into_iter();
        rows.try_for_each(|(label, value)| writeln!(out, "{label:<45} {value}"))
    }
}

impl ReportFormat for AisbenchSpeculationJson {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let speculation = report.metrics.server_work.speculation.as_ref();
        let counters = |of: fn(&CountedWork) -> &servemark_core::ServerCounters| {
            let counters =
                server_counters(report.log).and_then(|work| of(work).speculation.as_ref());
            counters.map(raw)
        };
        let result = json!({
            "status": if speculation.is_some() { "ok" } else { "na" },
            "url": format!("{}/metrics", report.log.header().facts.target.trim_end_matches('/')),
            "error": speculation.is_none().then_some(NO_ACTIVITY),
            "data": speculation.map(data),
            "raw": {"before": counters(|work| &work.before), "after": counters(|work| &work.after)},
        });
        to_writer(&result, Style::new(Text::Ascii, Some(2)), out).map_err(io::Error::from)
    }
}

fn server_counters(log: &RunLog) -> Option<&CountedWork> {
    log.footer()?.server_counters.as_ref()
}

fn nothing() -> Vec<(&'static str, String)> {
    vec![("Status", "N/A".to_owned()), ("Reason", NO_ACTIVITY.to_owned())]
}

fn figures(work: &Speculation) -> Vec<(&'static str, String)> {
    let rates = work.acceptance_by_position.iter().enumerate();
    let rates: Vec<String> = rates.map(|(place, rate)| format!("{place}: {rate:.4}")).collect();
    vec![
        ("Acceptance rate (%)", format!("{:.2}", work.acceptance_rate_percent)),
        ("Acceptance length", format!("{:.2}", work.acceptance_length)),
        ("Drafts", work.drafts.to_string()),
        ("Draft tokens", work.draft_tokens.to_string()),
        ("Accepted tokens", work.accepted_tokens.to_string()),
        ("Per-position acceptance rates", format!("{{{}}}", rates.join(", "))),
    ]
}

fn data(work: &Speculation) -> Value {
    let rates = work.acceptance_by_position.iter().enumerate();
    let rates = rates.map(|(place, rate)| (place.to_string(), json!(rate)));
    json!({
        "num_drafts": work.drafts,
        "draft_tokens": work.draft_tokens,
        "accepted_tokens": work.accepted_tokens,
        "acceptance_rate": work.acceptance_rate_percent,
        "acceptance_length": work.acceptance_length,
        "per_position_acceptance_rates": Value::Object(rates.collect()),
    })
}

fn raw(counters: &SpeculationCounters) -> Value {
    let accepted = counters.accepted_by_position.iter();
    let accepted = accepted.map(|(place, count)| (place.to_string(), json!(count)));
    json!({
        "num_drafts": counters.drafts,
        "num_draft_tokens": counters.draft_tokens,
        "num_accepted_tokens": counters.accepted_tokens,
        "accepted_per_pos": Value::Object(accepted.collect()),
    })
}

/// Strips the scheme and trailing slashes from a server's URL.
fn host(target: &str) -> &str {
    let address = target.split_once("://").map_or(target, |(_, address)| address);
    address.trim_end_matches('/')
}

const RULE: &str = "==========";
const NO_ACTIVITY: &str = "No spec decode activity during the benchmark";
