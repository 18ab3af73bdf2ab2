//! Metrics of servers and their machines that were read during a run.
//!
//! A log has a line for each source and each series when it is first seen, and then a line for each
//! sample of a source. Samples hold raw readings, counters included, so that every reader of the
//! log derives rates and quantiles by its own rules.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Stamp;
use crate::record::is_default;

/// One line about a source, a series or a sample.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TelemetryLine {
    /// A source is going to be read.
    Source(TelemetrySource),
    /// A series was seen for the first time.
    Series(SeriesHead),
    /// A source was read, or could not be read.
    Sample(TelemetrySample),
}

/// A source of metrics that is read repeatedly.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TelemetrySource {
    /// Zero-based position of the source.
    pub index: usize,
    /// Address of the source without anything secret, or the name of a device interface.
    pub name: String,
}

impl TelemetrySource {
    /// Creates a source at a position.
    pub fn new(index: usize, name: impl Into<String>) -> Self {
        Self { index, name: name.into() }
    }
}

/// How readings of a series follow each other.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SeriesKind {
    /// A value that goes up and down.
    #[default]
    Gauge,
    /// A count that only grows, and starts again when its server does.
    Counter,
    /// Counts of values by size, each of which only grows.
    Histogram,
}

/// A series: what its readings mean.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SeriesHead {
    /// Zero-based position of the series among all series of the log.
    pub id: usize,
    /// Zero-based position of the source of the series among all sources of the log.
    pub source: usize,
    /// Name of the quantity; a known quantity has one name for all engines.
    pub name: String,
    /// How readings follow each other.
    pub kind: SeriesKind,
    /// Unit of the readings; empty for a count or a share.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Labels that distinguish series of one name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Upper bounds of a histogram's buckets, in ascending order; the last bucket has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<f64>,
}

impl SeriesHead {
    /// Creates a series without unit, labels or bounds.
    pub fn new(id: usize, source: usize, name: impl Into<String>, kind: SeriesKind) -> Self {
        Self { id, source, name: name.into(), kind, ..Self::default() }
    }

    /// Sets the unit.
    #[must_use]
    pub fn with_unit(self, unit: impl Into<String>) -> Self {
        Self { unit: unit.into(), ..self }
    }

    /// Sets the labels.
    #[must_use]
    pub fn with_labels(self, labels: BTreeMap<String, String>) -> Self {
        Self { labels, ..self }
    }

    /// Sets the upper bounds of a histogram's buckets.
    #[must_use]
    pub fn with_bounds(self, bounds: Vec<f64>) -> Self {
        Self { bounds, ..self }
    }
}

/// The readings of one source at one time. Readings that have not changed since the last sample of
/// the source are left out. Those of histograms may be left out for a second, except in the first
/// sample, the last one, that right before the measurement, and those after a gap or with a new series.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TelemetrySample {
    /// Position of the source.
    pub source: usize,
    /// When the answer with the readings arrived.
    pub at: Stamp,
    /// Nanoseconds from the request to that arrival.
    #[serde(skip_serializing_if = "is_default")]
    pub took_ns: u64,
    /// Readings of gauges and counters, by the position of their series.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<(usize, f64)>,
    /// Readings of histograms, by the position of their series.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub histograms: Vec<(usize, HistogramReading)>,
    /// Series that had readings before and have none now: their lines are missing in the answer, or
    /// have no number. They have none until a sample has one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<usize>,
    /// Why the source could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl TelemetrySample {
    /// Creates a sample without readings.
    pub fn new(source: usize, at: Stamp, took_ns: u64) -> Self {
        Self { source, at, took_ns, ..Self::default() }
    }

    /// Creates a gap: the source could not be read.
    pub fn gap(source: usize, at: Stamp, error: impl Into<String>) -> Self {
        Self { source, at, error: Some(error.into()), ..Self::default() }
    }

    /// Returns when the readings were asked for.
    pub fn requested(&self) -> Stamp {
        Stamp::from_nanos(self.at.as_nanos().saturating_sub(self.took_ns))
    }
}

/// The counts of a histogram since its server's start.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct HistogramReading {
    /// Number of values in each bucket or a lower one, in the order of the bounds; the last count is
    /// that of all values.
    pub counts: Vec<f64>,
    /// Sum of all values.
    pub sum: f64,
}

impl HistogramReading {
    /// Creates a reading from cumulative counts and the sum of all values.
    pub fn new(counts: Vec<f64>, sum: f64) -> Self {
        Self { counts, sum }
    }

    /// Returns the number of all values.
    pub fn total(&self) -> f64 {
        self.counts.last().copied().unwrap_or_default()
    }
}

/// The sources, series and samples of a log.
///
/// ```
/// use servemark_core::{
///     SeriesHead, SeriesKind, Stamp, Telemetry, TelemetryLine, TelemetrySample, TelemetrySource,
/// };
///
/// let mut telemetry = Telemetry::default();
/// telemetry.add(TelemetryLine::Source(TelemetrySource::new(0, "http://127.0.0.1:8000/metrics")));
/// telemetry.add(TelemetryLine::Series(SeriesHead::new(0, 0, "running", SeriesKind::Gauge)));
/// let mut sample = TelemetrySample::new(0, Stamp::ZERO, 0);
/// sample.values.push((0, 12.0));
/// telemetry.add(TelemetryLine::Sample(sample));
/// assert_eq!((telemetry.series.len(), telemetry.samples.len()), (1, 1));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Telemetry {
    /// Sources by position.
    pub sources: Vec<TelemetrySource>,
    /// Series by position.
    pub series: Vec<SeriesHead>,
    /// Samples in the order in which they were taken.
    pub samples: Vec<TelemetrySample>,
}

impl Telemetry {
    /// Adds a line. A series or source whose position does not follow the last one is dropped, with
    /// all that refers to it.
    pub fn add(&mut self, line: TelemetryLine) {
        match line {
            TelemetryLine::Source(source) if source.index == self.sources.len() => {
                self.sources.push(source);
            }
            TelemetryLine::Series(head) if head.id == self.series.len() => self.series.push(head),
            TelemetryLine::Sample(sample) => self.samples.push(sample),
            TelemetryLine::Source(_) | TelemetryLine::Series(_) => {}
        }
    }

    /// Returns whether there are no sources and no samples.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty() && self.samples.is_empty()
    }
}
