//! Appends a run to its file while it happens.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Footer, Header, Line, RunLogError};
use crate::RequestRecord;

/// Appends a run to its file while it happens: what is finished is on disk and survives a kill.
///
/// It blocks on the disk, so it belongs on a thread of its own and never on the measured path.
#[derive(Debug)]
pub struct RunLogWriter {
    path: PathBuf,
    file: BufWriter<File>,
}

impl RunLogWriter {
    /// Creates the file, or empties it, and writes the header.
    pub fn create(path: &Path, header: &Header) -> Result<Self, RunLogError> {
        let file = File::create(path)
            .map_err(|source| RunLogError::Write { path: path.to_owned(), source })?;
        let mut writer = Self { path: path.to_owned(), file: BufWriter::new(file) };
        writer.write(&Line::<_, (), ()>::Header(header))?;
        Ok(writer)
    }

    /// Appends a finished request.
    pub fn append(&mut self, record: &RequestRecord) -> Result<(), RunLogError> {
        self.write(&Line::<(), _, ()>::Request(record))
    }

    /// Appends the footer and makes sure that all of it is on the disk.
    pub fn close(mut self, footer: &Footer) -> Result<(), RunLogError> {
        self.write(&Line::<(), (), _>::Footer(footer))?;
        self.file.get_ref().sync_all().map_err(|source| self.failed(source))
    }

    /// Where it writes.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn write(&mut self, line: &impl Serialize) -> Result<(), RunLogError> {
        serde_json::to_writer(&mut self.file, line)
            .map_err(std::io::Error::from)
            .and_then(|()| self.file.write_all(b"\n"))
            .and_then(|()| self.file.flush())
            .map_err(|source| self.failed(source))
    }

    fn failed(&self, source: std::io::Error) -> RunLogError {
        RunLogError::Write { path: self.path.clone(), source }
    }
}
