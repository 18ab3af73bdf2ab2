//! What others once served: when each request came, how long it was, and which belong together.
//!
//! Most traces tell lengths and no words; their prompts are written in a [`Book`](crate::book).

mod azure;
mod burstgpt;
mod otel;
mod servegen;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Session};

use crate::{DatasetName, Draw, Summary};

/// A trace in one of the formats in which traces are published.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TraceSpec {
    /// How it is written.
    pub format: TraceFormat,
    /// The file, or the folder where the format has several.
    #[serde(default)]
    pub path: Option<PathBuf>,
}

/// How a trace is written.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TraceFormat {
    /// The LLM inference traces of Azure: CSV with `TIMESTAMP`, `ContextTokens` and
    /// `GeneratedTokens`.
    Azure,
    /// `BurstGPT`'s CSV; with a `Session ID`, requests of one session are its turns.
    Burstgpt,
    /// Spans of agents by OpenTelemetry's conventions for generative AI, in JSON.
    Otel,
    /// A folder of `ServeGen`'s clients: the rate and the burstiness of windows of time, and the
    /// lengths in them. Arrivals and lengths are drawn.
    Servegen,
}

impl TraceSpec {
    /// A trace that is read from `path`.
    pub fn new(format: TraceFormat, path: Option<PathBuf>) -> Self {
        Self { format, path }
    }

    /// The first `count` sessions.
    pub(crate) fn draw(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Draw, DatasetError> {
        let (dataset, hint) = (self.format.name().as_str(), self.format.hint());
        let path = self.path.as_deref().ok_or(DatasetError::NoFile { dataset, hint })?;
        let trace = match self.format {
            TraceFormat::Azure => azure::read(path, count, context),
            TraceFormat::Burstgpt => burstgpt::read(path, count, context),
            TraceFormat::Otel => otel::read(path, count, context),
            TraceFormat::Servegen => servegen::read(path, count, context),
        }?;
        Ok(trace.into_draw(self.format.name()))
    }
}

impl TraceFormat {
    /// The name of the data set.
    pub const fn name(self) -> DatasetName {
        match self {
            Self::Azure => DatasetName::AzureTrace,
            Self::Burstgpt => DatasetName::Burstgpt,
            Self::Otel => DatasetName::OtelTrace,
            Self::Servegen => DatasetName::Servegen,
        }
    }

    /// What file is wanted.
    const fn hint(self) -> &'static str {
        match self {
            Self::Azure => {
                "pass one with --dataset-path, a CSV with TIMESTAMP, ContextTokens and \
                 GeneratedTokens"
            }
            Self::Burstgpt => {
                "pass one with --dataset-path, a CSV with Timestamp, Request tokens and Response \
                 tokens"
            }
            Self::Otel => {
                "pass one with --dataset-path, JSON with spans, or a folder of such files"
            }
            Self::Servegen => {
                "pass a folder with --dataset-path, of files such as chunk-0-trace.csv and \
                 chunk-0-dataset.json"
            }
        }
    }
}

/// What a format gives.
struct Trace {
    /// In the order in which they begin.
    sessions: Vec<Session>,
    /// What a person should know of them, each a line.
    notes: Vec<String>,
}

impl Trace {
    fn new(sessions: Vec<Session>) -> Self {
        Self { sessions, notes: Vec::new() }
    }

    /// Says what was left out, if anything was.
    fn noting(mut self, what: &str, count: u64) -> Self {
        if count > 0 {
            self.notes.push(format!("{what}: {count}"));
        }
        self
    }

    fn into_draw(self, dataset: DatasetName) -> Draw {
        let summary = Summary::of_sessions(dataset, &self.sessions);
        let mut lines = summary.to_string();
        self.notes.iter().for_each(|note| lines.extend([note, "\n"]));
        Draw::of_sessions(self.sessions, summary.in_lines(lines))
    }
}

/// The moments of a trace, which go forward.
#[derive(Default)]
struct Course<T> {
    first: Option<T>,
    last: Option<T>,
}

impl<T: Copy + PartialOrd> Course<T> {
    /// The next moment; gives the first.
    fn next(&mut self, moment: T, column: &str) -> Result<T, String> {
        if self.last.is_some_and(|last| moment < last) {
            return Err(format!("this row is earlier than the one above it; sort by {column}"));
        }
        self.last = Some(moment);
        Ok(*self.first.get_or_insert(moment))
    }
}
