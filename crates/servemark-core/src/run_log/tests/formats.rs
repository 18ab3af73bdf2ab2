//! The specification of a run log in `docs/formats.md`, and the readers in other languages beside it.

use std::io::Write;
use std::iter;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::*;
use crate::{DeltaKind, ErrorKind, RequestError};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Returns the names of the public fields that a source declares, but for those whose own fields are
/// written in their place.
fn fields(source: &str) -> impl Iterator<Item = &str> {
    let before = iter::once("").chain(source.lines());
    before.zip(source.lines()).filter_map(|(before, line)| {
        let (name, _) = line.strip_prefix("    pub ")?.split_once(": ")?;
        let is_name = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        (is_name && before.trim() != "#[serde(flatten)]").then_some(name)
    })
}

#[test]
fn the_specification_has_every_field() {
    let specification = fs::read_to_string(format!("{ROOT}/docs/formats.md")).unwrap();
    let (telemetry, _) = include_str!("../telemetry.rs")
        .split_once("pub struct Telemetry {")
        .expect("the fields of a log in memory come last");
    let sources = [
        include_str!("../facts.rs"),
        include_str!("../ranks.rs"),
        telemetry,
        include_str!("../../odd_count.rs"),
        include_str!("../../record.rs"),
        include_str!("../../server_times.rs"),
    ];
    let names: Vec<&str> = sources.into_iter().flat_map(fields).collect();
    assert!(names.len() > 100, "{}", names.len());
    for name in names {
        assert!(specification.contains(&format!("`{name}`")), "docs/formats.md lacks {name}");
    }
}

/// Returns what the readers in other languages print of a log, from our reader.
fn expected(path: &Path) -> Vec<Value> {
    let mut log = RunLogReader::open(path).unwrap().if_damaged(IfDamaged::Skip);
    let mut lines: Vec<Value> = log.by_ref().map(|record| line(&record.unwrap())).collect();
    let is_complete = log.footer().is_some_and(|footer| !footer.interrupted);
    let telemetry = log.telemetry();
    let telemetry = telemetry.sources.len() + telemetry.series.len() + telemetry.samples.len();
    lines.push(json!({
        "requests": log.header().facts.requests,
        "telemetry": telemetry,
        "is_complete": is_complete,
        "damaged": log.left_out().damaged,
        "is_torn": log.left_out().is_torn,
    }));
    lines
}

fn line(record: &RequestRecord) -> Value {
    let piece = |(row, text): (crate::DeltaRow, &str)| {
        json!([row.at, row.kind, row.tokens, row.lag_us, text])
    };
    json!({
        "index": record.index,
        "turn": record.turn,
        "phase": record.phase,
        "is_success": record.is_success(),
        "started": record.started(),
        "ended": record.ended,
        "pieces": record.pieces().map(piece).collect::<Vec<_>>(),
    })
}

/// Checks that a program prints the same of a log as our reader finds. Without the program the
/// check is left out with a message.
#[track_caller]
fn check_reader(program: &str, script: &str, path: &Path) {
    let mut command = Command::new(program);
    command.arg(format!("{ROOT}/docs/readers/{script}")).arg(path);
    let output = match command.output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            println!("left out: {script} was not tested, because there is no {program}");
            return;
        }
        output => output.unwrap(),
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {errors}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let printed: Vec<Value> =
        printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(printed, expected(path), "{program}");
}

/// A log with each kind of line and of piece, a damaged line and an incomplete one.
fn odd_log(path: &Path) {
    let mut log = RunLogWriter::create(path, &header()).unwrap();
    let at = Stamp::from_nanos;
    let sample = Sample::new("hi", 1, 2);
    let mut recorder = Recorder::new(0, Phase::Measure, &sample, at(5));
    recorder.record_sent(at(10));
    recorder.output(at(20), Delta::content("é").of_kind(DeltaKind::Reasoning));
    recorder.output(at(30), Delta::content("深度求索\"\u{2028}").with_tokens(Some(2)));
    recorder.output(at(40), Delta::content("").with_tokens(Some(1)));
    recorder.output(at(50), Delta::content("\u{1f600}"));
    log.append(&recorder.finish(Ok(Finish::default()), at(60))).unwrap();
    let error = RequestError::new(ErrorKind::Connect, "refused");
    let failed = Recorder::new(1, Phase::Measure, &sample, at(70)).of_turn(1, 0);
    log.append(&failed.finish(Err(error), at(80))).unwrap();
    log.append(&record(2, Phase::Warmup)).unwrap();
    log.close(&Footer { ended: at(80), interrupted: true, ..Footer::default() }).unwrap();

    let whole = fs::read_to_string(path).unwrap();
    let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
    let start = r#"{"start":{"at":3,"clock":{"offset_ns":-4,"bound_ns":5}}}"#;
    let source = r#"{"telemetry":{"source":{"index":0,"name":"a"}}}"#;
    let request = whole.lines().nth(1).unwrap();
    let changed = request.replace("\"sent\":10", "\"sent\":11");
    assert_ne!(request, changed);
    write!(file, "{start}\n{source}\n{changed}\n{{\"other\":1}}\n[1]\n{}", &request[..90]).unwrap();
}

#[test]
fn readers_in_other_languages_read_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join("odd.runlog.jsonl");
    odd_log(&odd);
    let facts = expected(&odd).pop().unwrap();
    assert_eq!(
        facts,
        json!({"requests": 0, "telemetry": 1, "is_complete": false, "damaged": 3, "is_torn": true})
    );
    let kept = Path::new(ROOT).join("fixtures/run_logs/servemark-2026-11-22.jsonl");
    for log in [&odd, &kept] {
        check_reader("python3", "read_run_log.py", log);
        check_reader("node", "read_run_log.mjs", log);
    }
}
