//! Truncated and damaged run logs, and files made from intact ones.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use tempfile::TempDir;

use crate::{RUN, command, servemark, text};

/// Creates a folder with a run log.
fn measured() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let run = servemark(&folder, &RUN);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    folder
}

fn log(folder: &TempDir) -> Vec<u8> {
    fs::read(folder.path().join("run.jsonl")).unwrap()
}

/// Scores and compares a log with these bytes, and returns the standard error of both commands.
#[track_caller]
fn read(folder: &TempDir, log: &[u8], flags: &[&str], code: i32) -> String {
    fs::write(folder.path().join("cut.jsonl"), log).unwrap();
    let score = servemark(folder, &[&["score", "cut.jsonl"], flags].concat());
    let compare = servemark(folder, &[&["compare", "run.jsonl", "cut.jsonl"], flags].concat());
    let news = text(&score.stderr);
    for output in [&score, &compare] {
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    }
    let reported = |line: &&str| line.contains("cut.jsonl");
    let [of_score, of_compare] = [&news, &text(&compare.stderr)]
        .map(|news| news.lines().filter(reported).map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(of_score, of_compare);
    of_score.join("\n")
}

/// A pipe can be read only once.
#[test]
fn a_log_is_scored_from_a_pipe() {
    let folder = measured();
    let from_file = servemark(&folder, &["score", "run.jsonl", "--json"]);
    let mut from_pipe = command(&folder, &["score", "/dev/stdin", "--json"]);
    let mut child =
        from_pipe.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut pipe = child.stdin.take().unwrap();
    // The log may be longer than the pipe, so it is written while the program reads it.
    let written = std::thread::spawn({
        let log = log(&folder);
        move || pipe.write_all(&log)
    });
    let output = child.wait_with_output().unwrap();
    written.join().unwrap().unwrap();
    assert_eq!(text(&output.stdout), text(&from_file.stdout));
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_log_that_is_cut_inside_a_character_is_read_up_to_there() {
    let folder = measured();
    let mut cut = log(&folder);
    let lines: Vec<&[u8]> = cut.split_inclusive(|byte| *byte == b'\n').collect();
    let whole = lines[..lines.len() - 1].concat();
    cut.truncate(whole.len());
    cut.extend_from_slice(b"{\"request\":{\"text\":\"\xe6\xb7");
    let news = read(&folder, &cut, &[], 0);
    assert_eq!(news, "warning: cut.jsonl: the last line is unfinished and left out");
}

#[test]
fn a_damaged_line_is_named_and_left_out_on_demand() {
    let folder = measured();
    let mut damaged = log(&folder);
    let third = damaged.iter().position(|byte| *byte == b'\n').unwrap() + 20;
    damaged[third] ^= 1;
    let news = read(&folder, &damaged, &[], 2);
    assert!(news.contains("cut.jsonl:2: a damaged line: its checksum is wrong"), "{news}");
    assert!(news.contains("--skip-damaged"), "{news}");
    let news = read(&folder, &damaged, &["--skip-damaged"], 0);
    let message = "warning: cut.jsonl: 1 damaged line left out; the first is line 2";
    assert!(news.contains(message), "{news}");
}

#[test]
fn a_score_never_writes_into_its_log() {
    let folder = measured();
    let before = log(&folder);
    let output = servemark(&folder, &["score", "run.jsonl", "--result-file", "./run.jsonl"]);
    let news = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{news}");
    assert!(news.contains("which this command reads"), "{news}");
    assert_eq!(log(&folder), before);
}

const VLLM: [&str; 10] = [
    "vllm",
    "bench",
    "serve",
    "--simulate",
    "ttft=2ms,itl=1ms",
    "--num-prompts",
    "4",
    "--random-output-len",
    "4",
    "--run-log",
];

#[test]
fn the_files_of_a_run_are_made_again_of_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let flags =
        ["run.jsonl", "--save-result", "--result-dir", "out", "--result-filename", "r.json"];
    let run = servemark(&folder, &[&VLLM[..], &flags].concat());
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let result = folder.path().join("out/r.json");
    let before = fs::read(&result).unwrap();
    fs::remove_dir_all(folder.path().join("out")).unwrap();
    let score = servemark(&folder, &["score", "run.jsonl", "--files"]);
    assert_eq!(score.status.code(), Some(0), "{}", text(&score.stderr));
    assert_eq!(fs::read(&result).unwrap(), before);
    let idle = servemark(&folder, &["score", "run.jsonl", "--files", "--layout", "sglang"]);
    assert_eq!(idle.status.code(), Some(0), "{}", text(&idle.stderr));
}

#[test]
fn a_run_without_files_of_a_peer_has_none_to_make_again() {
    let folder = measured();
    let score = servemark(&folder, &["score", "run.jsonl", "--files"]);
    assert_eq!(score.status.code(), Some(2));
    assert!(text(&score.stderr).contains("--files has no effect"), "{}", text(&score.stderr));
}
