//! Output files of a run: none is lost, and none replaces another.

use std::fs::{self, File};
use std::process::{Command, Output};
use std::thread::yield_now;

use serde_json::Value;
use servemark_mock::{MockServer, MockSpec};

use crate::program::{Folder, simulated, text};

const TOKENIZER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/tokenizers/gpt2");

/// Returns whether a file contains a complete run.
fn is_whole(log: &str) -> bool {
    let lines: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    lines[0].get("header").is_some() && lines[lines.len() - 1].get("footer").is_some()
}

/// Runs against a server that must receive no request, and returns the standard error.
#[track_caller]
fn refused(folder: &Folder, more: &[&str]) -> String {
    let spec = MockSpec { keep_requests: 4, ..MockSpec::default() };
    let server = MockServer::start(spec).expect("a server");
    let url = server.base_url();
    let target = ["--backend", "sglang-oai-chat", "--base-url", &url, "--model", "mock"];
    let load = ["--tokenizer", TOKENIZER, "--dataset-name", "random-ids", "--num-prompts", "2"];
    let output = folder.run(&[&target[..], &load, more].concat());
    let news = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{news}");
    assert!(server.requests().is_empty(), "the server was asked");
    news
}

/// Returns the default names of run logs for the next seconds.
fn names_to_come() -> Vec<String> {
    let date = |args: &[&str]| {
        let output = Command::new("date").arg("-u").args(args).output();
        text(&output.expect("date runs").stdout).trim().to_owned()
    };
    let now: u64 = date(&["+%s"]).parse().expect("seconds since 1970");
    let name = |second: u64| {
        let date = date(&["-d", &format!("@{second}"), "+%Y%m%d_%H%M%S"]);
        format!("servemark_sglang_{date}.runlog.jsonl")
    };
    (now..now + 120).map(name).collect()
}

#[test]
fn a_run_of_a_second_that_has_a_log_already_gets_a_log_of_its_own() {
    let folder = Folder::new();
    let names = names_to_come();
    for name in &names {
        folder.write(name, "another run's");
    }
    let output = folder.run_with(&[("TZ", "UTC")], &simulated(&[]));
    let news = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{news}");
    assert!(names.iter().all(|name| folder.read(name) == "another run's"));
    let own = news.lines().find_map(|line| line.strip_prefix("Run log: ")).expect("a run log");
    assert!(own.ends_with("_2.runlog.jsonl"), "{own}");
    assert!(is_whole(&folder.read(own)));
}

#[test]
fn runs_that_start_together_have_a_whole_log_each() {
    let folder = Folder::new();
    let started: Vec<_> = (0..4).map(|_| folder.spawn(&simulated(&[]))).collect();
    let ended: Vec<Output> =
        started.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let mut names: Vec<String> = Vec::new();
    for output in ended {
        let news = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{news}");
        names.extend(
            news.lines().find_map(|line| line.strip_prefix("Run log: ")).map(str::to_owned),
        );
    }
    assert!(names.iter().all(|name| is_whole(&folder.read(name))));
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 4);
}

#[test]
fn a_run_log_that_exists_is_replaced_only_where_that_is_asked_for() {
    let folder = Folder::new();
    folder.write("run.jsonl", "dear");
    let news = refused(&folder, &["--run-log", "run.jsonl"]);
    assert!(news.contains("choose another name or give --overwrite"), "{news}");
    assert_eq!(folder.read("run.jsonl"), "dear");
    let output = folder.run(&simulated(&["--run-log", "run.jsonl", "--overwrite"]));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(is_whole(&folder.read("run.jsonl")));
    let news = refused(&folder, &["--overwrite"]);
    assert!(news.contains("--overwrite has no effect without --run-log"), "{news}");
}

#[test]
fn a_run_log_may_be_a_device() {
    let folder = Folder::new();
    let output = folder.run(&simulated(&["--run-log", "/dev/null"]));
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn one_file_is_not_written_twice_nor_read_and_written() {
    let folder = Folder::new();
    let news = refused(&folder, &["--run-log", "x", "--output-file", "./x"]);
    assert!(
        news.contains("the run log and the result would be written to the same file"),
        "{news}"
    );
    let dataset = folder.write("data.jsonl", "{\"conversations\": []}\n");
    let read = ["--dataset-name", "custom", "--dataset-path", &dataset];
    let news = refused(&folder, &[&read[..], &["--output-file", "./data.jsonl"]].concat());
    assert!(news.contains("which this command reads"), "{news}");
    let sweep = ["--sweep", "num-prompts=1,2", "--sweep-file", "t.csv", "--output-file", "t.csv"];
    let news = refused(&folder, &sweep);
    assert!(news.contains("the result and the table would be written to the same file"), "{news}");
    assert!(!folder.path("x").exists() && !folder.path("t.csv").exists());
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_anything_is_sent() {
    let folder = Folder::new();
    let steady = "--steady-state-concurrency-ratio=0.5";
    for flag in ["--output-file", "--run-log", "--steady-state-output-file"] {
        let news = refused(&folder, &[steady, flag, "none/file.jsonl"]);
        assert!(news.contains("there is no folder none"), "{news}");
        let news = refused(&folder, &[steady, flag, "/proc/file.jsonl"]);
        assert!(news.contains("to /proc/file.jsonl"), "{news}");
    }
    let table = ["--sweep", "num-prompts=1,2", "--sweep-file", "none/t.csv"];
    assert!(refused(&folder, &table).contains("there is no folder none"));
    let left: Vec<_> = fs::read_dir(folder.path(".")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_result_that_cannot_be_written_is_made_of_the_run_log() {
    let folder = Folder::new();
    let flags = ["--run-log", "my run.jsonl", "--output-file", "/dev/full", "--output-details"];
    let output = folder.run(&simulated(&flags));
    let (table, news) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{news}");
    assert!(table.contains("Successful requests:"), "{table}");
    assert!(news.contains("cannot append the result to /dev/full: No space left"), "{news}");
    let command = "servemark score 'my run.jsonl' --result-file /dev/full --output-details";
    assert!(news.contains(command), "{news}");
}

#[test]
fn a_standard_output_that_is_full_or_closed_is_told() {
    let folder = Folder::new();
    let mut full = folder.command(&simulated(&["--no-run-log"]));
    let full = full.stdout(File::options().write(true).open("/dev/full").unwrap()).output();
    let full = full.unwrap();
    assert_eq!(full.status.code(), Some(1));
    assert!(text(&full.stderr).contains("cannot write to standard output: No space left"));
    for args in [simulated(&["--no-run-log"]), vec!["--help"]] {
        let mut child = folder.spawn(&args);
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let news = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{news}");
        assert!(news.contains("cannot write to standard output: Broken pipe"), "{news}");
    }
}

#[test]
fn a_standard_error_that_is_closed_is_nothing_to_tell() {
    let folder = Folder::new();
    let mut child = folder.spawn(&simulated(&["--no-run-log"]));
    drop(child.stderr.take());
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
}

/// Tests a full disk, and the effect of `ulimit -f` on a program that does not handle SIGXFSZ.
#[test]
fn a_file_size_limit_is_an_error_of_a_write_and_no_death() {
    let folder = Folder::new();
    let program = env!("CARGO_BIN_EXE_bench-serving");
    let args = simulated(&["--run-log", "run.jsonl", "--output-file", "result.jsonl"]);
    let line = format!("ulimit -f 8 && exec {program} {}", args.join(" "));
    let output = Command::new("sh").args(["-c", &line]).current_dir(folder.path(".")).output();
    let output = output.unwrap();
    let (table, news) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{news}");
    assert!(table.contains("Successful requests:"), "{table}");
    assert_eq!(
        news.matches("cannot write the run log run.jsonl: File too large").count(),
        1,
        "{news}"
    );
    // The limit may fall on the end of a line, so only the lines before the last are known to be
    // whole.
    let log = folder.read("run.jsonl");
    assert_eq!(log.len(), 8 * 512, "{log}");
    assert!(!log.contains("\n{\"footer\""), "{log}");
    let (whole, _) = log.rsplit_once('\n').expect("a line");
    assert!(whole.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
}

#[test]
fn a_run_log_that_is_removed_meanwhile_is_told() {
    let folder = Folder::new();
    let slow = ["--simulate", "ttft=500ms,itl=1ms", "--num-prompts", "4", "--request-rate", "8"];
    let mut child = folder.spawn(&[&slow[..], &["--run-log", "run.jsonl"]].concat());
    while folder.read("run.jsonl").lines().count() < 1 {
        assert!(child.try_wait().unwrap().is_none(), "it ended too early");
        yield_now();
    }
    fs::remove_file(folder.path("run.jsonl")).unwrap();
    let output = child.wait_with_output().unwrap();
    let news = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{news}");
    assert!(text(&output.stdout).contains("Successful requests:"));
    assert!(news.contains("the run log run.jsonl was removed or replaced"), "{news}");
}

#[test]
fn two_runs_never_write_into_one_file() {
    let folder = Folder::new();
    let slow = ["--simulate", "ttft=2s,itl=1ms", "--num-prompts", "2", "--request-rate", "inf"];
    let mut child = folder.spawn(&[&slow[..], &["--run-log", "run.jsonl"]].concat());
    while folder.read("run.jsonl").lines().count() < 1 {
        assert!(child.try_wait().unwrap().is_none(), "it ended too early");
        yield_now();
    }
    let news = refused(&folder, &["--run-log", "run.jsonl", "--overwrite"]);
    assert!(news.contains("another process is writing the run log run.jsonl"), "{news}");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(is_whole(&folder.read("run.jsonl")));
}

#[test]
fn a_folder_with_run_logs_and_without_its_manifest_is_not_measured_over() {
    let folder = Folder::new();
    let sweep = simulated(&["--sweep", "max-concurrency=1,2", "--sweep-folder", "kept"]);
    let output = folder.run(&sweep);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    fs::remove_file(folder.path("kept/sweep.json")).unwrap();
    let logs = || {
        let entries = fs::read_dir(folder.path("kept")).unwrap().map(|entry| entry.unwrap().path());
        let mut logs: Vec<_> = entries.map(|path| (fs::read(&path).unwrap(), path)).collect();
        logs.sort();
        logs
    };
    let before = logs();
    let search = ["--slo-search", "request-rate", "--slo", "success>=1%", "--sweep-folder", "kept"];
    for more in [&["--sweep", "max-concurrency=1,2", "--sweep-folder", "kept"][..], &search] {
        let news = refused(&folder, more);
        assert!(news.contains("holds run logs but no sweep.json"), "{news}");
    }
    assert!(logs() == before);
}

/// A sweep whose table could not be written is repeated with another `--sweep-file`: it makes the
/// table from the run logs in its folder and sends nothing again.
#[test]
fn the_table_of_a_sweep_that_cannot_be_written_is_made_of_its_run_logs() {
    let folder = Folder::new();
    let swept = |file: &str, more: &[&str]| {
        let sweep = ["--sweep", "max-concurrency=1,2", "--sweep-file", file];
        folder.run(&simulated(&[&sweep[..], more].concat()))
    };
    std::os::unix::fs::symlink("/dev/full", folder.path("full.csv")).unwrap();
    let output = swept("full.csv", &[]);
    let news = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{news}");
    assert!(text(&output.stdout).contains("| 2 |"), "{news}");
    let begin = news.find("--sweep-folder ").expect("a cure") + "--sweep-folder ".len();
    let kept = news[begin..].split(' ').next().unwrap();
    let output = swept("whole.csv", &["--sweep-folder", kept]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(folder.read("whole.csv").lines().count(), 3);
    assert!(!text(&output.stdout).contains("Successful requests:"), "it measured again");
}

/// Sweeps of one second have the same default name of their folder.
#[test]
fn sweeps_that_start_together_have_a_folder_each() {
    let folder = Folder::new();
    let sweep = |rate| simulated(&["--sweep", rate]);
    let started = ["max-concurrency=1,2", "max-concurrency=1,2", "num-prompts=2,3"]
        .map(|swept| folder.spawn(&sweep(swept)));
    for child in started {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    let entries = fs::read_dir(folder.path(".")).unwrap().map(|entry| entry.unwrap().path());
    let folders: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    assert_eq!(folders.len(), 3, "{folders:?}");
    for path in folders {
        let files = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
        let (logs, mut other): (Vec<_>, Vec<_>) =
            files.partition(|path| path.to_string_lossy().ends_with(".runlog.jsonl"));
        other.sort();
        let names = ["report.html", "summary.json", "sweep.json"];
        assert_eq!((logs.len(), other), (2, names.map(|name| path.join(name)).into()));
        assert!(logs.iter().all(|log| is_whole(&fs::read_to_string(log).unwrap())));
    }
}

/// A sweep ends at a point whose result cannot be written; the point was measured nevertheless.
#[test]
fn the_points_of_a_sweep_that_fails_are_in_its_table() {
    let folder = Folder::new();
    let sweep = ["--sweep", "max-concurrency=1,2", "--sweep-folder", "kept"];
    let output = folder.run(&simulated(&[&sweep[..], &["--output-file", "/dev/full"]].concat()));
    let (table, news) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{news}");
    assert!(table.lines().any(|line| line.starts_with("| 1 |")), "{table}");
    assert!(news.contains("\nResults: kept\n"), "{news}");
    let kept = |name: &str| fs::read_to_string(folder.path("kept").join(name)).unwrap();
    assert!(kept("report.html").contains("<title>Sweep · Servemark</title>"));
    let points: Value = serde_json::from_str(&kept("summary.json")).unwrap();
    assert_eq!(points["points"].as_array().unwrap().len(), 1, "{points}");
    assert!(news.contains("servemark score kept/001_max_concurrency=1.runlog.jsonl"), "{news}");
}

/// A file size limit cuts the log of the first point; nothing says that it is whole.
#[test]
fn a_sweep_on_a_full_disk_claims_no_whole_log() {
    let folder = Folder::new();
    let program = env!("CARGO_BIN_EXE_bench-serving");
    let sweep = ["--sweep", "max-concurrency=1,2", "--sweep-folder", "f", "--sweep-file", "t.csv"];
    std::os::unix::fs::symlink("/dev/full", folder.path("t.csv")).unwrap();
    // Room for the manifest and for a part of the log.
    let args = simulated(&[&sweep[..], &["--num-prompts", "60"]].concat());
    let line = format!("ulimit -f 40 && exec {program} {}", args.join(" "));
    let output = Command::new("sh").args(["-c", &line]).current_dir(folder.path(".")).output();
    let output = output.unwrap();
    let (table, news) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{news}");
    assert!(table.lines().any(|line| line.starts_with("| 1 |")), "{table}");
    assert!(news.contains("max_concurrency=1.runlog.jsonl: File too large"), "{news}");
    assert!(
        news.contains("measuring only what is missing") && !news.contains("whole in"),
        "{news}"
    );
}

/// `| head -1` closes standard output while the run goes on.
#[test]
fn a_run_whose_standard_output_is_closed_early_keeps_its_files() {
    let folder = Folder::new();
    let flags = ["--run-log", "run.jsonl", "--output-file", "result.jsonl"];
    let program = env!("CARGO_BIN_EXE_bench-serving");
    let line = format!("{program} {} | head -1", simulated(&flags).join(" "));
    let output = Command::new("bash")
        .args(["-c", &format!("set -o pipefail; {line}")])
        .current_dir(folder.path("."))
        .output()
        .unwrap();
    let news = text(&output.stderr);
    assert_eq!(text(&output.stdout).lines().count(), 1);
    assert!(is_whole(&folder.read("run.jsonl")), "{news}");
    assert_eq!(folder.read("result.jsonl").lines().count(), 1, "{news}");
    assert_eq!(output.status.code(), Some(1), "{news}");
    assert!(news.contains("cannot write to standard output: Broken pipe"), "{news}");
}
