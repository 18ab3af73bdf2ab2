//! Runs the commands.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::bail;
use servemark::core::RunLogError;
use servemark::metrics::SloVerdict;
use servemark::plan::{Layout, OutputSpec, ScoringSpec, ServerSpec};
use servemark::{
    CompareError, DryRun, ExecuteError, ExitCode, ProcessError, Run, RunContext, Scores,
    SweepRunError, dry_run, execute, stop_on_signals,
};
use servemark_cli::{CliError, Invocation, Parsed, PeerArguments};

use crate::failures;
use crate::screen::{self, Screen};
use crate::{outputs, results};

/// Runs a command and returns its exit code.
pub(crate) fn invoked(invocation: Invocation, files_read: &[PathBuf]) -> ExitCode {
    // A fault in a config is reported here, before the run and not during it.
    let speaker = if let Invocation::Aisbench(_) = invocation { "ais_bench: " } else { "" };
    let dialect = invocation.dialect();
    let done = outputs::check(&invocation, files_read).and_then(|()| done(invocation));
    let code = done.unwrap_or_else(|error| {
        let words = dialect.words(&format!("{error:#}"));
        screen::eprint_line(&format!("{speaker}error: {words}"));
        exit_code(&error)
    });
    failures::say();
    screen::settled(code)
}

fn done(invocation: Invocation) -> anyhow::Result<ExitCode> {
    match invocation {
        Invocation::Ab(runs) => crate::ab::ab(&runs),
        Invocation::Aisbench(tasks) => crate::aisbench::run(&tasks),
        Invocation::Bench(parsed) => bench(&parsed),
        Invocation::Compare(args) => crate::compare::compare(&args),
        Invocation::DryRun(parsed) => dry(&parsed),
        Invocation::Evalscope(runs) => crate::evalscope::run(&runs),
        Invocation::Noise(runs) => crate::ab::noise(&runs),
        Invocation::Offline(offline) => crate::offline::bench(&offline),
        Invocation::OneBatch(bench) => crate::one_batch::bench(&bench),
        Invocation::Rerun(rerun) => crate::rerun::rerun(&rerun),
        Invocation::Score(args) => crate::score::score(&args),
        Invocation::Series(series) => crate::series::series(&series),
        Invocation::Selftest(args) => crate::selftest::test(&args),
        Invocation::SloSearch(runs) => crate::slo::search(&runs),
        Invocation::Sweep(sweep) => crate::sweep::sweep(&sweep),
        Invocation::SweepRuns(runs) => crate::sweep::sweep_runs(&runs),
        Invocation::TextSlices(slices) => crate::slices::cut(&slices),
        Invocation::VllmSweep(command) => crate::vllm_sweep::run(&command),
        _ => unreachable!("every invocation is served"),
    }
}

/// Does one run.
pub(crate) fn bench(parsed: &Parsed) -> anyhow::Result<ExitCode> {
    let Some(context) = prepare(parsed)? else { return Ok(ExitCode::Ok) };
    let run = execute(&parsed.plan, &as_peer(context, parsed))?;
    report(&run, &parsed.plan.scoring, &parsed.plan.output)
}

/// Prints the requests that would be sent, in the format of vLLM's Rust client.
fn dry(parsed: &Parsed) -> anyhow::Result<ExitCode> {
    let Some(context) = prepare(parsed)? else { return Ok(ExitCode::Ok) };
    let DryRun { requests, input_tokens, output_tokens, .. } = dry_run(&parsed.plan, &context)?;
    let each = |tokens: u64| tokens as f64 / requests.max(1) as f64;
    screen::print(&format!(
        "Dry run stats:\n  Total prompts: {requests}\n  Total input tokens: {input_tokens}\n  \
         Total expected output tokens: {output_tokens}\n  Avg input tokens: {:.1}\n  \
         Avg output tokens: {:.1}\n",
        each(input_tokens),
        each(output_tokens),
    ));
    Ok(ExitCode::Ok)
}

/// Returns the context of one or more runs; `None` if the plan was only to be printed, which is
/// done here.
pub(crate) fn prepare(parsed: &Parsed) -> anyhow::Result<Option<RunContext>> {
    for warning in &parsed.warnings {
        screen::eprint_line(&format!("warning: {warning}"));
    }
    if parsed.plan_only {
        screen::print(&format!("{:#}\n", parsed.plan.to_json()));
        return Ok(None);
    }
    let context = furnished(&context(parsed.progress)?, parsed);
    Ok(Some(voiced(context, parsed)))
}

/// Returns the context of runs that are watched at this terminal and can be stopped with Ctrl-C.
pub(crate) fn context(progress: bool) -> anyhow::Result<RunContext> {
    let live = Arc::default();
    let screen = Screen::new(progress, Arc::clone(&live));
    let mut context = RunContext::new(Arc::new(screen));
    context.live = live;
    stop_on_signals(context.clone())?;
    Ok(context)
}

/// Adds the settings of a command line to a context.
pub(crate) fn furnished(context: &RunContext, parsed: &Parsed) -> RunContext {
    let mut context = context.clone();
    context.credentials = parsed.credentials.clone();
    context.hub = parsed.hub.clone();
    context.cache.clone_from(&parsed.cache);
    context.grace.set(parsed.grace);
    context
}

/// Adds a screen that prints the messages of the command line's dialect.
pub(crate) fn voiced(mut context: RunContext, parsed: &Parsed) -> RunContext {
    let screen = Screen::new(parsed.progress, Arc::clone(&context.live)).about(&parsed.plan);
    context.observer = Arc::new(screen);
    context
}

/// Prints the arguments as the peer's client does, on standard output, followed by the client's
/// messages. For a simulated run they are printed once the simulator listens, with its address.
fn as_peer(mut context: RunContext, parsed: &Parsed) -> RunContext {
    let screen = Screen::new(parsed.progress, Arc::clone(&context.live));
    let (label, arguments, screen) = match &parsed.peer_arguments {
        Some(PeerArguments::Sglang { given, settled }) => {
            ("benchmark_args=", given, screen.in_sglangs_words(settled, &parsed.plan))
        }
        Some(PeerArguments::Vllm(arguments)) => ("", arguments, screen.about(&parsed.plan)),
        _ => return context,
    };
    let screen = if matches!(parsed.plan.server, ServerSpec::Simulated(_)) {
        screen.with_arguments(label, arguments)
    } else {
        screen::print_line(&format!("{label}{arguments}"));
        screen
    };
    context.observer = Arc::new(screen);
    context
}

/// Prints the tables of a run and writes its files.
pub(crate) fn report(
    run: &Run,
    scoring: &ScoringSpec,
    output: &OutputSpec,
) -> anyhow::Result<ExitCode> {
    let scores = Scores::of_run(run, scoring);
    show(&scores)?;
    keep(run, &scores, output)
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
    if let Some(error) = &run.run_log_error {
        unwritten.say();
        let why = error.source().map(|why| format!(": {why}")).unwrap_or_default();
        bail!("{error}{why}; the report above is whole and the file is not");
    }
    if run.lost_shards > 0 {
        bail!(
            "{} of the threads that send died; the report lacks what was theirs",
            run.lost_shards
        );
    }
    if let Some(path) = &run.run_log {
        screen::eprint_line(&format!("Run log: {}", path.display()));
    }
    unwritten.settled(run.run_log.as_deref())?;
    Ok(scores.exit_code())
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
    for (kind, reason) in scores.unwanted() {
        screen::eprint_line(&format!("error: --fail-on {kind}: {reason}"));
    }
}

/// Returns the message about resent requests, if no table shows their number.
fn resent_beside_tables(scores: &Scores<'_>) -> Option<String> {
    let is_told = scores.has_table(Layout::Native);
    scores.audit().resending.resent_in_words().filter(|_| !is_told)
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

/// Prints, for each headline figure, the number of requests or runs needed to know it to within 2
/// %.
pub(crate) fn say_planning(scores: &Scores<'_>) {
    for planning in scores.planning() {
        screen::eprint_line(&planning.to_string());
    }
}

/// Prints the tables. They come first, so that the metrics are shown even if a later step fails.
pub(crate) fn show(scores: &Scores<'_>) -> anyhow::Result<()> {
    let mut tables = Vec::new();
    scores.write_tables(&mut tables)?;
    screen::print_bytes(&tables);
    for warning in scores.warnings() {
        screen::eprint_line(&format!("warning: {warning}"));
    }
    for difference in scores.differences() {
        screen::eprint_line(&format!("note: {difference}"));
    }
    Ok(())
}

/// Returns the exit code of an error. Errors of a run have codes; all others are caused by the
/// machine or the user.
fn exit_code(error: &anyhow::Error) -> ExitCode {
    let of_run = error.downcast_ref::<ExecuteError>().map(ExecuteError::exit_code);
    let of_sweep = error.downcast_ref::<SweepRunError>().map(SweepRunError::exit_code);
    let of_process = error.downcast_ref::<ProcessError>().map(ProcessError::exit_code);
    let of_log = error.downcast_ref::<RunLogError>().map(|_| ExitCode::Usage);
    let of_results = error.downcast_ref::<CompareError>().map(CompareError::exit_code);
    let of_words = error.downcast_ref::<CliError>().map(|_| ExitCode::Usage);
    let known = [of_run, of_sweep, of_process, of_log, of_results, of_words];
    known.into_iter().flatten().next().unwrap_or(ExitCode::Internal)
}

#[cfg(test)]
mod tests {
    use servemark::core::{
        Finish, Header, Phase, Recorder, RunFacts, RunLog, Sample, Stamp, Unprocessed,
    };

    use super::*;

    /// Returns the message that is printed beside the tables of a run with one resent request.
    fn said(layouts: Vec<Layout>) -> Option<String> {
        let mut recorder = Recorder::new(0, Phase::Measure, &Sample::new("hi", 1, 2), Stamp::ZERO);
        recorder.sent(Stamp::from_nanos(1));
        recorder.resent(Unprocessed::Closed);
        let record = recorder.finish(Ok(Finish::default()), Stamp::from_nanos(9));
        let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
        let log = RunLog::new(header, vec![record], None);
        let mut scoring = ScoringSpec::default();
        scoring.layouts = layouts;
        resent_beside_tables(&Scores::of(&log, &scoring))
    }

    #[test]
    fn requests_that_were_sent_once_more_are_told_beside_the_peers_tables() {
        let told = said(vec![Layout::Vllm]).unwrap();
        assert!(
            told.starts_with("1 requests were sent once more on a new connection: 1 "),
            "{told}"
        );
        assert_eq!(said(vec![Layout::Vllm, Layout::Native]), None);
    }
}
