//! The lines of a run log that is in memory.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{IfTaken, Line, RunLog, RunLogError, RunLogWriter, TelemetryLine, checksum};
use crate::RequestRecord;

/// Whether lines contain the texts of the answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Texts {
    /// Lines contain them.
    Kept,
    /// Lines do not contain them; everything else is there.
    LeftOut,
}

impl RunLog {
    /// Returns a line of the log's file, with its line feed, by its zero-based number; `None` after
    /// the last one.
    pub fn line(&self, number: usize, texts: Texts) -> Option<Vec<u8>> {
        let head = 1 + usize::from(self.start.is_some());
        let (telemetry, records) = (self.telemetry_lines(), self.records.len());
        if number == 0 {
            return Some(sealed(&Line::<_, (), (), ()>::Header(&self.header)));
        }
        if number < head {
            return self.start.map(|start| sealed(&Line::<(), (), (), ()>::Start(start)));
        }
        let number = number - head;
        if number < telemetry {
            return self
                .telemetry_line(number)
                .map(|line| sealed(&Line::<(), (), (), _>::Telemetry(line)));
        }
        let number = number - telemetry;
        if let Some(record) = self.records.get(number) {
            return Some(record_line(record, texts));
        }
        let footer = self.footer.as_ref().filter(|_| number == records);
        footer.map(|footer| sealed(&Line::<(), (), _, ()>::Footer(footer)))
    }

    /// Writes the whole log to a file, and returns its path, which may be a numbered one.
    pub fn write(&self, path: &Path, if_taken: IfTaken) -> Result<PathBuf, RunLogError> {
        let mut writer = RunLogWriter::open(path, if_taken, &self.header)?;
        let path = writer.path().to_owned();
        if let Some(start) = self.start {
            writer.append_start(start)?;
        }
        for line in (0..).map_while(|number| self.telemetry_line(number)) {
            writer.append_telemetry(&line)?;
        }
        for record in &self.records {
            writer.append(record)?;
        }
        match &self.footer {
            Some(footer) => writer.close(footer)?,
            None => writer.check_place()?,
        }
        Ok(path)
    }

    fn telemetry_lines(&self) -> usize {
        let telemetry = &self.telemetry;
        telemetry.sources.len() + telemetry.series.len() + telemetry.samples.len()
    }

    /// Returns a line of telemetry: first the sources, then the series, then the samples.
    fn telemetry_line(&self, number: usize) -> Option<TelemetryLine> {
        let telemetry = &self.telemetry;
        if let Some(source) = telemetry.sources.get(number) {
            return Some(TelemetryLine::Source(source.clone()));
        }
        let number = number - telemetry.sources.len();
        if let Some(series) = telemetry.series.get(number) {
            return Some(TelemetryLine::Series(series.clone()));
        }
        let sample = telemetry.samples.get(number - telemetry.series.len());
        sample.cloned().map(TelemetryLine::Sample)
    }
}

fn record_line(record: &RequestRecord, texts: Texts) -> Vec<u8> {
    if texts == Texts::Kept || record.text.is_empty() {
        return sealed(&Line::<(), _, (), ()>::Request(record));
    }
    let mut record = record.clone();
    record.text = String::new();
    sealed(&Line::<(), _, (), ()>::Request(&record))
}

fn sealed(line: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    checksum::append_line(&mut bytes, line).expect("what a log consists of is plain JSON");
    bytes
}
