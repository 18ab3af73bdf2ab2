//! Tests of command lines that the peers and their users publish: each becomes a plan, or is
//! refused with its reason.
//!
//! The files in `fixtures/published/` list them under the place where they are published, each with
//! its outcome: `=` before a summary of the plan, or `!` before the last line of the refusal.

use std::ffi::OsString;
use std::fmt::Write as _;

use servemark_cli::evalscope::EvalscopeTask;
use servemark_cli::vllm::sweep::SweepCommand;
use servemark_cli::{Command, Environment, Invocation, Parsed, dispatch};
use servemark_plan::BenchPlan;
use servemark_schedule::ArrivalSpec;

#[test]
fn every_published_command_line_is_a_plan_or_is_refused_with_its_reason() {
    check("commands.txt");
}

#[cfg(feature = "engine")]
#[test]
fn so_is_every_one_for_an_engine_without_a_server() {
    check("engines.txt");
}

#[track_caller]
fn check(file: &str) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/published");
    let fixture = std::fs::read_to_string(format!("{folder}/{file}")).unwrap();
    let mut found = String::new();
    for line in fixture.lines().filter(|line| !line.starts_with(['=', '!'])) {
        let _ = writeln!(found, "{line}");
        if let Some(command) = line.strip_prefix("$ ") {
            let _ = writeln!(found, "{}", outcome(command));
        }
    }
    let differing: Vec<(&str, &str)> =
        fixture.lines().zip(found.lines()).filter(|(one, other)| one != other).collect();
    assert_eq!(fixture, found, "{differing:#?}");
}

fn outcome(command: &str) -> String {
    let words: Vec<OsString> = words(command).into_iter().map(Into::into).collect();
    match dispatch::parse(words, &Environment::default()) {
        Ok(invocation) => format!("= {}", gist(&invocation)),
        Err(refusal) => {
            let message = refusal.to_string();
            let last = message.trim_end().lines().last().unwrap_or_default();
            // The list of built-in names changes, and is tested elsewhere.
            format!("! {}", last.split("; built in are").next().unwrap_or_default())
        }
    }
}

/// Returns a summary of a command line: its kind, and its first plan.
fn gist(invocation: &Invocation) -> String {
    let of = |what: &str, parsed: &Parsed| format!("{what} {}", of_plan(&parsed.plan));
    match invocation {
        Invocation::Bench(parsed) => of("run", parsed),
        Invocation::Offline(offline) => of("engine", &offline.run),
        Invocation::Command(Command::OneBatch(bench)) => {
            let started = if bench.launch.is_some() { " of a server of its own" } else { "" };
            format!("{} batches{started} {}", bench.batches.len(), of_plan(&bench.common.plan))
        }
        Invocation::Command(Command::Aisbench(tasks)) => {
            let of_task = |task: &servemark_cli::aisbench::Task| of(&task.name, &task.parsed);
            tasks.tasks.iter().map(of_task).collect::<Vec<_>>().join("; ")
        }
        Invocation::Command(Command::Evalscope(runs)) => match &runs.task {
            EvalscopeTask::Runs(spec) => {
                of(&format!("{} runs", spec.points(0).unwrap().len()), &runs.first)
            }
            EvalscopeTask::Search(_) => of("search", &runs.first),
        },
        Invocation::Command(Command::TextSlices(slices)) => {
            format!("{} prompts of a text in {}", slices.count, slices.output.display())
        }
        Invocation::Command(Command::VllmSweep(sweep)) => of_sweep(sweep),
        other => panic!("no gist is known of {other:?}"),
    }
}

fn of_sweep(sweep: &SweepCommand) -> String {
    match sweep {
        SweepCommand::Plot(plot) => format!("plot of {}", plot.folder.display()),
        SweepCommand::PlotPareto(plot) => format!("Pareto plot of {}", plot.folder.display()),
        SweepCommand::Serve(serve) => {
            let levels = serve.workload.as_ref().map_or_else(String::new, |load| {
                format!(", {} levels of {}", load.levels, load.variable.as_str())
            });
            let (runs, server) = (serve.experiment.runs, serve.serve.join(" "));
            format!("sweep x{runs} of {server}{levels}")
        }
        SweepCommand::Startup(startup) => {
            format!("sweep x{} of {}", startup.experiment.runs, startup.command.join(" "))
        }
    }
}

fn of_plan(plan: &BenchPlan) -> String {
    let BenchPlan { workload, load, .. } = plan;
    let wire = serde_json::to_value(&plan.wire).unwrap();
    let dialect = ["dialect", "api", "kind"].iter().find_map(|key| wire.get(key)?.as_str());
    let backend = dialect.map_or_else(|| plan.backend.to_string(), str::to_owned);
    let arrivals = match &load.arrivals {
        ArrivalSpec::Burst => "at once".to_owned(),
        other => serde_json::to_string(other).unwrap(),
    };
    let limit =
        load.max_concurrency.map_or_else(String::new, |limit| format!(", {limit} in flight"));
    let (dataset, requests) = (workload.dataset.name(), workload.requests);
    format!("{backend} {} x{requests} {arrivals}{limit}", dataset.as_str())
}

/// Splits a command line into words as a shell does.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for sign in line.chars() {
        match (sign, quote) {
            (sign, Some(open)) if sign == open => quote = None,
            ('\'' | '"', None) => quote = Some(sign),
            (' ', None) => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
            _ => word.push(sign),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}
