//! Prints and writes the results of a run.

use std::error::Error;
use std::path::Path;

use anyhow::bail;
use servemark::metrics::SloVerdict;
use servemark::plan::{Layout, OutputSpec};
use servemark::report::{NativeTable, ReportFormat, RunSummary};
use servemark::{ExitCode, Run, Scores};
use servemark_cli::Parsed;

use crate::{documents, failures, results, results_folder, screen};

/// Prints the results of a run, writes the page and the summary into the folder of the results, if
/// there is one, and the other result files. Returns the exit code of the run.
pub(crate) fn show_and_keep(
    run: &Run,
    scores: &Scores<'_>,
    output: &OutputSpec,
    folder: Option<&Path>,
    shown: RunOutput,
) -> anyhow::Result<ExitCode> {
    let is_used = folder.is_some() || shown == RunOutput::Document;
    let document = if is_used { documents::of_run(scores)? } else { String::new() };
    match shown {
        RunOutput::Document => {
            screen::print_document(&document);
            say_doubts(scores);
        }
        RunOutput::Summary => {
            let summary = RunSummary { columns: screen::columns() };
            screen::print(&screen::text(|out| scores.write_report(&summary, out))?);
            say_warnings(scores);
        }
        RunOutput::Tables { is_full } => show(scores, is_full)?,
    }
    let kept = folder.map(|folder| {
        keep_in_folder(run, scores, &document, folder)
            .inspect(|()| results_folder::announce(Some(folder)))
    });
    let code = keep(run, scores, output);
    kept.transpose()?;
    code
}

/// Writes the page and the summary of a run into its folder.
pub(crate) fn keep_in_folder(
    run: &Run,
    scores: &Scores<'_>,
    document: &str,
    folder: &Path,
) -> anyhow::Result<()> {
    results::write_page(scores, run.run_log.as_deref(), &folder.join("report.html"))?;
    documents::keep(folder, document)
}

/// Writes the result files and prints the path of the run log. Returns the exit code of the run.
pub(crate) fn keep(
    run: &Run,
    scores: &Scores<'_>,
    output: &OutputSpec,
) -> anyhow::Result<ExitCode> {
    failures::note(&run.log);
    let unwritten = results::write(scores, output, run.sent.as_ref(), run.run_log.as_deref());
    say_verdict(scores);
    say_objectives(scores);
    say_known(scores);
    say_planning(scores);
    if run.run_log_error.is_some() {
        unwritten.print_files();
    }
    check_whole(run)?;
    if let Some(path) = &run.run_log {
        screen::eprint_line(&format!("Run log: {}", path.display()));
    }
    unwritten.into_result(run.run_log.as_deref())?;
    Ok(scores.exit_code())
}

/// Returns an error if the log of the run is not whole.
pub(crate) fn check_whole(run: &Run) -> anyhow::Result<()> {
    if let Some(error) = &run.run_log_error {
        let why = error.source().map(|why| format!(": {why}")).unwrap_or_default();
        bail!("{error}{why}; the report above is whole and the file is not");
    }
    if run.lost_shards > 0 {
        bail!(
            "{} of the threads that send died; the report lacks what was theirs",
            run.lost_shards
        );
    }
    Ok(())
}

/// Prints, whatever the tables show: the audit, each verdict, the verdicts that `--fail-on-verdict`
/// excludes, and the number of resent requests, which only Servemark's table has.
pub(crate) fn say_verdict(scores: &Scores<'_>) {
    let audit = scores.audit();
    if let Some(resent) = resent_beside_tables(scores) {
        screen::eprint_line(&format!("note: {resent}"));
    }
    screen::eprint_line(&match scores.broken_gate() {
        None => format!("Client audit: {audit}"),
        Some(limit) => format!("error: --fail-on-verdict {limit}: the client audit is {audit}"),
    });
    for verdict in scores.verdicts() {
        screen::eprint_line(&format!("Run verdict: {}: {}", verdict.kind.name(), verdict.reason));
    }
    for (kind, reason) in scores.unwanted().into_iter().chain(scores.unjudged()) {
        let reason = WAYS.iter().fold(reason, |reason, (key, flag)| reason.replace(key, flag));
        screen::eprint_line(&format!("error: --fail-on {kind}: {reason}"));
    }
}

/// Keys of a plan that the reasons of verdicts name, and their flags.
const WAYS: [(&str, &str); 2] =
    [("`control.telemetry`", "--metrics-url"), ("`control.cache_audit`", "--cache-audit")];

/// Returns the message about resent requests, if no table shows their number.
fn resent_beside_tables(scores: &Scores<'_>) -> Option<String> {
    let is_reported = scores.has_table(Layout::Native);
    scores.audit().resending.resent_in_words().filter(|_| !is_reported)
}

/// Prints a line for each objective of the run.
pub(crate) fn say_objectives(scores: &Scores<'_>) {
    for judgement in scores.judgements() {
        let is_held = judgement.verdict == SloVerdict::Holds;
        let mark = if is_held { "" } else { "error: --slo: " };
        screen::eprint_line(&format!("{mark}{judgement}"));
    }
}

/// Prints a line for each figure whose precision was to end the run, and whether the run is valid
/// by the rules of its profile.
pub(crate) fn say_known(scores: &Scores<'_>) {
    if let Some(result) = scores.mlperf() {
        screen::eprint_lines(&result.to_string());
    }
    for known in scores.known_enough() {
        let mark = if known.is_known { "" } else { "error: --until: " };
        screen::eprint_line(&format!("{mark}{known}"));
    }
}

/// Prints, for each headline figure, the number of requests or runs that are needed to know it to
/// within 2 %.
pub(crate) fn say_planning(scores: &Scores<'_>) {
    for planning in scores.planning() {
        screen::eprint_line(&planning.to_string());
    }
}

/// Prints the tables, Servemark's own whole or as a summary. They come first, so that the metrics are
/// shown even if a later step fails.
pub(crate) fn show(scores: &Scores<'_>, is_full: bool) -> anyhow::Result<()> {
    let columns = screen::columns();
    let own: &dyn ReportFormat =
        if is_full { &NativeTable { columns } } else { &RunSummary { columns } };
    let mut tables = Vec::new();
    scores.write_tables_with(own, &mut tables)?;
    screen::print_bytes(&tables);
    say_warnings(scores);
    Ok(())
}

/// Prints what makes figures doubtful.
pub(crate) fn say_doubts(scores: &Scores<'_>) {
    for warning in scores.warnings() {
        screen::eprint_line(&format!("warning: {warning}"));
    }
}

/// Prints what makes figures doubtful, and by what a peer's figures differ from ours.
fn say_warnings(scores: &Scores<'_>) {
    say_doubts(scores);
    for difference in scores.differences() {
        screen::eprint_line(&format!("note: {difference}"));
    }
}

/// What is printed of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum RunOutput {
    /// One JSON document.
    Document,
    /// The figures of one screen.
    Summary,
    /// The tables, Servemark's own whole or as a summary.
    Tables {
        /// Whether Servemark's own table is whole.
        is_full: bool,
    },
}

impl RunOutput {
    /// Returns what a command prints that has tables, or one document in their place.
    pub(crate) fn tables_of(parsed: &Parsed) -> Self {
        if parsed.json { Self::Document } else { Self::Tables { is_full: parsed.full } }
    }

    /// Returns what a command prints that has a summary, unless tables are asked for.
    pub(crate) fn summary_or(json: bool, tables: bool) -> Self {
        match (json, tables) {
            (true, _) => Self::Document,
            (false, true) => Self::Tables { is_full: true },
            (false, false) => Self::Summary,
        }
    }
}

#[cfg(test)]
mod tests {
    use servemark::core::{
        Finish, Header, Phase, Recorder, RunFacts, RunLog, Sample, Stamp, Unprocessed,
    };

    use servemark::plan::ScoringSpec;

    use super::*;

    /// Returns the message that is printed beside the tables of a run with one resent request.
    fn resent_message(layouts: Vec<Layout>) -> Option<String> {
        let mut recorder = Recorder::new(0, Phase::Measure, &Sample::new("hi", 1, 2), Stamp::ZERO);
        recorder.record_sent(Stamp::from_nanos(1));
        recorder.resent(Unprocessed::Closed);
        let record = recorder.finish(Ok(Finish::default()), Stamp::from_nanos(9));
        let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
        let log = RunLog::new(header, vec![record], None);
        let scoring = ScoringSpec { layouts, ..ScoringSpec::default() };
        resent_beside_tables(&Scores::of(&log, &scoring))
    }

    #[test]
    fn requests_that_were_sent_once_more_are_told_beside_the_peers_tables() {
        let reported = resent_message(vec![Layout::Vllm]).unwrap();
        assert!(
            reported.starts_with("1 requests were sent once more on a new connection: 1 "),
            "{reported}"
        );
        assert_eq!(resent_message(vec![Layout::Vllm, Layout::Native]), None);
    }
}
