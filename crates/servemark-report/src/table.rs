//! A table as a list of lines, and styles that format each kind of line.
//!
//! Every text that enters a table is made printable and becomes a single line, whatever its source.

use std::io;

use servemark_core::printable;

/// A table as a list of lines from top to bottom.
#[derive(Default)]
pub(crate) struct Table {
    lines: Vec<Line>,
    /// Part of the report that each section belongs to, from the line with this index on.
    parts: Vec<(usize, TablePart)>,
}

/// The kinds of line in a table.
pub(crate) enum Line {
    /// Title of the table.
    Title(String),
    /// Title of a section, with column headings if it is a grid.
    Section(String, Vec<String>),
    /// A name and a value.
    Row(String, String),
    /// A name and a value per column.
    Cells(String, Vec<String>),
    /// A name and a text that may take several lines.
    Paragraph(String, String),
    /// A note on the lines above it.
    Note(String),
    /// A note that may take several lines.
    LongNote(String),
    /// End of the table.
    End,
}

/// A section of a report's table, for a layout that is no text.
#[derive(Clone, Debug, PartialEq)]
pub struct TableSection {
    /// Part of the report that the section belongs to.
    pub part: TablePart,
    /// Title of the section.
    pub title: String,
    /// Column headings; empty unless the section is a grid.
    pub heads: Vec<String>,
    /// Lines of the section, from top to bottom.
    pub lines: Vec<TableLine>,
}

/// A line of a section. Its texts have no control characters and are one line each.
#[derive(Clone, Debug, PartialEq)]
pub enum TableLine {
    /// A name and a text.
    Row(String, String),
    /// A name and a value for each column.
    Cells(String, Vec<String>),
    /// A note on the lines above it.
    Note(String),
}

/// A part of a report.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum TablePart {
    /// Verdicts on the run and on the client.
    Verdicts,
    /// What was run, against which system.
    Run,
    /// Number of requests by how they ended.
    Outcome,
    /// Throughput, tokens, load and everything else that has no part of its own.
    #[default]
    Figures,
    /// Latencies of requests.
    Latencies,
    /// Sessions of several turns.
    Sessions,
    /// Audit of the client.
    Client,
}

/// Format of each kind of line.
pub(crate) trait Style {
    fn line(&self, line: &Line) -> String;
}

impl Table {
    pub(crate) fn title(&mut self, title: &str) {
        self.lines.push(Line::Title(printable(title).into_owned()));
    }

    pub(crate) fn section(&mut self, title: &str) {
        self.grid(title, []);
    }

    pub(crate) fn grid<'a>(&mut self, title: &str, heads: impl IntoIterator<Item = &'a str>) {
        let heads = heads.into_iter().map(|head| printable(head).into_owned()).collect();
        self.lines.push(Line::Section(printable(title).into_owned(), heads));
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers pass what they have just made")]
    pub(crate) fn row(&mut self, label: &str, value: impl ToString) {
        let value = printable(&value.to_string()).into_owned();
        self.lines.push(Line::Row(printable(label).into_owned(), value));
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers pass what they have just made")]
    pub(crate) fn cells(&mut self, label: &str, cells: Vec<String>) {
        let cells = cells.iter().map(|cell| printable(cell).into_owned()).collect();
        self.lines.push(Line::Cells(printable(label).into_owned(), cells));
    }

    pub(crate) fn paragraph(&mut self, label: &str, text: &str) {
        let (label, text) = (printable(label).into_owned(), printable(text).into_owned());
        self.lines.push(Line::Paragraph(label, text));
    }

    pub(crate) fn long_note(&mut self, note: impl Into<String>) {
        self.lines.push(Line::LongNote(printable(&note.into()).into_owned()));
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.lines.push(Line::Note(printable(&note.into()).into_owned()));
    }

    pub(crate) fn end(&mut self) {
        self.lines.push(Line::End);
    }

    /// Sets the part of the report that the following sections belong to.
    pub(crate) fn part(&mut self, part: TablePart) {
        self.parts.push((self.lines.len(), part));
    }

    /// Returns the sections with their lines. Lines before the first section are left out.
    pub(crate) fn into_sections(self) -> Vec<TableSection> {
        let mut sections: Vec<TableSection> = Vec::new();
        let mut parts = self.parts.into_iter().peekable();
        let mut part = TablePart::default();
        for (index, line) in self.lines.into_iter().enumerate() {
            while let Some((_, next)) = parts.next_if(|(from, _)| *from <= index) {
                part = next;
            }
            let line = match line {
                Line::Section(title, heads) => {
                    sections.push(TableSection { part, title, heads, lines: Vec::new() });
                    continue;
                }
                Line::Row(label, text) | Line::Paragraph(label, text) => {
                    TableLine::Row(label, text)
                }
                Line::Cells(label, cells) => TableLine::Cells(label, cells),
                Line::Note(note) | Line::LongNote(note) => TableLine::Note(note.trim().to_owned()),
                Line::Title(_) | Line::End => continue,
            };
            if let Some(section) = sections.last_mut() {
                section.lines.push(line);
            }
        }
        sections
    }

    /// Returns the lines from top to bottom.
    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }

    pub(crate) fn write(&self, style: &dyn Style, out: &mut dyn io::Write) -> io::Result<()> {
        self.lines.iter().try_for_each(|line| writeln!(out, "{}", style.line(line)))
    }
}

/// Formats a label and a text in lines of at most `columns` columns. The label stands on the first
/// line; the text begins `width` columns behind the label's start on each.
pub fn labelled(label: &str, width: usize, text: &str, columns: usize) -> String {
    let labels = std::iter::once(label).chain(std::iter::repeat(""));
    let lines = labels.zip(wrapped(text, columns.saturating_sub(INDENT + width)));
    let padded = width.saturating_sub(1);
    let lines = lines.map(|(label, line)| {
        format!("{:INDENT$}{label:<padded$} {line}", "").trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Indentation of a label.
const INDENT: usize = 2;

/// Wraps a sentence into lines of at most `columns` columns; a longer word has a line of its own.
pub(crate) fn wrapped(sentence: &str, columns: usize) -> Vec<String> {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in sentence.split_whitespace() {
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= columns {
            line.extend([" ", word]);
        } else {
            lines.push(std::mem::replace(&mut line, word.to_owned()));
        }
    }
    lines.push(line);
    lines
}
