//! Several runs in one table: a row each, in the forms that people and programs read.

use std::io;

use servemark_core::{printable, printable_lines};

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

/// A cell whose text a spreadsheet does not take for a formula: where it could, an apostrophe comes
/// first. A number stays as it is.
pub(crate) fn guarded(cell: &str) -> String {
    let is_formula =
        cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err();
    if is_formula { quoted(&format!("'{cell}")) } else { quoted(cell) }
}

/// Cells of a row in Markdown, each on one line and without a stroke of its own.
fn in_markdown(cells: &[String]) -> String {
    let cells = cells.iter().map(|cell| printable(cell).replace('|', "\\|"));
    cells.collect::<Vec<_>>().join(" | ")
}

/// Text for a page: neither a tag, nor an entity, nor a character that reorders it.
pub(crate) fn escaped(text: &str) -> String {
    let text = printable_lines(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn written(write: impl FnOnce(&Grid, &mut dyn io::Write) -> io::Result<()>) -> String {
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
        let csv = written(Grid::write_csv);
        let row = "'=1+1,'@SUM(A1),'+1;2,'-x,'\tcmd,-1.5,+2e3,\"a|b\nc\u{1b}[2J<i>\"\n";
        let heads = ["'=key"; 8].join(",");
        assert_eq!(csv, format!("{heads}\n{row}"));
    }

    #[test]
    fn a_cell_of_a_markdown_table_is_one_line_of_one_column() {
        let markdown = written(Grid::write_markdown);
        assert_eq!(markdown.lines().count(), 3);
        assert!(markdown.ends_with("| a\\|b\\nc\\u001b[2J<i> |\n"), "{markdown}");
    }

    #[test]
    fn a_page_holds_no_tag_and_no_control_character_of_a_value() {
        let page = written(Grid::write_html);
        assert!(page.contains("a|b\nc\\u001b[2J&lt;i&gt;"), "{page}");
    }
}
