//! Benchmarks the run log's file: 1,000 requests of 256 tokens, written as a run writes them and
//! read back.

use std::path::Path;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use servemark::core::{IfTaken, RunLog, RunLogWriter};
use servemark_benches::logs;
use tempfile::TempDir;

fn main() {
    divan::main();
}

#[divan::bench]
fn write(bencher: Bencher<'_, '_>) {
    let (log, folder) = (logs::run_log(REQUESTS, TOKENS), folder());
    let path = folder.path().join("written.jsonl");
    let bytes = write_to(&path, &log);
    bench(bencher, bytes, || write_to(&path, &log));
}

#[divan::bench]
fn read(bencher: Bencher<'_, '_>) {
    let (log, folder) = (logs::run_log(REQUESTS, TOKENS), folder());
    let path = folder.path().join("read.jsonl");
    let bytes = write_to(&path, &log);
    bench(bencher, bytes, || {
        let read = RunLog::read(&path).expect("it was written just now");
        assert!(read.is_complete() && read.records().len() == REQUESTS);
        read
    });
}

fn bench<T>(bencher: Bencher<'_, '_>, bytes: u64, work: impl Fn() -> T + Sync) {
    bencher.counter(BytesCount::new(bytes)).counter(ItemsCount::new(REQUESTS)).bench(work);
}

/// Writes the whole file, flushed per request and synced at its end. Returns its length in bytes.
fn write_to(path: &Path, log: &RunLog) -> u64 {
    let mut writer =
        RunLogWriter::open(path, IfTaken::Replace, log.header()).expect("the folder is ours");
    for record in log.records() {
        writer.append(record).expect("the disk has room");
    }
    writer.close(log.footer().expect("it is complete")).expect("the disk has room");
    path.metadata().map_or(0, |metadata| metadata.len())
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("there is a folder for temporary files")
}

const REQUESTS: usize = 1000;
const TOKENS: u32 = 256;
