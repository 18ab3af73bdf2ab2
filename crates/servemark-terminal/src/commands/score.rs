//! Scores a completed run again from its log.

use std::path::Path;

use servemark::core::{IfDamaged, LeftOut, RunLog, RunLogReader};
use servemark::plan::{BenchPlan, Layout, OutputSpec};
use servemark::{ExitCode, Scores};
use servemark_cli::{CliError, ScoreArgs};

use super::gates;
use crate::{documents, failures, report, results, screen};

/// Prints the tables of a run log and writes the requested files.
pub(crate) fn score(args: &ScoreArgs) -> anyhow::Result<ExitCode> {
    let reader = open(args.run_log(), args)?;
    let of_run = servemark::scoring_of(reader.header()).unwrap_or_default();
    let folder = evalscope_folder(args, of_run.layouts.first());
    let scoring = args.how.scoring(of_run);
    args.how.check(&scoring)?;
    let mut output = args.how.output();
    if args.files {
        add_files(&mut output, reader.header().plan.clone(), folder.is_some())?;
    }
    let needs_texts = scoring.print_requests || output.keeps_texts || results::has_texts(&output);
    let log = read(reader, args, needs_texts)?;
    failures::note(&log);
    let scores = Scores::of(&log, &scoring);
    if args.json {
        screen::print_document(&documents::of_run(&scores)?);
        report::say_doubts(&scores);
    } else {
        report::show(&scores, args.is_full())?;
    }
    let mut unwritten = results::write(&scores, &output, None, Some(args.run_log()));
    if let Some(folder) = folder {
        unwritten
            .add("--files", results::write_evalscope(&scores, &scores.evalscope(), None, folder));
    }
    report::say_verdict(&scores);
    report::say_objectives(&scores);
    report::say_known(&scores);
    if !args.json {
        report::say_planning(&scores);
    }
    if let Some(other) = scores.other_verdict() {
        let by = &log.header().servemark;
        screen::eprint_line(&format!("The run log has another audit, by servemark {by}: {other}."));
    }
    let title = args.run_log().display().to_string();
    gates::write(&scores.gate_report(&title), &args.gates)?;
    unwritten.into_result(Some(args.run_log()))?;
    Ok(scores.gates())
}

fn open(path: &Path, args: &ScoreArgs) -> anyhow::Result<RunLogReader> {
    Ok(RunLogReader::open(path)?.if_damaged(if_damaged(args.skip_damaged)))
}

/// Reads the run log, of which `first` has read the header, or merges those of the ranks that shared
/// a run.
fn read(first: RunLogReader, args: &ScoreArgs, needs_texts: bool) -> anyhow::Result<RunLog> {
    let read = |path: &Path, reader: RunLogReader| -> anyhow::Result<RunLog> {
        let reader = if needs_texts { reader } else { reader.without_texts() };
        let (log, left_out) = reader.into_log_and_left_out()?;
        say_left_out(path, &left_out);
        Ok(log)
    };
    let first = read(args.run_log(), first)?;
    let others = &args.run_logs[1..];
    if others.is_empty() {
        say_part(&first);
        return Ok(first);
    }
    let mut logs = vec![first];
    for path in others {
        logs.push(read(path, open(path, args)?)?);
    }
    let merged = RunLog::merged(logs);
    merged.map_err(|error| CliError::Peer(format!("argument RUNLOG: {error}")).into())
}

/// Says that a log has only the part of one rank.
fn say_part(log: &RunLog) {
    if let Some(part) = &log.header().rank {
        let (rank, ranks) = (part.rank, part.ranks);
        screen::eprint_line(&format!(
            "warning: this log has the requests of rank {rank} of {ranks}; give the logs of all \
             ranks to score the whole run"
        ));
    }
}

/// Returns how damaged lines of a run log are handled.
pub(crate) fn if_damaged(skips: bool) -> IfDamaged {
    if skips { IfDamaged::Skip } else { IfDamaged::Refuse }
}

/// Prints the lines of a run log that were not read.
pub(crate) fn say_left_out(path: &Path, left_out: &LeftOut) {
    if !left_out.is_nothing() {
        screen::eprint_line(&format!("warning: {}: {left_out}", path.display()));
    }
}

/// Returns the folder of evalscope's files, which is that of the run log, if evalscope's dialect
/// made the run.
fn evalscope_folder<'a>(args: &'a ScoreArgs, dialect: Option<&Layout>) -> Option<&'a Path> {
    let is_requested = args.files && dialect == Some(&Layout::Evalscope);
    args.run_log().parent().filter(|_| is_requested)
}

/// Adds the peers' files that the run was to write.
fn add_files(
    output: &mut OutputSpec,
    plan: serde_json::Value,
    is_evalscope: bool,
) -> anyhow::Result<()> {
    let of_run = BenchPlan::from_json(plan).map(|plan| plan.output);
    let of_run = of_run.unwrap_or_default();
    if of_run.vllm.is_none() && of_run.aisbench.is_none() && !is_evalscope {
        let when = "for a run that leaves no files of vLLM's, AISBench's or evalscope's";
        return Err(CliError::no_effect("--files", when).into());
    }
    output.vllm = of_run.vllm;
    output.aisbench = of_run.aisbench;
    output.keeps_texts = is_evalscope || output.aisbench.is_some();
    Ok(())
}
