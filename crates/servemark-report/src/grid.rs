//! Several runs in one table: a row each, in the forms that people and programs read.

use std::io;

use crate::page;

/// What several runs are written as.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum GridFormat {
    /// A line of heads, then a line per run, parted by commas.
    Csv,
    /// A page with plots, where the runs are a sweep; it needs nothing but itself.
    Html,
    /// A list of objects.
    Json,
    /// A table that a person can read as it is.
    #[default]
    Markdown,
}

impl GridFormat {
    /// The format of files whose names end so.
    pub fn of_extension(extension: &str) -> Option<Self> {
        Some(match extension {
            "csv" => Self::Csv,
            "html" => Self::Html,
            "json" => Self::Json,
            "md" => Self::Markdown,
            _ => return None,
        })
    }
}

/// Rows of equally many cells, under a head each for programs and for people. A cell without a
/// value is absent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    pub(crate) keys: Vec<String>,
    pub(crate) words: Vec<String>,
    pub(crate) rows: Vec<Vec<Option<String>>>,
}

impl Grid {
    pub(crate) fn write_csv(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let line = |cells: Vec<String>| cells.iter().map(|cell| quoted(cell)).collect::<Vec<_>>();
        writeln!(out, "{}", line(self.keys.clone()).join(","))?;
        let mut row = |row: &Vec<_>| writeln!(out, "{}", line(cells(row, "")).join(","));
        self.rows.iter().try_for_each(&mut row)
    }

    pub(crate) fn write_markdown(&self, out: &mut dyn io::Write) -> io::Result<()> {
        writeln!(out, "| {} |", self.words.join(" | "))?;
        writeln!(out, "|{}", "---:|".repeat(self.words.len()))?;
        let mut row = |row: &Vec<_>| writeln!(out, "| {} |", cells(row, "-").join(" | "));
        self.rows.iter().try_for_each(&mut row)
    }

    pub(crate) fn write_html(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let rows: Vec<Vec<String>> = self.rows.iter().map(|row| cells(row, "–")).collect();
        page::table(&self.words, &rows, out)
    }
}

fn cells(row: &[Option<String>], absent: &str) -> Vec<String> {
    row.iter().map(|cell| cell.clone().unwrap_or_else(|| absent.to_owned())).collect()
}

/// A cell as every reader of CSV takes it.
pub(crate) fn quoted(cell: &str) -> String {
    let is_plain = !cell.contains([',', '"', '\n', '\r']);
    if is_plain { cell.to_owned() } else { format!("\"{}\"", cell.replace('"', "\"\"")) }
}

pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
