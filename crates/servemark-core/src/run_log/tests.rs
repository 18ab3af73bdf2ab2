mod damage;
mod formats;

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

fn write_log(footer: Option<&Footer>) -> (tempfile::TempDir, PathBuf) {
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
    let (_folder, path) = write_log(Some(&footer));
    let log = RunLog::read(&path).unwrap();
    assert_eq!((log.header(), log.footer()), (&header(), Some(&footer)));
    assert!(log.is_complete());
    assert_eq!(log.records()[0].phase, Phase::Warmup);
    assert_eq!(log.measured().map(|record| record.index).collect::<Vec<_>>(), [0, 1]);
}

/// Reads the log of another program that `docs/formats.md` shows.
#[test]
fn a_log_of_another_program_needs_few_fields() {
    let shown = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats.md");
    let shown = fs::read_to_string(shown).unwrap();
    let from = shown.find("{\"header\":{\"format\":1,\"facts\"").expect("the example's header");
    let to = from + shown[from..].find("```").expect("the example's end");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    fs::write(&path, &shown[from..to]).unwrap();
    let log = RunLog::read(&path).unwrap();
    assert!(log.is_complete());
    let [answered, failed] = log.records() else { panic!("{:?}", log.records()) };
    assert_eq!((answered.phase, answered.deltas.len()), (Phase::Measure, 3));
    assert_eq!(
        answered.pieces().map(|(_, text)| text).collect::<Vec<_>>(),
        ["one, ", "two, ", "three"]
    );
    let planned = answered.planned;
    assert_eq!((planned.items, planned.prompt_tokens, planned.text_tokens), (1, 10, 10));
    assert_eq!(failed.outcome.as_ref().unwrap_err().kind, crate::ErrorKind::Status);
    assert_eq!((log.header().host.cores, log.header().plan.is_null()), (0, true));
}

#[test]
fn a_log_is_read_one_record_after_the_other() {
    let (_folder, path) = write_log(Some(&Footer::default()));
    let mut reader = RunLogReader::open(&path).unwrap();
    assert_eq!((reader.header(), reader.footer()), (&header(), None));
    let indices: Vec<usize> = reader.by_ref().map(|record| record.unwrap().index).collect();
    assert_eq!((indices.as_slice(), reader.footer()), (&[1, 0, 0][..], Some(&Footer::default())));
}

#[test]
fn lines_of_telemetry_stand_between_the_requests() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let mut writer = RunLogWriter::create(&path, &header()).unwrap();
    let head = SeriesHead::new(0, 0, "ttft", SeriesKind::Histogram).with_bounds(vec![0.1]);
    let mut sample = TelemetrySample::new(0, Stamp::from_nanos(5), 2);
    sample.values = vec![(0, 1.5)];
    sample.histograms = vec![(0, HistogramReading::new(vec![1.0, 2.0], 0.5))];
    let lines = [
        TelemetryLine::Source(TelemetrySource::new(0, "http://server/metrics")),
        TelemetryLine::Series(head),
        TelemetryLine::Sample(sample),
        TelemetryLine::Sample(TelemetrySample::gap(0, Stamp::from_nanos(9), "refused")),
    ];
    let mut telemetry = Telemetry::default();
    for line in lines {
        writer.append_telemetry(&line).unwrap();
        writer.append(&record(telemetry.samples.len(), Phase::Measure)).unwrap();
        telemetry.add(line);
    }
    writer.close(&Footer::default()).unwrap();
    let log = RunLog::read(&path).unwrap();
    assert_eq!((log.records().len(), log.telemetry()), (4, &telemetry));
}

#[test]
fn a_log_in_memory_is_written_and_cut_into_lines_as_it_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let [path, copy] = ["run.jsonl", "copy.jsonl"].map(|name| folder.path().join(name));
    let mut spoken = record(1, Phase::Measure);
    spoken.text = "ab".to_owned();
    let footer = Footer { ended: Stamp::from_nanos(9), ..Footer::default() };
    let clock = RankClock { offset_ns: -5, bound_ns: 2 };
    let start = RankStart { at: Stamp::from_nanos(3), clock };
    let mut writer = RunLogWriter::create(&path, &header()).unwrap();
    writer.append_start(start).unwrap();
    writer
        .append_telemetry(&TelemetryLine::Source(TelemetrySource::new(0, "http://server/metrics")))
        .unwrap();
    writer
        .append_telemetry(&TelemetryLine::Sample(TelemetrySample::gap(0, Stamp::ZERO, "refused")))
        .unwrap();
    writer.append(&record(0, Phase::Measure)).unwrap();
    writer.append(&spoken).unwrap();
    writer.close(&footer).unwrap();
    let log = RunLog::read(&path).unwrap();
    assert_eq!(log.start(), Some(start));
    assert_eq!(log.write(&copy, IfTaken::Refuse).unwrap(), copy);
    let written = fs::read(&path).unwrap();
    assert_eq!(fs::read(&copy).unwrap(), written);
    let lines = |texts| (0..).map_while(|number| log.line(number, texts)).collect::<Vec<_>>();
    assert_eq!(lines(Texts::Kept).concat(), written);
    fs::write(&copy, lines(Texts::LeftOut).concat()).unwrap();
    let short = RunLog::read(&copy).unwrap();
    assert_eq!(short.records()[1], RequestRecord { text: String::new(), ..spoken });
    assert_eq!((short.footer(), short.telemetry()), (log.footer(), log.telemetry()));
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
    let (_folder, path) = write_log(None);
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 5]).unwrap();
    let log = RunLog::read(&path).unwrap();
    assert!(!log.is_complete());
    assert_eq!(log.records().len(), 2);
}

#[test]
fn a_line_of_something_else_is_named() {
    let (_folder, path) = write_log(None);
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, whole.replacen("{\"request\"", "{\"quest\"", 1)).unwrap();
    let error = RunLog::read(&path).unwrap_err().to_string();
    assert!(error.contains("run.jsonl:2: a damaged line"), "{error}");
}

#[test]
fn a_file_of_something_else_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.json");
    fs::write(&path, "").unwrap();
    let error = RunLog::read(&path).unwrap_err().to_string();
    assert!(error.ends_with("does not begin with a run log's header"), "{error}");
}

#[test]
fn a_log_of_a_newer_format_is_refused() {
    let (_folder, path) = write_log(None);
    let text = fs::read_to_string(&path).unwrap();
    let text = text.split_once(",\"crc32\":").unwrap().0.replace("\"format\":1", "\"format\":2");
    fs::write(&path, format!("{text}}}\n")).unwrap();
    let error = RunLog::read(&path).unwrap_err().to_string();
    assert!(
        error.contains(" is a run log of format 2, and this program reads format 1"),
        "{error}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    // Every write to this device fails, as on a full disk.
    let error = RunLogWriter::create(Path::new("/dev/full"), &header()).unwrap_err();
    assert!(matches!(error, RunLogError::Write { .. }), "{error}");
}

#[test]
fn a_file_that_exists_is_refused_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    fs::write(&path, "dear").unwrap();
    let error = RunLogWriter::create(&path, &header()).unwrap_err().to_string();
    assert!(error.contains("`output.run_log_if_taken`"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "dear");
    RunLogWriter::open(&path, IfTaken::Replace, &header()).unwrap();
    assert_eq!(RunLog::read(&path).unwrap().records(), []);
}

#[test]
fn ten_logs_of_one_name_are_ten_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.runlog.jsonl");
    let open = |_| RunLogWriter::open(&path, IfTaken::Number, &header()).unwrap();
    let writers: Vec<RunLogWriter> = (0..10).map(open).collect();
    let names: Vec<_> =
        writers.iter().map(|writer| writer.path().file_name().unwrap().to_owned()).collect();
    assert_eq!(
        (&*names[0], &*names[9]),
        ("run.runlog.jsonl".as_ref(), "run_10.runlog.jsonl".as_ref())
    );
    for writer in writers {
        let path = writer.path().to_owned();
        writer.close(&Footer::default()).unwrap();
        assert!(RunLog::read(&path).unwrap().is_complete());
    }
}

#[test]
fn a_log_that_is_being_written_is_read_and_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let mut writer = RunLogWriter::create(&path, &header()).unwrap();
    writer.append(&record(0, Phase::Measure)).unwrap();
    let replaced = RunLogWriter::open(&path, IfTaken::Replace, &header()).unwrap_err();
    assert!(matches!(replaced, RunLogError::Busy { .. }), "{replaced}");
    let removed = remove_run_log(&path).unwrap_err();
    assert!(matches!(removed, RunLogError::Busy { .. }), "{removed}");
    assert_eq!(RunLog::read(&path).unwrap().records().len(), 1);
    drop(writer);
    remove_run_log(&path).unwrap();
    assert!(!path.exists());
}

#[cfg(unix)]
#[test]
fn a_log_that_is_removed_or_replaced_meanwhile_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    for is_replaced in [false, true] {
        let writer = RunLogWriter::create(&path, &header()).unwrap();
        fs::remove_file(&path).unwrap();
        if is_replaced {
            fs::write(&path, "other").unwrap();
        }
        let error = writer.close(&Footer::default()).unwrap_err();
        assert!(matches!(error, RunLogError::Moved { .. }), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn a_device_is_written_to_as_it_is() {
    let writer = RunLogWriter::create(Path::new("/dev/null"), &header()).unwrap();
    writer.close(&Footer::default()).unwrap();
}
