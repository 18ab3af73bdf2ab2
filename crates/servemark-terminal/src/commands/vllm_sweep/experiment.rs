//! The folder of an experiment: combinations, results and failures.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};
use servemark::core::JsonObject;
use servemark::report::Records;
use servemark::runner::Stop;
use servemark::{ExitCode, RunContext, create_new_folder};
use servemark_cli::CliError;
use servemark_cli::vllm::sweep::{Combination, Experiment, combinations, file_name};
use servemark_pyjson::{Style, Text, standard, to_string};

use crate::{documents, screen};

/// Runs an experiment in its folder, and prints the folder and the outcome.
pub(super) fn keep(
    experiment: &Experiment,
    context: &RunContext,
    measure: impl FnOnce() -> anyhow::Result<Vec<JsonObject>>,
) -> anyhow::Result<ExitCode> {
    refuse_folder(experiment)?;
    if !experiment.resume && !experiment.dry_run {
        make_folder(&experiment.folder)?;
    }
    let kept = run_and_save(experiment, measure);
    if kept.is_err() && !experiment.resume {
        // Only a folder without any result can be removed.
        let _ = fs::remove_dir(&experiment.folder);
    }
    match kept {
        Err(error) if context.stop.signal().is(Stop::Drain) => {
            screen::eprint_line(&format!("{error:#}"));
            Ok(ExitCode::Interrupted)
        }
        done => done.map(|()| ExitCode::Ok),
    }
}

fn refuse_folder(experiment: &Experiment) -> Result<(), CliError> {
    let folder = experiment.folder.display();
    match (experiment.resume, experiment.folder.exists()) {
        (true, false) => {
            Err(CliError::Setting { flag: "--resume", why: format!("finds no {folder}") })
        }
        (false, true) => Err(folder_exists_error(&experiment.folder)),
        _ => Ok(()),
    }
}

fn folder_exists_error(folder: &Path) -> CliError {
    let why = format!("{} exists already; --resume goes on with it", folder.display());
    CliError::Setting { flag: "--experiment-name", why }
}

/// Creates the folder of an experiment. It is an error if another process has created it by now.
fn make_folder(folder: &Path) -> anyhow::Result<()> {
    match create_new_folder([folder.to_owned()]) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(folder_exists_error(folder).into())
        }
        made => made.map(drop).with_context(|| cannot_write(folder)),
    }
}

fn run_and_save(
    experiment: &Experiment,
    measure: impl FnOnce() -> anyhow::Result<Vec<JsonObject>>,
) -> anyhow::Result<()> {
    let folder = &experiment.folder;
    if experiment.dry_run {
        measure()?;
        print_line(&format!("Experiment will be saved at: {}", folder.display()));
        return Ok(());
    }
    let rows = measure().context(STOPPED)?;
    fs::create_dir_all(folder).with_context(|| cannot_write(folder))?;
    let document = experiment.json.then(|| {
        let folder = folder.display().to_string();
        json!({"schema": "servemark/experiment/1", "folder": folder, "results": rows})
    });
    write_summary(&folder.join("summary.csv"), rows)?;
    document.iter().for_each(documents::print);
    print_line(&format!("Experiment has been saved at: {}", folder.display()));
    Ok(())
}

fn write_summary(path: &Path, rows: Vec<JsonObject>) -> anyhow::Result<()> {
    let mut csv = Vec::new();
    Records::new(rows).write_csv(&mut csv)?;
    fs::write(path, csv).with_context(|| cannot_write(path))
}

/// Returns the combinations of a file; without a file, a single one that changes nothing.
pub(super) fn parameters(file: Option<&Path>) -> anyhow::Result<Vec<Combination>> {
    let Some(path) = file else { return Ok(vec![Combination::default()]) };
    let text = fs::read_to_string(path);
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    combinations(&text).with_context(|| path.display().to_string())
}

/// Returns the path of the result of a combination's run with index `run`.
pub(super) fn run_file(folder: &Path, run: u32) -> PathBuf {
    folder.join(format!("run={run}.json"))
}

/// Returns the path of the results of all runs of a combination.
pub(super) fn summary_file(folder: &Path) -> PathBuf {
    folder.join("summary.json")
}

/// Reads a result and adds the parameters of its run. A parameter replaces a result of equal name.
pub(super) fn read_result(
    path: &Path,
    run: i64,
    of: &[&Combination],
) -> anyhow::Result<JsonObject> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot find results at {}", path.display()))?;
    let mut result: JsonObject = serde_json::from_str(&standard(&text))
        .with_context(|| format!("{} holds no result", path.display()))?;
    result.insert("run_number".to_owned(), json!(run));
    for (key, value) in of.iter().flat_map(|combination| combination.parameters()) {
        result.insert(key.clone(), value.clone());
    }
    Ok(result)
}

/// Writes a document as Python's `json.dump` does with an indent.
pub(super) fn write_json(
    path: &Path,
    document: &impl serde::Serialize,
    indent: usize,
) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| cannot_write(folder))?;
    }
    let text = to_string(document, Style::new(Text::Ascii, Some(indent)))?;
    fs::write(path, text).with_context(|| cannot_write(path))
}

/// Writes a file about a failed run beside its result.
pub(super) fn write_failure(
    result: &Path,
    run: i64,
    error: &anyhow::Error,
    of: [&Combination; 2],
) -> anyhow::Result<()> {
    let path = result.with_extension("failure.json");
    let failure = json!({
        "run_number": run,
        "error_type": "BenchmarkFailed",
        "error": format!("{error:#}"),
        "serve_overrides": of[0].parameters(),
        "bench_overrides": of[1].parameters(),
    });
    write_json(&path, &failure, 2)?;
    print_line(&format!("[FAILED BENCHMARK] run={run}: {error:#}"));
    print_line(&format!("Failure details: {}", path.display()));
    Ok(())
}

/// Writes a file about a failed server.
pub(super) fn write_server_failure(
    experiment: &Path,
    error: &anyhow::Error,
    serve: &Combination,
) -> anyhow::Result<()> {
    let named = |nameless: &str| {
        Some(serve.name()).filter(|name| !name.is_empty()).unwrap_or_else(|| nameless.to_owned())
    };
    let path = experiment.join(file_name(&format!("SERVE-{}-failure.json", named("default"))));
    let failure = json!({
        "error_type": "ServerFailed",
        "error": format!("{error:#}"),
        "serve_overrides": serve.parameters(),
    });
    write_json(&path, &failure, 2)?;
    print_line(&format!("[FAILED SERVER COMBINATION] {}: {error:#}", named("(default)")));
    print_line(&format!("Failure details: {}", path.display()));
    Ok(())
}

/// Prints a line on standard output.
pub(super) fn print_line(line: &str) {
    screen::print_line(line);
}

/// Formats a list of words as Python does.
pub(super) fn python_list(words: &[String]) -> String {
    servemark_pyjson::literal(&Value::from(words))
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

const STOPPED: &str = "The script was terminated early. Use `--resume` to continue the script from its last checkpoint.";
