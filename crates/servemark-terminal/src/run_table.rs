//! The table of several runs: printed, and kept in files that are rewritten after each run.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use servemark::page::GridFormat;
use servemark_cli::Parsed;

use crate::rewrite::Rewrite;
use crate::screen;

/// Files of the table of several runs.
#[derive(Debug)]
pub(crate) struct RunTable {
    /// Name of the table in an error, such as `the sweep`.
    what: &'static str,
    files: Vec<(PathBuf, GridFormat)>,
}

impl RunTable {
    /// Creates a table in the files that the user named and, in the folder of the runs, the page and
    /// the summary with every number.
    pub(crate) fn new(
        what: &'static str,
        named: &[(PathBuf, GridFormat)],
        folder: Option<&Path>,
    ) -> Self {
        let kept = [("report.html", GridFormat::Html), ("summary.json", GridFormat::Json)];
        let kept = folder
            .into_iter()
            .flat_map(|folder| kept.map(|(name, format)| (folder.join(name), format)));
        Self { what, files: named.iter().cloned().chain(kept).collect() }
    }

    /// Replaces each file by the results of all completed runs, which `write` writes.
    pub(crate) fn keep(
        &self,
        rewrite: Rewrite,
        write: impl Fn(GridFormat, &mut dyn Write) -> io::Result<()>,
    ) -> anyhow::Result<()> {
        let content = |format| screen::text(|out| write(format, out));
        rewrite.files(&self.files, self.what, content)
    }
}

/// Prints the results of all runs: a table, or the document of `--json`.
pub(crate) fn print(
    first: &Parsed,
    write: impl Fn(GridFormat, &mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    if first.json {
        screen::print_document(&screen::text(|out| write(GridFormat::Json, out))?);
    } else {
        let table = screen::text(|out| write(GridFormat::Markdown, out))?;
        screen::print(&fitted(&table, screen::columns()));
    }
    Ok(())
}

/// Splits each Markdown table of a text that is wider than `columns` into several, each of which
/// begins with the first column of the table, and folds long lines beside it.
fn fitted(text: &str, columns: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_row = |line: &&str| line.starts_with('|');
    let parts = lines.chunk_by(|line, next| is_row(line) == is_row(next)).map(|part| match part {
        [first, ..] if is_row(first) => split_table(part, columns),
        part => screen::folded_lines(&part.join("\n"), columns),
    });
    let mut text = parts.collect::<Vec<_>>().join("\n");
    text.push('\n');
    text
}

fn split_table(lines: &[&str], columns: usize) -> String {
    let rows: Vec<Vec<&str>> = lines.iter().map(|line| cells(line)).collect();
    let width = |place: usize| {
        let cells = rows.iter().filter_map(|row| row.get(place));
        // A cell is followed by the bar on its right.
        cells.map(|cell| cell.chars().count() + 1).max().unwrap_or_default()
    };
    let all = rows.iter().map(Vec::len).max().unwrap_or_default();
    let (mut tables, mut next) = (Vec::new(), 1);
    while next < all || tables.is_empty() {
        let mut used = 1 + width(0);
        let fitting = (next..all).take_while(|&place| {
            used += width(place);
            used <= columns
        });
        let end = all.min(next + fitting.count().max(1));
        let shown = |row: &Vec<&str>| {
            let cells = row.iter().take(1).chain(row.iter().take(end).skip(next));
            cells.fold("|".to_owned(), |line, cell| format!("{line}{cell}|"))
        };
        tables.push(rows.iter().map(shown).collect::<Vec<_>>().join("\n"));
        next = end.max(next + 1);
    }
    tables.join("\n\n")
}

/// Returns the cells of a row between its bars; a bar after a backslash is part of a cell.
fn cells(line: &str) -> Vec<&str> {
    let bars = line.match_indices('|').map(|(place, _)| place);
    let bars: Vec<usize> = bars.filter(|&place| !line[..place].ends_with('\\')).collect();
    bars.windows(2).map(|pair| &line[pair[0] + 1..pair[1]]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_too_wide_becomes_several() {
        let table = "| load | ttft | tpot |\n|---:|---:|---:|\n| 1 | 2 | a\\|b |\n\nBest: 1\n";
        assert_eq!(fitted(table, 80), table);
        assert_eq!(
            fitted(table, 16),
            "| load | ttft |\n|---:|---:|\n| 1 | 2 |\n\n| load | tpot |\n|---:|---:|\n\
             | 1 | a\\|b |\n\nBest: 1\n"
        );
    }
}
