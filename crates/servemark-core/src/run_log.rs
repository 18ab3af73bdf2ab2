//! A run as a file: a header, one line per finished request, a footer.
//!
//! The lines are JSON. A request's line is appended when it finishes, so a killed run leaves a log
//! that scores like any other and is marked incomplete: its footer is missing, and its last line
//! may be torn.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Phase, RequestRecord};

mod facts;
mod piece_counts;
mod reader;
mod writer;

pub use facts::{
    CertificateCheck, ClientCost, DataPart, EngineFacts, Footer, Header, HostFacts, Retokenized,
    RunFacts, ShardCost, Truth, Weights,
};
pub use piece_counts::{PieceCounts, PieceCountsIter};
pub use reader::RunLogReader;
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
    /// A line is not one of ours.
    #[error("{path}:{line}: not a line of a run log: {reason}", path = path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from one.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The first line is not a header.
    #[error("{path} does not begin with a run log's header", path = path.display())]
    NoHeader {
        /// The file.
        path: PathBuf,
    },
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
