//! Measures tokens that are kept and scored.

use std::io::sink;
use std::path::Path;

use anyhow::ensure;
use servemark::Scores;
use servemark::core::{
    Clock, IfTaken, MonotonicClock, RequestRecord, RunLog, RunLogReader, RunLogWriter, Stamp,
};
use servemark::plan::ScoringSpec;

use super::Figures;
use crate::logs;
use crate::resident::{now_mib, peak_mib};

/// Measures a run's records in memory, as the run keeps them once they are on disk.
pub(super) fn keep(tokens: u64) -> anyhow::Result<Figures> {
    let clock = MonotonicClock::start();
    let log = compacted_log(tokens);
    let bytes = now_mib()? * 1024.0 * 1024.0;
    ensure!(!log.records().is_empty(), "there are no tokens to keep");
    Ok(Figures { bytes_each: bytes / tokens as f64, ..figures(tokens, &clock)? })
}

/// Measures a run's records in memory, and both tables computed from them.
pub(super) fn score(tokens: u64) -> anyhow::Result<Figures> {
    let log = compacted_log(tokens);
    let clock = MonotonicClock::start();
    tables(&log)?;
    figures(tokens, &clock)
}

/// Measures writing a run to a file.
pub(super) fn write(tokens: u64, path: &Path) -> anyhow::Result<Figures> {
    let clock = MonotonicClock::start();
    let mut writer = RunLogWriter::open(path, IfTaken::Replace, &logs::header(requests(tokens)))?;
    let mut ended = Stamp::ZERO;
    for record in records(tokens) {
        writer.append(&record)?;
        ended = ended.max(record.ended);
    }
    writer.close(&logs::footer(ended))?;
    figures(tokens, &clock)
}

/// Measures scoring the file.
pub(super) fn read(tokens: u64, path: &Path) -> anyhow::Result<Figures> {
    let clock = MonotonicClock::start();
    tables(&RunLogReader::open(path)?.without_texts().into_log()?)?;
    figures(tokens, &clock)
}

fn compacted_log(tokens: u64) -> RunLog {
    let mut ended = Stamp::ZERO;
    let records = records(tokens).map(|mut record| {
        record.text = String::new();
        record.compact();
        ended = ended.max(record.ended);
        record
    });
    let records = records.collect();
    RunLog::new(logs::header(requests(tokens)), records, Some(logs::footer(ended)))
}

fn records(tokens: u64) -> impl Iterator<Item = RequestRecord> {
    (0..requests(tokens)).map(|index| logs::record(index, TOKENS_EACH))
}

fn requests(tokens: u64) -> usize {
    (tokens / u64::from(TOKENS_EACH)) as usize
}

fn tables(log: &RunLog) -> anyhow::Result<()> {
    Ok(Scores::of(log, &ScoringSpec::default()).write_tables(&mut sink())?)
}

fn figures(tokens: u64, clock: &MonotonicClock) -> anyhow::Result<Figures> {
    let peak_mib = peak_mib()?;
    Ok(Figures {
        peak_mib,
        bytes_each: peak_mib * 1024.0 * 1024.0 / tokens as f64,
        seconds: Some(clock.now().as_secs_f64()),
    })
}

/// Number of tokens of one request.
const TOKENS_EACH: u32 = 1000;
