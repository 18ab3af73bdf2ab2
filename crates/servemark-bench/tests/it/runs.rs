use std::num::{NonZero, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use servemark::backends::{BackendName, BackendSpec, CommonSpec, Route};
use servemark::client::TargetSpec;
use servemark::core::{DeltaRow, ErrorKind, NoProgress, Phase, Planned, RequestRecord, RunLog};
use servemark::datasets::{
    DatasetSpec, Grouping, MooncakeSpec, RandomSpec, Source, TraceFormat, TraceSpec,
};
use servemark::mock::{Fault, MockSpec};
use servemark::plan::{BenchPlan, Layout, ServerSpec, WorkloadSpec};
use servemark::runner::{LoadSpec, WarmupSpec};
use servemark::schedule::{ArrivalSpec, Rate, Slowdown};
use servemark::{ExecuteError, ExitCode, Run, RunContext, Scores, execute};

/// Tokenizer file that equals the simulator's own tokenizer.
pub(crate) const TOKENIZER: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/tokenizers/spm-unigram-botchan-1000");

pub(crate) fn plan(backend: BackendName, faults: &[&str]) -> BenchPlan {
    let mut mock = MockSpec::new(Duration::from_millis(2), Duration::from_micros(500));
    mock.faults = faults.iter().map(|fault| fault.parse::<Fault>().expect("a fault")).collect();
    let mut random = RandomSpec::default();
    (random.source, random.input_tokens, random.output_tokens) = (Source::Vocabulary, 16, 8);
    let wire = BackendSpec::new(backend, CommonSpec::default());
    let mut workload = WorkloadSpec::new(DatasetSpec::Random(random), 20);
    if backend.route() == Route::RERANK {
        workload.grouping = Grouping::Ranking { documents: NonZeroUsize::MIN };
    }
    let load = LoadSpec::new(ArrivalSpec::Burst);
    BenchPlan::new(ServerSpec::Simulated(mock), backend, wire, workload, load)
}

fn run(plan: &BenchPlan) -> Result<Run, ExecuteError> {
    execute(plan, &RunContext::new(Arc::new(NoProgress)))
}

fn tables(log: &RunLog, plan: &BenchPlan) -> String {
    let mut out = Vec::new();
    Scores::of(log, &plan.scoring).write_tables(&mut out).expect("memory takes everything");
    String::from_utf8(out).expect("tables are text")
}

#[test]
fn every_backend_runs_from_draw_to_table() {
    for backend in BackendName::ALL {
        let plan = plan(backend, &[]);
        let generates = backend.route().generates();
        let Run { log, .. } = run(&plan).unwrap();
        let records: Vec<_> = log.measured().collect();
        assert_eq!(records.len(), 20, "{backend}");
        for record in &records {
            assert!(record.is_success(), "{backend}: {:?}", record.outcome);
            let pieces = if generates { record.planned.output_tokens } else { 0 };
            assert_eq!(record.deltas.len(), pieces as usize, "{backend}");
            let first = record.deltas.first_at().or(record.first_byte).unwrap();
            let sent = record.sent.unwrap();
            assert!(first.since(sent) >= Duration::from_millis(2), "{backend}: before the server");
        }
        let footer = log.footer().unwrap();
        let before = log.header().server_info.is_some();
        assert_eq!(
            (before, footer.server_info.is_some()),
            (backend.server().has_info(), true),
            "{backend}"
        );
        assert_eq!((footer.retokenized.len(), footer.truth.len()), (20, 20), "{backend}");
        assert_eq!(Scores::of(&log, &plan.scoring).exit_code(), ExitCode::Ok);
        let table = tables(&log, &plan);
        assert!(table.contains("Successful requests:                     20"), "{table}");
    }
}

/// If the stream were taken for one document, every chunk would arrive after the last one was
/// sent.
#[test]
fn lines_of_ollama_and_events_of_anthropic_are_timed_piece_by_piece() {
    for backend in [BackendName::Ollama, BackendName::OllamaChat, BackendName::Anthropic] {
        let mut plan = plan(backend, &[]);
        let mock = MockSpec::new(Duration::from_millis(2), Duration::from_millis(25));
        plan.server = ServerSpec::Simulated(mock);
        let Run { log, .. } = run(&plan).unwrap();
        let truths = &log.footer().unwrap().truth;
        assert_eq!(truths.len(), 20, "{backend}");
        for truth in truths {
            let record = log.measured().find(|record| record.key() == truth.key()).unwrap();
            let since_sent = |row: DeltaRow| row.at.since(record.sent.unwrap()).as_nanos();
            let arrived: Vec<_> = record.deltas.rows().map(since_sent).collect();
            assert_eq!(arrived.len(), truth.sent_ns.len(), "{backend}");
            let sent = truth.sent_ns.iter().map(|nanos| u128::from(*nanos));
            assert!(arrived.iter().copied().zip(sent).all(|(arrival, sent)| arrival >= sent));
            if let [_, .., last] = truth.sent_ns[..] {
                assert!(arrived[0] < u128::from(last), "{backend}: all at once");
            }
            let usage = record.usage.unwrap();
            let planned = Some(record.planned.output_tokens);
            assert_eq!(usage.completion_tokens, planned, "{backend}");
            assert!(!record.is_document && usage.prompt_tokens.is_some(), "{backend}");
        }
    }
}

#[test]
fn a_log_on_disk_scores_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let mut plan = plan(BackendName::SglangOaiChat, &["status:500/7"]);
    plan.output.run_log = Some(path.clone());
    let run = run(&plan).unwrap();
    assert!(run.run_log_error.is_none());
    let (read, log) = (RunLog::read(&path).unwrap(), &run.log);
    assert!(read == *log, "the file differs from the memory");
    let (later, at_once) = (Scores::of(&read, &plan.scoring), Scores::of_run(&run, &plan.scoring));
    assert_eq!((later.audit(), at_once.audit()), (&run.audit, &run.audit));
    assert_eq!(later.other_verdict(), None);
    assert_eq!(servemark::scoring_of(read.header()), Some(plan.scoring.clone()));
    assert_eq!(tables(&read, &plan), tables(log, &plan));
}

#[test]
fn a_killed_run_scores_like_any_other_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    let mut plan = plan(BackendName::Sglang, &[]);
    plan.output.run_log = Some(path.clone());
    run(&plan).unwrap();
    let whole = std::fs::read_to_string(&path).unwrap();
    let cut: Vec<&str> = whole.lines().take(10).collect();
    std::fs::write(&path, format!("{}\n{{\"requ", cut.join("\n"))).unwrap();
    let log = RunLog::read(&path).unwrap();
    assert!(!log.is_complete());
    // The header, the warm-up and eight measured requests remain.
    assert_eq!(log.measured().count(), 8);
    assert!(tables(&log, &plan).to_lowercase().contains("incomplete"));
}

#[test]
fn failures_are_counted_and_shown() {
    let plan = plan(BackendName::Vllm, &["status:503/4", "error@2:object/5"]);
    let Run { log, .. } = run(&plan).unwrap();
    let kinds: Vec<ErrorKind> = log
        .measured()
        .filter_map(|record| record.outcome.as_ref().err())
        .map(|error| error.kind)
        .collect();
    assert!(kinds.contains(&ErrorKind::Status) && kinds.contains(&ErrorKind::InStream));
    let table = tables(&log, &plan);
    assert!(table.contains(&format!("{:<40} {:<10}", "Failed requests:", kinds.len())), "{table}");
    assert_eq!(Scores::of(&log, &plan.scoring).exit_code(), ExitCode::Ok);
}

#[test]
fn a_run_in_which_everything_failed_has_a_report_and_its_exit_code() {
    let mut plan = plan(BackendName::Vllm, &["status:500/1"]);
    plan.load.warmup.requests = 0;
    let Run { log, .. } = run(&plan).unwrap();
    assert_eq!(Scores::of(&log, &plan.scoring).exit_code(), ExitCode::TooManyFailed);
    assert!(tables(&log, &plan).contains("Failed requests:                         20"));
}

#[test]
fn a_warm_up_that_fails_stops_the_run() {
    let error = run(&plan(BackendName::Vllm, &["status:404/1"])).unwrap_err();
    assert_eq!(error.exit_code(), ExitCode::TooManyFailed);
    let text = error.to_string();
    assert!(text.contains("404") && text.contains("by a chat backend"), "{text}");
}

#[test]
fn a_warm_up_of_rows_sends_the_first_of_them_and_begins_again() {
    let mut plan = plan(BackendName::Vllm, &[]);
    plan.workload.requests = 5;
    plan.load.warmup = WarmupSpec::rows(4, NonZero::new(2).unwrap());
    let Run { log, .. } = run(&plan).unwrap();
    let rows: Vec<Planned> = log.measured().map(|record| record.planned).collect();
    let warm_up = log.records().iter().filter(|record| record.phase == Phase::Warmup);
    let sent: Vec<Planned> = warm_up.map(|record| record.planned).collect();
    assert_eq!(sent, [rows[0], rows[2], rows[4], rows[0]]);
    assert_ne!(rows[0], rows[2]);
}

#[test]
fn a_concurrency_limit_is_kept() {
    let mut plan = plan(BackendName::Sglang, &[]);
    plan.load.max_concurrency = NonZeroUsize::new(3);
    let Run { log, .. } = run(&plan).unwrap();
    for record in log.measured() {
        let at = record.granted.unwrap();
        let others = log
            .measured()
            .filter(|other| other.granted.is_some_and(|granted| granted <= at) && other.ended > at);
        assert!(others.count() <= 3);
    }
}

#[test]
fn several_threads_send_the_same() {
    let drawn = |shards: usize| {
        let mut plan = plan(BackendName::SglangOaiChat, &["status:500/7"]);
        plan.load.arrivals = ArrivalSpec::at_rate(2_000.0).unwrap();
        plan.load.shards = NonZeroUsize::new(shards);
        let Run { log, lost_shards, .. } = run(&plan).unwrap();
        assert_eq!(log.footer().unwrap().client.as_ref().unwrap().shards.len(), shards);
        assert_eq!(lost_shards, 0);
        let start = log.measured().map(|record| record.scheduled).min().unwrap();
        let story = |record: &RequestRecord| {
            (record.key(), record.scheduled.since(start), record.planned, record.is_success())
        };
        // The order of arrival determines which requests fail, but not how many.
        let mut failed = 0;
        let stories = log.measured().map(story).map(|(key, due, planned, success)| {
            failed += u32::from(!success);
            (key, due, planned)
        });
        (stories.collect::<Vec<_>>(), failed)
    };
    let one = drawn(1);
    assert_eq!((one.0.len(), one.1), (20, 3));
    assert_eq!(drawn(3), one);
}

#[test]
fn what_is_sent_precisely_is_never_early() {
    let mut plan = plan(BackendName::Sglang, &[]);
    plan.load.arrivals = ArrivalSpec::at_rate(500.0).unwrap();
    plan.load.shards = NonZeroUsize::new(2);
    plan.load.precise_send = true;
    let Run { log, .. } = run(&plan).unwrap();
    assert_eq!(log.measured().count(), 20);
    for record in log.measured() {
        assert!(record.is_success(), "{:?}", record.outcome);
        assert!(record.sent.unwrap() >= record.scheduled, "{record:?}");
    }
    plan.load.arrivals = ArrivalSpec::Burst;
    assert_eq!(run(&plan).unwrap_err().exit_code(), ExitCode::Usage);
}

/// The precise sender passes on the kernel's stamps like the other sender.
#[cfg(target_os = "linux")]
#[test]
fn what_is_sent_precisely_can_be_stamped_as_it_leaves() {
    use servemark::mock::MockServer;
    use servemark::tokenizer::TokenizerSpec;

    let server = MockServer::start(MockSpec::new(Duration::from_millis(2), Duration::ZERO));
    let server = server.unwrap();
    let mut plan = plan(BackendName::Sglang, &[]);
    let mut target = TargetSpec::new(server.base_url().parse().unwrap());
    target.send_stamps = true;
    plan.server = ServerSpec::At(target);
    plan.model.tokenizer = Some(TokenizerSpec::new(TOKENIZER));
    plan.load.arrivals = ArrivalSpec::at_rate(500.0).unwrap();
    plan.load.precise_send = true;
    let Run { log, audit, .. } = run(&plan).unwrap();
    for record in log.measured() {
        assert!(record.is_success(), "{:?}", record.outcome);
        let [sent, left, first] = [record.sent, record.left, record.first_byte].map(Option::unwrap);
        assert!(record.scheduled <= sent && sent <= left && left <= first, "{record:?}");
    }
    assert_eq!(audit.network.transmit.samples, 20, "{audit:?}");
}

#[test]
fn a_run_log_that_cannot_be_written_is_refused_before_anything_is_sent() {
    let mut plan = plan(BackendName::Sglang, &[]);
    plan.output.run_log = Some(Path::new("/nowhere/at/all").to_owned());
    let error = run(&plan).unwrap_err();
    assert_eq!(error.exit_code(), ExitCode::Usage);
    assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
}

/// A pipe whose reader closes it after the header behaves like a disk that fills up during the
/// run.
#[cfg(unix)]
#[test]
fn a_disk_that_fails_in_the_middle_loses_no_request_of_the_report() {
    use std::fs::File;
    use std::io::{BufRead, BufReader};
    use std::process::Command;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let mut plan = plan(BackendName::Sglang, &[]);
    plan.output.run_log = Some(path.clone());
    let reader = std::thread::spawn(move || {
        BufReader::new(File::open(path).unwrap()).read_line(&mut String::new()).unwrap()
    });
    let Run { log, run_log_error, .. } = run(&plan).unwrap();
    assert!(reader.join().unwrap() > 0);
    let error = run_log_error.expect("the requests were not read").to_string();
    assert!(error.starts_with("cannot write the run log"), "{error}");
    assert_eq!(log.measured().count(), 20);
    assert!(log.is_complete());
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let mut plan = plan(BackendName::Sglang, &[]);
    let closed = TargetSpec::new("http://127.0.0.1:9".parse().unwrap());
    plan.server = ServerSpec::At(closed);
    plan.control.ready_timeout = Duration::from_millis(1);
    let error = run(&plan).unwrap_err();
    assert_eq!(error.exit_code(), ExitCode::NotReady);
    assert!(error.to_string().contains("127.0.0.1:9"), "{error}");
}

#[test]
fn a_plan_that_cannot_run_is_refused() {
    let mut plan = plan(BackendName::Sglang, &[]);
    plan.workload.requests = 0;
    assert_eq!(run(&plan).unwrap_err().exit_code(), ExitCode::Usage);
}

#[test]
fn a_trace_is_replayed_when_it_says_on_every_backend_that_generates() {
    for backend in BackendName::ALL.into_iter().filter(|backend| backend.route().generates()) {
        let mut plan = plan(backend, &[]);
        let trace = MooncakeSpec {
            path: Some(fixture("sglang/inputs/mooncake.jsonl")),
            ..MooncakeSpec::default()
        };
        plan.workload.dataset = DatasetSpec::Mooncake(trace);
        plan.load.arrivals = ArrivalSpec::Trace { slowdown: Slowdown::new(0.01).unwrap() };
        let Run { log, .. } = run(&plan).unwrap();
        let mut records: Vec<_> = log.measured().collect();
        records.sort_by_key(|record| record.index);
        let start = records[0].scheduled;
        let due: Vec<_> =
            records.iter().map(|record| record.scheduled.since(start).as_micros()).collect();
        assert_eq!(due, [0, 7_505, 30_000, 30_000, 65_010, 85_000], "{backend}");
        let tokens: Vec<_> = records.iter().map(|record| record.planned.prompt_tokens).collect();
        assert_eq!(tokens, [700, 1100, 1200, 40, 513, 300], "{backend}");
        assert!(tables(&log, &plan).contains("as the trace says, no limit"), "{backend}");
    }
}

#[test]
fn a_traces_sessions_are_conversations_for_chat_backends_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("burst.csv");
    let rows = "Timestamp,Session ID,Elapsed time,Request tokens,Response tokens\n\
        5,a,0.1,40,6\n5.01,b,0.1,30,4\n5.12,a,0.1,70,5\n";
    std::fs::write(&path, rows).unwrap();
    let planned = |backend| {
        let mut plan = plan(backend, &[]);
        let trace = TraceSpec::new(TraceFormat::Burstgpt, Some(path.clone()));
        plan.workload.dataset = DatasetSpec::Trace(trace);
        plan.load.arrivals = ArrivalSpec::Trace { slowdown: Slowdown::default() };
        plan
    };
    let Run { log, .. } = run(&planned(BackendName::VllmChat)).unwrap();
    let mut turns: Vec<_> = log.measured().map(|record| (record.index, record.turn)).collect();
    turns.sort_unstable();
    assert_eq!(turns, [(0, 0), (0, 1), (1, 0)]);
    // The warm-up is the complete first conversation.
    let warm_up = log.records().iter().filter(|record| record.phase == Phase::Warmup);
    assert_eq!(warm_up.map(|record| record.turn).collect::<Vec<_>>(), [0, 1]);
    assert!(log.measured().all(RequestRecord::is_success));
    let error = run(&planned(BackendName::Vllm)).unwrap_err();
    assert_eq!(error.exit_code(), ExitCode::Usage);
    assert!(error.to_string().contains("burstgpt holds conversations"), "{error}");
}

#[test]
fn what_does_not_say_when_cannot_be_replayed() {
    let mut plan = plan(BackendName::Sglang, &[]);
    plan.load.arrivals = ArrivalSpec::Trace { slowdown: Slowdown::default() };
    let error = run(&plan).unwrap_err();
    assert_eq!(error.exit_code(), ExitCode::Usage);
    assert!(error.to_string().contains("does not contain the times of its requests"), "{error}");
}

fn fixture(path: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../fixtures", path].iter().collect()
}

#[test]
fn probes_are_sent_beside_the_load_and_scored_apart() {
    let mut plan = plan(BackendName::Vllm, &[]);
    plan.load.max_concurrency = Some(NonZeroUsize::MIN);
    plan.load.probes = Some(Rate::new(200.0).expect("a rate"));
    plan.scoring.layouts = vec![Layout::Vllm];
    let log = run(&plan).expect("it runs").log;
    assert_eq!(log.measured().count(), 20);
    let probes: Vec<_> = log.probes().collect();
    assert!(probes.len() > 1, "{} probes", probes.len());
    for probe in &probes {
        assert!(probe.is_success(), "{:?}", probe.outcome);
        assert_eq!((probe.planned.prompt_tokens, probe.planned.output_tokens), (1, 1));
    }
    let table = tables(&log, &plan);
    assert!(table.contains(&format!("Probe requests completed:                {}", probes.len())));
    assert!(table.contains("Successful requests:                     20"), "{table}");
}
