//! Figures that the server reports of a run and since its start.

use serde_json::Value;
use servemark_backends::vllm_counters;
use servemark_core::{
    CountedWork, Delta, Finish, Footer, Header, Phase, Recorder, RequestRecord, RunFacts, RunLog,
    Sample, Sink, Stamp, Usage,
};
use servemark_metrics::{Audit, ConcurrencyRatio, MetricPolicy, Metrics};
use servemark_report::{Layout, NativeTable, Report, SglangOptions};

use crate::report_text;

/// Returns a request with six tokens in one second; `verify_steps` is the number of steps that the
/// server reports.
fn request(index: usize, verify_steps: Option<u32>) -> RequestRecord {
    let at = Stamp::from_nanos;
    let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 10, 6), at(0));
    recorder.record_sent(at(0));
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
    report_text(
        &NativeTable::default(),
        &Report::new(log, &Metrics::score(log, &policy), &Audit::of(log)),
    )
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
    let table = report_text(&*format, &Report::new(&log, &metrics, &Audit::of(&log)));
    assert_eq!(line(&table, "Accept length:").split_whitespace().next_back(), Some("1.25"));
}

#[test]
fn our_table_tells_what_the_server_counted() {
    let metrics = [
        "vllm:prefix_cache_queries_total 100\nvllm:prefix_cache_hits_total 10\n\
         vllm:spec_decode_num_drafts_total 1\nvllm:spec_decode_num_draft_tokens_total 4\n\
         vllm:spec_decode_num_accepted_tokens_total 2\n",
        "vllm:prefix_cache_queries_total 300\nvllm:prefix_cache_hits_total 85\n\
         vllm:spec_decode_num_drafts_total 11\nvllm:spec_decode_num_draft_tokens_total 44\n\
         vllm:spec_decode_num_accepted_tokens_total 27\n\
         vllm:spec_decode_num_accepted_tokens_per_pos_total{position=\"0\"} 9\n\
         vllm:spec_decode_num_accepted_tokens_per_pos_total{position=\"1\"} 5\n",
    ];
    let log = log([None; 3]);
    let mut footer = log.footer().cloned().unwrap();
    let [before, after] = metrics.map(vllm_counters);
    footer.server_counters = Some(CountedWork::new(before, after));
    let table = native(&RunLog::new(log.header().clone(), log.records().to_vec(), Some(footer)));
    let counted =
        &table[table.find("By the server").unwrap()..table.find("Service times").unwrap()];
    insta::assert_snapshot!(counted, @"
    By the server's counters, before and after
      prefix cache      37.5 % of 200 prompt tokens (75)
      tokens per step   3.50 (10 drafts)
      accepted          62.5 % of 40 guessed tokens (25)
        by position     90.0 %, 50.0 %
    ");
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
