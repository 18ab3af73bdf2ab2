//! What a command line asked for, done.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::bail;
use servemark::core::RunLogError;
use servemark::metrics::Standing;
use servemark::plan::{Layout, OutputSpec, ScoringSpec};
use servemark::{
    CompareError, DryRun, ExecuteError, ExitCode, ProcessError, Run, RunContext, Scores,
    SweepRunError, dry_run, execute, stop_on_signals,
};
use servemark_cli::{CliError, Invocation, Parsed, PeerArguments};

use crate::failures;
use crate::screen::{self, Screen};
use crate::{outputs, results};

/// Does what was asked for and says how it went.
pub(crate) fn invoked(invocation: Invocation, files_read: &[PathBuf]) -> ExitCode {
    // A fault of a config shows now before its run and now in it.
    let speaker = if let Invocation::Aisbench(_) = invocation { "ais_bench: " } else { "" };
    let dialect = invocation.dialect();
    let done = outputs::check(&invocation, files_read).and_then(|()| done(invocation));
    let code = done.unwrap_or_else(|error| {
        let words = dialect.words(&format!("{error:#}"));
        screen::complain(&format!("{speaker}error: {words}"));
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
        Invocation::Sweep(sweep) => crate::sweep::sweep(*sweep),
        Invocation::SweepRuns(runs) => crate::sweep::sweep_runs(&runs),
        Invocation::TextSlices(slices) => crate::slices::cut(&slices),
        Invocation::VllmSweep(command) => crate::vllm_sweep::run(&command),
        _ => unreachable!("every invocation is served"),
    }
}

/// One run.
pub(crate) fn bench(parsed: &Parsed) -> anyhow::Result<ExitCode> {
    let Some(context) = prepare(parsed)? else { return Ok(ExitCode::Ok) };
    let run = execute(&parsed.plan, &as_peer(context, parsed))?;
    report(&run, &parsed.plan.scoring, &parsed.plan.output)
}

/// What would be sent, in the words of vLLM's Rust client.
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

/// What a run, or several one after the other, are given; nothing if the plan is only to be
/// printed, which is done then.
pub(crate) fn prepare(parsed: &Parsed) -> anyhow::Result<Option<RunContext>> {
    for warning in &parsed.warnings {
        screen::complain(&format!("warning: {warning}"));
    }
    if parsed.plan_only {
        screen::print(&format!("{:#}\n", parsed.plan.to_json()));
        return Ok(None);
    }
    let context = furnished(&context(parsed.progress)?, parsed);
    Ok(Some(voiced(context, parsed)))
}

/// What runs are given that a person watches at this terminal, and may stop by Ctrl-C.
pub(crate) fn context(progress: bool) -> anyhow::Result<RunContext> {
    let live = Arc::default();
    let screen = Screen::new(progress, Arc::clone(&live));
    let mut context = RunContext::new(Arc::new(screen));
    context.live = live;
    stop_on_signals(context.clone())?;
    Ok(context)
}

/// The same with what a command line adds to it.
pub(crate) fn furnished(context: &RunContext, parsed: &Parsed) -> RunContext {
    let mut context = context.clone();
    context.credentials = parsed.credentials.clone();
    context.hub = parsed.hub.clone();
    context.cache.clone_from(&parsed.cache);
    context.grace.set(parsed.grace);
    context
}

/// The same with a screen that speaks the words of the command line's dialect.
pub(crate) fn voiced(mut context: RunContext, parsed: &Parsed) -> RunContext {
    let screen = Screen::new(parsed.progress, Arc::clone(&context.live)).about(&parsed.plan);
    context.audience = Arc::new(screen);
    context
}

/// Prints the arguments as the peer's client does, on standard output, and lets its words follow them
/// there.
fn as_peer(mut context: RunContext, parsed: &Parsed) -> RunContext {
    match &parsed.peer_arguments {
        Some(PeerArguments::Sglang { given, settled }) => {
            screen::print_line(&format!("benchmark_args={given}"));
            let screen = Screen::new(parsed.progress, Arc::clone(&context.live));
            context.audience = Arc::new(screen.in_sglangs_words(settled, &parsed.plan));
        }
        Some(PeerArguments::Vllm(arguments)) => screen::print_line(&arguments.to_string()),
        _ => {}
    }
    context
}

/// The tables of a run, and what is kept of it.
pub(crate) fn report(
    run: &Run,
    scoring: &ScoringSpec,
    output: &OutputSpec,
) -> anyhow::Result<ExitCode> {
    let scores = Scores::of_run(run, scoring);
    show(&scores)?;
    keep(run, &scores, output)
}

/// The result files, and where the run log is. Says how the run went.
pub(crate) fn keep(
    run: &Run,
    scores: &Scores<'_>,
    output: &OutputSpec,
) -> anyhow::Result<ExitCode> {
    failures::note(&run.log);
    let unwritten = results::write(scores, output, run.sent.as_ref());
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
        screen::complain(&format!("Run log: {}", path.display()));
    }
    unwritten.settled(run.run_log.as_deref())?;
    Ok(scores.exit_code())
}

/// The audit and each verdict on the run on a line, whatever the tables tell of them, which of them the
/// run was not to have, and the requests that were sent once more, of which only our own table tells.
pub(crate) fn say_verdict(scores: &Scores<'_>) {
    let audit = scores.audit();
    if let Some(resent) = resent_beside_tables(scores) {
        screen::complain(&format!("note: {resent}"));
    }
    screen::complain(&match scores.broken_gate() {
        None => format!("Client audit: {audit}"),
        Some(limit) => format!("error: --fail-on-verdict {limit}: the client audit is {audit}"),
    });
    for verdict in scores.verdicts() {
        screen::complain(&format!("Run verdict: {}: {}", verdict.kind.name(), verdict.reason));
    }
    for (kind, reason) in scores.unwanted() {
        screen::complain(&format!("error: --fail-on {kind}: {reason}"));
    }
}

/// How many requests were sent once more, where no table tells it.
fn resent_beside_tables(scores: &Scores<'_>) -> Option<String> {
    let is_told = scores.has_table(Layout::Native);
    scores.audit().resending.resent_in_words().filter(|_| !is_told)
}

/// A line for each objective of the run.
pub(crate) fn say_objectives(scores: &Scores<'_>) {
    for judgement in scores.judgements() {
        let is_held = judgement.standing == Standing::Holds;
        let mark = if is_held { "" } else { "error: --slo: " };
        screen::complain(&format!("{mark}{judgement}"));
    }
}

/// A line for each figure that was to end the run, and whether the run is valid by the rules of its
/// profile.
pub(crate) fn say_known(scores: &Scores<'_>) {
    if let Some(result) = scores.mlperf() {
        screen::complain_lines(&result.to_string());
    }
    for known in scores.known_enough() {
        let mark = if known.is_known { "" } else { "error: --until: " };
        screen::complain(&format!("{mark}{known}"));
    }
}

/// A line for each headline figure: how many requests or runs it takes to know it to 2 %.
pub(crate) fn say_planning(scores: &Scores<'_>) {
    for planning in scores.planning() {
        screen::complain(&planning.to_string());
    }
}

/// The tables come first: whatever fails after them, the numbers were shown.
pub(crate) fn show(scores: &Scores<'_>) -> anyhow::Result<()> {
    let mut tables = Vec::new();
    scores.write_tables(&mut tables)?;
    screen::print_bytes(&tables);
    for warning in scores.warnings() {
        screen::complain(&format!("warning: {warning}"));
    }
    for difference in scores.differences() {
        screen::complain(&format!("note: {difference}"));
    }
    Ok(())
}

/// A run that did not come to its report knows its code; all else is the machine's or the user's.
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

    /// What is said beside the tables of a run one request of which was sent once more.
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
