//! A table as a list of lines, and styles that format each kind of line.
//!
//! Every text that enters a table is made printable and becomes a single line, whatever its source.

use std::io;

use servemark_core::printable;

/// A table as a list of lines from top to bottom.
#[derive(Default)]
pub(crate) struct Table {
    lines: Vec<Line>,
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
    /// A note on the lines above it.
    Note(String),
    /// End of the table.
    End,
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

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.lines.push(Line::Note(printable(&note.into()).into_owned()));
    }

    pub(crate) fn end(&mut self) {
        self.lines.push(Line::End);
    }

    pub(crate) fn write(&self, style: &dyn Style, out: &mut dyn io::Write) -> io::Result<()> {
        self.lines.iter().try_for_each(|line| writeln!(out, "{}", style.line(line)))
    }
}

/// Wraps a sentence into lines of at most `columns` columns; a longer word has a line of its own.
pub(crate) fn wrapped(sentence: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in sentence.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= columns {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}
