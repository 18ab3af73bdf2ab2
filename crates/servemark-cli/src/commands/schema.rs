//! `servemark schema`: the published JSON Schemas.

use std::ffi::OsString;

use clap::{Parser, ValueEnum};
use servemark_plan::plan_schema;

use crate::argparse::Flag;
use crate::error::{CliError, UsageError};
use crate::own::{PLAIN_EXIT_CODES, notes, parse_command};

/// Print a JSON Schema: of the files that servemark run reads, or of what --json prints
#[derive(Clone, Debug, Parser)]
#[command(name = "schema", max_term_width = 100, after_help = notes(&EXAMPLES, PLAIN_EXIT_CODES))]
struct SchemaArgs {
    /// Document that the schema is of
    #[arg(value_name = "NAME")]
    name: SchemaName,
}

const EXAMPLES: [&str; 2] = ["servemark schema plan > plan.schema.json", "servemark schema score"];

/// A document with a published schema.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum SchemaName {
    /// servemark ab --json
    Ab,
    /// servemark compare --json
    Compare,
    /// vllm bench serve --dry-run --json
    DryRun,
    /// --json of vLLM's sweeps of servers
    Experiment,
    /// servemark [URL] --json and servemark demo --json
    Explore,
    /// --json of commands that write files: servemark export, the plots of vLLM's sweeps
    Files,
    /// bench-embedding --sweep --json, summary.json of the grid
    Grid,
    /// servemark noise --json
    Noise,
    /// The files of servemark run
    Plan,
    /// --json of several runs in a peer's dialect: AISBench, evalscope, SGLang's batches, vllm bench
    /// serve with --num-runs or --sweep-…
    Runs,
    /// --json of a run (servemark run, rerun and score, bench-serving, bench-embedding,
    /// bench-offline, vllm bench serve, throughput and latency), and its summary.json
    Score,
    /// --json of a search (--slo-search), and its summary.json
    Search,
    /// servemark selftest --json and servemark doctor --json
    Selftest,
    /// --json of a sweep (--sweep), and its summary.json
    Sweep,
}

/// Returns the command with its flags, for completions.
pub(crate) fn clap_command() -> clap::Command {
    <SchemaArgs as clap::CommandFactory>::command()
}

/// Parses the arguments of `servemark schema` and returns the text of the schema.
pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<String, UsageError> {
    let SchemaArgs { name } = parse_command("servemark schema", args)?;
    Ok(text(name))
}

fn text(name: SchemaName) -> String {
    let published = match name {
        SchemaName::Plan => return format!("{:#}\n", plan_schema()),
        SchemaName::Ab => include_str!("../../schema/ab.schema.json"),
        SchemaName::Compare => include_str!("../../schema/compare.schema.json"),
        SchemaName::DryRun => include_str!("../../schema/dry-run.schema.json"),
        SchemaName::Experiment => include_str!("../../schema/experiment.schema.json"),
        SchemaName::Explore => include_str!("../../schema/explore.schema.json"),
        SchemaName::Files => include_str!("../../schema/files.schema.json"),
        SchemaName::Grid => include_str!("../../schema/grid.schema.json"),
        SchemaName::Noise => include_str!("../../schema/noise.schema.json"),
        SchemaName::Runs => include_str!("../../schema/runs.schema.json"),
        SchemaName::Score => include_str!("../../schema/score.schema.json"),
        SchemaName::Search => include_str!("../../schema/search.schema.json"),
        SchemaName::Selftest => include_str!("../../schema/selftest.schema.json"),
        SchemaName::Sweep => include_str!("../../schema/sweep.schema.json"),
    };
    published.to_owned()
}

/// Commands without `--json`, each with the reason.
const WITHOUT_DOCUMENT: [(&str, &str); 5] = [
    ("completions", "what it prints is a script for a shell"),
    ("launch", "what it prints is what its command prints, which takes --json behind the --"),
    ("man", "what it prints is a page for man"),
    ("mock-server", "what it prints is its address; --truth and --requests write lines of JSON"),
    ("schema", "what it prints is JSON already"),
];

/// Refuses `--json` for a command that prints no document.
pub(crate) fn refuse_document(command: &str, args: &[OsString]) -> Result<(), UsageError> {
    let found = WITHOUT_DOCUMENT.iter().find(|(name, _)| *name == command);
    let own = || args.iter().take_while(|arg| *arg != "--");
    match found {
        Some((name, why)) if own().any(|arg| arg == JSON.name()) => {
            let program = format!("servemark {name}");
            Err(UsageError::refused(&program, CliError::no_effect(JSON, format!("here: {why}"))))
        }
        _ => Ok(()),
    }
}

const JSON: Flag = Flag::new("--json");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::commands::completions::whole;

    /// Commands that print a document with `--json`, each with the schemas of its documents.
    const PRINTED: [(&str, &[SchemaName]); 24] = {
        use SchemaName::{
            Ab, Compare, DryRun, Experiment, Explore, Files, Grid, Noise, Runs, Score, Search,
            Selftest, Sweep,
        };
        [
            ("servemark", &[Explore]),
            ("servemark ab", &[Ab]),
            ("servemark ais_bench", &[Runs]),
            ("servemark bench-embedding", &[Score, Grid, Search]),
            ("servemark bench-offline", &[Score]),
            ("servemark bench-serving", &[Score, Search, Sweep]),
            ("servemark compare", &[Compare]),
            ("servemark demo", &[Explore]),
            ("servemark doctor", &[Selftest]),
            ("servemark evalscope perf", &[Runs]),
            ("servemark export", &[Files]),
            ("servemark noise", &[Noise]),
            ("servemark rerun", &[Score]),
            ("servemark run", &[Score]),
            ("servemark score", &[Score]),
            ("servemark selftest", &[Selftest]),
            ("servemark vllm bench latency", &[Score]),
            ("servemark vllm bench serve", &[Score, Compare, DryRun, Runs, Search, Sweep]),
            ("servemark vllm bench sweep plot", &[Files]),
            ("servemark vllm bench sweep plot_pareto", &[Files]),
            ("servemark vllm bench sweep serve", &[Experiment]),
            ("servemark vllm bench sweep serve_workload", &[Experiment]),
            ("servemark vllm bench sweep startup", &[Experiment]),
            ("servemark vllm bench throughput", &[Score]),
        ]
    };

    /// Adds the command and all commands below it that do something by themselves.
    fn add_commands(command: &clap::Command, above: &str, found: &mut Vec<(String, bool)>) {
        let name = format!("{above} {}", command.get_name()).trim_start().to_owned();
        let mut longs = command.get_arguments().filter_map(clap::Arg::get_long);
        let prints_document = longs.any(|long| long == "json");
        for below in command.get_subcommands() {
            add_commands(below, &name, found);
        }
        if above.is_empty() || !command.has_subcommands() {
            found.push((name, prints_document));
        }
    }

    #[test]
    fn each_command_has_a_document_with_a_schema_or_a_reason_for_none() {
        let mut found = Vec::new();
        add_commands(&whole(), "", &mut found);
        let with: BTreeSet<&str> =
            found.iter().filter(|(_, prints)| *prints).map(|(name, _)| name.as_str()).collect();
        let is_built = |name: &&str| cfg!(feature = "engine") || !name.ends_with("bench-offline");
        let described: BTreeSet<&str> =
            PRINTED.map(|(name, _)| name).into_iter().filter(is_built).collect();
        assert_eq!(with, described, "a command prints a document that has no schema");
        let without = found.iter().filter(|(_, prints)| !*prints).map(|(name, _)| name.as_str());
        let is_built = |name: &&str| cfg!(feature = "mock-server") || *name != "mock-server";
        let reasons = WITHOUT_DOCUMENT.map(|(name, _)| name).into_iter().filter(is_built);
        let reasons: Vec<_> = reasons.map(|name| format!("servemark {name}")).collect();
        assert_eq!(without.collect::<BTreeSet<_>>(), reasons.iter().map(String::as_str).collect());
        let named: Vec<SchemaName> =
            PRINTED.iter().flat_map(|(_, documents)| *documents).copied().collect();
        for name in SchemaName::value_variants() {
            let is_file = *name == SchemaName::Plan;
            assert!(is_file || named.contains(name), "no command prints {name:?}");
        }
    }

    #[test]
    fn commands_of_a_module_alone_print_a_document_too() {
        for command in [crate::sglang::one_batch::clap_command(), crate::vllm::slices_command()] {
            let has = command.get_arguments().any(|arg| arg.get_long() == Some("json"));
            assert!(has, "{}", command.get_name());
        }
    }

    #[test]
    fn a_command_without_a_document_says_why() {
        for (command, why) in WITHOUT_DOCUMENT {
            let refused = refuse_document(command, &["--json".into()]).unwrap_err().to_string();
            assert!(refused.contains("--json has no effect here: ") && refused.contains(why));
            assert!(refuse_document(command, &["bash".into()]).is_ok());
        }
        assert!(refuse_document("score", &["--json".into()]).is_ok());
        let inner = ["--", "bench-serving", "--json"].map(Into::into);
        assert!(refuse_document("launch", &inner).is_ok());
    }
}
