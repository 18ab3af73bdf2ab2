//! Reads a run log from its file, one record at a time.

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::{
    Footer, Header, Line, RankStart, RunLog, RunLogError, Telemetry, TelemetryLine, checksum,
};
use crate::RequestRecord;

/// Reads a run log from its file, one record at a time, in the order in which the requests ended.
///
/// [`footer`](Self::footer) is known once all records have been read.
///
/// ```
/// use servemark_core::{Footer, Header, RunFacts, RunLogReader, RunLogWriter};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("run.runlog.jsonl");
/// let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
/// RunLogWriter::create(&path, &header)?.close(&Footer::default())?;
///
/// let mut log = RunLogReader::open(&path)?.without_texts();
/// assert_eq!(log.by_ref().filter(Result::is_ok).count(), 0);
/// assert!(log.footer().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RunLogReader {
    lines: Lines,
    header: Header,
    start: Option<RankStart>,
    footer: Option<Footer>,
    telemetry: Telemetry,
    keeps_texts: bool,
    if_damaged: IfDamaged,
    left_out: LeftOut,
}

/// What to do with a damaged line of a run log. Closed: it is an error, or it is left out.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum IfDamaged {
    /// Return an error.
    #[default]
    Refuse,
    /// Leave the line out and count it.
    Skip,
}

/// Lines of a run log that were not read.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct LeftOut {
    /// Number of damaged lines.
    pub damaged: usize,
    /// One-based number of the first damaged line, and what is wrong with it.
    pub first_damaged: Option<(usize, String)>,
    /// Whether the last line is incomplete: its writer was killed, or its disk was full.
    pub is_torn: bool,
}

impl LeftOut {
    /// Returns whether every line was read.
    pub fn is_nothing(&self) -> bool {
        self.damaged == 0 && !self.is_torn
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, reason)) = &self.first_damaged {
            let lines = if self.damaged == 1 { "line" } else { "lines" };
            write!(
                f,
                "{} damaged {lines} left out; the first is line {line}: {reason}",
                self.damaged
            )?;
        }
        if self.is_torn {
            let comma = if self.damaged > 0 { "; " } else { "" };
            write!(f, "{comma}the last line is unfinished and left out")?;
        }
        Ok(())
    }
}

impl RunLogReader {
    /// Opens a file and reads its header.
    pub fn open(path: &Path) -> Result<Self, RunLogError> {
        let mut lines = Lines::open(path)?;
        let header = match lines.next()? {
            Next::Line(Line::Header(header)) => header,
            Next::Damaged(reason) if lines.bytes.starts_with(START) => {
                return Err(RunLogError::DamagedHeader { path: path.to_owned(), reason });
            }
            _ => return Err(RunLogError::NoHeader { path: path.to_owned() }),
        };
        if header.format > Header::FORMAT {
            return Err(RunLogError::Format { path: path.to_owned(), format: header.format });
        }
        Ok(Self {
            lines,
            header: *header,
            start: None,
            footer: None,
            telemetry: Telemetry::default(),
            keeps_texts: true,
            if_damaged: IfDamaged::Refuse,
            left_out: LeftOut::default(),
        })
    }

    /// Drops the texts of the answers after reading. They are most of a log, and only code that
    /// prints or counts them needs them.
    #[must_use]
    pub fn without_texts(self) -> Self {
        Self { keeps_texts: false, ..self }
    }

    /// Sets what to do with damaged lines; [`IfDamaged::Refuse`] by default.
    #[must_use]
    pub fn if_damaged(self, if_damaged: IfDamaged) -> Self {
        Self { if_damaged, ..self }
    }

    /// Returns what was planned, by which program, and on which machine.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns what was learned after the run: `None` until all records have been read, and
    /// afterwards if the run was killed.
    pub fn footer(&self) -> Option<&Footer> {
        self.footer.as_ref()
    }

    /// Returns the metrics of servers and their machines, up to the current position.
    pub fn telemetry(&self) -> &Telemetry {
        &self.telemetry
    }

    /// Returns the lines that were not read, up to the current position.
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    /// Reads the rest of the log into memory.
    pub fn into_log(self) -> Result<RunLog, RunLogError> {
        self.into_log_and_left_out().map(|(log, _)| log)
    }

    /// Reads the rest of the log into memory; also returns the lines that were not read.
    pub fn into_log_and_left_out(mut self) -> Result<(RunLog, LeftOut), RunLogError> {
        let records = self.by_ref().collect::<Result<_, _>>()?;
        let log = RunLog::new(self.header, records, self.footer);
        Ok((log.with_start(self.start).with_telemetry(self.telemetry), self.left_out))
    }

    fn next_record(&mut self) -> Result<Option<RequestRecord>, RunLogError> {
        loop {
            match self.lines.next()? {
                Next::Line(Line::Request(mut record)) => {
                    if !self.keeps_texts {
                        record.text = String::new();
                    }
                    record.compact();
                    return Ok(Some(*record));
                }
                Next::Line(Line::Footer(end)) => self.footer = Some(*end),
                Next::Line(Line::Telemetry(line)) => self.telemetry.add(line),
                Next::Line(Line::Start(start)) => self.start = Some(start),
                Next::Line(Line::Header(_)) => {
                    let (path, line) = (self.lines.path.clone(), self.lines.number);
                    return Err(RunLogError::SecondHeader { path, line });
                }
                Next::Damaged(reason) => self.leave_out(reason)?,
                Next::Torn => {
                    self.left_out.is_torn = true;
                    return Ok(None);
                }
                Next::End => return Ok(None),
            }
        }
    }

    fn leave_out(&mut self, reason: String) -> Result<(), RunLogError> {
        let line = self.lines.number;
        if self.if_damaged == IfDamaged::Refuse {
            return Err(RunLogError::Damaged { path: self.lines.path.clone(), line, reason });
        }
        self.left_out.damaged += 1;
        self.left_out.first_damaged.get_or_insert((line, reason));
        Ok(())
    }
}

impl Iterator for RunLogReader {
    type Item = Result<RequestRecord, RunLogError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_record().transpose()
    }
}

type OwnedLine = Line<Box<Header>, Box<RequestRecord>, Box<Footer>, TelemetryLine>;

/// The next item of a file.
enum Next {
    Line(OwnedLine),
    /// A whole line that is damaged or not a line of a run log, with the reason.
    Damaged(String),
    /// A last line that its writer did not finish.
    Torn,
    End,
}

#[derive(Debug)]
struct Lines {
    path: PathBuf,
    file: BufReader<File>,
    number: usize,
    /// Bytes and not text, because a file may be cut inside a character.
    bytes: Vec<u8>,
}

impl Lines {
    fn open(path: &Path) -> Result<Self, RunLogError> {
        let open = |source| RunLogError::Read { path: path.to_owned(), source };
        let file = BufReader::new(File::open(path).map_err(open)?);
        Ok(Self { path: path.to_owned(), file, number: 0, bytes: Vec::new() })
    }

    fn next(&mut self) -> Result<Next, RunLogError> {
        self.bytes.clear();
        let read = self.file.read_until(b'\n', &mut self.bytes);
        read.map_err(|source| RunLogError::Read { path: self.path.clone(), source })?;
        self.number += 1;
        Ok(match self.bytes.pop() {
            None => Next::End,
            Some(b'\n') => parsed(&mut self.bytes).map_or_else(Next::Damaged, Next::Line),
            // No beginning of a JSON object is one itself, so a line that parses is whole.
            Some(last) => {
                self.bytes.push(last);
                parsed(&mut self.bytes).map_or(Next::Torn, Next::Line)
            }
        })
    }
}

fn parsed(line: &mut Vec<u8>) -> Result<OwnedLine, String> {
    if !checksum::unseal(line) {
        return Err("its checksum is wrong".to_owned());
    }
    serde_json::from_slice(line).map_err(|error| error.to_string())
}

/// The beginning of the first line of every run log.
const START: &[u8] = b"{\"header\":";
