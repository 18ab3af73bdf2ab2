//! Rows of any shape, from files of parquet or of JSON, by their numbers.

use std::path::{Path, PathBuf};

use servemark_core::{DatasetError, NoProgress};

use super::{Cell, TableFile};
use crate::json_array;
use crate::jsonl::{BadLine, Reader};

/// The rows of several files, one behind the other.
pub(crate) struct Records {
    shards: Vec<Shard>,
}

/// The rows of a file.
enum Shard {
    /// They are read when they are asked for.
    Table { path: PathBuf, table: TableFile },
    /// They are all there.
    Lines { path: PathBuf, rows: Vec<Cell> },
}

/// A row, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    path: PathBuf,
    /// From one, as a person counts.
    number: usize,
    pub(crate) cell: Cell,
}

impl Records {
    /// Opens files; of tables only the columns are read that are named.
    pub(crate) fn open(files: &[PathBuf], columns: &[&str]) -> Result<Self, DatasetError> {
        let shards = files.iter().map(|file| Shard::open(file, columns));
        Ok(Self { shards: shards.collect::<Result<_, _>>()? })
    }

    /// How many rows each file has.
    pub(crate) fn lengths(&self) -> Vec<usize> {
        self.shards.iter().map(Shard::len).collect()
    }

    /// The rows with these numbers, counted through all files, in this order. No number comes twice.
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
            let reader = Reader { path: &path, on_bad_line: BadLine::Fail, limit: None };
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

    /// The rows with these indices, which rise.
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
    /// The text at the end of a path; a row without one is refused.
    pub(crate) fn text(&self, path: &str) -> Result<&str, DatasetError> {
        let text = self.cell.at(path).and_then(Cell::text);
        text.ok_or_else(|| self.malformed(format!("it has no text under {path}")))
    }

    /// An error of this row.
    pub(crate) fn malformed(&self, reason: String) -> DatasetError {
        DatasetError::Row { path: self.path.clone(), row: self.number, reason }
    }
}
