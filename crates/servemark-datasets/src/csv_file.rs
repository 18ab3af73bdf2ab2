//! CSV tables with columns found by name; errors name the line.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use csv::{ErrorKind, Reader, ReaderBuilder, StringRecord, Terminator, Trim};
use servemark_core::DatasetError;

use crate::text_file::malformed;

/// Reader of a CSV table, one row at a time.
pub(crate) struct Table<'a> {
    path: &'a Path,
    header: StringRecord,
    reader: Reader<File>,
}

/// One row, with cells accessible by column name.
pub(crate) struct Row<'a> {
    header: &'a StringRecord,
    cells: &'a StringRecord,
    line: usize,
}

impl<'a> Table<'a> {
    /// Opens a table whose first line names its columns, which must include `columns`.
    pub(crate) fn open(path: &'a Path, columns: &[&str]) -> Result<Self, DatasetError> {
        let mut reader = reader(path, FirstLine::Headers)?;
        let header = reader.headers().map_err(|error| wrong(path, &error))?.clone();
        if columns.iter().all(|column| header.iter().any(|name| name == *column)) {
            return Ok(Self { path, header, reader });
        }
        let (columns, found) = (columns.join(", "), header.iter().collect::<Vec<_>>().join(", "));
        Err(malformed(path, 1, format!("expected the columns {columns}, found {found}")))
    }

    /// Opens a table without a header line; `columns` names its columns in order.
    pub(crate) fn without_header(path: &'a Path, columns: &[&str]) -> Result<Self, DatasetError> {
        let reader = reader(path, FirstLine::Row)?;
        Ok(Self { path, header: StringRecord::from(columns), reader })
    }

    /// Opens a table whose first line names its columns, with any names. Whitespace in cells is
    /// kept.
    pub(crate) fn untouched(path: &'a Path, delimiter: u8) -> Result<Self, DatasetError> {
        let mut builder = ReaderBuilder::new();
        let reader = builder.flexible(true).delimiter(delimiter).from_path(path);
        let mut reader = reader.map_err(|error| wrong(path, &error))?;
        let header = reader.headers().map_err(|error| wrong(path, &error))?.clone();
        Ok(Self { path, header, reader })
    }

    /// Passes each row to `take` until it returns `Break`. An error from `take` is reported with
    /// the line.
    pub(crate) fn read(
        mut self,
        mut take: impl FnMut(&Row<'_>) -> Result<ControlFlow<()>, String>,
    ) -> Result<(), DatasetError> {
        let mut cells = StringRecord::new();
        while self.reader.read_record(&mut cells).map_err(|error| wrong(self.path, &error))? {
            let line = cells.position().map_or(0, |position| position.line() as usize);
            let taken = self.row(&cells, line).and_then(|row| take(&row));
            if taken.map_err(|reason| malformed(self.path, line, reason))?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn row<'r>(&'r self, cells: &'r StringRecord, line: usize) -> Result<Row<'r>, String> {
        let (expected, found) = (self.header.len(), cells.len());
        if expected != found {
            return Err(format!("expected {expected} columns, found {found}"));
        }
        Ok(Row { header: &self.header, cells, line })
    }
}

impl Row<'_> {
    /// Returns the text of a column's cell, or `None` if there is no such column.
    pub(crate) fn text(&self, column: &str) -> Option<&str> {
        self.cells.get(self.header.iter().position(|name| name == column)?)
    }

    /// Returns each column name with its cell's text.
    pub(crate) fn named_cells(&self) -> impl Iterator<Item = (&str, &str)> {
        self.header.iter().zip(self.cells)
    }

    /// Returns the one-based line number of the row.
    pub(crate) fn line(&self) -> usize {
        self.line
    }

    /// Returns the cell at a zero-based index.
    pub(crate) fn cell(&self, place: usize) -> Option<&str> {
        self.cells.get(place)
    }

    /// Parses a column's cell as a token count.
    pub(crate) fn tokens(&self, column: &str) -> Result<u32, String> {
        let text = self.text(column).unwrap_or_default();
        text.parse().map_err(|_| format!("{column} is not a token count: {text:?}"))
    }

    /// Parses a column's cell as a finite number of 0 or more.
    pub(crate) fn number(&self, column: &str) -> Result<f64, String> {
        let text = self.text(column).unwrap_or_default();
        let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
        number.ok_or_else(|| format!("{column} is not a number of 0 or more: {text:?}"))
    }

    /// Parses a column's cell as a time in seconds.
    pub(crate) fn seconds(&self, column: &str) -> Result<Duration, String> {
        Duration::try_from_secs_f64(self.number(column)?).map_err(|why| format!("{column}: {why}"))
    }
}

/// Content of a file's first line.
#[derive(Clone, Copy, Eq, PartialEq)]
enum FirstLine {
    Headers,
    Row,
}

/// Creates a CSV reader that ends lines at `\n` and trims a preceding `\r`. The parser's own
/// handling of `\r\n` miscounts lines.
fn reader(path: &Path, first: FirstLine) -> Result<Reader<File>, DatasetError> {
    let mut builder = ReaderBuilder::new();
    builder
        .has_headers(first == FirstLine::Headers)
        .flexible(true)
        .terminator(Terminator::Any(b'\n'))
        .trim(Trim::All);
    builder.from_path(path).map_err(|error| wrong(path, &error))
}

fn wrong(path: &Path, error: &csv::Error) -> DatasetError {
    let line = error.position().map_or(1, |position| position.line() as usize);
    match error.kind() {
        ErrorKind::Io(source) => DatasetError::Read {
            path: path.to_owned(),
            source: std::io::Error::new(source.kind(), source.to_string()),
        },
        ErrorKind::Utf8 { .. } => malformed(path, line, "not UTF-8".to_owned()),
        _ => malformed(path, line, error.to_string()),
    }
}
