//! Appends a run's records to its file while the run goes on.

use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::file::{self, IfTaken};
use super::{Footer, Header, Line, RankStart, RunLogError, TelemetryLine, checksum};
use crate::RequestRecord;

/// Appends a run's records to its file while the run goes on: finished requests are on disk and
/// survive a kill.
///
/// The file is locked while it is written, so that no other process writes to it; others can read
/// it. The writer blocks on the disk, so it belongs on a thread of its own and never on the
/// measured path.
///
/// ```
/// use servemark_core::{Footer, Header, RunFacts, RunLog, RunLogWriter};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("run.runlog.jsonl");
/// let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
/// let writer = RunLogWriter::create(&path, &header)?;
/// // Here a run appends each record as its request ends.
/// writer.close(&Footer::default())?;
/// assert!(RunLog::read(&path)?.is_complete());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RunLogWriter {
    path: PathBuf,
    lines: LineWriter<File>,
}

impl RunLogWriter {
    /// Creates the file, which must not exist, and writes the header.
    pub fn create(path: &Path, header: &Header) -> Result<Self, RunLogError> {
        Self::open(path, IfTaken::Refuse, header)
    }

    /// Creates the file as `if_taken` says and writes the header. A device or a pipe is written to
    /// as it is.
    pub fn open(path: &Path, if_taken: IfTaken, header: &Header) -> Result<Self, RunLogError> {
        let (path, file) = file::open(path, if_taken)?;
        let mut writer = Self { path, lines: LineWriter::new(file) };
        writer.write(&Line::<_, (), (), ()>::Header(header))?;
        Ok(writer)
    }

    /// Appends a finished request. After a failed write every later one fails too: nothing follows
    /// a line that is not whole.
    pub fn append(&mut self, record: &RequestRecord) -> Result<(), RunLogError> {
        self.write(&Line::<(), _, (), ()>::Request(record))
    }

    /// Appends when the measurement began, for the part of a run that several processes share.
    pub fn append_start(&mut self, start: RankStart) -> Result<(), RunLogError> {
        self.write(&Line::<(), (), (), ()>::Start(start))
    }

    /// Appends a line about a source, a series or a sample.
    pub fn append_telemetry(&mut self, line: &TelemetryLine) -> Result<(), RunLogError> {
        self.write(&Line::<(), (), (), _>::Telemetry(line))
    }

    /// Appends the footer, syncs the file to disk, and checks that the path still leads to the
    /// file.
    pub fn close(mut self, footer: &Footer) -> Result<(), RunLogError> {
        self.write(&Line::<(), (), _, ()>::Footer(footer))?;
        let file = &self.lines.out;
        // A device or a pipe has nothing to sync.
        let sync = |facts: Metadata| if facts.is_file() { file.sync_all() } else { Ok(()) };
        let synced = file.metadata().and_then(sync);
        synced.map_err(|source| self.failed(source))?;
        self.check_place()
    }

    /// Checks that the path still leads to the file.
    pub fn check_place(&self) -> Result<(), RunLogError> {
        let is_in_place = file::is_in_place(&self.lines.out, &self.path);
        if is_in_place.map_err(|source| self.failed(source))? {
            return Ok(());
        }
        Err(RunLogError::Moved { path: self.path.clone() })
    }

    /// Returns the path of the file, which may be a numbered one.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn write(&mut self, line: &impl Serialize) -> Result<(), RunLogError> {
        self.lines.write(line).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> RunLogError {
        RunLogError::Write { path: self.path.clone(), source }
    }
}

/// Writes lines, each whole and with its checksum, until a write fails.
///
/// A line is built in memory and written with one call. Nothing is buffered beyond it, so nothing
/// is written after it was reported as written, and nothing by a destructor.
#[derive(Debug)]
pub(super) struct LineWriter<W> {
    out: W,
    line: Vec<u8>,
    has_failed: bool,
}

impl<W: Write> LineWriter<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, line: Vec::new(), has_failed: false }
    }

    pub(super) fn write(&mut self, line: &impl Serialize) -> io::Result<()> {
        if self.has_failed {
            return Err(io::Error::other("an earlier line could not be written"));
        }
        self.line.clear();
        self.line.shrink_to(RESERVED_BYTES);
        checksum::append_line(&mut self.line, line)?;
        let written = self.out.write_all(&self.line);
        self.has_failed = written.is_err();
        written
    }
}

/// Number of bytes of memory that stay reserved for the next line.
const RESERVED_BYTES: usize = 1 << 20;
