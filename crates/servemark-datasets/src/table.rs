//! Reads selected rows and columns of parquet tables. The meaning of the cells is left to the
//! caller.

mod cell;
#[cfg_attr(feature = "parquet", path = "table/parquet.rs")]
#[cfg_attr(not(feature = "parquet"), path = "table/absent.rs")]
mod file;
mod records;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use servemark_core::DatasetError;

pub(crate) use self::cell::Cell;
use self::file::TableFile;
pub(crate) use self::records::{Record, Records};

/// The non-null cells of a row, by column path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Row {
    file: PathBuf,
    /// One-based row number in the file.
    number: usize,
    cells: Cells,
}

/// Cells as bytes, by column path.
type Cells = BTreeMap<String, Vec<u8>>;

/// Reads the rows that `choose` selects, in its order.
///
/// `choose` receives the number of rows and returns distinct row indices. `columns` are the columns
/// to read, with nested ones given as a path such as `image_1.bytes`; other columns are skipped.
/// Several files are read as one table.
pub(crate) fn rows(
    files: &[PathBuf],
    columns: &[&str],
    choose: impl FnOnce(usize) -> Vec<usize>,
) -> Result<Vec<Row>, DatasetError> {
    let tables = files.iter().map(|file| TableFile::open(file, columns));
    let tables = tables.collect::<Result<Vec<_>, _>>()?;
    let chosen = choose(tables.iter().map(TableFile::len).sum());
    let places: BTreeMap<usize, usize> = chosen.iter().copied().zip(0..).collect();
    let mut found = Vec::with_capacity(chosen.len());
    let mut index = 0;
    for (table, file) in tables.iter().zip(files) {
        let mut number = 0;
        table.each(&mut |cells| {
            (number, index) = (number + 1, index + 1);
            let row = |place| (place, Row { file: file.clone(), number, cells });
            found.extend(places.get(&(index - 1)).copied().map(row));
        })?;
    }
    found.sort_by_key(|(place, _)| *place);
    Ok(found.into_iter().map(|(_, row)| row).collect())
}

impl Row {
    /// Returns the bytes of a column's cell, or `None` if it is null.
    pub(crate) fn bytes(&self, column: &str) -> Option<&[u8]> {
        self.cells.get(column).map(Vec::as_slice)
    }

    /// Returns the text of a column's cell; a null cell is an error.
    pub(crate) fn text(&self, column: &str) -> Result<&str, DatasetError> {
        let bytes = self.bytes(column);
        let bytes = bytes.ok_or_else(|| self.malformed(format!("column {column} is empty")))?;
        std::str::from_utf8(bytes).map_err(|_| self.malformed(format!("{column} is not a string")))
    }

    /// Returns an error for this row.
    pub(crate) fn malformed(&self, reason: String) -> DatasetError {
        DatasetError::Row { path: self.file.clone(), row: self.number, reason }
    }
}

/// Returns an error for a whole file.
fn unusable(path: &Path, reason: &(impl ToString + ?Sized)) -> DatasetError {
    DatasetError::Table { path: path.to_owned(), reason: reason.to_string() }
}

#[cfg(test)]
mod tests;
