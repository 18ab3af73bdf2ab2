//! Row-wise reading of a parquet file.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Type as PhysicalType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::TreeBuilder;
use parquet::record::{Field, Row};
use parquet::schema::types::{ColumnDescPtr, SchemaDescPtr, SchemaDescriptor, Type};
use servemark_core::DatasetError;

use super::{Cell, Cells, unusable};

/// An open parquet file with the columns that are read.
pub(super) struct TableFile {
    path: PathBuf,
    reader: SerializedFileReader<File>,
    columns: SchemaDescPtr,
}

impl TableFile {
    /// Opens a file, which must have each of the columns as text or bytes.
    pub(super) fn open(path: &Path, columns: &[&str]) -> Result<Self, DatasetError> {
        let reader = whole(path)?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let missing = columns.iter().find(|column| !has(schema, column));
        if let Some(missing) = missing {
            let reason =
                format!("it has no text or bytes column {missing}, only {}", names(schema));
            return Err(unusable(path, &reason));
        }
        let columns = part(schema, columns).map_err(|error| unusable(path, &error))?;
        Ok(Self { path: path.to_owned(), reader, columns })
    }

    /// Opens a file and reads those of the given top-level columns that it has.
    pub(super) fn open_records(path: &Path, columns: &[&str]) -> Result<Self, DatasetError> {
        let reader = whole(path)?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let columns = part(schema, columns).map_err(|error| unusable(path, &error))?;
        Ok(Self { path: path.to_owned(), reader, columns })
    }

    /// Visits the rows with the given indices, which must be ascending. Row groups without such a
    /// row are skipped.
    pub(super) fn visit(
        &self,
        rows: &[usize],
        visit: &mut dyn FnMut(usize, Cell),
    ) -> Result<(), DatasetError> {
        self.try_visit(rows, visit).map_err(|error| unusable(&self.path, &error))
    }

    fn try_visit(
        &self,
        mut wanted: &[usize],
        visit: &mut dyn FnMut(usize, Cell),
    ) -> Result<(), ParquetError> {
        let mut start = 0;
        for (number, group) in self.reader.metadata().row_groups().iter().enumerate() {
            let end = start + usize::try_from(group.num_rows()).unwrap_or_default();
            let (here, behind) = wanted.split_at(wanted.partition_point(|row| *row < end));
            if let Some(last) = here.last() {
                let group = self.reader.get_row_group(number)?;
                let read = TreeBuilder::new().with_batch_size(ROWS_AT_ONCE);
                let rows = read.as_iter(self.columns.clone(), &*group)?.take(last + 1 - start);
                for (row, index) in rows.zip(start..) {
                    if here.binary_search(&index).is_ok() {
                        visit(index, group_cell(row?));
                    }
                }
            }
            (wanted, start) = (behind, end);
        }
        Ok(())
    }

    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        let groups = self.reader.metadata().row_groups().iter();
        groups.map(|group| usize::try_from(group.num_rows()).unwrap_or_default()).sum()
    }

    /// Visits every row in order.
    pub(super) fn each(&self, visit: &mut dyn FnMut(Cells)) -> Result<(), DatasetError> {
        self.try_each(visit).map_err(|error| unusable(&self.path, &error))
    }

    fn try_each(&self, visit: &mut dyn FnMut(Cells)) -> Result<(), ParquetError> {
        for group in 0..self.reader.num_row_groups() {
            let group = self.reader.get_row_group(group)?;
            let rows = TreeBuilder::new().with_batch_size(ROWS_AT_ONCE);
            for row in rows.as_iter(self.columns.clone(), &*group)? {
                visit(cells("", row?));
            }
        }
        Ok(())
    }
}

/// Opens a file and checks that it is complete and within the row limit.
fn whole(path: &Path) -> Result<SerializedFileReader<File>, DatasetError> {
    let read = |source| DatasetError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(read)?;
    let length = file.metadata().map_err(read)?.len();
    let reader = SerializedFileReader::new(file).map_err(|error| unusable(path, &error))?;
    let rows = reader.metadata().row_groups().iter().map(RowGroupMetaData::num_rows);
    let rows = rows.map(|rows| u64::try_from(rows).unwrap_or(u64::MAX));
    if rows.fold(0, u64::saturating_add) > MOST_ROWS {
        return Err(unusable(
            path,
            &format!("it has more than {MOST_ROWS} rows, which is the limit"),
        ));
    }
    if is_whole(&reader, length) {
        return Ok(reader);
    }
    Err(unusable(path, "its columns extend beyond its end; it may be truncated or damaged"))
}

/// Returns whether every column lies inside the file. The parquet reader does not check this.
fn is_whole(reader: &SerializedFileReader<File>, length: u64) -> bool {
    let inside = |column: &ColumnChunkMetaData| {
        let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
        let [start, size] = [start, column.compressed_size()].map(u64::try_from);
        matches!((start, size), (Ok(start), Ok(size)) if start.saturating_add(size) <= length)
    };
    let groups = reader.metadata().row_groups().iter();
    groups.flat_map(RowGroupMetaData::columns).all(inside)
}

fn has(schema: &SchemaDescriptor, column: &str) -> bool {
    let is_column = |leaf: &&ColumnDescPtr| leaf.path().string() == column;
    let leaf = schema.columns().iter().find(is_column);
    leaf.is_some_and(|leaf| leaf.physical_type() == PhysicalType::BYTE_ARRAY)
}

fn names(schema: &SchemaDescriptor) -> String {
    let names: Vec<String> = schema.columns().iter().map(|leaf| leaf.path().string()).collect();
    names.join(", ")
}

/// Returns a schema of the top-level columns that contain the given columns.
fn part(schema: &SchemaDescriptor, columns: &[&str]) -> Result<SchemaDescPtr, ParquetError> {
    let is_needed = |field: &&Arc<Type>| {
        columns.iter().any(|column| column.split('.').next() == Some(field.name()))
    };
    let root = schema.root_schema();
    let fields = root.get_fields().iter().filter(is_needed).cloned().collect();
    let part = Type::group_type_builder(root.name()).with_fields(fields).build()?;
    Ok(Arc::new(SchemaDescriptor::new(Arc::new(part))))
}

/// Returns the text and byte cells of a row; the path of a nested cell is dot-separated.
fn cells(path: &str, row: Row) -> Cells {
    let mut found = Cells::new();
    for (name, field) in row.into_columns() {
        let path = if path.is_empty() { name } else { format!("{path}.{name}") };
        match field {
            Field::Str(text) => drop(found.insert(path, text.into_bytes())),
            Field::Bytes(bytes) => drop(found.insert(path, bytes.data().to_vec())),
            Field::Group(group) => found.extend(cells(&path, group)),
            _ => {}
        }
    }
    found
}

/// Converts a row, or a group of its columns, to a cell.
fn group_cell(row: Row) -> Cell {
    Cell::Group(row.into_columns().into_iter().map(|(name, field)| (name, cell(field))).collect())
}

fn cell(field: Field) -> Cell {
    match field {
        Field::Str(text) => Cell::Text(text),
        Field::Bytes(bytes) => Cell::Bytes(bytes.data().to_vec()),
        Field::Group(group) => group_cell(group),
        Field::ListInternal(list) => {
            Cell::List(list.elements().iter().cloned().map(cell).collect())
        }
        Field::Byte(number) => Cell::Number(number.into()),
        Field::Short(number) => Cell::Number(number.into()),
        Field::Int(number) => Cell::Number(number.into()),
        Field::Long(number) => Cell::Number(number as f64),
        Field::Float(number) => Cell::Number(number.into()),
        Field::Double(number) => Cell::Number(number),
        _ => Cell::Null,
    }
}

/// Maximum number of rows. An index per row is held in memory, and columns without values take no
/// space in a file.
const MOST_ROWS: u64 = 50_000_000;

/// Number of rows that the parquet reader holds at a time; small because rows may hold large
/// images.
const ROWS_AT_ONCE: usize = 16;
