//! AISBench's two tables on the terminal.

use std::io;

use serde_json::Value;
use servemark_core::printable;

use super::rows::Rows;
use super::{AisbenchFailures, AisbenchOptions, AisbenchSpeculation};
use crate::boxes::{Align, Boxed, Frame};
use crate::table::wrapped;
use crate::{Report, ReportFormat};

/// AISBench's two tables, preceded by the failure reasons and followed by the speculative decoding
/// block.
#[derive(Clone, Debug, Default)]
pub struct AisbenchTable {
    options: AisbenchOptions,
}

impl AisbenchTable {
    /// Returns tables with the given options.
    pub fn new(options: AisbenchOptions) -> Self {
        Self { options }
    }
}

impl ReportFormat for AisbenchTable {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let facts = &report.log.header().facts;
        AisbenchFailures.write(report, out)?;
        match Rows::of(report, &self.options) {
            Err(why) => return writeln!(out, "{}", printable(&why.to_string())),
            Ok(rows) => {
                let (model, dataset) = (self.options.model(facts), self.options.dataset(facts));
                let task = format!("{model}/{dataset}");
                writeln!(out, "Performance Results of task [{}]: ", printable(&task))?;
                parameters(&rows).write(&Frame::FANCY_GRID, out)?;
                common(&rows).write(&Frame::FANCY_GRID, out)?;
                for note in rows.notes.iter().flat_map(|note| wrapped(note, COLUMNS)) {
                    writeln!(out, "{}", printable(&note))?;
                }
            }
        }
        AisbenchSpeculation.write(report, out)
    }
}

fn parameters(rows: &Rows) -> Boxed {
    let statistics: Vec<String> = rows.statistics.iter().map(ToString::to_string).collect();
    let names = ["Performance Parameters", "Stage"].into_iter();
    let names = names.chain(statistics.iter().map(String::as_str));
    let heads = names.map(|name| (name, Align::Left)).chain([("N", Align::Center)]);
    let mut table = Boxed::new(heads);
    for row in &rows.parameters {
        let names = [row.name, rows.stage.name()].map(str::to_owned);
        let cells = names.into_iter().chain(row.cells.clone());
        table.row(cells.chain([row.requests.to_string()]).collect());
    }
    table
}

fn common(rows: &Rows) -> Boxed {
    let mut table = Boxed::new(["Common Metric", "Stage", "Value"].map(|head| (head, Align::Left)));
    for (name, value) in &rows.common {
        let value = match value {
            Value::String(text) => text.clone(),
            number => number.to_string(),
        };
        table.row(vec![(*name).to_owned(), rows.stage.name().to_owned(), value]);
    }
    table
}

const COLUMNS: usize = 100;
