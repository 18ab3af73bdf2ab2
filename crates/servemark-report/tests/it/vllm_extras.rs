//! Output that vLLM's Rust client prints in addition to the Python client's table.

use std::time::Duration;

use insta::assert_snapshot;
use serde_json::Value;
use servemark_core::{
    Delta, Finish, Footer, Header, Phase, Recorder, RequestRecord, RunFacts, RunLog, Sample, Sink,
    Stamp, Usage,
};
use servemark_metrics::{Audit, MetricPolicy, Metrics, PlateauSpec};
use servemark_report::{
    PlateauTable, Report, ResultDetails, SweptRun, TurnsTable, VllmOptions, VllmResult, write_swept,
};

use crate::report_text;

fn ms(millis: u64) -> Stamp {
    Stamp::ZERO + Duration::from_millis(millis)
}

/// Returns a turn of two tokens, sent at `start`, with pieces after 20 ms and 30 ms.
fn turn(index: usize, number: u32, follow_ups: u32, start: u64) -> RequestRecord {
    let recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 5, 2), ms(start));
    let mut recorder = recorder.of_turn(number, follow_ups);
    recorder.record_sent(ms(start));
    for piece in [start + 20, start + 30] {
        recorder.body(ms(piece), 1);
        recorder.at(ms(piece)).delta(Delta::content("x"));
    }
    recorder.at(ms(start + 30)).usage(Usage::new(Some(5 + 10 * number), Some(2)));
    recorder.finish(Ok(Finish::default()), ms(start + 30))
}

fn log(records: Vec<RequestRecord>) -> RunLog {
    let mut facts = RunFacts::default();
    facts.max_concurrency = Some(2);
    let mut footer = Footer::default();
    footer.ended = ms(100);
    RunLog::new(Header::new(0, facts, Value::Null), records, Some(footer))
}

/// Returns two sessions of two turns each; the second session starts 10 ms after the first.
fn conversations() -> RunLog {
    log(vec![turn(0, 0, 1, 0), turn(0, 1, 0, 40), turn(1, 0, 1, 10), turn(1, 1, 0, 50)])
}

fn scored(log: &RunLog) -> Metrics {
    Metrics::score(log, &MetricPolicy::vllm().with_plateau(Some(PlateauSpec::default())))
}

#[test]
fn conversations_are_told_turn_by_turn() {
    let log = conversations();
    let (metrics, audit) = (scored(&log), Audit::of(&log));
    assert_snapshot!(report_text(&TurnsTable, &Report::new(&log, &metrics, &audit)), @"
    =============== Multi-Turn Benchmark Result ================
    Conversations completed/total:                2/2
    Avg turns completed:                          2.0
    Avg conversation duration (ms):               70
    Concurrency:                                  2
    Benchmark duration (s):                       0.10
    ------------------- Overall (All Turns) --------------------
    Successful requests:                          4
    Failed requests:                              0
    Total input tokens:                           40
    Total generated tokens:                       8
    Request throughput (req/s):                   40.00
    Input token throughput (tok/s):               400.00
    Output token throughput (tok/s):              80.00
    Total token throughput (tok/s):               480.00
    --------------------Time to First Token---------------------
    Mean TTFT (ms):                               20.00
    Median TTFT (ms):                             20.00
    P99 TTFT (ms):                                20.00
    ----------Time per Output Token (excl. 1st token)-----------
    Mean TPOT (ms):                               10.00
    Median TPOT (ms):                             10.00
    P99 TPOT (ms):                                10.00
    --------------------Inter-token Latency---------------------
    Mean ITL (ms):                                10.00
    Median ITL (ms):                              10.00
    P99 ITL (ms):                                 10.00
    ---------------------End-to-end Latency---------------------
    Mean E2EL (ms):                               30.00
    Median E2EL (ms):                             30.00
    P99 E2EL (ms):                                30.00
    -------------------- Turn 1 (2 samples) --------------------
    Successful requests:                          2
    Failed requests:                              0
    Total input tokens:                           10
    Total generated tokens:                       4
    Request throughput (req/s):                   20.00
    Input token throughput (tok/s):               100.00
    Output token throughput (tok/s):              40.00
    Total token throughput (tok/s):               140.00
    --------------------Time to First Token---------------------
    Mean TTFT (ms):                               20.00
    Median TTFT (ms):                             20.00
    P99 TTFT (ms):                                20.00
    ----------Time per Output Token (excl. 1st token)-----------
    Mean TPOT (ms):                               10.00
    Median TPOT (ms):                             10.00
    P99 TPOT (ms):                                10.00
    --------------------Inter-token Latency---------------------
    Mean ITL (ms):                                10.00
    Median ITL (ms):                              10.00
    P99 ITL (ms):                                 10.00
    ---------------------End-to-end Latency---------------------
    Mean E2EL (ms):                               30.00
    Median E2EL (ms):                             30.00
    P99 E2EL (ms):                                30.00
    -------------------- Turn 2 (2 samples) --------------------
    Successful requests:                          2
    Failed requests:                              0
    Total input tokens:                           30
    Total generated tokens:                       4
    Request throughput (req/s):                   20.00
    Input token throughput (tok/s):               300.00
    Output token throughput (tok/s):              40.00
    Total token throughput (tok/s):               340.00
    --------------------Time to First Token---------------------
    Mean TTFT (ms):                               20.00
    Median TTFT (ms):                             20.00
    P99 TTFT (ms):                                20.00
    ----------Time per Output Token (excl. 1st token)-----------
    Mean TPOT (ms):                               10.00
    Median TPOT (ms):                             10.00
    P99 TPOT (ms):                                10.00
    --------------------Inter-token Latency---------------------
    Mean ITL (ms):                                10.00
    Median ITL (ms):                              10.00
    P99 ITL (ms):                                 10.00
    ---------------------End-to-end Latency---------------------
    Mean E2EL (ms):                               30.00
    Median E2EL (ms):                             30.00
    P99 E2EL (ms):                                30.00
    ============================================================
    ");
}

#[test]
fn single_requests_are_no_conversations() {
    let log = log(vec![turn(0, 0, 0, 0)]);
    let (metrics, audit) = (scored(&log), Audit::of(&log));
    assert_eq!(report_text(&TurnsTable, &Report::new(&log, &metrics, &audit)), "");
}

#[test]
fn the_part_at_the_load_is_told_apart() {
    let log = conversations();
    let (metrics, audit) = (scored(&log), Audit::of(&log));
    assert_snapshot!(report_text(&PlateauTable, &Report::new(&log, &metrics, &audit)), @"
    Warning: steady-state window is 0.1s (60.0% of run); may not be representative
    ============ Steady-State Metrics =============
    Concurrency threshold:              >= 0.95 * 2 = 2
    Window:                             0.0s -> 0.1s  (0.1s)
    Observed peak concurrency:          2
    Requests started in window:         3 / 4 (75.0%)
    Requests completed in window:       3
    -----------------------------------------------
    Request throughput (req/s):         50.00
    Output token throughput (tok/s):    116.67
    Input token throughput (tok/s):     583.33
    Total token throughput (tok/s):     700.00
    -----------------------------------------------
    Mean TTFT (ms):                     20.00
    Median TTFT (ms):                   20.00
    P99 TTFT (ms):                      20.00
    -----------------------------------------------
    Mean TPOT (ms):                     10.00
    Median TPOT (ms):                   10.00
    P99 TPOT (ms):                      10.00
    P90 TPOT (ms):                      10.00
    ===============================================
    ");
    let unasked = Metrics::score(&log, &MetricPolicy::vllm());
    assert_eq!(report_text(&PlateauTable, &Report::new(&log, &unasked, &audit)), "");
}

#[test]
fn a_run_that_never_reached_its_limit_says_so() {
    let log = log(vec![turn(0, 0, 0, 0)]);
    let (metrics, audit) = (scored(&log), Audit::of(&log));
    let said = report_text(&PlateauTable, &Report::new(&log, &metrics, &audit));
    assert!(said.starts_with("No steady state: it takes --max-concurrency"), "{said}");
}

#[test]
fn the_runs_of_a_sweep_stand_side_by_side() {
    let logs = [conversations(), log(vec![turn(0, 0, 0, 0)])];
    let metrics = logs.each_ref().map(scored);
    let names = ["concurrency=2", "concurrency=4"];
    let runs: Vec<_> =
        names.iter().zip(&metrics).map(|(name, of)| SweptRun::new(name, of)).collect();
    let mut out = Vec::new();
    write_swept("Max Concurrency", &runs, &[99.0, 50.0], &mut out).unwrap();
    assert_snapshot!(String::from_utf8(out).unwrap(), @"
    ============================================================================ Sweep Summary =============================================================================
    Max Concurrency           Req/s   Inputs/s      Tok/s  Total tok/s   SS req/s SS out tok/s P50 TTFT(ms) P50 TPOT(ms) P90 TTFT(ms) P90 TPOT(ms) P99 TTFT(ms) P99 TPOT(ms)
    -------------------- ---------- ---------- ---------- ------------ ---------- ------------ ------------ ------------ ------------ ------------ ------------ ------------
    concurrency=2             40.00          -      80.00       480.00      50.00       116.67        20.00        10.00            -            -        20.00        10.00
    concurrency=4             10.00          -      20.00        70.00          -            -        20.00        10.00            -            -        20.00        10.00
    ========================================================================================================================================================================
    Best throughput: 40.00 req/s at concurrency=2
    ");
}

#[test]
fn a_result_has_them_under_the_clients_keys() {
    let log = conversations();
    let (metrics, audit) = (scored(&log), Audit::of(&log));
    let result = VllmResult::new(VllmOptions::default(), ResultDetails::Brief, 0);
    let object = result.object(&Report::new(&log, &metrics, &audit));
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/vllm/rust/limited.json");
    let recorded: Value = serde_json::from_slice(&std::fs::read(recorded).unwrap()).unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let (ours, peer) = (&object["steady_state"], &recorded["steady_state"]);
    assert_eq!(keys(ours), keys(peer));
    assert_eq!(keys(&ours["window"]), keys(&peer["window"]));
    let turns = object["per_turn_metrics"].as_array().unwrap();
    assert_eq!((turns.len(), turns[1]["mean_ttft_ms"].as_f64()), (2, Some(20.0)));
    assert_eq!(object["conversations_completed"], 2);
}
