//! Requests and pieces of output of a run as parquet tables.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use servemark_core::{Phase, RequestRecord, RunLog, Stamp};
use thiserror::Error;

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
    let mut table = Table::new(out, "requests", &REQUESTS)?;
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
    let mut table = Table::new(out, "tokens", &TOKENS)?;
    let mut pieces = Pieces::default();
    for (row, record) in log.records().iter().enumerate() {
        pieces.add(row, record);
        if pieces.request.len() >= ROWS {
            table.group(std::mem::take(&mut pieces).columns())?;
        }
    }
    table.group(pieces.columns())?;
    table.close()
}

/// Kind of a column.
#[derive(Clone, Copy)]
enum Kind {
    Flag,
    Float,
    Text,
    Whole,
}

/// Values of a column, `None` where a row has none.
enum Column {
    Flag(Vec<Option<bool>>),
    Float(Vec<Option<f64>>),
    Text(Vec<Option<String>>),
    Whole(Vec<Option<i64>>),
}

const REQUESTS: [(&str, Kind); 19] = [
    ("index", Kind::Whole),
    ("turn", Kind::Whole),
    ("phase", Kind::Text),
    ("request_id", Kind::Text),
    ("success", Kind::Flag),
    ("status", Kind::Whole),
    ("error_kind", Kind::Text),
    ("error", Kind::Text),
    ("finish_reason", Kind::Text),
    ("planned_prompt_tokens", Kind::Whole),
    ("planned_output_tokens", Kind::Whole),
    ("server_prompt_tokens", Kind::Whole),
    ("server_output_tokens", Kind::Whole),
    ("scheduled_ns", Kind::Whole),
    ("sent_ns", Kind::Whole),
    ("first_output_ns", Kind::Whole),
    ("ended_ns", Kind::Whole),
    ("ttft_ms", Kind::Float),
    ("e2e_ms", Kind::Float),
];

const TOKENS: [(&str, Kind); 6] = [
    ("request", Kind::Whole),
    ("piece", Kind::Whole),
    ("at_ns", Kind::Whole),
    ("tokens", Kind::Whole),
    ("bytes", Kind::Whole),
    ("read_lag_us", Kind::Whole),
];

/// Number of rows that are kept in memory and written together, about.
const ROWS: usize = 1 << 18;

fn request_columns(records: &[RequestRecord]) -> Vec<Column> {
    let whole = |of: &dyn Fn(&RequestRecord) -> Option<i64>| {
        Column::Whole(records.iter().map(of).collect())
    };
    let text = |of: &dyn Fn(&RequestRecord) -> Option<String>| {
        Column::Text(records.iter().map(of).collect())
    };
    let since_sent = |of: &dyn Fn(&RequestRecord) -> Option<Stamp>| {
        let since =
            |record: &RequestRecord| Some(of(record)?.since(record.started()).as_secs_f64());
        Column::Float(records.iter().map(|record| Some(since(record)? * 1e3)).collect())
    };
    let ended = |record: &RequestRecord| record.is_success().then_some(record.ended);
    vec![
        whole(&|record| i64::try_from(record.index).ok()),
        whole(&|record| Some(record.turn.into())),
        text(&|record| Some(phase(record.phase).to_owned())),
        text(&|record| record.request_id.as_deref().map(str::to_owned)),
        Column::Flag(records.iter().map(|record| Some(record.is_success())).collect()),
        whole(&|record| record.status.map(Into::into)),
        text(&|record| Some(record.outcome.as_ref().err()?.kind.to_string())),
        text(&|record| Some(record.outcome.as_ref().err()?.message.clone())),
        text(&|record| record.outcome.as_ref().ok()?.reason.clone()),
        whole(&|record| Some(record.planned.prompt_tokens.into())),
        whole(&|record| Some(record.planned.output_tokens.into())),
        whole(&|record| record.usage.as_ref()?.prompt_tokens.map(Into::into)),
        whole(&|record| record.usage.as_ref()?.completion_tokens.map(Into::into)),
        whole(&|record| nanos(record.scheduled)),
        whole(&|record| nanos(record.sent?)),
        whole(&|record| nanos(record.deltas.first_at()?)),
        whole(&|record| nanos(record.ended)),
        since_sent(&|record| record.deltas.first_at()),
        since_sent(&ended),
    ]
}

/// Pieces of output of several requests.
#[derive(Default)]
struct Pieces {
    request: Vec<Option<i64>>,
    piece: Vec<Option<i64>>,
    at: Vec<Option<i64>>,
    tokens: Vec<Option<i64>>,
    bytes: Vec<Option<i64>>,
    lag: Vec<Option<i64>>,
}

impl Pieces {
    fn add(&mut self, row: usize, record: &RequestRecord) {
        for (number, delta) in record.deltas.rows().enumerate() {
            self.request.push(i64::try_from(row).ok());
            self.piece.push(i64::try_from(number).ok());
            self.at.push(nanos(delta.at));
            self.tokens.push(delta.tokens.map(Into::into));
            self.bytes.push(Some(delta.bytes.into()));
            self.lag.push(Some(delta.lag_us.into()));
        }
    }

    fn columns(self) -> Vec<Column> {
        let Self { request, piece, at, tokens, bytes, lag } = self;
        [request, piece, at, tokens, bytes, lag].into_iter().map(Column::Whole).collect()
    }
}

/// A table that is being written.
struct Table<W: Write + Send> {
    writer: SerializedFileWriter<W>,
}

impl<W: Write + Send> Table<W> {
    fn new(out: W, name: &str, columns: &[(&str, Kind)]) -> Result<Self, ParquetError> {
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
            column.write(&mut writer)?;
            writer.close()?;
        }
        group.close().map(drop)
    }

    fn close(self) -> Result<(), ParquetExportError> {
        self.writer.close()?;
        Ok(())
    }
}

fn field(name: &str, kind: Kind) -> Result<Type, ParquetError> {
    let (physical, logical) = match kind {
        Kind::Flag => (PhysicalType::BOOLEAN, None),
        Kind::Float => (PhysicalType::DOUBLE, None),
        Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Whole => (PhysicalType::INT64, None),
    };
    Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}

impl Column {
    fn write(self, out: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        match self {
            Self::Flag(values) => {
                let (levels, values) = present(values);
                out.typed::<BoolType>().write_batch(&values, Some(&levels), None)
            }
            Self::Float(values) => {
                let (levels, values) = present(values);
                out.typed::<DoubleType>().write_batch(&values, Some(&levels), None)
            }
            Self::Text(values) => {
                let (levels, values) = present(values);
                let values: Vec<ByteArray> =
                    values.iter().map(|text| text.as_str().into()).collect();
                out.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)
            }
            Self::Whole(values) => {
                let (levels, values) = present(values);
                out.typed::<Int64Type>().write_batch(&values, Some(&levels), None)
            }
        }
        .map(drop)
    }
}

/// Returns for each row whether it has a value, and the values.
fn present<T>(values: Vec<Option<T>>) -> (Vec<i16>, Vec<T>) {
    let levels = values.iter().map(|value| i16::from(value.is_some())).collect();
    (levels, values.into_iter().flatten().collect())
}

fn nanos(stamp: Stamp) -> Option<i64> {
    i64::try_from(stamp.as_nanos()).ok()
}

const fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Warmup => "warmup",
        Phase::Measure => "measure",
        Phase::Retried => "retried",
        Phase::Probe => "probe",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    use servemark_core::{
        Delta, ErrorKind, Finish, Header, Recorder, RequestError, RunFacts, Sample, Sink,
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
        let told: Vec<_> = rows.iter().map(read).collect();
        assert_eq!(told, [[0, 0, 2_001_000, 1, 2], [0, 1, 5_001_000, 1, 2]]);
    }
}
