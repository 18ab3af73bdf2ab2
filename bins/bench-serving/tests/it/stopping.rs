use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::thread::yield_now;

use crate::program::{Folder, text};

/// Flags of a run with ten answers per second that take two seconds each, so that Ctrl-C arrives
/// while some are in flight.
const LONG: [&str; 14] = [
    "--simulate",
    "ttft=50ms,itl=20ms",
    "--num-prompts",
    "100",
    "--random-input-len",
    "8",
    "--random-output-len",
    "100",
    "--random-range-ratio",
    "1.0",
    "--request-rate",
    "10",
    "--run-log",
    "run.jsonl",
];

/// Starts the run and waits until `requests` of its requests, including the warm-up, are
/// complete.
fn under_way(folder: &Folder, requests: usize) -> Child {
    under_way_with(folder, requests, &[])
}

fn under_way_with(folder: &Folder, requests: usize, flags: &[&str]) -> Child {
    waited_for(folder.spawn(&[&LONG[..], flags].concat()), folder, requests)
}

fn waited_for(mut child: Child, folder: &Folder, requests: usize) -> Child {
    while folder.read("run.jsonl").lines().count() < 1 + requests {
        assert!(child.try_wait().expect("a child").is_none(), "it ended too early");
        yield_now();
    }
    child
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

fn wait_for_output(child: Child) -> Output {
    child.wait_with_output().expect("a child")
}

#[test]
fn ctrl_c_once_drains_and_reports() {
    let folder = Folder::new();
    let child = under_way(&folder, 3);
    signal(&child, "-INT");
    let output = wait_for_output(child);
    let (table, log) = (text(&output.stdout), folder.read("run.jsonl"));
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(table.contains("Failed requests:                         0"), "{table}");
    assert!(table.to_lowercase().contains("interrupted"), "{table}");
    assert!(log.lines().count() < 1 + 100, "it went on sending");
    assert!(log.lines().last().is_some_and(|line| line.contains(r#""interrupted":true"#)));
}

#[test]
fn ctrl_c_twice_gives_up_what_is_in_flight_and_reports() {
    let folder = Folder::new();
    let mut child = under_way(&folder, 3);
    signal(&child, "-INT");
    let news = BufReader::new(child.stderr.take().expect("a pipe"));
    let heard = news.lines().map_while(Result::ok).any(|line| line.starts_with("Stopping:"));
    assert!(heard, "the first was not heard");
    signal(&child, "-INT");
    let output = wait_for_output(child);
    assert_eq!(output.status.code(), Some(130));
    assert!(text(&output.stdout).contains("Successful requests:"));
    assert!(folder.read("run.jsonl").contains(r#""kind":"cancelled""#));
}

#[test]
fn a_kill_loses_no_finished_request() {
    let folder = Folder::new();
    let child = under_way(&folder, 4);
    signal(&child, "-KILL");
    wait_for_output(child);
    let log = folder.read("run.jsonl");
    assert!(log.lines().count() > 4);
    assert!(!log.contains(r#"{"footer""#));
}

/// Reads events until a line begins with `start`.
fn read_until(news: &mut impl BufRead, start: &str) -> bool {
    news.lines().map_while(Result::ok).any(|line| line.starts_with(start))
}

/// Checks the output of a run that was stopped by a signal.
fn check_report(folder: &Folder, output: &Output, code: i32) {
    let (table, log) = (text(&output.stdout), folder.read("run.jsonl"));
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    assert!(table.to_lowercase().contains("interrupted"), "{table}");
    assert!(log.lines().count() < 1 + 100, "it went on sending");
    assert!(log.lines().last().is_some_and(|line| line.contains(r#""interrupted":true"#)));
}

#[test]
fn sigterm_and_sighup_stop_a_run_as_ctrl_c_does() {
    for (name, code) in [("-TERM", 143), ("-HUP", 129)] {
        let folder = Folder::new();
        let child = under_way(&folder, 3);
        signal(&child, name);
        let output = wait_for_output(child);
        check_report(&folder, &output, code);
        assert!(text(&output.stderr).contains("have 5s to finish"), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("Failed requests:                         0"));
    }
}

#[test]
fn requests_that_outlast_the_grace_are_given_up() {
    let folder = Folder::new();
    let child = under_way_with(&folder, 3, &["--grace", "0"]);
    signal(&child, "-TERM");
    let output = wait_for_output(child);
    check_report(&folder, &output, 143);
    assert!(folder.read("run.jsonl").contains(r#""kind":"cancelled""#));
}

#[test]
fn a_second_signal_of_any_kind_gives_up_what_is_in_flight() {
    let folder = Folder::new();
    let mut child = under_way_with(&folder, 3, &["--grace", "3600"]);
    signal(&child, "-TERM");
    let mut news = BufReader::new(child.stderr.take().expect("a pipe"));
    assert!(read_until(&mut news, "Stopping: SIGTERM;"));
    signal(&child, "-HUP");
    assert!(read_until(&mut news, "Giving up"));
    let output = wait_for_output(child);
    check_report(&folder, &output, 143);
    assert!(folder.read("run.jsonl").contains(r#""kind":"cancelled""#));
}

#[test]
fn sighup_stays_ignored_under_nohup() {
    let folder = Folder::new();
    let program = env!("CARGO_BIN_EXE_bench-serving");
    let short = ["--num-prompts", "4", "--random-output-len", "20"];
    let mut command = folder.command_of("nohup");
    command.arg(program).args(LONG).args(short);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("nohup");
    let child = waited_for(child, &folder, 1);
    signal(&child, "-HUP");
    let output = wait_for_output(child);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(!folder.read("run.jsonl").contains(r#""interrupted":true"#));
}

#[test]
fn a_program_that_waits_for_its_server_ends_at_the_first_signal() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", silent.local_addr().expect("bound"));
    let folder = Folder::new();
    let flags = ["--backend", "vllm", "--base-url", &url, "--ready-check-timeout-sec", "3600"];
    let small = ["--dataset-name", "random", "--num-prompts", "1", "--tokenizer", "none"];
    let mut child = folder.spawn(&[&flags[..], &small].concat());
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
    assert!(read_until(&mut lines, "Waiting up to"));
    signal(&child, "-TERM");
    assert_eq!(wait_for_output(child).status.code(), Some(143));
}

/// Flags of a sweep, without the swept setting.
const SWEEP: [&str; 14] = [
    "--simulate",
    "ttft=50ms,itl=20ms",
    "--random-input-len",
    "8",
    "--random-output-len",
    "10",
    "--random-range-ratio",
    "1.0",
    "--request-rate",
    "10",
    "--sweep-folder",
    "points",
    "--sweep-file",
    "sweep.csv",
];

/// Two points: one request, then two hundred requests in twenty seconds.
const TWO_POINTS: [&str; 2] = ["--sweep", "num-prompts=1,200"];

/// Starts the sweep and waits until its first point is complete.
fn after_one_point(folder: &Folder, flags: &[&[&str]]) -> Child {
    let mut child = folder.spawn(&[&SWEEP[..], &flags.concat()].concat());
    while !folder.path("sweep.csv").exists() {
        assert!(child.try_wait().expect("a child").is_none(), "it ended too early");
        yield_now();
    }
    child
}

/// Checks that the sweep's file has a header and the completed point.
fn check_one_point(folder: &Folder) {
    let csv = folder.read("sweep.csv");
    let [head, point] = [csv.lines().next(), csv.lines().nth(1)].map(Option::unwrap_or_default);
    assert!(head.starts_with("num_prompts,completed,failed,"), "{csv}");
    assert!(point.starts_with("1,1,0,"), "{csv}");
}

#[test]
fn a_killed_sweep_leaves_the_files_of_the_points_that_were_done() {
    let folder = Folder::new();
    let child = after_one_point(&folder, &[&TWO_POINTS]);
    signal(&child, "-KILL");
    wait_for_output(child);
    check_one_point(&folder);
    assert_eq!(folder.read("sweep.csv").lines().count(), 2);
}

#[test]
fn sigterm_ends_a_sweep_with_its_table_and_its_files() {
    let folder = Folder::new();
    let child = after_one_point(&folder, &[&TWO_POINTS, &["--grace", "5"]]);
    signal(&child, "-TERM");
    check_stopped_sweep(&folder, child, 143);
}

/// Checks the output of a sweep that was stopped after its first point.
fn check_stopped_sweep(folder: &Folder, child: Child, code: i32) {
    let output = wait_for_output(child);
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    check_one_point(folder);
    let table = text(&output.stdout);
    assert!(table.lines().any(|line| line.starts_with("| 1 |")), "{table}");
}

/// Waits until samples are being drawn.
#[cfg(target_os = "linux")]
fn while_drawing(mut child: Child) -> Child {
    let threads = format!("/proc/{}/task", child.id());
    let is_drawing = |thread: std::fs::DirEntry| {
        let name = std::fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
        name.trim_end() == "drawing"
    };
    while !std::fs::read_dir(&threads).into_iter().flatten().flatten().any(is_drawing) {
        assert!(child.try_wait().expect("a child").is_none(), "it ended too early");
        yield_now();
    }
    child
}

/// Drawing a million prompts takes longer than the time allowed for the output.
#[cfg(target_os = "linux")]
#[test]
fn samples_that_are_being_drawn_do_not_hold_up_the_table_of_a_stopped_sweep() {
    let long = &["--sweep", "num-prompts=1,1000000", "--grace", "0"][..];
    for (signals, code) in [(&["-TERM"][..], 143), (&["-INT", "-INT"], 130)] {
        let folder = Folder::new();
        let child = while_drawing(after_one_point(&folder, &[long]));
        for name in signals {
            signal(&child, name);
        }
        check_stopped_sweep(&folder, child, code);
    }
}

#[test]
fn the_last_line_says_which_requests_failed_and_sglangs_exit_code_stays() {
    let folder = Folder::new();
    let faults = ["--simulate-fault", "status:500/4", "--warmup-requests", "0", "--no-run-log"];
    let output = folder.run(&[&crate::program::SMALL[..], &faults].concat());
    let news = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{news}");
    assert!(news.ends_with("\n3 of 12 requests failed: 3 http status 500\n"), "{news}");
}
