//! A run as a file: a header, one line per finished request, a footer.
//!
//! The lines are JSON. A request's line is appended when it finishes, so a killed run leaves a log
//! that scores like any other and is marked incomplete: its footer is missing, and its last line
//! may be torn. Each line has a checksum, by which a reader tells a damaged one.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Phase, RequestRecord};

mod checksum;
mod facts;
mod file;
mod piece_counts;
mod reader;
mod writer;

pub use facts::{
    CertificateCheck, ClientCost, DataPart, EarlyStop, EngineFacts, Footer, Header, HostFacts,
    Retokenized, RunFacts, ShardCost, Truth, Weights,
};
pub use file::{IfTaken, check_run_log, first_free, is_stream, remove_run_log};
pub use piece_counts::{PieceCounts, PieceCountsIter};
pub use reader::{IfDamaged, LeftOut, RunLogReader};
pub use writer::RunLogWriter;

/// Which phases come first.
fn place(phase: Phase) -> u8 {
    match phase {
        Phase::Warmup => 0,
        Phase::Measure => 1,
        Phase::Retried => 2,
        Phase::Probe => 3,
    }
}

/// One run: what was planned, what was seen, and what was learned after it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunLog {
    header: Header,
    records: Vec<RequestRecord>,
    footer: Option<Footer>,
}

impl RunLog {
    /// A log of its parts. Records may come in any order; they are kept in the order of the plan,
    /// so that a score does not depend on who finished first.
    pub fn new(header: Header, mut records: Vec<RequestRecord>, footer: Option<Footer>) -> Self {
        records.sort_by_key(|record| (place(record.phase), record.key()));
        Self { header, records, footer }
    }

    /// Reads a whole log from its file.
    pub fn read(path: &Path) -> Result<Self, RunLogError> {
        RunLogReader::open(path)?.into_log()
    }

    /// What was planned, by whom, and where.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Every record: the warm-up's, the measurement's, the tries that were not the last of their
    /// requests, and the probes.
    pub fn records(&self) -> &[RequestRecord] {
        &self.records
    }

    /// The records of the measurement, in the order of the plan.
    pub fn measured(&self) -> impl Iterator<Item = &RequestRecord> + Clone {
        self.of(Phase::Measure)
    }

    /// The tries that failed and were not the last of their requests.
    pub fn retried(&self) -> impl Iterator<Item = &RequestRecord> + Clone {
        self.of(Phase::Retried)
    }

    /// The records of what was sent beside the measurement.
    pub fn probes(&self) -> impl Iterator<Item = &RequestRecord> + Clone {
        self.of(Phase::Probe)
    }

    fn of(&self, phase: Phase) -> impl Iterator<Item = &RequestRecord> + Clone {
        self.records.iter().filter(move |record| record.phase == phase)
    }

    /// What was learned after the run; absent if the run was killed.
    pub fn footer(&self) -> Option<&Footer> {
        self.footer.as_ref()
    }

    /// The same with an audit in its footer; without a footer there is no place for it.
    #[must_use]
    pub fn with_audit(mut self, audit: serde_json::Value) -> Self {
        if let Some(footer) = &mut self.footer {
            footer.audit = Some(audit);
        }
        self
    }

    /// Whether the run came to its own end.
    pub fn is_complete(&self) -> bool {
        self.footer.as_ref().is_some_and(|footer| !footer.interrupted)
    }
}

/// What can go wrong with a log's file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunLogError {
    /// It cannot be read.
    #[error("cannot read the run log {path}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It cannot be written.
    #[error("cannot write the run log {path}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A new run log would take the place of a file that exists.
    #[error(
        "{path} exists, and a run log never takes the place of a file unasked: choose another name \
         or give --overwrite",
        path = path.display()
    )]
    Taken {
        /// The file.
        path: PathBuf,
    },
    /// Another process is writing it.
    #[error(
        "another process is writing the run log {path}: choose another name",
        path = path.display()
    )]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// Its path does not lead to it any more.
    #[error(
        "the run log {path} was removed or replaced during the run, so this run is not there",
        path = path.display()
    )]
    Moved {
        /// Where it was.
        path: PathBuf,
    },
    /// A line is damaged, or none of a run log's.
    #[error(
        "{path}:{line}: a damaged line: {reason}; servemark score and servemark compare leave such \
         lines out with --skip-damaged",
        path = path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from one.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The header is damaged.
    #[error(
        "the header of the run log {path} is damaged, and nothing can be read without it: {reason}",
        path = path.display()
    )]
    DamagedHeader {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Two runs are in one file.
    #[error("{path}:{line}: a second header: the file holds two runs", path = path.display())]
    SecondHeader {
        /// The file.
        path: PathBuf,
        /// The line, from one.
        line: usize,
    },
    /// The first line is not a header.
    #[error("{path} does not begin with a run log's header", path = path.display())]
    NoHeader {
        /// The file.
        path: PathBuf,
    },
}

impl RunLogError {
    /// Whether it is a run log of which something is damaged.
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
enum Line<H, R, F> {
    Header(H),
    Request(R),
    Footer(F),
}

#[cfg(test)]
mod tests;
