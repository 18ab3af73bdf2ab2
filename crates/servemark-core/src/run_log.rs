//! A run as a file: a header, one line per finished request, a footer.
//!
//! The lines are JSON. A request's line is appended when it finishes, so a killed run leaves a log
//! that can be scored like any other and is marked incomplete: it has no footer, and its last line
//! may be torn. Each line has a checksum that shows whether it is damaged.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Phase, RequestRecord};

mod checksum;
mod facts;
mod file;
mod lines;
mod merge;
mod piece_counts;
mod ranks;
mod reader;
mod telemetry;
mod writer;

pub use facts::{
    CertificateCheck, ClientCost, DataPart, EarlyStop, EngineFacts, Footer, Hardware, Header,
    HostFacts, Retokenized, RunFacts, ShardCost, SharedPrefix, SimulatedParts, SimulatedTimes,
    Weights,
};
pub use file::{IfTaken, check_run_log, first_free, is_stream, remove_run_log};
pub use lines::Texts;
pub use merge::MergeError;
pub use piece_counts::{PieceCounts, PieceCountsIter};
pub use ranks::{RankClock, RankFacts, RankMachine, RankMember, RankStart, Ranks};
pub use reader::{IfDamaged, LeftOut, RunLogReader};
pub use telemetry::{
    HistogramReading, SeriesHead, SeriesKind, Telemetry, TelemetryLine, TelemetrySample,
    TelemetrySource,
};
pub use writer::RunLogWriter;

/// Returns the position of a phase in the order of the records.
fn place(phase: Phase) -> u8 {
    match phase {
        Phase::Warmup => 0,
        Phase::Measure => 1,
        Phase::Retried => 2,
        Phase::Probe => 3,
        Phase::CacheCold => 4,
        Phase::CacheWarm => 5,
    }
}

/// One run: the plan, the records, and what was learned after the requests.
///
/// ```
/// use servemark_core::{Finish, Header, Phase, Recorder, RunFacts, RunLog, Sample, Stamp};
///
/// let record = |index| {
///     let sample = Sample::new("Hi", 1, 1);
///     let recorder = Recorder::new(index, Phase::Measure, &sample, Stamp::ZERO);
///     recorder.finish(Ok(Finish::default()), Stamp::ZERO)
/// };
/// let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
/// // Records come in the order in which requests ended; the log has the order of the plan.
/// let log = RunLog::new(header, vec![record(1), record(0)], None);
/// assert_eq!(log.measured().map(|record| record.index).collect::<Vec<_>>(), [0, 1]);
/// assert!(!log.is_complete());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct RunLog {
    header: Header,
    records: Vec<RequestRecord>,
    start: Option<RankStart>,
    telemetry: Telemetry,
    footer: Option<Footer>,
}

impl RunLog {
    /// Creates a log from its parts. Records may come in any order; they are sorted into the order
    /// of the plan, so that a score does not depend on which request finished first.
    pub fn new(header: Header, mut records: Vec<RequestRecord>, footer: Option<Footer>) -> Self {
        records.sort_by_key(|record| (place(record.phase), record.key()));
        Self { header, records, start: None, telemetry: Telemetry::default(), footer }
    }

    /// Sets when the measurement began, for the part of a run that several processes share.
    #[must_use]
    pub fn with_start(self, start: Option<RankStart>) -> Self {
        Self { start, ..self }
    }

    /// Sets the metrics of servers and their machines.
    #[must_use]
    pub fn with_telemetry(self, telemetry: Telemetry) -> Self {
        Self { telemetry, ..self }
    }

    /// Reads a whole log from its file.
    pub fn read(path: &Path) -> Result<Self, RunLogError> {
        RunLogReader::open(path)?.into_log()
    }

    /// Returns what was planned, by which program, and on which machine.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the records of all phases: warm-up, measurement, failed tries that were followed by
    /// another, probes, and the audit of the prefix cache.
    pub fn records(&self) -> &[RequestRecord] {
        &self.records
    }

    /// Returns when the measurement began, if several processes share the run and this log is the
    /// part of one of them.
    pub fn start(&self) -> Option<RankStart> {
        self.start
    }

    /// Returns the metrics of servers and their machines that were read during the run.
    pub fn telemetry(&self) -> &Telemetry {
        &self.telemetry
    }

    /// Returns the records of the measurement, in the order of the plan.
    pub fn measured(&self) -> impl Iterator<Item = &RequestRecord> + Clone {
        self.of(Phase::Measure)
    }

    /// Returns whether the sessions are conversations: by the facts of the run, or because a
    /// session has several turns.
    pub fn converses(&self) -> bool {
        self.header.facts.converse || self.measured().any(RequestRecord::is_of_conversation)
    }

    /// Returns the failed tries that were followed by another try.
    pub fn retried(&self) -> impl Iterator<Item = &RequestRecord> + Clone {
        self.of(Phase::Retried)
    }

    /// Returns the records of the requests sent beside the measurement.
    pub fn probes(&self) -> impl Iterator<Item = &RequestRecord> + Clone {
        self.of(Phase::Probe)
    }

    /// Returns the records of the audit of the server's prefix cache: prompts that no cache held.
    pub fn cache_cold(&self) -> impl Iterator<Item = &RequestRecord> + Clone {
        self.of(Phase::CacheCold)
    }

    /// Returns the records of the audit of the server's prefix cache: prompts that were sent again.
    pub fn cache_warm(&self) -> impl Iterator<Item = &RequestRecord> + Clone {
        self.of(Phase::CacheWarm)
    }

    fn of(&self, phase: Phase) -> impl Iterator<Item = &RequestRecord> + Clone {
        self.records.iter().filter(move |record| record.phase == phase)
    }

    /// Returns what was learned after the run; `None` if the run was killed.
    pub fn footer(&self) -> Option<&Footer> {
        self.footer.as_ref()
    }

    /// Sets the audit in the footer; without a footer the audit is dropped.
    #[must_use]
    pub fn with_audit(mut self, audit: serde_json::Value) -> Self {
        if let Some(footer) = &mut self.footer {
            footer.audit = Some(audit);
        }
        self
    }

    /// Returns whether the run ended without being interrupted or killed.
    pub fn is_complete(&self) -> bool {
        self.footer.as_ref().is_some_and(|footer| !footer.interrupted)
    }
}

/// Errors of a run log's file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunLogError {
    /// The file cannot be read.
    #[error("cannot read the run log {path}", path = path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write the run log {path}", path = path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// The I/O error.
        #[source]
        source: io::Error,
    },
    /// A new run log would replace an existing file.
    #[error(
        "{path} exists, and a run log replaces no file unless asked: choose another name \
         or let `output.run_log_if_taken` replace it",
        path = path.display()
    )]
    Taken {
        /// Path of the file.
        path: PathBuf,
    },
    /// Another process is writing to the file.
    #[error(
        "another process is writing the run log {path}: choose another name",
        path = path.display()
    )]
    Busy {
        /// Path of the file.
        path: PathBuf,
    },
    /// The path no longer leads to the file that was written.
    #[error(
        "the run log {path} was removed or replaced during the run, so it does not hold this run",
        path = path.display()
    )]
    Moved {
        /// Path at which the file was created.
        path: PathBuf,
    },
    /// A line is damaged, or is not a line of a run log.
    #[error(
        "{path}:{line}: a damaged line: {reason}; a reader may leave such lines out",
        path = path.display()
    )]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// One-based line number.
        line: usize,
        /// What is wrong with the line.
        reason: String,
    },
    /// The header is damaged.
    #[error(
        "the header of the run log {path} is damaged, and nothing can be read without it: {reason}",
        path = path.display()
    )]
    DamagedHeader {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with the header.
        reason: String,
    },
    /// A newer program wrote the log, in a format that this one does not know.
    #[error(
        "{path} is a run log of format {format}, and this program reads format {}: use a newer one",
        crate::Header::FORMAT,
        path = path.display()
    )]
    Format {
        /// Path of the file.
        path: PathBuf,
        /// The format of the log.
        format: u32,
    },
    /// The file holds two runs.
    #[error("{path}:{line}: a second header: the file holds two runs", path = path.display())]
    SecondHeader {
        /// Path of the file.
        path: PathBuf,
        /// One-based line number of the second header.
        line: usize,
    },
    /// The first line is not a header.
    #[error("{path} does not begin with a run log's header", path = path.display())]
    NoHeader {
        /// Path of the file.
        path: PathBuf,
    },
}

impl RunLogError {
    /// Returns whether the file is a run log with damaged content.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Damaged { .. } | Self::DamagedHeader { .. } | Self::SecondHeader { .. }
        )
    }
}

/// One line of the file.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Line<H, R, F, T> {
    Header(H),
    Request(R),
    Footer(F),
    Telemetry(T),
    Start(RankStart),
}

#[cfg(test)]
mod tests;
