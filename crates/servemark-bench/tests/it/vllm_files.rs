//! Result files of vLLM's client.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Barrier;

use serde_json::{Value, json};
use servemark::core::{
    Delta, Finish, Footer, Header, Phase, Recorder, RunFacts, RunLog, Sample, Sink, Stamp, Usage,
};
use servemark::plan::{Layout, SaveMode, ScoringSpec, VllmFiles};
use servemark::report::ResultDetails;
use servemark::{Scores, VllmSaved};

fn log() -> RunLog {
    let at = Stamp::from_nanos;
    let mut recorder = Recorder::new(0, Phase::Measure, &Sample::new("", 3, 1), at(0));
    recorder.record_sent(at(0));
    recorder.body(at(1_000_000_000), 9);
    recorder.at(at(1_000_000_000)).delta(Delta::content("text"));
    recorder.at(at(1_000_000_000)).usage(Usage::new(Some(3), Some(1)));
    let record = recorder.finish(Ok(Finish::default()), at(1_000_000_000));
    let mut facts = RunFacts::default();
    "vllm".clone_into(&mut facts.backend);
    "org/a-model".clone_into(&mut facts.model);
    facts.request_rate = Some(2.0);
    let mut footer = Footer::default();
    footer.ended = at(2_000_000_000);
    RunLog::new(Header::new(0, facts, Value::Null), vec![record], Some(footer))
}

fn saved(files: &VllmFiles) -> VllmSaved {
    let (log, scoring) = (log(), ScoringSpec::default());
    Scores::of(&log, &scoring).save_vllm(files).unwrap()
}

fn name(path: Option<&PathBuf>) -> String {
    path.unwrap().file_name().unwrap().to_string_lossy().into_owned()
}

/// Returns the results in a file, one per line.
fn results(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    assert!(!text.ends_with('\n'), "vLLM ends no line");
    text.split('\n').map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn what_is_appended_is_a_line_and_what_is_saved_is_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = VllmFiles {
        folder: Some(folder.path().join("new/folder")),
        name: Some("r.json".to_owned()),
        save: Some(SaveMode::Append),
        ..VllmFiles::default()
    };
    let path = saved(&files).result.unwrap();
    saved(&files);
    let appended = results(&path);
    assert_eq!((appended.len(), &appended[0]), (2, &appended[1]));
    files.save = Some(SaveMode::Replace);
    saved(&files);
    assert_eq!(results(&path), appended[..1]);
    assert_eq!(appended[0]["completed"], json!(1));
    assert_eq!(appended[0]["native_p99_e2el_ms"], Value::Null, "one is too few for it");
}

#[test]
fn runs_that_end_within_a_second_overwrite_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let files = VllmFiles {
        folder: Some(folder.path().to_owned()),
        save: Some(SaveMode::Replace),
        ..VllmFiles::default()
    };
    let names = [0; 3].map(|_| name(saved(&files).result.as_ref()));
    let stem = "vllm-2.0qps-a-model-19700101-000002";
    assert_eq!(names, ["json", "2.json", "3.json"].map(|rest| format!("{stem}.{rest}")));
}

#[test]
fn runs_that_end_together_overwrite_nothing() {
    const TOGETHER: usize = 8;
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let files = VllmFiles {
            folder: Some(folder.path().to_owned()),
            save: Some(SaveMode::Replace),
            ..VllmFiles::default()
        };
        let together = Barrier::new(TOGETHER);
        let save = || {
            together.wait();
            name(saved(&files).result.as_ref())
        };
        let mut names: Vec<String> = std::thread::scope(|scope| {
            let begun: Vec<_> = (0..TOGETHER).map(|_| scope.spawn(save)).collect();
            begun.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        names.sort();
        names.dedup();
        assert_eq!(names.len(), TOGETHER, "{names:?}");
        assert!(names.iter().all(|name| results(&folder.path().join(name)).len() == 1));
    }
}

#[test]
fn a_result_that_cannot_be_written_leaves_no_empty_file() {
    let folder = tempfile::tempdir().unwrap();
    let files = VllmFiles {
        folder: Some(folder.path().to_owned()),
        save: Some(SaveMode::Replace),
        timeline: Some([25.0, 50.0]),
        ..VllmFiles::default()
    };
    fs::create_dir(folder.path().join("vllm-2.0qps-a-model-19700101-000002.timeline.html"))
        .unwrap();
    let (log, scoring) = (log(), ScoringSpec::default());
    assert!(Scores::of(&log, &scoring).save_vllm(&files).is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn files_are_named_after_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = VllmFiles {
        folder: Some(folder.path().to_owned()),
        save: Some(SaveMode::Replace),
        timeline: Some([25.0, 50.0]),
        pytorch: json!({"model": "m"}).as_object().cloned(),
        utc_offset_s: 3600,
        ..VllmFiles::default()
    };
    let stem = "vllm-2.0qps-a-model-19700101-010002";
    let made = saved(&files);
    assert_eq!(name(made.timeline.as_ref()), format!("{stem}.timeline.html"));
    assert_eq!(name(made.pytorch.as_ref()), format!("{stem}.pytorch.json"));
    assert_eq!(name(made.result.as_ref()), format!("{stem}.json"));
    files.label = Some("mine".to_owned());
    let labelled = name(saved(&files).result.as_ref());
    assert_eq!(labelled, "mine-2.0qps-a-model-19700101-010002.json");
}

#[test]
fn a_timeline_needs_no_result() {
    let folder = tempfile::tempdir().unwrap();
    let files = VllmFiles {
        folder: Some(folder.path().to_owned()),
        name: Some("own.name".to_owned()),
        timeline: Some([25.0, 50.0]),
        ..VllmFiles::default()
    };
    assert_eq!(name(saved(&files).timeline.as_ref()), "own.timeline.html");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_score_appends_vllms_result_where_its_table_is_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.jsonl");
    let (log, mut scoring) = (log(), ScoringSpec::default());
    scoring.layouts = vec![Layout::Vllm];
    Scores::of(&log, &scoring).append_result(ResultDetails::Full, &path).unwrap();
    assert_eq!(results(&path)[0]["generated_texts"], json!(["text"]));
}
