//! A failure that is permanent ends the wait for a server at once, and a run reports a server
//! whose certificate is not verified.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use servemark::backends::BackendName;
use servemark::client::TargetSpec;
use servemark::core::{CertificateCheck, NoProgress, RunLog};
use servemark::mock::{MockServer, MockSpec};
use servemark::plan::{BenchPlan, Layout, ServerSpec};
use servemark::{ExecuteError, ExitCode, RunContext, RunObserver, Scores, execute};

use crate::listener::Listener;
use crate::runs;

const AN_HOUR: Duration = Duration::from_secs(3600);

/// Starts a server that answers every request with `status`, on a thread that lives as long as
/// the test process.
fn refusing(status: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut peer in listener.incoming().map(Result::unwrap) {
            let _ = peer.read(&mut [0; 4096]);
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            let _ = peer.write_all(answer.as_bytes());
        }
    });
    address
}

fn plan_at(url: &str) -> BenchPlan {
    let mut plan = runs::plan(BackendName::SglangOaiChat, &[]);
    plan.server = ServerSpec::At(TargetSpec::new(url.parse().unwrap()));
    plan
}

fn error(plan: &BenchPlan) -> ExecuteError {
    execute(plan, &RunContext::new(Arc::new(NoProgress))).unwrap_err()
}

#[test]
fn a_refused_key_ends_the_wait_for_the_server_with_its_cause() {
    let mut plan = plan_at(&format!("http://{}", refusing("401 Unauthorized")));
    plan.control.ready_timeout = AN_HOUR;
    let error = error(&plan);
    assert_eq!(error.exit_code(), ExitCode::NotReady);
    assert!(error.to_string().contains("answered 401"), "{error}");
    assert!(error.to_string().contains("set OPENAI_API_KEY"), "{error}");
}

#[test]
fn a_refused_first_request_ends_its_tries() {
    let mut plan = runs::plan(BackendName::VllmChat, &["status:403"]);
    plan.control.first_request = Some(AN_HOUR);
    let error = error(&plan);
    assert_eq!(error.exit_code(), ExitCode::NotReady);
    assert!(matches!(error, ExecuteError::FirstRequest(_)), "{error}");
}

#[test]
fn a_refused_list_of_models_without_a_key_hints_at_the_key() {
    for status in ["401 Unauthorized", "403 Forbidden", "500 Internal Server Error"] {
        let mut plan = plan_at(&format!("http://{}", refusing(status)));
        plan.control.ready_timeout = Duration::ZERO;
        let error = error(&plan);
        assert!(error.to_string().contains("no key was given: set OPENAI_API_KEY"), "{error}");
        assert_eq!(error.exit_code(), ExitCode::NotReady);
    }
}

#[test]
fn the_reason_of_a_wait_is_reported_once() {
    let mut plan = plan_at(&format!("http://{}", refusing("503 Service Unavailable")));
    plan.control.ready_timeout = Duration::from_millis(1500);
    let listener = Arc::new(Listener::default());
    let context = RunContext::new(Arc::clone(&listener) as Arc<dyn RunObserver>);
    let error = execute(&plan, &context).unwrap_err();
    assert_eq!(error.exit_code(), ExitCode::NotReady);
    assert_eq!(listener.count_events("Not ready yet: "), 1, "{listener:?}");
    assert_eq!(listener.count_events("answered 503"), 1, "{listener:?}");
}

#[test]
fn a_simulator_without_tls_ends_the_wait_at_once() {
    let server = MockServer::start(MockSpec::default()).unwrap();
    let mut plan = plan_at(&server.base_url().as_str().replace("http://", "https://"));
    plan.control.ready_timeout = AN_HOUR;
    let error = error(&plan);
    assert_eq!(error.exit_code(), ExitCode::NotReady);
    assert!(error.to_string().contains("http://"), "{error}");
}

#[test]
fn a_certificate_that_is_not_checked_is_told_of_at_the_start() {
    let mut target = TargetSpec::new("https://127.0.0.1:9".parse().unwrap());
    target.accepts_any_certificate = true;
    let mut plan = runs::plan(BackendName::SglangOaiChat, &[]);
    plan.server = ServerSpec::At(target);
    plan.control.ready_timeout = Duration::from_millis(1);
    let listener = Arc::new(Listener::default());
    let context = RunContext::new(Arc::clone(&listener) as Arc<dyn RunObserver>);
    assert!(execute(&plan, &context).is_err());
    assert!(listener.count_events("NOT CHECKED (--insecure)") > 0, "{listener:?}");
}

#[test]
fn a_certificate_that_was_not_checked_is_a_line_of_the_report() {
    let mut plan = runs::plan(BackendName::SglangOaiChat, &[]);
    plan.scoring.layouts = vec![Layout::Native];
    let run = execute(&plan, &RunContext::new(Arc::new(NoProgress))).unwrap();
    for certificate in [CertificateCheck::Usual, CertificateCheck::Skipped] {
        let mut header = run.log.header().clone();
        header.facts.certificate = certificate;
        let log = RunLog::new(header, run.log.measured().cloned().collect(), None);
        let mut table = Vec::new();
        Scores::of(&log, &plan.scoring).write_tables(&mut table).unwrap();
        let table = String::from_utf8(table).unwrap();
        let has_warning = table.contains("NOT CHECKED (--insecure)");
        assert_eq!(has_warning, certificate == CertificateCheck::Skipped, "{table}");
    }
}
