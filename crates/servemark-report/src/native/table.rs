//! Servemark's own table.

use std::io;

use servemark_core::{CertificateCheck, RunFacts};
use servemark_metrics::{Absences, Anatomy, CacheAudit, FailureGroup, Limit, Metrics, Verdict};

use super::anatomy::anatomy;
use super::audit::audit;
use super::cache_audit::cache_audit;
use super::energy::energy;
use super::engine::engine;
use super::latencies::latencies;
use super::limits::limits;
use super::load::{goodput, load, steady};
use super::output::{accept_length, throughput, tokens};
use super::ranks::ranks;
use super::series::{series, write_counts};
use super::server_work::server_work;
use super::sessions::sessions;
use super::settled_run::{verdicts, write_settled};
use super::style::{NativeStyle, one_line, unit};
use super::truth::truth;
use crate::table::{Table, TablePart, TableSection};
use crate::{Report, ReportFormat};

/// Servemark's own table.
#[derive(Clone, Copy, Debug)]
pub struct NativeTable {
    /// Number of columns of a line, 100 by default.
    pub columns: usize,
}

impl Default for NativeTable {
    fn default() -> Self {
        Self { columns: 100 }
    }
}

impl ReportFormat for NativeTable {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        NativeStyle { columns: self.columns }.write(Self::table(report).lines(), out)
    }
}

impl NativeTable {
    /// Returns the sections of the table, for a layout that is no text.
    pub fn sections(report: &Report<'_>) -> Vec<TableSection> {
        Self::table(report).into_sections()
    }

    fn table(report: &Report<'_>) -> Table {
        let metrics = report.metrics;
        let header = report.log.header();
        let (generates, engine) = (header.facts.generates(), header.engine.as_ref());
        let mut table = Table::default();
        table.title("Servemark report");
        incomplete(&mut table, metrics);
        table.part(TablePart::Verdicts);
        verdicts(&mut table, metrics, report.audit);
        table.part(TablePart::Run);
        run(&mut table, report);
        if let Some(engine) = engine {
            self::engine(&mut table, engine, report.log.footer());
        }
        table.part(TablePart::Outcome);
        outcome(&mut table, metrics, report.audit.verdict);
        table.part(TablePart::Figures);
        throughput(&mut table, metrics, generates);
        tokens(&mut table, metrics, header);
        accept_length(&mut table, metrics.accept_length);
        server_work(&mut table, &metrics.server_work);
        series(&mut table, report.log);
        energy(&mut table, metrics);
        table.part(TablePart::Latencies);
        latencies(&mut table, metrics, header);
        anatomy(&mut table, &Anatomy::of(report.log));
        limits(&mut table, &Limit::of(report.log, report.audit));
        if let Some(audit) = CacheAudit::of(report.log) {
            cache_audit(&mut table, &audit);
        }
        if let Some(sessions) = &metrics.sessions {
            table.part(TablePart::Sessions);
            self::sessions(&mut table, sessions);
        }
        table.part(TablePart::Figures);
        load(&mut table, metrics, engine);
        if let Some(settled) = &metrics.settled {
            write_settled(&mut table, metrics, settled);
        }
        table.part(TablePart::Client);
        audit(&mut table, report.audit);
        ranks(&mut table, report.log.header().ranks.as_ref(), report.audit);
        write_counts(&mut table, report.log);
        table.part(TablePart::Figures);
        if let Some(goodput) = &metrics.goodput {
            self::goodput(&mut table, goodput);
        }
        if let Some(steady) = &metrics.steady_state {
            self::steady(&mut table, steady);
        }
        if let Some(truth) = &metrics.truth {
            self::truth(&mut table, truth);
        }
        table.end();
        table
    }
}

fn incomplete(table: &mut Table, metrics: &Metrics) {
    let Some(how) = metrics.completeness.how_it_ended() else { return };
    let (missing, planned) = (metrics.requests.unfinished(), metrics.requests.planned);
    table.note(format!("INCOMPLETE: this run {how}; {missing} of {planned} requests are missing."));
}

fn run(table: &mut Table, report: &Report<'_>) {
    let header = report.log.header();
    let (facts, host) = (&header.facts, &header.host);
    table.section("Run");
    table.row("target", &facts.target);
    if facts.simulated {
        table.row("", "the bundled simulator: scripted latencies, not those of a server");
    }
    if facts.certificate == CertificateCheck::Skipped {
        table.row("", "its TLS certificate was NOT CHECKED (--insecure): anyone may have answered");
    }
    table.row("backend", backend(facts));
    table.row("model", &facts.model);
    if !facts.tokenizer.is_empty() {
        table.row("tokenizer", &facts.tokenizer);
    }
    table.row("data set", dataset(facts));
    table.row("load", requested_load(facts));
    table.row("duration", unit(Some(report.metrics.duration_s), "s"));
    table.row("client host", format!("{}, {} cores", host.system, host.cores));
    table.row("definitions", &report.metrics.policy.name);
}

/// Returns the backend with its API path; an in-process engine has no path.
fn backend(facts: &RunFacts) -> String {
    let RunFacts { backend, api_path, .. } = facts;
    if api_path.is_empty() { backend.clone() } else { format!("{backend} ({api_path})") }
}

fn dataset(facts: &RunFacts) -> String {
    format!("{}, {} requests, seed {}", facts.dataset, facts.requests, facts.seed)
}

fn requested_load(facts: &RunFacts) -> String {
    let rate = match facts.request_rate {
        Some(rate) => format!("{rate} requests/s"),
        None if facts.replayed => "as the trace says".to_owned(),
        None => "all at once".to_owned(),
    };
    match facts.max_concurrency {
        Some(limit) => format!("{rate}, at most {limit} in flight"),
        None => format!("{rate}, no limit in flight"),
    }
}

fn outcome(table: &mut Table, metrics: &Metrics, verdict: Verdict) {
    let requests = metrics.requests;
    table.section("Outcome");
    table.row("ok", requests.completed);
    table.row("failed", requests.failed);
    if requests.unfinished() > 0 {
        table.row("unfinished", requests.unfinished());
    }
    if requests.retried > 0 {
        table.row("tries made again", requests.retried);
    }
    if requests.resent > 0 {
        table.row("sent once more", requests.resent);
    }
    metrics.failures.iter().for_each(|group| failure(table, group));
    if !metrics.absences.is_empty() {
        table.note(format!("  {}", Absences(&metrics.absences)));
    }
    table.row("client audit", verdict);
}

fn failure(table: &mut Table, group: &FailureGroup) {
    table.row(&format!("  {}", group.kind), group.count);
    for example in &group.messages {
        table.note(format!("    {} x {}", example.count, one_line(&example.message)));
    }
}
