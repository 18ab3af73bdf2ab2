//! The summary of a run: the figures of one screen.

use std::io;

use servemark_core::{CertificateCheck, Weights, printable};
use servemark_metrics::{FailureTally, Metrics, RankAudit, Summary, TruthComparison};

use crate::table::labelled;
use crate::{Report, ReportFormat};

/// Summary of a run: what was measured, requests and rates, each latency with the 95 % intervals of
/// its median and 99th percentile, the verdict on the client, and, of the bundled simulator, the
/// error of the measurement.
#[derive(Clone, Copy, Debug)]
pub struct RunSummary {
    /// Number of columns of a line, 80 by default.
    pub columns: usize,
}

impl Default for RunSummary {
    fn default() -> Self {
        Self { columns: 80 }
    }
}

impl ReportFormat for RunSummary {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let rows = [("Measured", measured(report)), ("Requests", requests(report))];
        let rows = rows.into_iter().chain(latencies(report));
        let audit = report.audit;
        let client = format!(
            "{}: load {}, latencies {}",
            audit.verdict, audit.load.verdict, audit.latencies
        );
        let truth = report.metrics.truth.as_ref().map(|truth| ("Error", error(truth)));
        let incomplete = incomplete(report.metrics).map(|how| ("INCOMPLETE", how));
        let ranks = audit.ranks.as_ref().map(|audit| ("Ranks", ranks(audit)));
        let rows = incomplete.into_iter().chain(rows).chain(ranks);
        let rows = rows.chain([("Client", client)]).chain(truth);
        for (name, text) in rows {
            self.row(name, &text, out)?;
        }
        Ok(())
    }
}

/// Returns how many of the processes that shared the run have all their requests in the log, and
/// what is missing.
fn ranks(audit: &RankAudit) -> String {
    let RankAudit { ranks, present, missing_share, lost, .. } = audit;
    match lost.as_slice() {
        [] => format!("{present} of {ranks}"),
        lost => format!(
            "{present} of {ranks}; {:.1} % of the requests are missing: {}",
            100.0 * missing_share,
            lost.join("; ")
        ),
    }
}

impl RunSummary {
    /// Writes a name and a text of several lines.
    fn row(self, name: &str, text: &str, out: &mut dyn io::Write) -> io::Result<()> {
        writeln!(out, "{}", labelled(name, NAME, &printable(text), self.columns))
    }
}

/// Returns how a run ended that is not complete.
fn incomplete(metrics: &Metrics) -> Option<String> {
    let how = metrics.completeness.how_it_ended()?;
    let (missing, planned) = (metrics.requests.unfinished(), metrics.requests.planned);
    Some(format!("the run {how}; {missing} of {planned} requests are missing"))
}

/// Returns the error of the measurement against the bundled simulator's own log.
fn error(truth: &TruthComparison) -> String {
    let deviations = [("p99 TTFT", Some(truth.p99_ttft)), ("p99 ITL", truth.p99_itl)];
    let deviations = deviations.into_iter().filter_map(|(name, deviation)| {
        Some(format!("{name} {:+.3} ms", deviation?.difference_ms))
    });
    format!("{} against the simulator's log", deviations.collect::<Vec<_>>().join(", "))
}

const NAME: usize = 12;

fn measured(report: &Report<'_>) -> String {
    let header = report.log.header();
    let facts = &header.facts;
    let place = match &header.engine {
        Some(engine) => {
            let weights = match engine.weights {
                Weights::Dummy => ", dummy weights",
                Weights::Real => "",
            };
            format!("{} {}{weights}", engine.name, engine.version)
        }
        None => facts.target.clone(),
    };
    let model = facts.model_id.as_deref().unwrap_or(&facts.model);
    let model = if model.is_empty() { String::new() } else { format!(", model {model}") };
    let simulated = if facts.simulated { " (simulated)" } else { "" };
    let unchecked = match facts.certificate {
        CertificateCheck::Skipped => ", its TLS certificate NOT CHECKED (--insecure)",
        CertificateCheck::Usual => "",
    };
    format!("{place}{model}{simulated}{unchecked}")
}

fn requests(report: &Report<'_>) -> String {
    let metrics = report.metrics;
    let counts = metrics.requests;
    let generates = report.log.header().facts.generates();
    let rates = [
        (metrics.throughput.requests_per_s, "requests/s"),
        (metrics.throughput.output_tokens_per_s.filter(|_| generates), "output tokens/s"),
    ];
    let rates = rates.map(|(rate, unit)| rate.map(|rate| format!(", {rate:.1} {unit}")));
    let failed = (counts.failed > 0).then(|| {
        let mut tally = FailureTally::default();
        tally.add_metrics(metrics);
        format!("; {tally}")
    });
    let more: String = rates.into_iter().chain([failed]).flatten().collect();
    format!("{} of {} in {:.1} s{more}", counts.completed, counts.planned, metrics.duration_s)
}

/// Returns a row for each latency that requests have.
fn latencies(report: &Report<'_>) -> impl Iterator<Item = (&'static str, String)> {
    let latencies = &report.metrics.latencies;
    let all = [
        ("TTFT", &latencies.ttft),
        ("TPOT", &latencies.tpot),
        ("ITL", &latencies.itl),
        ("E2E", &latencies.e2el),
    ];
    let all = all.map(|(name, summary)| (name, summary.samples, latency(summary)));
    all.into_iter().filter(|(_, samples, _)| *samples > 0).map(|(name, _, text)| (name, text))
}

fn latency(summary: &Summary) -> String {
    let percentile = |percent: f64, name: &str| {
        let known = summary.estimates.as_ref().and_then(|known| known.percentile(percent));
        let bounds = known.and_then(|known| known.low.zip(known.high));
        match (summary.percentile_ms(percent), bounds) {
            (Some(value), Some((low, high))) => {
                format!("{name} {value:.1} ms ({low:.1} to {high:.1})")
            }
            (Some(value), None) if percent <= 50.0 => format!("{name} {value:.1} ms"),
            _ => match known.and_then(|known| known.reason) {
                Some(reason) => format!("{name} not known: {reason}"),
                None => format!("{name} not known"),
            },
        }
    };
    format!("{}, {}", percentile(50.0, "p50"), percentile(99.0, "p99"))
}
