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
    /// servemark noise --json
    Noise,
    /// The files of servemark run
    Plan,
    /// servemark score --json and servemark run --json
    Score,
    /// servemark selftest --json and servemark doctor --json
    Selftest,
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
        SchemaName::Noise => include_str!("../../../docs/schema/noise.schema.json").to_owned(),
        SchemaName::Plan => format!("{:#}\n", plan_schema()),
        SchemaName::Score => include_str!("../../../docs/schema/score.schema.json").to_owned(),
        SchemaName::Selftest => {
            include_str!("../../../docs/schema/selftest.schema.json").to_owned()
        }
    })
}
