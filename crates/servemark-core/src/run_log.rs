//! A run as a file: a header, one line per finished request, a footer.
//!
//! The lines are JSON. A request's line is appended when it finishes, so a killed run leaves a log
//! that scores like any other and is marked incomplete: its footer is missing, and its last line
//! may be torn.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Phase, RequestRecord};

mod facts;
mod writer;

pub use facts::{ClientCost, Footer, Header, HostFacts, Retokenized, RunFacts, ShardCost, Truth};
pub use writer::RunLogWriter;

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
        records.sort_by_key(|record| (record.phase != Phase::Warmup, record.key()));
        Self { header, records, footer }
    }

    /// Reads a log from its file.
    pub fn read(path: &Path) -> Result<Self, RunLogError> {
        let open = |source| RunLogError::Read { path: path.to_owned(), source };
        let reader = BufReader::new(File::open(path).map_err(open)?);
        Lines { path, reader, number: 0 }.collect()
    }

    /// What was planned, by whom, and where.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Every record, the warm-up's first.
    pub fn records(&self) -> &[RequestRecord] {
        &self.records
    }

    /// The records of the measurement, in the order of the plan.
    pub fn measured(&self) -> impl Iterator<Item = &RequestRecord> + Clone {
        self.records.iter().filter(|record| record.phase == Phase::Measure)
    }

    /// What was learned after the run; absent if the run was killed.
    pub fn footer(&self) -> Option<&Footer> {
        self.footer.as_ref()
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

type OwnedLine = Line<Header, Box<RequestRecord>, Box<Footer>>;

struct Lines<'a, R> {
    path: &'a Path,
    reader: R,
    number: usize,
}

impl<R: BufRead> Lines<'_, R> {
    fn collect(mut self) -> Result<RunLog, RunLogError> {
        let Some(OwnedLine::Header(header)) = self.next()? else {
            return Err(RunLogError::NoHeader { path: self.path.to_owned() });
        };
        let (mut records, mut footer) = (Vec::new(), None);
        while let Some(line) = self.next()? {
            match line {
                Line::Request(record) => records.push(*record),
                Line::Footer(end) => footer = Some(*end),
                Line::Header(_) => return Err(self.malformed("a second header")),
            }
        }
        Ok(RunLog::new(header, records, footer))
    }

    /// The next whole line. A last line without its end was torn by the death of its writer, and
    /// is what was not finished.
    fn next(&mut self) -> Result<Option<OwnedLine>, RunLogError> {
        let mut text = String::new();
        self.reader
            .read_line(&mut text)
            .map_err(|source| RunLogError::Read { path: self.path.to_owned(), source })?;
        self.number += 1;
        if !text.ends_with('\n') {
            return Ok(None);
        }
        serde_json::from_str(&text).map(Some).map_err(|error| self.malformed(&error.to_string()))
    }

    fn malformed(&self, reason: &str) -> RunLogError {
        RunLogError::Malformed {
            path: self.path.to_owned(),
            line: self.number,
            reason: reason.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
