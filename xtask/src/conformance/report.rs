//! Writes the results as Markdown tables.

use std::fmt::Write;

use super::answer::{Counts, WireAnswer};
use super::case::{Case, Expected};
use super::case_report::CaseReport;
use super::offline::{self, RunReport};
use super::record::Record;
use super::subject::Subject;
use super::times::{self, Excess};
use super::verdict::verdict;

/// Results of one engine's runs.
#[derive(Debug)]
pub(super) struct EngineReport {
    pub(super) subject: Subject,
    /// Names and versions of the installed packages.
    pub(super) versions: Vec<(String, String)>,
    pub(super) findings: anyhow::Result<Findings>,
}

/// Results by kind of subject.
#[derive(Debug)]
pub(super) enum Findings {
    Served(Vec<CaseReport>),
    Offline(Vec<RunReport>),
}

impl EngineReport {
    /// Number of failed checks; an engine that could not be examined counts as one.
    pub(super) fn faults(&self) -> usize {
        match &self.findings {
            Ok(Findings::Served(cases)) => cases.iter().map(|case| case.faults.len()).sum(),
            Ok(Findings::Offline(runs)) => runs.iter().map(|run| run.faults.len()).sum(),
            Err(_) => 1,
        }
    }
}

/// Formats one run as a line.
pub(super) fn line(report: &CaseReport) -> String {
    let CaseReport { case, pairs, faults, .. } = report;
    let mut line =
        format!("  {} {}: {} requests, {}", case.backend, case.name, pairs.len(), verdict(faults));
    for fault in faults {
        let _ = write!(line, "\n    {fault}");
    }
    line
}

/// Formats the tables of all engines as Markdown.
pub(super) fn markdown(reports: &[EngineReport]) -> String {
    reports.iter().map(section).collect::<Vec<_>>().join("\n")
}

fn section(report: &EngineReport) -> String {
    let version = |(name, version): &(String, String)| format!("{name} {version}");
    let versions: Vec<_> = report.versions.iter().map(version).collect();
    let findings = match &report.findings {
        Err(error) => format!("Could not be examined: {error:#}\n"),
        Ok(Findings::Served(cases)) => {
            [table(cases), besides(cases), times(cases), parts(cases), failures(cases)].concat()
        }
        Ok(Findings::Offline(runs)) => offline::markdown(runs),
    };
    format!("## {} ({})\n\n{findings}", report.subject.title(), versions.join(", "))
}

fn table(cases: &[CaseReport]) -> String {
    let rows: String = cases.iter().map(row).collect();
    format!("{HEAD}{rows}")
}

fn row(report: &CaseReport) -> String {
    let CaseReport { case, pairs, faults, .. } = report;
    let prompt = compared(pairs, |counts| counts.prompt);
    let completion = compared(pairs, |counts| counts.completion);
    let pieces = (sum(pairs, |(record, _)| record.pieces), sum(pairs, |(_, answer)| answer.pieces));
    format!(
        "| `{}` | {} | {} | {prompt} | {completion} | {} / {} | {} |\n",
        case.backend,
        case.name,
        pairs.len(),
        pieces.0,
        pieces.1,
        verdict(faults),
    )
}

/// Formats a count of the log and of the wire; a dash if it was not reported.
fn compared(pairs: &[(Record, WireAnswer)], count: impl Fn(&Counts) -> Option<u64>) -> String {
    let logged: Option<u64> = pairs.iter().map(|(record, _)| count(&record.counts)).sum();
    let counted: Option<u64> = pairs.iter().map(|(_, answer)| count(&answer.counts)).sum();
    let cell = |sum: Option<u64>| sum.map_or_else(|| "–".to_owned(), |sum| sum.to_string());
    format!("{} / {}", cell(logged), cell(counted))
}

/// Formats the runs that the engine's own client repeated.
fn besides(cases: &[CaseReport]) -> String {
    let row = |report: &CaseReport| {
        let [requests, prompt, output] = report.beside.as_ref()?.rows();
        let CaseReport { case: Case { backend, name, .. }, .. } = report;
        Some(format!("| `{backend}` | {name} | {requests} | {prompt} | {output} |\n"))
    };
    let rows: String = cases.iter().filter_map(row).collect();
    if rows.is_empty() { rows } else { format!("{BESIDE_HEAD}{rows}") }
}

fn sum(pairs: &[(Record, WireAnswer)], count: impl Fn(&(Record, WireAnswer)) -> usize) -> usize {
    pairs.iter().map(count).sum()
}

/// Formats the client's times minus the server's, if the server reports times.
fn times(cases: &[CaseReport]) -> String {
    let rows: String = cases.iter().filter_map(times_row).collect();
    if rows.is_empty() { rows } else { format!("{TIMES_HEAD}{rows}") }
}

fn times_row(report: &CaseReport) -> Option<String> {
    let CaseReport { case, pairs, .. } = report;
    let Expected::Answers(promises) = &case.expected else { return None };
    if !times::are_comparable(promises) {
        return None;
    }
    let measured = pairs.iter().filter(|(record, _)| !record.is_warmup);
    let excesses: Vec<_> =
        measured.filter_map(|(record, answer)| Excess::of(record, answer)).collect();
    let all = |time: fn(&Excess) -> f64| spread(excesses.iter().map(time).collect());
    let (ttft, latency) = (all(|excess| excess.ttft)?, all(|excess| excess.latency)?);
    let arrival = all(|excess| excess.arrival)?;
    let (backend, name) = (case.backend, &case.name);
    Some(format!(
        "| `{backend}` | {name} | {} | {ttft} | {latency} | {arrival} |\n",
        excesses.len()
    ))
}

/// Formats the runs whose parts were compared with the engine's histograms.
fn parts(cases: &[CaseReport]) -> String {
    let row = |report: &CaseReport| {
        let CaseReport { case: Case { backend, name, .. }, pairs, parts, .. } = report;
        let parts = parts.as_ref()?;
        let residual = parts.residual_ms()?;
        let names: Vec<String> =
            parts.histograms.iter().map(|(histogram, _)| format!("`{}`", histogram.name)).collect();
        let names = names.join(", ");
        Some(format!("| `{backend}` | {name} | {} | {residual:.3} | {names} |\n", pairs.len()))
    };
    let rows: String = cases.iter().filter_map(row).collect();
    if rows.is_empty() { rows } else { format!("{PARTS_HEAD}{rows}") }
}

/// Formats minimum, median and maximum in milliseconds.
fn spread(mut seconds: Vec<f64>) -> Option<String> {
    seconds.sort_by(f64::total_cmp);
    let at = |index: usize| seconds.get(index).map(|value| 1e3 * value);
    let (least, middle, most) = (at(0)?, at(seconds.len() / 2)?, at(seconds.len() - 1)?);
    Some(format!("{least:.2} / {middle:.2} / {most:.2}"))
}

fn failures(cases: &[CaseReport]) -> String {
    let failed = cases.iter().filter(|case| !case.faults.is_empty());
    let lines: Vec<_> = failed.map(line).collect();
    if lines.is_empty() {
        return String::new();
    }
    format!("\nWhat failed:\n\n```text\n{}\n```\n", lines.join("\n"))
}

const HEAD: &str = "\
| backend | run | requests | prompt tokens, log / wire | output tokens, log / wire | pieces, log / wire | result |
|---|---|---|---|---|---|---|
";
const BESIDE_HEAD: &str = "
By our client / by the engine's own / by the server's counters, for each of the two runs alike.

| backend | run | requests | prompt tokens | output tokens |
|---|---|---|---|---|
";
const PARTS_HEAD: &str = "
By how many milliseconds parts do not sum up, at p99.9, and the engine's histograms beside them.

| backend | run | requests | residual | histograms |
|---|---|---|---|---|
";
const TIMES_HEAD: &str = "
Client minus server, in milliseconds: least / middle / most.

| backend | run | requests | TTFT | latency | first piece, stamped after sent |
|---|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::super::case::cases;
    use super::super::engine::ALL;
    use super::super::record::tests::finished;
    use super::*;

    fn report(faults: &[&str]) -> EngineReport {
        let counts = Counts { prompt: Some(4), completion: Some(3), cached: None };
        let answer = WireAnswer { status: 200, pieces: 2, counts, ..WireAnswer::default() };
        let faults = faults.iter().map(|fault| (*fault).to_owned()).collect();
        let case = cases(&ALL[0].servers[0]).remove(0);
        EngineReport {
            subject: Subject::Served(ALL[0]),
            versions: vec![("mlx-lm".to_owned(), "1".to_owned())],
            findings: Ok(Findings::Served(vec![CaseReport {
                case,
                pairs: vec![(finished(), answer)],
                faults,
                beside: None,
                parts: None,
            }])),
        }
    }

    #[test]
    fn a_run_is_a_row_with_both_sides() {
        let text = markdown(&[report(&[])]);
        assert!(text.starts_with("## mlx_lm.server (mlx-lm 1)\n\n| backend |"), "{text}");
        assert!(text.ends_with("| `vllm` | stream | 1 | 4 / 4 | 3 / 3 | 2 / 2 | ok |\n"), "{text}");
    }

    #[test]
    fn what_failed_is_told_below() {
        let report = report(&["text: no", "status: no"]);
        assert_eq!(report.faults(), 2);
        let text = markdown(&[report]);
        assert!(text.contains("| 2 checks failed |\n"), "{text}");
        assert!(text.contains("    text: no\n    status: no\n```"), "{text}");
    }

    #[test]
    fn an_engine_that_does_not_start_is_a_failure() {
        let broken = EngineReport { findings: Err(anyhow::anyhow!("no python")), ..report(&[]) };
        assert_eq!(broken.faults(), 1);
        assert!(markdown(&[broken]).ends_with("Could not be examined: no python\n"));
    }

    #[test]
    fn a_spread_is_in_milliseconds() {
        assert_eq!(spread(vec![0.003, 0.001, 0.002]).unwrap(), "1.00 / 2.00 / 3.00");
        assert_eq!(spread(Vec::new()), None);
    }
}
