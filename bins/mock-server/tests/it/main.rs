//! Runs the program and checks its output, files and exit codes.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail as its assertions do")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

fn program(flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mock-server"));
    command.args(flags);
    command
}

fn run(flags: &[&str]) -> Output {
    program(flags).output().unwrap()
}

/// Returns a command that starts the program with the default action for SIGHUP, even if `nohup`
/// made the tests ignore it.
fn receiving(flags: &[&str]) -> Command {
    if !cfg!(target_os = "linux") {
        return program(flags);
    }
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP", env!("CARGO_BIN_EXE_mock-server")]).args(flags);
    command
}

/// Starts the program and waits until it prints its URL.
fn start(flags: &[&str]) -> (Child, String) {
    let mut child = receiving(flags).stdout(Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
    (child, url.trim().strip_prefix("http://").unwrap().to_owned())
}

fn complete(addr: &str) -> String {
    let body = r#"{"prompt": "a", "max_tokens": 3, "stream": true}"#;
    let head = "POST /v1/completions HTTP/1.1\r\nConnection: close\r\nContent-Length:";
    let mut socket = TcpStream::connect(addr).unwrap();
    socket.write_all(format!("{head} {}\r\n\r\n{body}", body.len()).as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

/// Ends the server by a signal after one answer, and checks that it ended in order.
#[track_caller]
#[cfg(unix)]
fn check_ends_in_order(signal: &str) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("truth{signal}.jsonl"));
    let log = path.with_extension("requests.jsonl");
    let times = ["--ttft-ms", "2", "--itl-ms", "0.5"];
    let files = ["--truth", path.to_str().unwrap(), "--requests", log.to_str().unwrap()];
    let (mut child, addr) = start(&[times, files].concat());
    assert!(complete(&addr).contains("[DONE]"));
    let signal = format!("kill {signal} {}", child.id());
    assert!(Command::new("sh").args(["-c", &signal]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let lines = fs::read_to_string(path).unwrap();
    assert_eq!(lines.lines().count(), 1);
    assert!(lines.starts_with(r#"{"index":0,"received":"#), "{lines}");
    let log = fs::read_to_string(log).unwrap();
    assert_eq!(log.lines().count(), 1);
    assert!(log.starts_with(r#"{"method":"POST","path":"/v1/completions""#), "{log}");
    assert!(log.contains(r#""body":"{\"prompt\": \"a\","#), "{log}");
}

#[test]
fn a_standard_output_that_is_full_is_told() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = program(&["--ttft-ms=0"]).stdout(full).output().unwrap();
    let news = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{news}");
    assert!(news.contains("cannot print the server's URL"), "{news}");
}

#[test]
#[cfg(unix)]
fn ctrl_c_writes_the_truth_and_is_a_success() {
    check_ends_in_order("-INT");
}

#[test]
#[cfg(unix)]
fn sigterm_and_sighup_write_the_truth_as_ctrl_c_does() {
    check_ends_in_order("-TERM");
    check_ends_in_order("-HUP");
}

#[test]
fn flags_reach_the_server() {
    let own = ["--ttft-ms=0", "--itl-ms=0", "--model=m", "--fault=no-done"];
    let cost = ["--threads=2", "--spin", "--pieces-per-write=8"];
    let (mut child, addr) = start(&[&own[..], &cost].concat());
    let answer = complete(&addr);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(answer.contains(r#""model":"m""#) && !answer.contains("[DONE]"), "{answer}");
}

#[track_caller]
fn check_usage_error(flags: &[&str], expected: &str) {
    let output = run(flags);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains(expected), "{text}");
}

#[test]
fn bad_flags_are_usage_errors() {
    check_usage_error(&["--fault", "cut/3"], "expected cut@CHUNK[/EVERY]");
    check_usage_error(&["--ttft-ms", "soon"], "is not a duration");
    check_usage_error(&["--tokens-per-chunk", "0"], "--tokens-per-chunk");
    check_usage_error(&["--threads", "0"], "--threads");
    check_usage_error(&["--engine", "vlm"], "expected one of llama.cpp, lmdeploy, ollama, ");
    check_usage_error(&["--tftt-ms", "5"], "--ttft-ms");
}

#[test]
fn a_taken_port_is_said_plainly() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    // With this variable, an error that `main` returns would be printed with a backtrace.
    let output = program(&["--port", &port]).env("RUST_BACKTRACE", "1").output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(
        text.contains(&format!("cannot listen on 127.0.0.1:{port}; is the port taken")),
        "{text}"
    );
}
