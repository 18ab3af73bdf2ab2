//! Result files of AISBench's performance mode.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use servemark::core::{
    CountedWork, Delta, ErrorKind, Finish, Footer, Header, Phase, Recorder, RequestError,
    RequestRecord, RunFacts, RunLog, Sample, ServerCounters, Sink, SpeculationCounters, Stamp,
    Usage,
};
use servemark::metrics::NoStage;
use servemark::plan::{AisbenchFiles, ScoringSpec};
use servemark::report::AisbenchOptions;
use servemark::{AisbenchSaved, Scores};

fn record(index: usize, succeeds: bool) -> RequestRecord {
    let at = |ms: u64| Stamp::from_nanos((index as u64 * 10 + ms) * 1_000_000);
    let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 3, 2), at(0));
    recorder.record_sent(at(0));
    recorder.at(at(20)).delta(Delta::content("a"));
    recorder.at(at(25)).delta(Delta::content("b"));
    recorder.at(at(25)).usage(Usage::new(Some(3), Some(2)));
    recorder.body(at(25), 9);
    let failure = RequestError::new(ErrorKind::Status, "503 Service Unavailable");
    recorder.finish(succeeds.then(Finish::default).ok_or(failure), at(25))
}

fn log(outcomes: &[bool]) -> RunLog {
    let records = outcomes.iter().enumerate().map(|(index, one)| record(index, *one));
    let mut facts = RunFacts::default();
    "vllm-chat".clone_into(&mut facts.backend);
    "http://10.0.0.1:8080/".clone_into(&mut facts.target);
    facts.max_concurrency = Some(4);
    RunLog::new(Header::new(0, facts, Value::Null), records.collect(), Some(Footer::default()))
}

fn saved(log: &RunLog, folder: &Path) -> AisbenchSaved {
    let scoring =
        ScoringSpec { aisbench: AisbenchOptions::new("a/model", ".."), ..ScoringSpec::default() };
    Scores::of(log, &scoring).save_aisbench(&AisbenchFiles::new(folder), None).unwrap()
}

#[test]
fn a_run_leaves_tables_details_and_pages_in_a_folder_of_the_models_name() {
    let folder = tempfile::tempdir().unwrap();
    let saved = saved(&log(&[true, false, true]), folder.path());
    assert_eq!(saved.folder, folder.path().join("performances/a_model"));
    let names = |name: &str| saved.folder.join(format!("_..{name}"));
    assert_eq!(saved.csv, Some(names(".csv")));
    assert_eq!(saved.json, Some(names(".json")));
    assert_eq!(saved.plot, Some(names("_plot.html")));
    assert_eq!(saved.rps_distribution, names("_rps_distribution_plot.html"));
    assert_eq!((saved.speculation, saved.no_stage), (None, None));
    let common: Value = serde_json::from_slice(&fs::read(names(".json")).unwrap()).unwrap();
    assert_eq!(common["Failed Requests"], json!({"total": 1}));
    assert_eq!(common["Benchmark Duration"], json!({"total": "45.0 ms"}));
    let lines = |name: &str| fs::read_to_string(names(name)).unwrap().lines().count();
    assert_eq!((lines("_details.jsonl"), lines("_failed.jsonl")), (3, 1));
}

#[test]
fn a_run_without_a_success_leaves_no_tables_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let saved = saved(&log(&[false]), folder.path());
    assert_eq!((saved.csv, saved.json, saved.plot), (None, None, None));
    assert_eq!(saved.no_stage, Some(NoStage::NothingSucceeded));
    assert!(saved.failed[0].exists() && saved.details[0].exists());
}

#[test]
fn what_the_server_guessed_is_in_a_file_of_its_address() {
    let folder = tempfile::tempdir().unwrap();
    let counters = |drafts, draft_tokens, accepted_tokens| {
        let mut speculation = SpeculationCounters::default();
        speculation.drafts = drafts;
        speculation.draft_tokens = draft_tokens;
        speculation.accepted_tokens = accepted_tokens;
        speculation.accepted_by_position = [(0, accepted_tokens)].into();
        let mut counters = ServerCounters::default();
        counters.speculation = Some(speculation);
        counters
    };
    let log = log(&[true]);
    let mut footer = Footer::default();
    footer.server_counters = Some(CountedWork::new(counters(5, 10, 1), counters(15, 30, 11)));
    let log = RunLog::new(log.header().clone(), log.records().to_vec(), Some(footer));
    let path = saved(&log, folder.path()).speculation.unwrap();
    assert_eq!(path, folder.path().join("performances/spec_decode_10.0.0.1_8080.json"));
    let document: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert_eq!(document["status"], "ok");
    assert_eq!(document["url"], "http://10.0.0.1:8080/metrics");
    assert_eq!(document["data"]["acceptance_rate"], json!(50.0));
    assert_eq!(document["data"]["per_position_acceptance_rates"], json!({"0": 1.0}));
    assert_eq!(document["raw"]["before"]["num_draft_tokens"], json!(10));
}
