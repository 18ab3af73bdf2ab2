//! A table with one row per run, as CSV, JSON or Markdown.

use std::io;

use servemark_core::printable;

/// Text format of a table of several runs.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum TableFormat {
    /// Comma-separated values with a heading line.
    Csv,
    /// A JSON list with one object per run.
    Json,
    /// A Markdown table.
    #[default]
    Markdown,
}

/// Rows and headings of a table of several runs, for a layout that is no text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GridRows {
    /// Heading of each column.
    pub heads: Vec<String>,
    /// Cells of each row; an absent value is `None`.
    pub rows: Vec<Vec<Option<String>>>,
}

/// Rows with an equal number of cells, with a key for programs and a heading for readers per
/// column. An absent value is `None`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    pub(crate) keys: Vec<String>,
    pub(crate) words: Vec<String>,
    pub(crate) rows: Vec<Vec<Option<String>>>,
}

impl Grid {
    pub(crate) fn write_csv(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let line = |cells: Vec<String>| cells.iter().map(|cell| guarded(cell)).collect::<Vec<_>>();
        writeln!(out, "{}", line(self.keys.clone()).join(","))?;
        let mut row = |row: &Vec<_>| writeln!(out, "{}", line(cells(row, "")).join(","));
        self.rows.iter().try_for_each(&mut row)
    }

    pub(crate) fn write_markdown(&self, out: &mut dyn io::Write) -> io::Result<()> {
        writeln!(out, "| {} |", in_markdown(&self.words))?;
        writeln!(out, "|{}", "---:|".repeat(self.words.len()))?;
        let mut row = |row: &Vec<_>| writeln!(out, "| {} |", in_markdown(&cells(row, "-")));
        self.rows.iter().try_for_each(&mut row)
    }

    pub(crate) fn into_rows(self) -> GridRows {
        GridRows { heads: self.words, rows: self.rows }
    }
}

fn cells(row: &[Option<String>], absent: &str) -> Vec<String> {
    row.iter().map(|cell| cell.clone().unwrap_or_else(|| absent.to_owned())).collect()
}

/// Quotes a CSV cell where it contains a comma, a quote or a line break.
pub(crate) fn quoted(cell: &str) -> String {
    let is_plain = !cell.contains([',', '"', '\n', '\r']);
    if is_plain { cell.to_owned() } else { format!("\"{}\"", cell.replace('"', "\"\"")) }
}

/// Quotes a CSV cell and protects against formula injection: a cell that a spreadsheet could read
/// as a formula is prefixed with an apostrophe. A number stays as it is.
pub(crate) fn guarded(cell: &str) -> String {
    let is_formula =
        cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err();
    if is_formula { quoted(&format!("'{cell}")) } else { quoted(cell) }
}

/// Joins the cells of a Markdown row. Cells are made printable on one line, and `|` is escaped.
fn in_markdown(cells: &[String]) -> String {
    let cells = cells.iter().map(|cell| printable(cell).replace('|', "\\|"));
    cells.collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn grid_text(write: impl FnOnce(&Grid, &mut dyn io::Write) -> io::Result<()>) -> String {
        let texts =
            ["=1+1", "@SUM(A1)", "+1;2", "-x", "\tcmd", "-1.5", "+2e3", "a|b\nc\u{1b}[2J<i>"];
        let grid = Grid {
            keys: vec!["=key".to_owned(); texts.len()],
            words: vec!["a|b".to_owned(); texts.len()],
            rows: vec![texts.map(|text| Some(text.to_owned())).to_vec()],
        };
        let mut out = Vec::new();
        write(&grid, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn no_text_in_a_csv_file_is_a_formula_and_numbers_stay_numbers() {
        let csv = grid_text(Grid::write_csv);
        let row = "'=1+1,'@SUM(A1),'+1;2,'-x,'\tcmd,-1.5,+2e3,\"a|b\nc\u{1b}[2J<i>\"\n";
        let heads = ["'=key"; 8].join(",");
        assert_eq!(csv, format!("{heads}\n{row}"));
    }

    #[test]
    fn a_cell_of_a_markdown_table_is_one_line_of_one_column() {
        let markdown = grid_text(Grid::write_markdown);
        assert_eq!(markdown.lines().count(), 3);
        assert!(markdown.ends_with("| a\\|b\\nc\\u001b[2J<i> |\n"), "{markdown}");
    }
}
