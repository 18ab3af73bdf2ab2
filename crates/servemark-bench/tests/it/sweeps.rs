//! Sweeps against the bundled simulator.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use serde_json::{Value, json};
use servemark::backends::BackendName;
use servemark::client::TargetSpec;
use servemark::core::{NoProgress, RunLog};
use servemark::mock::{MockServer, MockSpec};
use servemark::page::GridFormat;
use servemark::plan::{Axis, Isolation, ServerSpec, Side, SweepError, SweepSpec};
use servemark::tokenizer::TokenizerSpec;
use servemark::{ExitCode, Origin, PointRun, RunContext, Sweep, SweepOutcome, SweepRunError};
use tempfile::TempDir;

use crate::runs::plan;

fn spec(limits: &[u32]) -> SweepSpec {
    let axis = Axis::new("max_concurrency", limits.iter().copied()).unwrap();
    SweepSpec::grid(plan(BackendName::Sglang, &[]), [Side::of(axis)])
}

fn context() -> RunContext {
    RunContext::new(Arc::new(NoProgress))
}

/// Runs the first `count` points and returns the origin and the run log of each.
fn points(spec: &SweepSpec, folder: &TempDir, count: usize) -> Vec<(Origin, PathBuf)> {
    let context = context();
    let sweep = Sweep::open(spec, Some(folder.path()), &context).unwrap();
    let done = sweep.take(count).map(Result::unwrap);
    done.map(|done| (done.origin, done.run.run_log.unwrap())).collect()
}

#[test]
fn three_points_make_three_logs_and_three_rows() {
    let (folder, context) = (tempfile::tempdir().unwrap(), context());
    let mut outcome = SweepOutcome::default();
    for done in Sweep::open(&spec(&[1, 2, 4]), Some(folder.path()), &context).unwrap() {
        outcome.add(done.unwrap().score());
    }
    assert_eq!(outcome.exit_code(), ExitCode::Ok);
    let mut files: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(
        files,
        [
            "001_max_concurrency=1.runlog.jsonl",
            "002_max_concurrency=2.runlog.jsonl",
            "003_max_concurrency=4.runlog.jsonl",
            "sweep.json",
        ]
    );
    for (point, limit) in outcome.points.iter().zip([1, 2, 4]) {
        assert_eq!(point.metrics.requests.completed, 20);
        assert!(point.metrics.concurrency.peak <= limit);
    }
    let written = |format| {
        let mut out = Vec::new();
        outcome.write(format, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let csv = written(GridFormat::Csv);
    let heads: Vec<&str> = csv.lines().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(heads, ["max_concurrency", "1", "2", "4"], "{csv}");
    let json: Value = serde_json::from_str(&written(GridFormat::Json)).unwrap();
    assert_eq!(json["points"][2]["settings"], json!({"max_concurrency": 4}));
    let page = written(GridFormat::Html);
    assert_eq!(page.matches("<div class=\"plot\"").count(), 4, "{page}");
    assert!(page.contains("default-src 'none'"), "it needs no network");
    assert!(written(GridFormat::Markdown).starts_with("| max_concurrency | ok | failed |"));
}

#[test]
fn a_sweep_goes_on_at_the_point_that_was_not_whole() {
    let folder = tempfile::tempdir().unwrap();
    let spec = spec(&[1, 2, 4]);
    let begun = points(&spec, &folder, 2);
    let first = fs::read(&begun[0].1).unwrap();
    // A kill leaves the log without a footer and with a torn last line.
    let second = fs::read_to_string(&begun[1].1).unwrap();
    let torn: String = second.lines().take(8).flat_map(|line| [line, "\n"]).collect();
    fs::write(&begun[1].1, torn + "{\"request\": {\"ind").unwrap();
    let all = points(&spec, &folder, 9);
    let origins: Vec<Origin> = all.iter().map(|(origin, _)| *origin).collect();
    assert_eq!(origins, [Origin::Resumed, Origin::Measured, Origin::Measured]);
    assert_eq!(fs::read(&all[0].1).unwrap(), first, "what is whole is left alone");
    let plans =
        |text: &str| -> Value { serde_json::from_str(text.lines().next().unwrap()).unwrap() };
    let again = fs::read_to_string(&all[1].1).unwrap();
    assert_eq!(plans(&again)["header"]["plan"], plans(&second)["header"]["plan"], "salt and all");
    assert!(RunLog::read(&all[1].1).unwrap().is_complete());
    assert!(points(&spec, &folder, 9).iter().all(|(origin, _)| *origin == Origin::Resumed));
}

#[test]
fn a_folder_of_another_sweep_is_left_alone() {
    let (folder, context) = (tempfile::tempdir().unwrap(), context());
    drop(Sweep::open(&spec(&[1, 2]), Some(folder.path()), &context).unwrap());
    let other = Sweep::open(&spec(&[1, 3]), Some(folder.path()), &context).unwrap_err();
    assert!(matches!(other, SweepRunError::Different { .. }), "{other}");
    assert_eq!(other.exit_code(), ExitCode::Usage);
    let file = folder.path().join("a-file");
    fs::write(&file, "").unwrap();
    let nowhere = Sweep::open(&spec(&[1]), Some(&file), &context).unwrap_err();
    assert!(matches!(nowhere, SweepRunError::Folder { .. }), "{nowhere}");
}

#[test]
fn a_folder_is_measured_in_by_one_sweep_at_a_time() {
    let (folder, context) = (tempfile::tempdir().unwrap(), context());
    let open = || Sweep::open(&spec(&[1, 2]), Some(folder.path()), &context);
    let first = open().unwrap();
    let second = open().unwrap_err();
    assert!(matches!(second, SweepRunError::Busy { .. }), "{second}");
    assert_eq!(second.exit_code(), ExitCode::Usage);
    drop(first);
    assert!(open().is_ok());
}

/// Sweeps that are started together, with different specs and without a folder.
#[test]
fn a_new_folder_is_given_to_one_sweep_alone() {
    const TOGETHER: u32 = 8;
    for _ in 0..20 {
        let parent = tempfile::tempdir().unwrap();
        let (folder, context) = (parent.path().join("new"), context());
        let together = Barrier::new(TOGETHER as usize);
        let open = |limit: u32| {
            let spec = spec(&[limit]);
            together.wait();
            let opened = Sweep::open(&spec, Some(&folder), &context);
            // Each is open until all have tried.
            together.wait();
            opened.map(|_| limit)
        };
        let opened: Vec<_> = std::thread::scope(|scope| {
            let open = &open;
            let begun: Vec<_> =
                (1..=TOGETHER).map(|limit| scope.spawn(move || open(limit))).collect();
            begun.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let (given, refused): (Vec<_>, Vec<_>) = opened.into_iter().partition(Result::is_ok);
        assert_eq!(given.len(), 1, "{given:?}");
        let is_clear = |error: &SweepRunError| {
            matches!(error, SweepRunError::Busy { .. } | SweepRunError::Different { .. })
        };
        assert!(refused.iter().all(|error| is_clear(error.as_ref().unwrap_err())), "{refused:?}");
        let owner = given[0].as_ref().unwrap();
        assert!(Sweep::open(&spec(&[*owner]), Some(&folder), &context).is_ok());
    }
}

#[test]
fn a_damaged_log_of_a_sweep_is_not_measured_over() {
    let folder = tempfile::tempdir().unwrap();
    let spec = spec(&[1]);
    let log = points(&spec, &folder, 1).remove(0).1;
    let mut bytes = fs::read(&log).unwrap();
    let second_line = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 20;
    bytes[second_line] ^= 1;
    fs::write(&log, &bytes).unwrap();
    let context = context();
    let mut sweep = Sweep::open(&spec, Some(folder.path()), &context).unwrap();
    let error = sweep.next().unwrap().unwrap_err();
    assert!(matches!(error, SweepRunError::RunLog(_)), "{error}");
    assert_eq!(fs::read(&log).unwrap(), bytes);
}

#[test]
fn a_sweep_that_cannot_be_sends_nothing() {
    let context = context();
    let wrong = Sweep::open(&spec(&[1, 0]), None::<&Path>, &context).unwrap_err();
    assert!(matches!(wrong, SweepRunError::Spec(SweepError::Unreadable { .. })), "{wrong}");
}

/// Returns the prompts that a server receives from a sweep, one set for each point.
fn prompts(isolation: Isolation) -> Vec<HashSet<String>> {
    let mut mock = MockSpec::new(Duration::from_millis(1), Duration::ZERO);
    mock.keep_requests = 1000;
    let server = MockServer::start(mock).unwrap();
    let mut base = plan(BackendName::SglangOai, &[]);
    let tokenizer = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/tokenizers/gpt2");
    base.model.tokenizer = Some(TokenizerSpec::new(tokenizer));
    base.workload.requests = 3;
    base.server = ServerSpec::At(TargetSpec::new(server.base_url().parse().unwrap()));
    let axis = Side::of(Axis::new("max_concurrency", [2, 4]).unwrap());
    let (spec, context) = (SweepSpec::grid(base, [axis]).isolated(isolation), context());
    let point = |done: Result<PointRun, _>| {
        assert!(done.is_ok(), "{done:?}");
        let bodies = server.requests();
        let body = |body: &[u8]| serde_json::from_slice::<Value>(body).ok();
        let bodies = bodies.iter().filter_map(|request| body(&request.body));
        bodies.filter_map(|body| Some(body.get("prompt")?.as_str()?.to_owned())).collect()
    };
    Sweep::open(&spec, None, &context).unwrap().map(point).collect()
}

#[test]
fn points_share_no_prompt_and_no_beginning() {
    let observed = prompts(Isolation::default());
    let beginning = |prompt: &String| prompt[..9].to_owned();
    let beginnings: Vec<HashSet<String>> =
        observed.iter().map(|prompts| prompts.iter().map(beginning).collect()).collect();
    assert_eq!(beginnings[0].len(), 1, "{beginnings:?}");
    assert!(beginnings[0].iter().all(|salt| salt.ends_with(' ')));
    // The second time, the server has the prompts of both points.
    assert_eq!((beginnings[1].len(), observed[1].len()), (2, 2 * observed[0].len()));
    let same = prompts(Isolation::none());
    assert_eq!(same[0], same[1]);
}
