//! Explores a server and prints what it found.

mod gates;
mod progress;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use servemark::core::printable;
use servemark::metrics::{Anatomy, Limit, SloVerdict};
use servemark::mock::{MockServer, MockSpec};
use servemark::plan::OutputSpec;
use servemark::report::{NativeTable, first_output_parts, labelled, untold_parts};
use servemark::{
    Capacity, ExitCode, Exploration, ExploreEvent, ExploreSpec, ExploredServer, LevelFigures,
    RunContext, RunObserver, Scores, explore as explore_server, find_local_server, replace_file,
    stop_on_signals,
};
use servemark_cli::{ExploreArgs, ExploreTarget};

use self::progress::ExploreProgress;
use super::live_page::RequestedPage;
use crate::{cluster, documents, results_folder, screen};

/// Explores a server, prints a table and a summary, and writes the results into a folder.
pub(crate) fn explore(args: &ExploreArgs) -> anyhow::Result<ExitCode> {
    let live_page = RequestedPage::open(args.live)?;
    let live = Arc::default();
    let progress = Arc::new(ExploreProgress::new(Arc::clone(&live), args.quiet));
    let mut context = RunContext::new(Arc::clone(&progress) as Arc<dyn RunObserver>);
    context.live = live;
    context.ranks = cluster::ranks();
    live_page.show_runs(&mut context);
    context.credentials.clone_from(&args.credentials);
    stop_on_signals(context.clone())?;
    let folder = results_folder::new_empty(&args.folder)?;
    // The simulator ends when this function does.
    let (spec, _simulator) =
        spec(args, &folder, &context).inspect_err(|_| results_folder::remove_if_empty(&folder))?;
    let found = explore_server(&spec, &context, |event| {
        if let ExploreEvent::Measuring { streams, lasts } = event {
            progress.expect(streams, lasts);
        } else {
            show(&event);
        }
    })
    .inspect_err(|_| results_folder::remove_if_empty(&folder))?;
    keep_as_run_log(&found, &folder)?;
    let report = folder.join("report.html");
    let document = format!("{:#}\n", found.to_json(Some(&report)));
    let page = page(&found, &folder)?;
    if args.json {
        screen::print_document(&document);
    }
    screen::print(&summary_of(&found, args, &folder));
    if args.full {
        let scores = Scores::of_run(&found.run, &found.plan.scoring);
        let table = NativeTable { columns: screen::columns() };
        screen::print(&screen::text(|out| scores.write_report(&table, out))?);
    }
    documents::keep(&folder, &document)?;
    replace_file(&report, &page)?;
    super::gates::write(&gates::report(&found, args), &args.gates)?;
    let scores = Scores::of_run(&found.run, &found.plan.scoring);
    live_page.finish(&scores, Some(&log(&found, &folder)));
    Ok(exit_code(&found, args))
}

/// Copies the log of the best load to [`OutputSpec::RUN_LOG`], unless it has that name: an
/// exploration that is stopped early does not measure the best load for longer.
fn keep_as_run_log(found: &Exploration, folder: &Path) -> anyhow::Result<()> {
    let (log, named) = (log(found, folder), folder.join(OutputSpec::RUN_LOG));
    if log != named {
        fs::copy(&log, &named)
            .with_context(|| format!("cannot copy {} to {}", log.display(), named.display()))?;
    }
    Ok(())
}

/// Returns the page of the run at the best load.
fn page(found: &Exploration, folder: &Path) -> anyhow::Result<Vec<u8>> {
    let source = log(found, folder).display().to_string();
    let mut page = Vec::new();
    Scores::of_run(&found.run, &found.plan.scoring).write_page(Some(&source), &mut page)?;
    Ok(page)
}

fn spec(
    args: &ExploreArgs,
    folder: &Path,
    context: &RunContext,
) -> anyhow::Result<(ExploreSpec, Option<MockServer>)> {
    let (target, simulator) = match &args.server {
        ExploreTarget::At(target) => (target.clone(), None),
        ExploreTarget::Found(target) => {
            let mut target = target.clone();
            target.base_url = find_local_server(context)?;
            (target, None)
        }
        ExploreTarget::Simulated(places) => {
            let spec = MockSpec { places: Some(*places), ..MockSpec::default() };
            let server = MockServer::start(spec)?;
            (servemark::client::TargetSpec::new(server.base_url().parse()?), Some(server))
        }
    };
    let mut spec = ExploreSpec::new(target.base_url.clone());
    spec.target = target;
    spec.model.clone_from(&args.model);
    spec.duration = args.duration;
    spec.objectives.clone_from(&args.objectives);
    spec.prompt_words = args.prompt_words;
    spec.output_tokens = args.output_tokens;
    spec.most_streams = args.most_streams;
    spec.seed = args.seed;
    spec.folder = Some(folder.to_owned());
    Ok((spec, simulator))
}

fn show(event: &ExploreEvent<'_>) {
    match event {
        ExploreEvent::Identified(server) => {
            let identity = screen::folded_lines(&identity(server), screen::columns());
            screen::print(&format!("{identity}\n\n{HEAD}\n"));
        }
        ExploreEvent::Measured(level) => screen::print(&row(level)),
        ExploreEvent::Measuring { .. } => {}
    }
}

fn identity(server: &ExploredServer) -> String {
    let version = server.version.as_deref().unwrap_or("of unknown version");
    let mut text = printable(&format!(
        "{}: {} {version}, model {}, {}",
        server.url,
        server.engine,
        server.model,
        server.route.path()
    ))
    .into_owned();
    if !server.reports_usage {
        text.push_str(
            "\nThe server reports no token counts: answers are counted with the bundled tokenizer.",
        );
    }
    text
}

const HEAD: &str = "Latencies in ms:\n streams  tokens/s   req/s TTFT p50     p99    TPOT failed";

fn row(level: &LevelFigures) -> String {
    let LevelFigures { streams, failed, .. } = level;
    let verdict = match level.slo {
        Some(SloVerdict::Holds) => "  holds",
        Some(SloVerdict::Fails) => "  fails",
        Some(_) => "  undecided",
        None => "",
    };
    let best = if level.is_best { "  longer" } else { "" };
    let [tokens, requests, p50, p99, tpot] = figures(level);
    format!(
        "{streams:>8} {tokens:>9} {requests:>7} {p50:>8} {p99:>7} {tpot:>7} {failed:>6}{verdict}{best}\n"
    )
}

/// Returns the figures of a load as text: tokens and requests per second, the median and the 99th
/// percentile of TTFT, TPOT.
fn figures(level: &LevelFigures) -> [String; 5] {
    let figures = [
        (level.output_tokens_per_s, 1),
        (level.requests_per_s, 2),
        (level.ttft_p50_ms, 1),
        (level.ttft_p99_ms, 1),
        (level.tpot_ms, 2),
    ];
    figures.map(|(value, digits)| {
        value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
    })
}

fn summary_of(found: &Exploration, args: &ExploreArgs, folder: &Path) -> String {
    let mut items = vec![("One user", one_user(found)), ("Best", best(found))];
    items.extend(capacity(found, args).map(|text| ("Capacity", text)));
    if found.is_stopped {
        items.push(("Stopped", "early: the loads above are all that was measured".to_owned()));
    }
    let audit = &found.audit;
    let client =
        format!("{}: load {}, latencies {}", audit.verdict, audit.load.verdict, audit.latencies);
    items.push(("Client", client));
    items.extend(found.verdicts.iter().map(|verdict| {
        ("Verdict", format!("{}: {}", verdict.kind.name(), printable(&verdict.reason)))
    }));
    items.extend(why(found));
    let files = format!("report.html, summary.json, {}", OutputSpec::RUN_LOG);
    items.push(("Results", format!("{} ({files})", folder.display())));
    let mut lines = vec![String::new()];
    lines.extend(items.iter().map(|(name, text)| item(name, text)));
    lines.extend(next_commands(found, args, folder));
    lines.push(String::new());
    lines.join("\n")
}

/// Formats a name and a text, which takes several lines if it is long.
fn item(name: &str, text: &str) -> String {
    labelled(name, 12, text, screen::columns())
}

/// Returns where the time of the best load's requests passed, what limits it, and what the server
/// does not tell.
fn why(found: &Exploration) -> Vec<(&'static str, String)> {
    let anatomy = Anatomy::of(&found.run.log);
    let mut items = Vec::new();
    if let Some(parts) = first_output_parts(&anatomy) {
        items.push(("TTFT is", parts));
    }
    for limit in Limit::of(&found.run.log, &found.audit) {
        items.push(("Limited by", printable(&limit.to_string()).into_owned()));
    }
    items.extend(energy(found));
    if anatomy.with_server_times == 0 {
        let way = found.server.engine.way_to_its_times();
        let way = way.map(|way| format!("; {way}")).unwrap_or_default();
        items.push(("Not told", format!("the server's own times of requests{way}")));
    } else if let Some(untold) = untold_parts(&anatomy) {
        items.push(("Not told", untold));
    }
    items
}

/// Returns what the best load took, if GPUs were read.
fn energy(found: &Exploration) -> Option<(&'static str, String)> {
    let energy = found.energy.as_ref()?;
    let of_token = energy.joules_per_output_token;
    let of_token = of_token.map(|joules| format!("{joules:.3} J per output token, "));
    let (of_token, watts) = (of_token.unwrap_or_default(), energy.mean_watts);
    let doubt = energy.reasons.first().map(|reason| format!("; not valid: {reason}"));
    let doubt = doubt.unwrap_or_default();
    Some(("Energy", format!("{of_token}{watts:.0} W in the mean{doubt}")))
}

/// Returns what the user may want to run next.
fn next_commands(found: &Exploration, args: &ExploreArgs, folder: &Path) -> Vec<String> {
    let mut lines = vec![format!("  Next        servemark score {}", log(found, folder).display())];
    if matches!(args.server, ExploreTarget::Simulated(_)) {
        lines.push("              servemark http://HOST:PORT".to_owned());
        return lines;
    }
    let streams = found.best.streams;
    lines.push(format!(
        "              servemark bench-serving --backend {} \\",
        found.plan.backend.as_str(),
    ));
    lines.push(format!("                  --base-url {} \\", found.server.url));
    let requests = REQUESTS_PER_STREAM * streams.max(REQUESTS_PER_STREAM);
    lines.push(format!("                  --max-concurrency {streams} --num-prompts {requests}"));
    lines
}

/// Requests of each stream, and the smallest number of streams, in the suggested command.
const REQUESTS_PER_STREAM: usize = 10;

fn log(found: &Exploration, folder: &Path) -> PathBuf {
    found.run.run_log.clone().unwrap_or_else(|| folder.join(OutputSpec::RUN_LOG))
}

fn one_user(found: &Exploration) -> String {
    let message =
        |value: Option<f64>| value.map_or_else(|| "?".to_owned(), |value| format!("{value:.1}"));
    let one = &found.one_user;
    format!("TTFT {} ms, {} tokens/s", message(one.ttft_ms), message(one.tokens_per_s))
}

fn best(found: &Exploration) -> String {
    let best = &found.best;
    let rate = best.output_tokens_per_s.unwrap_or_default();
    let streams = if best.streams == 1 { "stream" } else { "streams" };
    let more = if found.is_saturated { "" } else { "; more streams may yield more" };
    format!("{rate:.1} tokens/s with {} {streams}{more}", best.streams)
}

fn capacity(found: &Exploration, args: &ExploreArgs) -> Option<String> {
    let [holds, fails] = bounds(found.capacity?);
    Some(format!("{holds} at {}{fails}", objectives(args)))
}

fn objectives(args: &ExploreArgs) -> String {
    let objectives: Vec<String> = args.objectives.iter().map(ToString::to_string).collect();
    objectives.join(",")
}

/// Describes the largest load that meets the objectives, and the smallest that does not if there
/// is one.
fn bounds(capacity: Capacity) -> [String; 2] {
    let holds = match (capacity.holds, capacity.fails) {
        (Some(streams), _) => format!("{streams} streams"),
        (None, Some(_)) => "no load that was tried".to_owned(),
        (None, None) => "undecided for too few answers (give a longer --duration)".to_owned(),
    };
    let fails = capacity.fails.map(|streams| format!("; {streams} do not")).unwrap_or_default();
    [holds, fails]
}

fn exit_code(found: &Exploration, args: &ExploreArgs) -> ExitCode {
    let verdict = found.capacity.map(verdict_on);
    match verdict {
        _ if found.is_stopped => ExitCode::Interrupted,
        _ if has_too_many_failed(found, args) => ExitCode::TooManyFailed,
        Some(SloVerdict::Fails) => ExitCode::GateFailed,
        Some(SloVerdict::Undecided) => ExitCode::Undecided,
        _ => ExitCode::Ok,
    }
}

/// Returns whether a load meets the objectives.
fn verdict_on(capacity: Capacity) -> SloVerdict {
    match (capacity.holds, capacity.fails) {
        (Some(_), _) => SloVerdict::Holds,
        (None, Some(_)) => SloVerdict::Fails,
        (None, None) => SloVerdict::Undecided,
    }
}

/// Returns whether more requests of the best load failed than are tolerated.
fn has_too_many_failed(found: &Exploration, args: &ExploreArgs) -> bool {
    let best = &found.best;
    let all = (best.requests + best.failed).max(1);
    best.failed as f64 > args.tolerated_failures * all as f64
}
