//! Reads a run's file, one record after the other.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::{Footer, Header, Line, RunLog, RunLogError};
use crate::RequestRecord;

/// Reads a run's file, one record after the other, in the order in which requests ended.
///
/// Once the records are through, [`footer`](Self::footer) is known.
#[derive(Debug)]
pub struct RunLogReader {
    lines: Lines,
    header: Header,
    footer: Option<Footer>,
    keeps_texts: bool,
}

impl RunLogReader {
    /// Opens a file and reads its header.
    pub fn open(path: &Path) -> Result<Self, RunLogError> {
        let mut lines = Lines::open(path)?;
        let Some(OwnedLine::Header(header)) = lines.next()? else {
            return Err(RunLogError::NoHeader { path: path.to_owned() });
        };
        Ok(Self { lines, header: *header, footer: None, keeps_texts: true })
    }

    /// Leaves the texts of the answers on the disk. They are most of a log, and only what prints
    /// or counts them needs them.
    #[must_use]
    pub fn without_texts(self) -> Self {
        Self { keeps_texts: false, ..self }
    }

    /// What was planned, by whom, and where.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What was learned after the run: known once the records are through, and absent then too if
    /// the run was killed.
    pub fn footer(&self) -> Option<&Footer> {
        self.footer.as_ref()
    }

    /// The rest of the log, in memory.
    pub fn into_log(mut self) -> Result<RunLog, RunLogError> {
        let records = self.by_ref().collect::<Result<_, _>>()?;
        Ok(RunLog::new(self.header, records, self.footer))
    }

    fn next_record(&mut self) -> Result<Option<RequestRecord>, RunLogError> {
        loop {
            match self.lines.next()? {
                Some(Line::Request(mut record)) => {
                    if !self.keeps_texts {
                        record.text = String::new();
                    }
                    record.compact();
                    return Ok(Some(*record));
                }
                Some(Line::Footer(end)) => self.footer = Some(*end),
                Some(Line::Header(_)) => return Err(self.lines.malformed("a second header")),
                None => return Ok(None),
            }
        }
    }
}

impl Iterator for RunLogReader {
    type Item = Result<RequestRecord, RunLogError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_record().transpose()
    }
}

type OwnedLine = Line<Box<Header>, Box<RequestRecord>, Box<Footer>>;

#[derive(Debug)]
struct Lines {
    path: PathBuf,
    file: BufReader<File>,
    number: usize,
    text: String,
}

impl Lines {
    fn open(path: &Path) -> Result<Self, RunLogError> {
        let open = |source| RunLogError::Read { path: path.to_owned(), source };
        let file = BufReader::new(File::open(path).map_err(open)?);
        Ok(Self { path: path.to_owned(), file, number: 0, text: String::new() })
    }

    /// The next whole line. A last line without its end was torn by the death of its writer, and
    /// is what was not finished.
    fn next(&mut self) -> Result<Option<OwnedLine>, RunLogError> {
        self.text.clear();
        let read = self.file.read_line(&mut self.text);
        read.map_err(|source| RunLogError::Read { path: self.path.clone(), source })?;
        self.number += 1;
        if !self.text.ends_with('\n') {
            return Ok(None);
        }
        let line = serde_json::from_str(&self.text);
        line.map(Some).map_err(|error| self.malformed(&error.to_string()))
    }

    fn malformed(&self, reason: &str) -> RunLogError {
        RunLogError::Malformed {
            path: self.path.clone(),
            line: self.number,
            reason: reason.to_owned(),
        }
    }
}
