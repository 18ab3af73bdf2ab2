//! Tables of the parquet format: the rows that are asked for, each with the cells that are needed.
//! It knows nothing of what they mean.

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

/// A row's cells that are not null, by the paths of their columns.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Row {
    file: PathBuf,
    /// From one, as a person counts.
    number: usize,
    cells: Cells,
}

/// Texts and byte strings, by the paths of their columns.
type Cells = BTreeMap<String, Vec<u8>>;

/// The rows that `choose` takes, in its order.
///
/// `choose` is told how many rows there are and answers with indices, no index twice. `columns` are
/// the cells that are read, a nested one by its path: `image_1.bytes`; the others are skipped.
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
    /// The bytes in a column, if the cell is not null.
    pub(crate) fn bytes(&self, column: &str) -> Option<&[u8]> {
        self.cells.get(column).map(Vec::as_slice)
    }

    /// The text in a column; a row without one is refused.
    pub(crate) fn text(&self, column: &str) -> Result<&str, DatasetError> {
        let bytes = self.bytes(column);
        let bytes = bytes.ok_or_else(|| self.malformed(format!("column {column} is empty")))?;
        std::str::from_utf8(bytes).map_err(|_| self.malformed(format!("{column} is no text")))
    }

    /// An error of this row.
    pub(crate) fn malformed(&self, reason: String) -> DatasetError {
        DatasetError::Row { path: self.file.clone(), row: self.number, reason }
    }
}

/// An error of a whole file.
fn unusable(path: &Path, reason: &(impl ToString + ?Sized)) -> DatasetError {
    DatasetError::Table { path: path.to_owned(), reason: reason.to_string() }
}

#[cfg(test)]
mod tests;
