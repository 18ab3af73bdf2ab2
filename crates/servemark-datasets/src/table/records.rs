//! Rows of any structure from parquet or JSON files, accessed by row number.

use std::path::{Path, PathBuf};

use servemark_core::{DatasetError, NoProgress};

use super::{Cell, TableFile};
use crate::json_array;
use crate::jsonl::Reader;

/// The rows of several files, concatenated.
pub(crate) struct Records {
    shards: Vec<Shard>,
}

/// The rows of one file.
enum Shard {
    /// Rows of a parquet file, which are read on request.
    Table { path: PathBuf, table: TableFile },
    /// Rows of a JSON file, all in memory.
    Lines { path: PathBuf, rows: Vec<Cell> },
}

/// A row with its location.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    path: PathBuf,
    /// One-based row number in the file.
    number: usize,
    pub(crate) cell: Cell,
}

impl Records {
    /// Opens files. Of parquet files, only the named columns are read.
    pub(crate) fn open(files: &[PathBuf], columns: &[&str]) -> Result<Self, DatasetError> {
        let shards = files.iter().map(|file| Shard::open(file, columns));
        Ok(Self { shards: shards.collect::<Result<_, _>>()? })
    }

    /// Returns the number of rows of each file.
    pub(crate) fn lengths(&self) -> Vec<usize> {
        self.shards.iter().map(Shard::len).collect()
    }

    /// Reads rows by zero-based numbers counted across all files, in the given order. Numbers must
    /// be distinct.
    pub(crate) fn read(&self, numbers: &[usize]) -> Result<Vec<Record>, DatasetError> {
        let mut wanted: Vec<(usize, usize)> = numbers.iter().copied().zip(0..).collect();
        wanted.sort_unstable();
        let mut found: Vec<(usize, Record)> = Vec::with_capacity(numbers.len());
        let mut start = 0;
        for shard in &self.shards {
            let end = start + shard.len();
            let here = wanted.iter().filter(|(number, _)| (start..end).contains(number));
            let (rows, places): (Vec<_>, Vec<_>) =
                here.map(|(number, place)| (number - start, *place)).unzip();
            found.extend(places.into_iter().zip(shard.read(&rows)?));
            start = end;
        }
        found.sort_by_key(|(place, _)| *place);
        Ok(found.into_iter().map(|(_, record)| record).collect())
    }
}

impl Shard {
    fn open(path: &Path, columns: &[&str]) -> Result<Self, DatasetError> {
        let path = path.to_owned();
        if path.extension().is_some_and(|ending| ending == "parquet") {
            let table = TableFile::open_records(&path, columns)?;
            return Ok(Self::Table { path, table });
        }
        let rows = if json_array::begins(&path)? {
            json_array::read(&path, &NoProgress, |value| Ok(Some(Cell::from(value))))?
        } else {
            let reader = Reader { path: &path, on_bad_line: None, limit: None };
            reader.read(|_, row| Ok(Some(Cell::from(serde_json::Value::Object(row)))))?.rows
        };
        Ok(Self::Lines { path, rows })
    }

    fn len(&self) -> usize {
        match self {
            Self::Table { table, .. } => table.len(),
            Self::Lines { rows, .. } => rows.len(),
        }
    }

    /// Reads the rows with the given indices, which must be ascending.
    fn read(&self, rows: &[usize]) -> Result<Vec<Record>, DatasetError> {
        let mut found = Vec::with_capacity(rows.len());
        match self {
            Self::Table { path, table } => table.visit(rows, &mut |row, cell| {
                found.push(Record { path: path.clone(), number: row + 1, cell });
            })?,
            Self::Lines { path, rows: all } => {
                let record = |row: &usize| Record {
                    path: path.clone(),
                    number: row + 1,
                    cell: all[*row].clone(),
                };
                found.extend(rows.iter().map(record));
            }
        }
        Ok(found)
    }
}

impl Record {
    /// Returns the text at a path, or an error that names the row.
    pub(crate) fn text(&self, path: &str) -> Result<&str, DatasetError> {
        let text = self.cell.at(path).and_then(Cell::text);
        text.ok_or_else(|| self.malformed(format!("it has no text under {path}")))
    }

    /// Returns an error for this row.
    pub(crate) fn malformed(&self, reason: String) -> DatasetError {
        DatasetError::Row { path: self.path.clone(), row: self.number, reason }
    }
}
