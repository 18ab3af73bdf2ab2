use std::fs;

use super::*;
use crate::{Delta, Finish, Phase, Recorder, Sample, Sink, Stamp};

fn header() -> Header {
    let facts =
        RunFacts { backend: "vllm".to_owned(), request_rate: Some(0.1), ..RunFacts::default() };
    Header::new(7, facts, serde_json::json!({"seed": 42}))
}

fn record(index: usize, phase: Phase) -> RequestRecord {
    let due = Stamp::from_nanos(index as u64);
    Recorder::new(index, phase, &Sample::new("hi", 1, 2), due).finish(Ok(Finish::default()), due)
}

fn written(footer: Option<&Footer>) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let mut writer = RunLogWriter::create(&path, &header()).unwrap();
    for record in [record(1, Phase::Measure), record(0, Phase::Measure), record(0, Phase::Warmup)] {
        writer.append(&record).unwrap();
    }
    if let Some(footer) = footer {
        writer.close(footer).unwrap();
    }
    (folder, path)
}

#[test]
fn a_log_reads_back_as_it_was_written_in_the_order_of_the_plan() {
    let footer = Footer { ended: Stamp::from_nanos(9), ..Footer::default() };
    let (_folder, path) = written(Some(&footer));
    let log = RunLog::read(&path).unwrap();
    assert_eq!((log.header(), log.footer()), (&header(), Some(&footer)));
    assert!(log.is_complete());
    assert_eq!(log.records()[0].phase, Phase::Warmup);
    assert_eq!(log.measured().map(|record| record.index).collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn a_log_is_read_one_record_after_the_other() {
    let (_folder, path) = written(Some(&Footer::default()));
    let mut reader = RunLogReader::open(&path).unwrap();
    assert_eq!((reader.header(), reader.footer()), (&header(), None));
    let indices: Vec<usize> = reader.by_ref().map(|record| record.unwrap().index).collect();
    assert_eq!((indices.as_slice(), reader.footer()), (&[1, 0, 0][..], Some(&Footer::default())));
}

#[test]
fn the_texts_can_stay_on_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let mut recorder = Recorder::new(0, Phase::Measure, &Sample::new("hi", 1, 2), Stamp::ZERO);
    recorder.at(Stamp::ZERO).delta(Delta::content("ab"));
    let record = recorder.finish(Ok(Finish::default()), Stamp::ZERO);
    RunLogWriter::create(&path, &header()).unwrap().append(&record).unwrap();
    let read = |reader: RunLogReader| reader.into_log().unwrap().records()[0].clone();
    let [whole, short] =
        [RunLogReader::open(&path).unwrap(), RunLogReader::open(&path).unwrap().without_texts()]
            .map(read);
    assert_eq!((&whole, short.text.as_str(), &short.deltas), (&record, "", &record.deltas));
}

#[test]
fn a_killed_run_keeps_every_finished_request() {
    let (_folder, path) = written(None);
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 5]).unwrap();
    let log = RunLog::read(&path).unwrap();
    assert!(!log.is_complete());
    assert_eq!(log.records().len(), 2);
}

#[test]
fn a_broken_line_is_named() {
    let (_folder, path) = written(None);
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, whole.replacen("{\"request\"", "{\"quest\"", 1)).unwrap();
    let error = RunLog::read(&path).unwrap_err().to_string();
    assert!(error.contains("run.jsonl:2: not a line of a run log"), "{error}");
}

#[test]
fn a_file_of_something_else_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.json");
    fs::write(&path, "").unwrap();
    let error = RunLog::read(&path).unwrap_err().to_string();
    assert!(error.ends_with("does not begin with a run log's header"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    // Every write to this device fails as a full disk does.
    let error = RunLogWriter::create(Path::new("/dev/full"), &header()).unwrap_err();
    assert!(matches!(error, RunLogError::Write { .. }), "{error}");
}
