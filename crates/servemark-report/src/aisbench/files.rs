//! AISBench's two tables as CSV and JSON files.

use std::io;

use serde_json::{Value, json};
use servemark_core::JsonObject;
use servemark_pyjson::{Style, Text, to_writer};

use super::AisbenchOptions;
use super::rows::Rows;
use crate::grid::quoted;
use crate::{Report, ReportFormat};

/// The first table (per-request quantities) as comma-separated values. Writes nothing if the stage
/// has no results.
#[derive(Clone, Debug, Default)]
pub struct AisbenchCsv {
    options: AisbenchOptions,
}

/// The second table (figures of the run) as a JSON object. Writes an empty object if the stage has
/// no results.
#[derive(Clone, Debug, Default)]
pub struct AisbenchJson {
    options: AisbenchOptions,
}

impl AisbenchCsv {
    /// Returns a CSV report with the given options.
    pub fn new(options: AisbenchOptions) -> Self {
        Self { options }
    }
}

impl AisbenchJson {
    /// Returns a JSON report with the given options.
    pub fn new(options: AisbenchOptions) -> Self {
        Self { options }
    }
}

/// Lines end in `\r\n`, as Python's `csv` module writes them.
impl ReportFormat for AisbenchCsv {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let Ok(rows) = Rows::of(report, &self.options) else { return Ok(()) };
        let statistics = rows.statistics.iter().map(ToString::to_string);
        let heads = ["Performance Parameters", "Stage"].map(str::to_owned).into_iter();
        line(heads.chain(statistics).chain(["N".to_owned()]), out)?;
        for row in &rows.parameters {
            let names = [row.name, rows.stage.name()].map(str::to_owned).into_iter();
            line(names.chain(row.cells.clone()).chain([row.requests.to_string()]), out)?;
        }
        Ok(())
    }
}

impl ReportFormat for AisbenchJson {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let rows = Rows::of(report, &self.options).ok();
        let entries = rows.into_iter().flat_map(|rows| {
            let stage = rows.stage.name();
            let entry =
                move |(name, value): (&str, Value)| (name.to_owned(), json!({stage: value}));
            rows.common.into_iter().map(entry)
        });
        let object: JsonObject = entries.collect();
        to_writer(&object, Style::new(Text::Unicode, Some(4)), out).map_err(io::Error::from)
    }
}

fn line(cells: impl Iterator<Item = String>, out: &mut dyn io::Write) -> io::Result<()> {
    let cells: Vec<String> = cells.map(|cell| quoted(&cell)).collect();
    write!(out, "{}\r\n", cells.join(","))
}
