//! One walker for every table: a report is a list of lines, a style says how each kind looks.
//!
//! Every text that enters a table becomes one printable line, wherever it comes from.

use std::io;

use servemark_core::printable;

/// A table as a list of lines, top to bottom.
#[derive(Default)]
pub(crate) struct Table {
    lines: Vec<Line>,
}

/// The kinds of line that a table has.
pub(crate) enum Line {
    /// The table's title.
    Title(String),
    /// The title of what follows, with column heads if a grid follows.
    Section(String, Vec<String>),
    /// A name and its value.
    Row(String, String),
    /// A name and its value in each column.
    Cells(String, Vec<String>),
    /// A remark on what stands above.
    Note(String),
    /// The table's end.
    End,
}

/// How each kind of line looks.
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

/// A sentence in lines of at most so many columns; a word that is longer has a line of its own.
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
