//! Requests, pieces of output and series of a run as columns: the tables that other programs read.
//!
//! Times are nanoseconds since the run's clock started. The name of a column ends in its unit.

use servemark_core::{Phase, RequestRecord, SeriesHead, SeriesKind, Stamp, Telemetry};

/// Name of a table, and the names and kinds of its columns.
#[derive(Clone, Copy, Debug)]
pub struct TableColumns {
    /// Name of the table.
    pub name: &'static str,
    /// Name and kind of each column.
    pub columns: &'static [(&'static str, ColumnKind)],
}

/// Kind of the values of a column.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ColumnKind {
    /// True or false.
    Flag,
    /// Numbers with a fraction.
    Float,
    /// Sequences of characters.
    Text,
    /// Whole numbers.
    Whole,
}

/// Values of a column, `None` where a row has none.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Values of [`ColumnKind::Flag`].
    Flag(Vec<Option<bool>>),
    /// Values of [`ColumnKind::Float`].
    Float(Vec<Option<f64>>),
    /// Values of [`ColumnKind::Text`].
    Text(Vec<Option<String>>),
    /// Values of [`ColumnKind::Whole`].
    Whole(Vec<Option<i64>>),
}

/// Columns of the table with a row for each request of a run, in the order of the log. Latencies are
/// milliseconds from the sending of the request.
pub const REQUEST_COLUMNS: TableColumns = TableColumns {
    name: "requests",
    columns: &[
        ("index", ColumnKind::Whole),
        ("turn", ColumnKind::Whole),
        ("phase", ColumnKind::Text),
        ("request_id", ColumnKind::Text),
        ("success", ColumnKind::Flag),
        ("status", ColumnKind::Whole),
        ("error_kind", ColumnKind::Text),
        ("error", ColumnKind::Text),
        ("finish_reason", ColumnKind::Text),
        ("planned_prompt_tokens", ColumnKind::Whole),
        ("planned_output_tokens", ColumnKind::Whole),
        ("server_prompt_tokens", ColumnKind::Whole),
        ("server_output_tokens", ColumnKind::Whole),
        ("scheduled_ns", ColumnKind::Whole),
        ("sent_ns", ColumnKind::Whole),
        ("first_output_ns", ColumnKind::Whole),
        ("ended_ns", ColumnKind::Whole),
        ("ttft_ms", ColumnKind::Float),
        ("e2e_ms", ColumnKind::Float),
    ],
};

/// Columns of the table with a row for each piece of output of a run. `request` is the number of the
/// row of its request in the table of requests, from 0.
pub const TOKEN_COLUMNS: TableColumns = TableColumns {
    name: "tokens",
    columns: &[
        ("request", ColumnKind::Whole),
        ("piece", ColumnKind::Whole),
        ("at_ns", ColumnKind::Whole),
        ("tokens", ColumnKind::Whole),
        ("bytes", ColumnKind::Whole),
        ("read_lag_us", ColumnKind::Whole),
    ],
};

/// Columns of the table with a row for each reading of a series of metrics. A gauge or a counter has
/// a `value`; a histogram has the `count` and the `sum` of all its values so far.
pub const SERIES_COLUMNS: TableColumns = TableColumns {
    name: "series",
    columns: &[
        ("source", ColumnKind::Text),
        ("series", ColumnKind::Whole),
        ("name", ColumnKind::Text),
        ("kind", ColumnKind::Text),
        ("unit", ColumnKind::Text),
        ("labels", ColumnKind::Text),
        ("at_ns", ColumnKind::Whole),
        ("value", ColumnKind::Float),
        ("count", ColumnKind::Float),
        ("sum", ColumnKind::Float),
    ],
};

/// Returns the values of [`REQUEST_COLUMNS`].
pub fn request_columns(records: &[RequestRecord]) -> Vec<Column> {
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

/// Pieces of output of several requests, as the values of [`TOKEN_COLUMNS`].
#[derive(Clone, Debug, Default)]
pub struct TokenRows {
    request: Vec<Option<i64>>,
    piece: Vec<Option<i64>>,
    at: Vec<Option<i64>>,
    tokens: Vec<Option<i64>>,
    bytes: Vec<Option<i64>>,
    lag: Vec<Option<i64>>,
}

impl TokenRows {
    /// Adds the pieces of a request. `row` is the number of its row in the table of requests.
    pub fn add(&mut self, row: usize, record: &RequestRecord) {
        for (number, delta) in record.deltas.rows().enumerate() {
            self.request.push(i64::try_from(row).ok());
            self.piece.push(i64::try_from(number).ok());
            self.at.push(nanos(delta.at));
            self.tokens.push(delta.tokens.map(Into::into));
            self.bytes.push(Some(delta.bytes.into()));
            self.lag.push(Some(delta.lag_us.into()));
        }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.request.len()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.request.is_empty()
    }

    /// Returns the values.
    pub fn into_columns(self) -> Vec<Column> {
        let Self { request, piece, at, tokens, bytes, lag } = self;
        [request, piece, at, tokens, bytes, lag].into_iter().map(Column::Whole).collect()
    }
}

/// Returns the values of [`SERIES_COLUMNS`], in the order in which the sources were read.
pub fn series_columns(telemetry: &Telemetry) -> Vec<Column> {
    let readings: Vec<Reading<'_>> = readings(telemetry).collect();
    let text = |of: &dyn Fn(&Reading<'_>) -> Option<String>| {
        Column::Text(readings.iter().map(of).collect())
    };
    let whole =
        |of: &dyn Fn(&Reading<'_>) -> Option<i64>| Column::Whole(readings.iter().map(of).collect());
    let float =
        |of: &dyn Fn(&Reading<'_>) -> Option<f64>| Column::Float(readings.iter().map(of).collect());
    vec![
        text(&|reading| Some(telemetry.sources.get(reading.head.source)?.name.clone())),
        whole(&|reading| i64::try_from(reading.head.id).ok()),
        text(&|reading| Some(reading.head.name.clone())),
        text(&|reading| Some(series_kind(reading.head.kind).to_owned())),
        text(&|reading| Some(reading.head.unit.clone())),
        text(&|reading| serde_json::to_string(&reading.head.labels).ok()),
        whole(&|reading| nanos(reading.at)),
        float(&|reading| reading.value),
        float(&|reading| Some(reading.all?.0)),
        float(&|reading| Some(reading.all?.1)),
    ]
}

/// Reading of a series.
struct Reading<'a> {
    head: &'a SeriesHead,
    at: Stamp,
    value: Option<f64>,
    /// Number and sum of all values of a histogram.
    all: Option<(f64, f64)>,
}

/// Returns the readings of the series that the log has.
fn readings(telemetry: &Telemetry) -> impl Iterator<Item = Reading<'_>> {
    telemetry.samples.iter().flat_map(move |sample| {
        let at = sample.at;
        let of = move |series: &usize| telemetry.series.get(*series);
        let values = sample.values.iter().filter_map(move |(series, value)| {
            Some(Reading { head: of(series)?, at, value: Some(*value), all: None })
        });
        let histograms = sample.histograms.iter().filter_map(move |(series, reading)| {
            let all = Some((reading.total(), reading.sum));
            Some(Reading { head: of(series)?, at, value: None, all })
        });
        let absent = sample.absent.iter().filter_map(move |series| {
            Some(Reading { head: of(series)?, at, value: None, all: None })
        });
        values.chain(histograms).chain(absent)
    })
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
        Phase::CacheCold => "cache_cold",
        Phase::CacheWarm => "cache_warm",
        _ => "other",
    }
}

const fn series_kind(kind: SeriesKind) -> &'static str {
    match kind {
        SeriesKind::Gauge => "gauge",
        SeriesKind::Counter => "counter",
        SeriesKind::Histogram => "histogram",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use servemark_core::{HistogramReading, TelemetryLine, TelemetrySample, TelemetrySource};

    use super::*;

    #[test]
    fn each_reading_of_a_known_series_is_a_row() {
        let mut telemetry = Telemetry::default();
        telemetry.add(TelemetryLine::Source(TelemetrySource::new(0, "http://h/metrics")));
        for (id, kind) in [(0, SeriesKind::Gauge), (1, SeriesKind::Histogram)] {
            telemetry.add(TelemetryLine::Series(SeriesHead::new(id, 0, "running", kind)));
        }
        let mut sample = TelemetrySample::new(0, Stamp::from_nanos(7), 0);
        sample.values = vec![(0, 12.0), (9, 1.0)];
        sample.histograms = vec![(1, HistogramReading::new(vec![1.0, 3.0], 4.5))];
        telemetry.add(TelemetryLine::Sample(sample));
        let columns = series_columns(&telemetry);
        assert_eq!(columns.len(), SERIES_COLUMNS.columns.len());
        let text = |value: &str| Some(value.to_owned());
        assert_eq!(columns[0], Column::Text(vec![text("http://h/metrics"); 2]));
        assert_eq!(columns[1], Column::Whole(vec![Some(0), Some(1)]));
        assert_eq!(columns[3], Column::Text(vec![text("gauge"), text("histogram")]));
        assert_eq!(columns[6], Column::Whole(vec![Some(7); 2]));
        assert_eq!(columns[7], Column::Float(vec![Some(12.0), None]));
        assert_eq!(columns[8], Column::Float(vec![None, Some(3.0)]));
        assert_eq!(columns[9], Column::Float(vec![None, Some(4.5)]));
    }
}
