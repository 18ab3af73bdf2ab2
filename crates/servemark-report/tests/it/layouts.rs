//! Whole tables and documents, as a reader sees them.

use std::time::Duration;

use serde_json::Value;
use servemark_core::{
    Arrival, ArrivalClock, ClientCost, Connection, Delta, EngineFacts, ErrorKind, Finish, Footer,
    Header, Phase, Recorder, RequestError, RequestRecord, Retokenized, RunFacts, RunLog, Sample,
    ShardCost, SimulatedTimes, Sink, SocketFacts, Stamp, Usage,
};
use servemark_metrics::{Audit, BeyondBudget, Latency, MetricPolicy, Metrics, SampleBudget, Slo};
use servemark_report::{Layout, NativeTable, Report, ReportFormat, RunSummary, SglangOptions};

use crate::report_text;

fn at(microseconds: u64) -> Stamp {
    Stamp::ZERO + Duration::from_micros(microseconds)
}

/// Returns one of twelve requests, sent a tenth of a second apart; the first two open connections.
fn request(index: usize) -> Recorder {
    let due = index as u64 * 100_000;
    let mut sample = Sample::new("", 40, 4);
    (sample.text_tokens, sample.vision_tokens) = (30, 10);
    let mut recorder = Recorder::new(index, Phase::Measure, &sample, at(due));
    recorder.granted(at(due + 50));
    recorder.connected(match index {
        0 | 1 => Connection::New { connect_ns: 250_000, tls_ns: None },
        _ => Connection::Reused,
    });
    recorder.record_sent(at(due + 80));
    recorder
}

fn answer(index: usize) -> RequestRecord {
    let mut recorder = request(index);
    let sent = index as u64 * 100_000 + 80;
    for token in 0..4 {
        let arrival = at(sent + 20_100 + 7 * index as u64 + token * 5_000);
        recorder.arrival_clock(ArrivalClock::Kernel);
        recorder.body(arrival, 1);
        let observed = at(sent + 20_120 + 7 * index as u64 + token * 5_000);
        recorder.at(Arrival::new(arrival, observed)).delta(Delta::content("tok "));
    }
    let end = at(sent + 36_000);
    recorder.body(end, 1);
    recorder.at(end).usage(Usage::new(Some(40), Some(4)).with_cached(Some(16)));
    recorder.finish(Ok(Finish::default()), end)
}

fn failure(index: usize, kind: ErrorKind, message: &str) -> RequestRecord {
    let ended = at(index as u64 * 100_000 + 3_000);
    request(index).finish(Err(RequestError::new(kind, message)), ended)
}

fn facts() -> RunFacts {
    let mut facts = RunFacts::default();
    facts.backend = "vllm-chat".into();
    facts.api_path = "/v1/chat/completions".into();
    facts.target = "http://127.0.0.1:8000".into();
    facts.model = "Qwen/Qwen2.5-7B-Instruct".into();
    facts.tokenizer = "Qwen/Qwen2.5-7B-Instruct".into();
    facts.dataset = "random".into();
    facts.requests = 12;
    facts.seed = 42;
    facts.request_rate = Some(10.0);
    facts.max_concurrency = Some(8);
    facts.simulated = true;
    facts
}

fn header(facts: RunFacts) -> Header {
    let mut header = Header::new(0, facts, Value::Null);
    header.servemark = "0.1.0".into();
    header.host.system = "linux-x86_64".into();
    header.host.cores = 2;
    header
}

fn footer() -> Footer {
    let mut footer = Footer::default();
    footer.ended = at(1_136_080);
    footer.client = Some(ClientCost::new(15_000_000, 1_136_080_000));
    footer.retokenized = (0..10).map(|index| Retokenized::new((index, 0), 4, vec![1; 4])).collect();
    let truth = vec![20_000_000, 25_000_000, 30_000_000, 35_000_000];
    footer.truth = (0..10).map(|index| SimulatedTimes::new((index, 0), truth.clone())).collect();
    footer
}

/// Returns a run with ten answers and two failures.
fn finished() -> RunLog {
    let overloaded = "503 Service Unavailable: {\"error\":\n{\"message\": \"the queue is full, come \
                      back in a few seconds when some of the others are done\"}}";
    let mut records: Vec<_> = (0..10).map(answer).collect();
    records.push(failure(10, ErrorKind::Status, overloaded));
    records.push(failure(11, ErrorKind::Connect, "connection refused"));
    RunLog::new(header(facts()), records, Some(footer()))
}

/// Returns a run that was killed after two answers were written.
fn killed() -> RunLog {
    let mut facts = facts();
    facts.simulated = false;
    RunLog::new(header(facts), (0..2).map(answer).collect(), None)
}

fn native(log: &RunLog) -> String {
    let slos = [(Latency::Ttft, 20.12), (Latency::E2el, 40.0)]
        .map(|(metric, limit)| Slo::new(metric, limit).unwrap());
    let metrics = Metrics::score(log, &MetricPolicy::native().with_slos(slos));
    report_text(&NativeTable::default(), &Report::new(log, &metrics, &Audit::of(log)))
}

fn sglang(log: &RunLog, format: fn(Layout) -> Box<dyn ReportFormat>) -> String {
    let metrics = Metrics::score(log, &MetricPolicy::sglang());
    let options = SglangOptions::default().with_cache_report();
    report_text(&*format(Layout::Sglang(options)), &Report::new(log, &metrics, &Audit::of(log)))
}

/// Returns a run in which every request failed.
fn hopeless() -> RunLog {
    let mut facts = facts();
    facts.requests = 2;
    let failures = (0..2).map(|index| failure(index, ErrorKind::Timeout, "no byte in 30 s"));
    let mut footer = Footer::default();
    footer.ended = at(103_000);
    RunLog::new(header(facts), failures.collect(), Some(footer))
}

/// Returns a run whose client was starved of CPU time, on a machine that reports this.
fn starved() -> RunLog {
    let starve = |mut record: RequestRecord| {
        record.socket = Some(SocketFacts::default());
        record.granted = Some(record.scheduled + Duration::from_millis(7));
        record.sent = record.granted.map(|granted| granted + Duration::from_millis(9));
        record
    };
    let mut footer = footer();
    let mut cost = ClientCost::new(900_000_000, 1_136_080_000);
    (cost.steal_ns, cost.log_wait_ns) = (Some(120_000_000), 23_000_000);
    let mut shard = ShardCost::default();
    (shard.cpu_ns, shard.involuntary_switches) = (450_000_000, 1_234);
    shard.run_delay_ns = Some(654_000_000);
    cost.shards = vec![shard; 2];
    footer.client = Some(cost);
    RunLog::new(header(facts()), (0..12).map(answer).map(starve).collect(), Some(footer))
}

/// Returns twelve answers of an in-process engine, which stamped and counted them itself.
fn of_an_engine() -> RunLog {
    let stamp = |mut record: RequestRecord| {
        record.arrival_clock = ArrivalClock::Engine;
        record.connection = None;
        record
    };
    let mut header = header(facts());
    header.facts.api_path.clear();
    header.engine = Some(EngineFacts::new("candle", "0.9.1"));
    RunLog::new(header, (0..12).map(answer).map(stamp).collect(), Some(footer()))
}

/// Returns the lines of a table from the first that starts with `title` to the end of its section.
fn section(table: &str, title: &str) -> String {
    let lines = table.lines().skip_while(|line| !line.starts_with(title));
    lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_summary_of_a_run_fits_a_narrow_screen() {
    let log = finished();
    let (metrics, audit) = (Metrics::score(&log, &MetricPolicy::native()), Audit::of(&log));
    let summary = report_text(&RunSummary::default(), &Report::new(&log, &metrics, &audit));
    insta::assert_snapshot!(summary, @"
    Measured    http://127.0.0.1:8000, model Qwen/Qwen2.5-7B-Instruct (simulated)
    Requests    10 of 12 in 1.1 s, 9.1 requests/s, 36.3 output tokens/s; 2 of 12
                requests failed: 1 no connection, 1 refused by status
    TTFT        p50 20.1 ms, p99 not known: too few requests
    TPOT        p50 5.0 ms, p99 not known: too few requests
    ITL         p50 5.0 ms, p99 not known: too few requests
    E2E         p50 36.0 ms, p99 not known: too few requests
    Client      clean: load carried, latencies right to 0.03 ms
    Error       p99 TTFT +0.162 ms, p99 ITL +0.000 ms against the simulator's log
    ");
    assert!(summary.lines().all(|line| line.chars().count() <= 80));
}

#[expect(clippy::too_many_lines, reason = "a whole table")]
#[test]
fn our_table_of_a_finished_run() {
    insta::assert_snapshot!(native(&finished()), @r#"
    Servemark report

    Run
      target            http://127.0.0.1:8000
                        the bundled simulator: scripted latencies, not those of a server
      backend           vllm-chat (/v1/chat/completions)
      model             Qwen/Qwen2.5-7B-Instruct
      tokenizer         Qwen/Qwen2.5-7B-Instruct
      data set          random, 12 requests, seed 42
      load              10 requests/s, at most 8 in flight
      duration          1.10 s
      client host       linux-x86_64, 2 cores
      definitions       native

    Outcome
      ok                10
      failed            2
        connect         1
        1 x connection refused
        status          1
        1 x 503 Service Unavailable: {"error": {"message": "the queue is full, come back in a...
      client audit      clean

    Throughput
      requests          9.07 /s
      input tokens      362.6 /s
      output tokens     36.26 /s
      all tokens        398.9 /s
      fullest second    40 output tokens

    Tokens
      input             400 (300 text, 100 images)
        by the server   400 in 10 answers, 400 planned
        from a cache    160
      output            40
        counted by      the server's usage (10)
        retokenized     40
        pieces by       our tokenizer (40)

    Service times, from sent (ms)
                        samples     mean +/- 95 %      p50      p90      p95      p99    p99.9      max
      TTFT                   10    20.13        -        -        -        -        -        -    20.16
      TTST                   10     5.00        -        -        -        -        -        -     5.00
      TPOT per request       10     5.00        -        -        -        -        -        -     5.00
      ITL per gap            30     5.00        -        -        -        -        -        -     5.00
      E2E                    10    36.00        -        -        -        -        -        -    36.00
      - of TTFT, TTST, TPOT per request, E2E: no bound yet; p50 needs about 20 requests, p90 about 36,
      p95 about 72, p99 about 370, p99.9 about 3700
      - of ITL per gap: no bound yet; p50 needs about 20 requests, p90 about 20, p95 about 24, p99
      about 130, p99.9 about 1300
      no +/- of TTFT, TTST, TPOT per request, ITL per gap, E2E: too few requests; about 2.0 times longer

    Response times, from due (ms)
                        samples     mean +/- 95 %      p50      p90      p95      p99    p99.9      max
      TTFT                   10    20.21        -        -        -        -        -        -    20.24
      E2E                    10    36.08        -        -        -        -        -        -    36.08
      - of TTFT, E2E: no bound yet; p50 needs about 20 requests, p90 about 36, p95 about 72, p99 about
      370, p99.9 about 3700
      no +/- of TTFT, E2E: too few requests; about 2.0 times longer

    The client's part (ms)
                        samples     mean +/- 95 %      p50      p90      p95      p99    p99.9      max
      queue wait             12    0.050        -        -        -        -        -        -    0.050
      send lag               12    0.030        -        -        -        -        -        -    0.030
      connect                 2    0.250        -        -        -        -        -        -    0.250
      - of queue wait, send lag, connect: no bound yet; p50 needs about 20 requests, p90 about 36, p95
      about 72, p99 about 370, p99.9 about 3700
      no +/- of queue wait, send lag: too few requests; about 1.7 times longer
      no +/- of connect: too few requests; about 10.0 times longer

    Load as offered
      asked for         10.00 /s
      scheduled         10.00 /s
      sent              10.00 /s
      in flight, mean   0.332
      in flight, peak   1
      connections       2 opened, 10 reused
      settled part      none: too few requests, or latencies stay alike for too long to tell

    Client audit
      verdict           clean
      load              carried
      latencies         right to 0.03 ms
                        the p99 lag of 20 us is 0.4 % of the median gap between reads of 5.00 ms
      not checked       the network: known of 0 of 12 requests; waits for a core: the system does not
                        say; steal: the system does not say
      arrivals by       the kernel's stamps
      p99 gap           5.00 ms; by the client's own clock 5.00 ms
      pieces per read   1.00; 0.0 % queued unread, 0.0 % coalesced by the network
      late sends        0.0 % of 12 by more than 1.00 ms
      blocked by gate   0 of 12; let through 10.00 /s
      client CPU        1.3 % of one core
      kept from it      0.0 % waiting for the run log
      Little's law      0.356 in flight; throughput x latency is 0.367 (+3.3 %)

    The client's waits (ms)
                        samples      p50      p99    p99.9      max
      read lag               40    0.020    0.020    0.020    0.020
      of first pieces        10    0.020    0.020    0.020    0.020
      sent after due         12    0.080    0.080    0.080    0.080

    Goodput
      good requests     2.72 /s
      all objectives    25.00 % of all requests
      ttft <= 20.12 ms  25.00 % of all requests
      e2el <= 40 ms     83.33 % of all requests

    Against the bundled simulator's own log (ms)
                       reported    truth difference
      mean TTFT          20.132   20.000     +0.132
      p99 TTFT           20.162   20.000     +0.162
      max TTFT           20.163   20.000     +0.163
      p99 ITL             5.000    5.000     +0.000
      max ITL             5.000    5.000     +0.000
      10 requests compared, 2 without truth, 0 with another number of pieces
    "#);
}

#[test]
fn our_table_says_first_that_a_run_was_killed() {
    let table = native(&killed());
    insta::assert_snapshot!(section(&table, "Servemark report"), @r#"
    Servemark report
    INCOMPLETE: this run was killed; 10 of 12 requests are missing.
    "#);
    insta::assert_snapshot!(section(&table, "Outcome"), @r"
    Outcome
      ok                2
      failed            0
      unfinished        10
      client audit      clean
    ");
    insta::assert_snapshot!(section(&table, "Tokens"), @r#"
    Tokens
      input             80 (60 text, 20 images)
        by the server   80 in 2 answers, 80 planned
        from a cache    32
      output            8
        counted by      the server's usage (2)
        retokenized     -
        pieces by       no source, taken as one token each (8)
    "#);
}

/// Returns a run with an answer, two refused connections, and an answer with counted tokens but no
/// text.
fn away() -> RunLog {
    let refused = |index: usize| {
        let due = at(index as u64 * 100_000);
        let recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 40, 4), due);
        recorder.finish(Err(RequestError::new(ErrorKind::Connect, "refused")), due)
    };
    let mut silent = request(3);
    silent.at(at(320_000)).usage(Usage::new(Some(42), Some(32)));
    let silent = silent.finish(Ok(Finish::default()), at(320_000));
    let records = vec![answer(0), refused(1), refused(2), silent];
    RunLog::new(Header::new(0, facts(), Value::Null), records, None)
}

#[test]
fn our_table_tells_when_the_server_was_away_and_what_came_without_a_text() {
    let table = native(&away());
    let away = "  the server was away once, from 0.1 s to 0.3 s: 2 requests failed to connect\n";
    assert!(section(&table, "Outcome").contains(away), "{table}");
    let tokens = section(&table, "Tokens");
    assert!(tokens.contains("  by the server   82 in 2 answers, 80 planned\n"), "{table}");
    assert!(tokens.ends_with("\n  1 answers had counted tokens but no text"), "{table}");
}

#[test]
fn our_table_of_a_run_in_which_nothing_worked_shows_no_latency() {
    let table = native(&hopeless());
    insta::assert_snapshot!(section(&table, "Outcome"), @r"
    Outcome
      ok                0
      failed            2
        timeout         2
        2 x no byte in 30 s
      client audit      suspect
    ");
    insta::assert_snapshot!(section(&table, "Throughput"), @r#"
    Throughput
      requests          0.000 /s
      input tokens      0.000 /s
      output tokens     -
      all tokens        0.000 /s
      fullest second    0 output tokens
    "#);
    insta::assert_snapshot!(section(&table, "Service times"), @r#"
    Service times, from sent (ms)
                        samples     mean +/- 95 %      p50      p90      p95      p99    p99.9      max
      TTFT                    0        -        -        -        -        -        -        -        -
      TTST                    0        -        -        -        -        -        -        -        -
      TPOT per request        0        -        -        -        -        -        -        -        -
      ITL per gap             0        -        -        -        -        -        -        -        -
      E2E                     0        -        -        -        -        -        -        -        -
      -: too few samples; p50 takes 2, p90 takes 10, p95 takes 20, p99 takes 100, p99.9 takes 1000
    "#);
}

#[test]
fn our_table_tells_what_kept_the_client_from_its_work() {
    insta::assert_snapshot!(section(&native(&starved()), "Client audit"), @r"
    Client audit
      verdict           client-limited
      load              client-limited
      latencies         in doubt
                        30.9 % of the concurrency was lost because ended answers lay unseen and the next
                        requests left late
                        it waited for the writer of the run log for 1.0 % of the time
                        the hypervisor took 5.3 % of the machine's time, its kernel's stamps included
                        latencies are known to 560 us, 11.2 % of the median gap between reads of 5.00
                        ms: the client's thread often lost its core while it sent
                        100.0 % of the sends were more than 1.00 ms late
                        shard 2 ran, or waited for a core, for 97.2 % of the time
      arrivals by       the kernel's stamps
      p99 gap           5.00 ms; by the client's own clock 5.00 ms
      pieces per read   1.00; 0.0 % queued unread, 0.0 % coalesced by the network
      late sends        100.0 % of 12 by more than 1.00 ms
      blocked by gate   12 of 12, for at most 7.00 ms; let through 10.00 /s
      network           shortest round trip -, 0 sent again, 0 out of order
      client CPU        39.6 %, 39.6 % of a core each
      kept from it      57.6 % waiting for a core, 2468 times displaced, 5.3 % stolen, 1.0 % waiting for
                        the run log
      Little's law      0.197 in flight; throughput x latency is 0.202 (+2.2 %)
    ");
}

#[test]
fn our_table_fits_a_hundred_columns() {
    let wide = [finished(), killed(), hopeless(), starved()].map(|log| native(&log)).concat();
    assert_eq!(wide.lines().find(|line| line.chars().count() > 100), None);
}

#[test]
fn sglangs_table_of_a_killed_run_says_so() {
    insta::assert_snapshot!(sglang(&killed(), Layout::table), @r#"

    ============ Serving Benchmark Result ============
    Backend:                                 vllm-chat 
    Traffic request rate:                    10.0      
    Max request concurrency:                 8         
    Successful requests:                     2         
    Failed requests:                         0         
    Incomplete run:                          killed, 10 requests unfinished
    Benchmark duration (s):                  0.14      
    Total input tokens:                      80        
    Total input text tokens:                 60        
    Total generated tokens:                  8         
    Total generated tokens (retokenized):    n/a       
    Request throughput (req/s):              14.70     
    Input token throughput (tok/s):          587.89    
    Output token throughput (tok/s):         58.79     
    Peak output token throughput (tok/s):    8.00      
    Peak concurrent requests:                2         
    Total token throughput (tok/s):          646.68    
    Concurrency:                             0.53      
    ----------------End-to-End Latency----------------
    Mean E2E Latency (ms):                   36.00     
    Median E2E Latency (ms):                 36.00     
    P90 E2E Latency (ms):                    36.00     
    P95 E2E Latency (ms):                    36.00     
    P99 E2E Latency (ms):                    36.00     
    ---------------Time to First Token----------------
    Mean TTFT (ms):                          20.10     
    Median TTFT (ms):                        20.10     
    P90 TTFT (ms):                           20.11     
    P95 TTFT (ms):                           20.11     
    P99 TTFT (ms):                           20.11     
    -----Time per Output Token (excl. 1st token)------
    Mean TPOT (ms):                          5.30      
    Median TPOT (ms):                        5.30      
    P90 TPOT (ms):                           5.30      
    P95 TPOT (ms):                           5.30      
    P99 TPOT (ms):                           5.30      
    ---------------Inter-Token Latency----------------
    Mean ITL (ms):                           5.00      
    Median ITL (ms):                         5.00      
    P90 ITL (ms):                            5.00      
    P95 ITL (ms):                            5.00      
    P99 ITL (ms):                            5.00      
    Max ITL (ms):                            5.00      
    ----------------Cache Hit Details-----------------
    Total prompt tokens:                     80        
    Total cached tokens:                     32        
    Cache hit rate:                          40.0%
    ==================================================
    "#);
}

#[test]
fn sglangs_table_of_a_run_in_which_nothing_worked_is_written() {
    insta::assert_snapshot!(sglang(&hopeless(), Layout::table), @r#"

    ============ Serving Benchmark Result ============
    Backend:                                 vllm-chat 
    Traffic request rate:                    10.0      
    Max request concurrency:                 8         
    Successful requests:                     0         
    Failed requests:                         2         
    Benchmark duration (s):                  0.10      
    Total input tokens:                      0         
    Total input text tokens:                 0         
    Total generated tokens:                  0         
    Total generated tokens (retokenized):    n/a       
    Request throughput (req/s):              0.00      
    Input token throughput (tok/s):          0.00      
    Output token throughput (tok/s):         0.00      
    Peak output token throughput (tok/s):    0.00      
    Peak concurrent requests:                0         
    Total token throughput (tok/s):          0.00      
    Concurrency:                             0.00      
    ----------------End-to-End Latency----------------
    Mean E2E Latency (ms):                   n/a       
    Median E2E Latency (ms):                 n/a       
    P90 E2E Latency (ms):                    n/a       
    P95 E2E Latency (ms):                    n/a       
    P99 E2E Latency (ms):                    n/a       
    ---------------Time to First Token----------------
    Mean TTFT (ms):                          0.00      
    Median TTFT (ms):                        0.00      
    P90 TTFT (ms):                           0.00      
    P95 TTFT (ms):                           0.00      
    P99 TTFT (ms):                           0.00      
    -----Time per Output Token (excl. 1st token)------
    Mean TPOT (ms):                          0.00      
    Median TPOT (ms):                        0.00      
    P90 TPOT (ms):                           0.00      
    P95 TPOT (ms):                           0.00      
    P99 TPOT (ms):                           0.00      
    ---------------Inter-Token Latency----------------
    Mean ITL (ms):                           0.00      
    Median ITL (ms):                         0.00      
    P90 ITL (ms):                            0.00      
    P95 ITL (ms):                            0.00      
    P99 ITL (ms):                            0.00      
    Max ITL (ms):                            0.00      
    ----------------Cache Hit Details-----------------
    Total prompt tokens:                     0         
    Total cached tokens:                     0         
    Cache hit rate:                          0.0%
    ==================================================
    "#);
}

#[test]
fn sglangs_line_of_a_killed_run_says_so() {
    insta::assert_snapshot!(sglang(&killed(), Layout::document), @r#"{"tag": null, "backend": "vllm-chat", "dataset_name": "random", "request_rate": 10.0, "max_concurrency": 8, "sharegpt_output_len": null, "random_input_len": null, "random_output_len": null, "random_range_ratio": null, "server_info": null, "duration": 0.13608, "completed": 2, "total_input_tokens": 80, "total_input_text_tokens": 60, "total_input_vision_tokens": 20, "total_output_tokens": 8, "total_output_tokens_retokenized": null, "request_throughput": 14.69723691945914, "input_throughput": 587.8894767783656, "output_throughput": 58.78894767783656, "total_throughput": 646.6784244562022, "mean_e2e_latency_ms": 36.0, "median_e2e_latency_ms": 36.0, "std_e2e_latency_ms": 0.0, "p90_e2e_latency_ms": 36.0, "p95_e2e_latency_ms": 36.0, "p99_e2e_latency_ms": 36.0, "mean_ttft_ms": 20.1035, "median_ttft_ms": 20.1035, "std_ttft_ms": 0.003500000000000031, "p90_ttft_ms": 20.1063, "p95_ttft_ms": 20.106650000000002, "p99_ttft_ms": 20.10693, "mean_tpot_ms": 5.298833333333333, "median_tpot_ms": 5.298833333333333, "std_tpot_ms": 0.001166666666666677, "p90_tpot_ms": 5.299766666666666, "p95_tpot_ms": 5.299883333333332, "p99_tpot_ms": 5.299976666666666, "mean_itl_ms": 5.0, "median_itl_ms": 5.0, "std_itl_ms": 0.0, "p90_itl_ms": 5.0, "p95_itl_ms": 5.0, "p99_itl_ms": 5.0, "concurrency": 0.5291005291005291, "accept_length": null, "max_output_tokens_per_s": 8.0, "max_concurrent_requests": 2, "cache_report": {"total_prompt_tokens": 80, "total_cached_tokens": 32, "cache_hit_rate_pct": 40.0, "device_cached_tokens": null, "host_cached_tokens": null, "storage_cached_tokens": null, "storage_backend": null}, "incomplete": "killed"}"#);
}

#[test]
fn input_lengths_of_embeddings_are_the_plans_as_with_sglang() {
    let lens = |route: &str| {
        let mut facts = facts();
        facts.api_path = route.into();
        let mut recorder = request(0);
        recorder.at(at(9_000)).usage(Usage::new(Some(52), None));
        let record = recorder.finish(Ok(Finish::default()), at(9_000));
        let log = RunLog::new(header(facts), vec![record], Some(Footer::default()));
        let metrics = Metrics::score(&log, &MetricPolicy::sglang());
        let layout = Layout::Sglang(SglangOptions::default().with_output_details());
        let line = report_text(&*layout.document(), &Report::new(&log, &metrics, &Audit::of(&log)));
        serde_json::from_str::<Value>(&line).unwrap()["input_lens"].clone()
    };
    assert_eq!(lens("/v1/embeddings"), serde_json::json!([40]));
    assert_eq!(lens("/v1/chat/completions"), serde_json::json!([52]));
}

#[test]
fn our_document_has_the_run_and_every_number() {
    let log = finished();
    let metrics = Metrics::score(&log, &MetricPolicy::native());
    let document =
        report_text(&*Layout::Native.document(), &Report::new(&log, &metrics, &Audit::of(&log)));
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["run"]["model"], "Qwen/Qwen2.5-7B-Instruct");
    assert_eq!(document["metrics"]["requests"]["failed"], 2);
    assert_eq!(document["audit"]["verdict"], "clean");
    assert_eq!(document["audit"]["reading"]["lag"]["p99_us"], 20.0);
    let p99 = &document["metrics"]["latencies"]["ttft"]["percentiles"][3];
    assert_eq!(*p99, serde_json::json!({"percent": 99.0, "missing_samples": 90}));
    assert_eq!(document["metrics"]["truth"]["requests"], 10);
}

#[test]
fn every_table_says_when_percentiles_are_a_histograms() {
    let budget = SampleBudget::new(0, BeyondBudget::Histogram);
    let policy = MetricPolicy::native().with_sample_budget(budget);
    let log = finished();
    let (metrics, audit) = (Metrics::score(&log, &policy), Audit::of(&log));
    let report = Report::new(&log, &metrics, &audit);
    let layouts = [Layout::Native, Layout::Embedding, Layout::Sglang(SglangOptions::default())];
    for layout in layouts {
        let table = report_text(&*layout.table(), &report);
        assert!(table.contains("histogram (0.05 %)"), "{table}");
    }
    let document = report_text(&*Layout::Native.document(), &report);
    assert!(document.contains(r#""percentiles_of": "histogram""#), "{document}");
}

#[test]
fn our_table_tells_of_turns() {
    let turn = |index: usize, turn: u32| {
        let mut record = answer(index);
        (record.index, record.turn, record.planned.follow_ups) = (0, turn, 3 - turn);
        record
    };
    let mut last = failure(2, ErrorKind::Status, "503");
    (last.index, last.turn, last.planned.follow_ups) = (0, 2, 1);
    let log = RunLog::new(header(facts()), vec![turn(0, 0), turn(1, 1), last], None);
    let table = native(&log);
    insta::assert_snapshot!(section(&table, "Sessions"), @r"
    Sessions
      begun             1
      ended early       1 (turns never sent: 1)
    ");
    insta::assert_snapshot!(section(&table, "Prompts by turn"), @r"
    Prompts by turn
                       requests   failed   tokens   cached
      turn 1                  1        0    40.00   40.0 %
      turn 2                  1        0    40.00   40.0 %
      turn 3                  1        1        -        -
    ");
}

#[test]
fn our_table_tells_of_an_engine_what_it_did_itself() {
    let table = native(&of_an_engine());
    insta::assert_snapshot!(section(&table, "Tokens"), @r"
    Tokens
      input             480 (360 text, 120 images)
        by the engine   480
        from a cache    192
      output            48
        counted by      the engine (12)
        retokenized     40
        pieces by       our tokenizer (40), no source, taken as one token each (8)
    ");
    insta::assert_snapshot!(section(&table, "The client's part"), @r"
    The client's part (ms)
                        samples     mean +/- 95 %      p50      p90      p95      p99    p99.9      max
      queue wait             12    0.050        -        -        -        -        -        -    0.050
      send lag               12    0.030        -        -        -        -        -        -    0.030
      - of queue wait, send lag: no bound yet; p50 needs about 20 requests, p90 about 36, p95 about
      72, p99 about 370, p99.9 about 3700
      no +/- of queue wait, send lag: too few requests; about 1.7 times longer
    ");
    insta::assert_snapshot!(section(&table, "Load as offered"), @r"
    Load as offered
      asked for         10.00 /s
      scheduled         10.00 /s
      sent              10.00 /s
      in flight, mean   0.380
      in flight, peak   1
      settled part      none: too few requests, or latencies stay alike for too long to tell
    ");
    insta::assert_snapshot!(section(&table, "Client audit"), @r"
    Client audit
      verdict           clean
      load              carried
      latencies         right
                        the engine stamps its own answers, so the client is in no latency
      not checked       waits for a core: the system does not say; steal: the system does not say
      does not apply    the client's lag, and pieces that were queued unread: the engine stamps its own
                        answers; the network: there is no connection
      arrivals by       the engine's stamps
      p99 gap           5.00 ms; by the client's own clock 5.00 ms
      pieces per step   1.00
      late sends        0.0 % of 12 by more than 1.00 ms
      blocked by gate   0 of 12; let through 10.00 /s
      client CPU        1.3 % of one core
      kept from it      0.0 % waiting for the run log
      Little's law      0.366 in flight; throughput x latency is 0.357 (-2.6 %)
    ");
}
