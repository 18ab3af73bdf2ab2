//! `servemark run FILE`: a run that a file describes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Parser;
use serde_json::Value;
use servemark_plan::{BenchPlan, Layout, SloSpec};

use crate::commands::rerun::credentials;
use crate::commands::score::{Objectives, objectives};
use crate::environment::Environment;
use crate::error::UsageError;
use crate::gates::GateArgs;
use crate::own::{
    DisplayArgs, OWN_TOLERANCE, PlanOnlyArgs, RUN_EXIT_CODES, StoppingArgs, online_notes,
    parse_command,
};
use crate::parsed::Parsed;
use crate::plan_file::{Setting, plan_of, read};
use crate::results_folder::ResultsFolder;

/// Run a plan from a file
///
/// The file is a plan in TOML, YAML or JSON: docs/plans.md describes it, and `servemark schema plan`
/// prints its JSON Schema for editors. Any other benchmark's command line becomes one with --plan-only
/// --as toml. All faults of the file, and files that are missing or cannot be written, are reported
/// together before anything is sent.
#[derive(Clone, Debug, Parser)]
#[command(name = "run", max_term_width = 100, after_help = online_notes(&EXAMPLES, RUN_EXIT_CODES))]
struct RunFileArgs {
    /// The plan: a file that ends in .toml, .yaml or .json
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Give a key of the file another value: load.max_concurrency=8; the value is JSON, or else a
    /// text. May be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<Setting>,
    /// Objectives in place of those of the file, such as ttft:p99<2000ms,success>=99%
    #[arg(long, value_name = "OBJECTIVES", num_args = 1.., value_parser = objectives)]
    slo: Vec<Objectives>,
    /// Header of every request, KEY=VALUE; may be given several times. The API key is read from
    /// OPENAI_API_KEY or API_KEY
    #[arg(long, value_name = "KEY=VALUE")]
    header: Vec<String>,
    /// Folder of the results: report.html, summary.json and run.runlog.jsonl; by default
    /// servemark-results/DATE_TIME
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one document of JSON in place of the tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    display: DisplayArgs,
    #[command(flatten)]
    plan: PlanOnlyArgs,
    #[command(flatten)]
    stopping: StoppingArgs,
    #[command(flatten)]
    gates: GateArgs,
}

const EXAMPLES: [&str; 3] = [
    "servemark run bench.toml",
    "servemark run bench.toml --set load.max_concurrency=32 --set model.name=m",
    "servemark vllm bench serve ... --plan-only --as toml > bench.toml",
];

/// A run that a file describes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FileRun {
    /// Path of the file.
    pub file: PathBuf,
    /// The run, without the faulty keys of the file if it has any; absent if the rest is no plan.
    pub parsed: Option<Parsed>,
    /// Faults of the file and of the options, a line each. With any of them nothing is run.
    pub faults: Vec<String>,
    /// Folder of the results.
    pub folder: ResultsFolder,
    /// Whether the tables are printed, and not only a summary: with `--full`, and if the file names
    /// tables.
    pub shows_tables: bool,
    /// Whether no progress is displayed.
    pub quiet: bool,
    /// Port at which the page is served while the run goes on; `None` if it is not served.
    pub live: Option<u16>,
    /// Where the verdicts of gates are written.
    pub gates: GateArgs,
}

/// Returns the command with its flags, for completions.
pub(crate) fn clap_command() -> clap::Command {
    <RunFileArgs as clap::CommandFactory>::command()
}

/// Parses the arguments of `servemark run`. Faults of the file are part of the result.
pub(crate) fn parse(
    args: impl Iterator<Item = OsString>,
    environment: &Environment,
) -> Result<FileRun, UsageError> {
    let args: RunFileArgs = parse_command("servemark run", args)?;
    let content = read(&args.file, environment);
    Ok(file_run(args, content, environment))
}

impl FileRun {
    /// Describes the run of a file as `servemark run FILE` does, with the results in `out` or in the
    /// usual folder.
    pub fn of_file(file: PathBuf, out: Option<PathBuf>, environment: &Environment) -> Self {
        let content = read(&file, environment);
        file_run(RunFileArgs { out, ..RunFileArgs::of(file) }, content, environment)
    }

    /// Describes the run of a plan that is no file, with the results in `out` or in the usual folder.
    /// Messages call it `name`.
    pub fn of_document(
        (name, document): (&str, Value),
        out: Option<PathBuf>,
        environment: &Environment,
    ) -> Self {
        file_run(RunFileArgs { out, ..RunFileArgs::of(name.into()) }, Ok(document), environment)
    }
}

impl RunFileArgs {
    /// Returns the arguments that name a file alone.
    fn of(file: PathBuf) -> Self {
        let args = ["run".into(), "--".into(), file.into_os_string()];
        Self::try_parse_from(args).expect("a file is all that is required")
    }
}

/// Describes a run, given the content of its file or why it cannot be read.
fn file_run(
    args: RunFileArgs,
    content: Result<Value, String>,
    environment: &Environment,
) -> FileRun {
    let mut faults = Vec::new();
    let credentials = credentials(&args.header, environment)
        .map_err(|error| faults.push(error.to_string()))
        .unwrap_or_default();
    let document = document(&args, content, &mut faults);
    let names_tables =
        document.as_ref().is_some_and(|file| file.pointer("/scoring/layouts").is_some());
    let shows_tables = args.display.full || names_tables;
    let plan = document.and_then(|document| plan(&args, document, &mut faults));
    let parsed = plan.map(|plan| Parsed {
        json: args.json,
        plan_only: args.plan.printed_plan(),
        ..Parsed::new(plan, credentials, environment, args.stopping.grace)
    });
    let folder = ResultsFolder::named_or_usual(args.out, environment);
    let gates = args.gates.in_environment(environment);
    let DisplayArgs { quiet, live, .. } = args.display;
    FileRun { file: args.file, parsed, faults, folder, shows_tables, quiet, live, gates }
}

/// Returns the content of the file with the values of `--set`, or `None` if there is none. Adds all
/// faults to `faults`.
fn document(
    args: &RunFileArgs,
    content: Result<Value, String>,
    faults: &mut Vec<String>,
) -> Option<Value> {
    let mut document =
        content.map_err(|why| faults.push(format!("{} {why}", path_text(&args.file)))).ok()?;
    faults.extend(args.set.iter().filter_map(|setting| setting.apply(&mut document).err()));
    Some(document)
}

/// Returns the plan of a file's content, without the faulty keys if it has any, or `None` if the rest
/// is no plan. Adds all faults to `faults`.
fn plan(args: &RunFileArgs, mut document: Value, faults: &mut Vec<String>) -> Option<BenchPlan> {
    with_own_defaults(&mut document);
    let mut plan = match plan_of(&document) {
        Ok(plan) => plan,
        Err(found) => {
            faults.extend(found.faults);
            *found.rest?
        }
    };
    if !args.slo.is_empty() {
        let objectives = args.slo.iter().flat_map(|list| list.0.iter().copied());
        plan.scoring.slo = Some(SloSpec::new(objectives));
    }
    Some(plan)
}

/// Sets what commands of Servemark's own do differently from the peers, unless the file says it.
fn with_own_defaults(document: &mut Value) {
    let Some(fields) = document.as_object_mut() else { return };
    let scoring = fields.entry("scoring").or_insert_with(|| Value::Object(serde_json::Map::new()));
    let own = [
        ("layouts", serde_json::to_value([Layout::Native])),
        ("tolerated_failures", serde_json::to_value(OWN_TOLERANCE)),
    ];
    if let Some(scoring) = scoring.as_object_mut() {
        for (key, value) in own {
            scoring.entry(key).or_insert_with(|| value.unwrap_or_default());
        }
    }
}

fn path_text(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "backend = 'vllm'\nserver.at.base_url = 'http://h:1'\n\
                        workload.dataset.dataset = 'sharegpt'\n";

    fn run(file: &str, args: &[&str]) -> FileRun {
        let environment = Environment::default().with_file("a.toml", file);
        let args = ["a.toml"].iter().chain(args).map(OsString::from);
        parse(args, &environment).unwrap()
    }

    #[test]
    fn options_change_the_plan_of_the_file() {
        let args = ["--set", "load.max_concurrency=3", "--slo", "ttft:p90<1s", "--out", "x"];
        let run = run(FILE, &args);
        assert_eq!(run.faults, Vec::<String>::new());
        let plan = run.parsed.unwrap().plan;
        assert_eq!(plan.load.max_concurrency.map(usize::from), Some(3));
        assert_eq!(plan.scoring.layouts, [Layout::Native]);
        assert!(plan.scoring.slo.is_some());
        assert_eq!(run.folder, ResultsFolder::Named("x".into()));
    }

    #[test]
    fn all_faults_are_told_together() {
        let file = format!("{FILE}workload.sed = 3\n[laod]\n");
        let run = run(&file, &["--header", "x", "--set", "backend.x=1"]);
        assert!(run.parsed.is_some(), "the rest can be checked further");
        let reported = run.faults.join("\n");
        for part in ["--header", "--set backend.x", "did you mean seed?", "did you mean load?"] {
            assert!(reported.contains(part), "{part:?} is not in {reported}");
        }
    }

    #[test]
    fn a_document_is_a_run_like_a_file() {
        let folder = || Some("--out".into());
        let environment = Environment::default().with_file("-a.toml", FILE);
        let of_file = FileRun::of_file("-a.toml".into(), folder(), &environment);
        let document = serde_json::json!({
            "backend": "vllm",
            "server": {"at": {"base_url": "http://h:1"}},
            "workload": {"dataset": {"dataset": "sharegpt"}},
        });
        let plan = ("the plan", document);
        let of_document = FileRun::of_document(plan, folder(), &Environment::default());
        assert_eq!(of_file.parsed.unwrap().plan, of_document.parsed.unwrap().plan);
        assert_eq!(of_document.folder, ResultsFolder::Named("--out".into()));
        let plan = ("the plan", serde_json::json!({"laod": {}}));
        let faulty = FileRun::of_document(plan, None, &Environment::default());
        assert!(faulty.faults.join("\n").contains("did you mean load?"), "{:?}", faulty.faults);
    }

    #[test]
    fn the_log_is_in_the_folder_unless_the_file_names_another() {
        for (more, log) in [("", "x/run.runlog.jsonl"), ("output.run_log = 'y'\n", "y")] {
            let mut parsed = run(&format!("{FILE}{more}"), &[]).parsed.unwrap();
            parsed.keep_in(Path::new("x"));
            assert_eq!(parsed.plan.output.run_log.as_deref(), Some(Path::new(log)));
        }
    }
}
