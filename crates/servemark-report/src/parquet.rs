//! Requests and pieces of output of a run as parquet tables.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use servemark_core::RunLog;
use thiserror::Error;

use crate::columns::{
    Column, ColumnKind, REQUEST_COLUMNS, SERIES_COLUMNS, TOKEN_COLUMNS, TableColumns, TokenRows,
    request_columns, series_columns,
};

/// Why a table cannot be written.
#[derive(Debug, Error)]
#[error("cannot write the table: {0}")]
pub struct ParquetExportError(#[from] ParquetError);

/// Writes a row for each request of a run, in the order of the log. Times are nanoseconds since the
/// run's clock started; latencies are milliseconds from the sending of the request.
pub fn write_requests_parquet(
    log: &RunLog,
    out: impl Write + Send,
) -> Result<(), ParquetExportError> {
    let mut table = Table::new(out, REQUEST_COLUMNS)?;
    for records in log.records().chunks(ROWS) {
        table.group(request_columns(records))?;
    }
    table.close()
}

/// Writes a row for each piece of output of a run. `request` is the number of the row of its request
/// in the table of requests, from 0.
pub fn write_tokens_parquet(
    log: &RunLog,
    out: impl Write + Send,
) -> Result<(), ParquetExportError> {
    let mut table = Table::new(out, TOKEN_COLUMNS)?;
    let mut pieces = TokenRows::default();
    for (row, record) in log.records().iter().enumerate() {
        pieces.add(row, record);
        if pieces.len() >= ROWS {
            table.group(std::mem::take(&mut pieces).into_columns())?;
        }
    }
    table.group(pieces.into_columns())?;
    table.close()
}

/// Writes a row for each reading of a series of metrics.
pub fn write_series_parquet(
    log: &RunLog,
    out: impl Write + Send,
) -> Result<(), ParquetExportError> {
    let mut table = Table::new(out, SERIES_COLUMNS)?;
    table.group(series_columns(log.telemetry()))?;
    table.close()
}

/// Number of rows that are kept in memory and written together, about.
const ROWS: usize = 1 << 18;

/// A table that is being written.
struct Table<W: Write + Send> {
    writer: SerializedFileWriter<W>,
}

impl<W: Write + Send> Table<W> {
    fn new(out: W, columns: TableColumns) -> Result<Self, ParquetError> {
        let TableColumns { name, columns } = columns;
        let fields = columns.iter().map(|(name, kind)| field(name, *kind).map(Arc::new));
        let fields = fields.collect::<Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder(name).with_fields(fields).build()?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        Ok(Self { writer })
    }

    fn group(&mut self, columns: Vec<Column>) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for column in columns {
            let Some(mut writer) = group.next_column()? else { break };
            write(column, &mut writer)?;
            writer.close()?;
        }
        group.close().map(drop)
    }

    fn close(self) -> Result<(), ParquetExportError> {
        self.writer.close()?;
        Ok(())
    }
}

fn field(name: &str, kind: ColumnKind) -> Result<Type, ParquetError> {
    let (physical, logical) = match kind {
        ColumnKind::Flag => (PhysicalType::BOOLEAN, None),
        ColumnKind::Float => (PhysicalType::DOUBLE, None),
        ColumnKind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        ColumnKind::Whole => (PhysicalType::INT64, None),
    };
    Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}

fn write(column: Column, out: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
    match column {
        Column::Flag(values) => {
            let (levels, values) = present(values);
            out.typed::<BoolType>().write_batch(&values, Some(&levels), None)
        }
        Column::Float(values) => {
            let (levels, values) = present(values);
            out.typed::<DoubleType>().write_batch(&values, Some(&levels), None)
        }
        Column::Text(values) => {
            let (levels, values) = present(values);
            let values: Vec<ByteArray> = values.iter().map(|text| text.as_str().into()).collect();
            out.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)
        }
        Column::Whole(values) => {
            let (levels, values) = present(values);
            out.typed::<Int64Type>().write_batch(&values, Some(&levels), None)
        }
    }
    .map(drop)
}

/// Returns for each row whether it has a value, and the values.
fn present<T>(values: Vec<Option<T>>) -> (Vec<i16>, Vec<T>) {
    let levels = values.iter().map(|value| i16::from(value.is_some())).collect();
    (levels, values.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    use servemark_core::{
        Delta, ErrorKind, Finish, Header, Phase, Recorder, RequestError, RunFacts, Sample, Sink,
        Stamp,
    };

    use super::*;

    /// Returns the log of an answered request with two pieces, and of one that failed.
    fn log() -> RunLog {
        let sample = Sample::new("hi", 3, 2);
        let mut answered = Recorder::new(0, Phase::Measure, &sample, Stamp::ZERO);
        answered.record_sent(Stamp::from_nanos(1_000));
        for at in [2_001_000, 5_001_000] {
            let mut out = answered.at(Stamp::from_nanos(at));
            let mut piece = Delta::content("ab");
            piece.tokens = Some(1);
            out.delta(piece);
        }
        let finish = Finish::new(Some("stop".to_owned()));
        let answered = answered.finish(Ok(finish), Stamp::from_nanos(6_001_000));
        let mut failed = Recorder::new(1, Phase::Measure, &sample, Stamp::ZERO);
        failed.record_sent(Stamp::from_nanos(2_000));
        let error = RequestError::new(ErrorKind::Timeout, "too long");
        let failed = failed.finish(Err(error), Stamp::from_nanos(9_000));
        let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
        RunLog::new(header, vec![answered, failed], None)
    }

    fn rows(table: Vec<u8>) -> Vec<parquet::record::Row> {
        let reader = SerializedFileReader::new(bytes::Bytes::from(table)).unwrap();
        reader.get_row_iter(None).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn requests_are_read_back() {
        let mut table = Vec::new();
        write_requests_parquet(&log(), &mut table).unwrap();
        let rows = rows(table);
        assert_eq!(rows.len(), 2);
        assert!(rows[0].get_bool(4).unwrap() && !rows[1].get_bool(4).unwrap());
        assert_eq!(rows[0].get_string(8).unwrap(), "stop");
        assert_eq!(rows[1].get_string(7).unwrap(), "too long");
        assert!((rows[0].get_double(17).unwrap() - 2.0).abs() < 1e-9);
        let took = rows[0].get_long(16).unwrap() - rows[0].get_long(14).unwrap();
        assert!((rows[0].get_double(18).unwrap() - took as f64 / 1e6).abs() < 1e-9);
        assert!(rows[1].get_double(17).is_err(), "a request that failed has no TTFT");
    }

    #[test]
    fn pieces_name_their_request() {
        let mut table = Vec::new();
        write_tokens_parquet(&log(), &mut table).unwrap();
        let rows = rows(table);
        let read = |row: &parquet::record::Row| {
            [0, 1, 2, 3, 4].map(|column| row.get_long(column).unwrap())
        };
        let listed: Vec<_> = rows.iter().map(read).collect();
        assert_eq!(listed, [[0, 0, 2_001_000, 1, 2], [0, 1, 5_001_000, 1, 2]]);
    }
}
