//! Servers that are started by a command: readiness, end, and no process left behind.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use servemark::client::BaseUrl;
use servemark::core::NoProgress;
use servemark::mock::{MockServer, MockSpec};
use servemark::{
    ChildStdout, ExitCode, ProcessError, RunContext, ServerProcess, post_to_server, run_command,
};

fn shell(script: &str) -> Result<ServerProcess, ProcessError> {
    let command = ["sh", "-c", script].map(str::to_owned);
    ServerProcess::start(&command, ChildStdout::No, &[("GREETING", "hello")])
}

fn context() -> RunContext {
    RunContext::new(Arc::new(NoProgress))
}

fn closed_port() -> BaseUrl {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    format!("http://{free}").parse().unwrap()
}

#[test]
fn a_server_and_what_it_has_started_end_with_their_owner() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    // The grandchild holds the pipe open as long as it lives.
    let script = format!("(echo $GREETING; sleep 1000) > {} & sleep 1000", pipe.display());
    let server = shell(&script).unwrap();
    let mut reader = std::fs::File::open(&pipe).unwrap();
    let mut greeting = [0; 6];
    std::io::Read::read_exact(&mut reader, &mut greeting).unwrap();
    assert_eq!(&greeting, b"hello\n");
    drop(server);
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut reader, &mut rest).unwrap();
    assert_eq!(rest, "", "the pipe's end is the end of who wrote to it");
}

#[test]
fn a_server_that_ends_is_not_waited_for() {
    let server = shell("exit 7").unwrap();
    let long = Duration::from_secs(1000);
    let error = server.wait_ready(&closed_port(), "/health", long, &context()).unwrap_err();
    assert_eq!(error.to_string(), "the server ended before it was ready: exit code 7");
    assert_eq!(error.exit_code(), ExitCode::NotReady);
}

#[test]
fn waiting_ends_when_the_user_says_so() {
    let (server, context) = (shell("sleep 1000").unwrap(), context());
    context.stop.escalate();
    let long = Duration::from_secs(1000);
    let error = server.wait_ready(&closed_port(), "/health", long, &context).unwrap_err();
    assert!(matches!(error, ProcessError::Interrupted), "{error}");
}

#[test]
fn a_server_that_answers_is_ready_and_does_as_it_is_told() {
    let spec = MockSpec { keep_requests: 10, ..MockSpec::default() };
    let mock = MockServer::start(spec).unwrap();
    let (server, url) = (shell("sleep 1000").unwrap(), mock.base_url().parse().unwrap());
    server.wait_ready(&url, "/health", Duration::from_secs(60), &context()).unwrap();
    post_to_server(&url, &["/flush_cache"]).unwrap();
    let last = mock.requests().pop().unwrap();
    assert_eq!((last.method.as_str(), last.path.as_str()), ("POST", "/flush_cache"));
    assert!(post_to_server(&url, &["/nowhere"]).is_err());
}

#[test]
fn a_command_that_is_none_is_refused() {
    let command = ["/nowhere/vllm".to_owned(), "serve".to_owned()];
    let error = ServerProcess::start(&command, ChildStdout::No, &[]).unwrap_err();
    assert_eq!(error.to_string(), "cannot run /nowhere/vllm serve");
    assert_eq!(error.exit_code(), ExitCode::Usage);
    let ProcessError::Start { source, .. } = error else { panic!("{error}") };
    assert_eq!(source.kind(), ErrorKind::NotFound);
    assert!(ServerProcess::start(&[], ChildStdout::No, &[]).is_err());
}

/// Runs a script that signals its start, then stops the run by `levels` levels.
fn stopped(script: &str, levels: u32) -> std::process::ExitStatus {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    let script = format!("{script}; echo > {}; while :; do sleep 0.01; done", pipe.display());
    let context = context();
    let stop = context.stop.clone();
    let stopping = std::thread::spawn(move || {
        std::fs::read(&pipe).unwrap();
        for _ in 0..levels {
            stop.escalate();
        }
    });
    let command = ["sh", "-c", &script].map(str::to_owned);
    let status = run_command(&command, ChildStdout::No, &context).unwrap();
    stopping.join().unwrap();
    status
}

#[test]
fn a_command_is_told_to_end_and_then_killed() {
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(stopped("trap 'exit 3' TERM", 1).code(), Some(3));
    assert_eq!(stopped("trap '' TERM", 2).signal(), Some(9));
}
