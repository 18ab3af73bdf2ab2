//! `servemark schema`: the published JSON Schemas.

use std::ffi::OsString;

use clap::{Parser, ValueEnum};
use servemark_plan::plan_schema;

use crate::error::UsageError;
use crate::own::parse_command;

/// Print a JSON Schema: of the files that servemark run reads, or of what --json prints
#[derive(Clone, Debug, Parser)]
#[command(name = "schema", max_term_width = 100)]
struct SchemaArgs {
    /// Document that the schema is of
    #[arg(value_name = "NAME")]
    name: SchemaName,
}

/// A document with a published schema.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum SchemaName {
    /// servemark ab --json
    Ab,
    /// servemark compare --json
    Compare,
    /// servemark [URL] --json and servemark demo --json
    Explore,
    /// bench-embedding --sweep --json, summary.json of the grid
    Grid,
    /// servemark noise --json
    Noise,
    /// The files of servemark run
    Plan,
    /// --json of a run (servemark run, rerun and score, bench-serving, bench-embedding,
    /// bench-offline), and its summary.json
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
    Ok(match name {
        SchemaName::Ab => include_str!("../../../docs/schema/ab.schema.json").to_owned(),
        SchemaName::Compare => include_str!("../../../docs/schema/compare.schema.json").to_owned(),
        SchemaName::Explore => include_str!("../../../docs/schema/explore.schema.json").to_owned(),
        SchemaName::Grid => include_str!("../../../docs/schema/grid.schema.json").to_owned(),
        SchemaName::Noise => include_str!("../../../docs/schema/noise.schema.json").to_owned(),
        SchemaName::Plan => format!("{:#}\n", plan_schema()),
        SchemaName::Score => include_str!("../../../docs/schema/score.schema.json").to_owned(),
        SchemaName::Search => include_str!("../../../docs/schema/search.schema.json").to_owned(),
        SchemaName::Selftest => {
            include_str!("../../../docs/schema/selftest.schema.json").to_owned()
        }
        SchemaName::Sweep => include_str!("../../../docs/schema/sweep.schema.json").to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::completions::whole;

    /// Commands that print a document with `--json`, each with the schemas of its documents.
    const PRINTED: [(&str, &[SchemaName]); 13] = {
        use SchemaName::{Ab, Compare, Explore, Grid, Noise, Score, Search, Selftest, Sweep};
        [
            ("ab", &[Ab]),
            ("bench-embedding", &[Score, Grid, Search]),
            ("bench-offline", &[Score]),
            ("bench-serving", &[Score, Search, Sweep]),
            ("compare", &[Compare]),
            ("demo", &[Explore]),
            ("doctor", &[Selftest]),
            ("noise", &[Noise]),
            ("rerun", &[Score]),
            ("run", &[Score]),
            ("score", &[Score]),
            ("selftest", &[Selftest]),
            ("servemark", &[Explore]),
        ]
    };

    #[test]
    fn each_command_with_a_document_has_a_schema_and_each_schema_has_a_document() {
        let whole = whole();
        let prints = |command: &clap::Command| {
            command.get_arguments().any(|arg| arg.get_long() == Some("json"))
        };
        let commands = whole.get_subcommands().chain([&whole]).filter(|command| prints(command));
        let commands: BTreeSet<&str> = commands.map(clap::Command::get_name).collect();
        let is_built = |name: &&str| cfg!(feature = "engine") || *name != "bench-offline";
        let named: BTreeSet<&str> =
            PRINTED.map(|(name, _)| name).into_iter().filter(is_built).collect();
        assert_eq!(commands, named, "a command prints a document that has no schema");
        let described: Vec<SchemaName> =
            PRINTED.iter().flat_map(|(_, documents)| *documents).copied().collect();
        for name in SchemaName::value_variants() {
            let is_file = *name == SchemaName::Plan;
            assert!(is_file || described.contains(name), "no command prints {name:?}");
        }
    }
}
