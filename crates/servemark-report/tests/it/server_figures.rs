//! What the server says of a run, and what it says of its whole life.

use serde_json::Value;
use servemark_core::{
    Delta, Finish, Footer, Header, Phase, Recorder, RequestRecord, RunFacts, RunLog, Sample, Sink,
    Stamp, Usage,
};
use servemark_metrics::{Audit, ConcurrencyRatio, MetricPolicy, Metrics};
use servemark_report::{Layout, NativeTable, Report, SglangOptions};

use crate::written;

/// A second of six tokens, in as many steps as the server tells.
fn request(index: usize, verify_steps: Option<u32>) -> RequestRecord {
    let at = Stamp::from_nanos;
    let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 10, 6), at(0));
    recorder.sent(at(0));
    recorder.body(at(1_000_000_000), 1);
    recorder.at(at(1_000_000_000)).delta(Delta::content("text").with_tokens(Some(6)));
    let usage = Usage::new(Some(10), Some(6)).with_verify_steps(verify_steps);
    recorder.at(at(1_000_000_000)).usage(usage);
    recorder.finish(Ok(Finish::default()), at(0))
}

fn log(steps: [Option<u32>; 3]) -> RunLog {
    let mut footer = Footer::default();
    footer.ended = Stamp::from_nanos(1_000_000_000);
    footer.accept_length = Some(1.25);
    let records = steps.into_iter().enumerate().map(|(index, steps)| request(index, steps));
    let header = Header::new(0, RunFacts::default(), Value::Null);
    RunLog::new(header, records.collect(), Some(footer))
}

fn line(table: &str, label: &str) -> String {
    table.lines().find(|line| line.trim_start().starts_with(label)).unwrap().to_owned()
}

fn native(log: &RunLog) -> String {
    let policy = MetricPolicy::native().with_steady_state(ConcurrencyRatio::new(1.0).ok());
    written(&NativeTable, &Report::new(log, &Metrics::score(log, &policy), &Audit::of(log)))
}

#[test]
fn the_runs_own_accept_length_is_of_the_requests_that_tell_their_steps() {
    let table = native(&log([Some(2), Some(4), None]));
    assert_eq!(line(&table, "accept length"), "  accept length     2.00, this run (2 requests)");
}

#[test]
fn where_no_request_tells_it_the_servers_average_is_named_as_such() {
    let table = native(&log([None; 3]));
    let expected = "  accept length     1.25, the server's average since its start";
    assert_eq!(line(&table, "accept length"), expected);
}

#[test]
fn sglangs_table_shows_the_servers_average() {
    let log = log([Some(2), Some(4), None]);
    let metrics = Metrics::score(&log, &MetricPolicy::sglang());
    let format = Layout::Sglang(SglangOptions::default()).table();
    let table = written(&*format, &Report::new(&log, &metrics, &Audit::of(&log)));
    assert_eq!(line(&table, "Accept length:").split_whitespace().next_back(), Some("1.25"));
}

#[test]
fn our_table_tells_of_the_steady_state() {
    let table = native(&log([None; 3]));
    let steady = &table[table.find("Steady state").unwrap()..];
    insta::assert_snapshot!(steady, @"
    Steady state
      in flight, least  3, 100 % of the peak of 3
      from, to          0.000 s, 1.000 s
      duration          1.00 s
      completed         3
      in flight, mean   3.00
      input tokens      30.00 /s
      output tokens     18.00 /s
        retokenized     -
      fullest second    18.00 output tokens
    ");
}
