//! Parts that the program supplies, through everything that takes a plan.

use std::io::{self, Write};
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use serde_json::{Value, json};
use servemark::backends::{Backend, CommonSpec, Decoder, Flow, WireRequest};
use servemark::core::{
    Clock, Dataset, DatasetError, Delta, DrawContext, ErrorKind, Finish, MonotonicClock,
    NoProgress, Progress, Recorder, RequestError, RequestRecord, RunLog, Sample, Session, Sink,
    Transport,
};
use servemark::metrics::{Objective, OwnLatency, SloVerdict};
use servemark::mock::{MockServer, MockSpec};
use servemark::plan::{
    Axis, BenchPlan, Grain, OutputSpec, SearchRange, Side, SloSearchSpec, SloSpec, SweepSpec,
};
use servemark::report::{Report, ReportFormat};
use servemark::runner::{LoadSpec, Stop, WarmupSpec};
use servemark::schedule::ArrivalSpec;
use servemark::sse::Event;
use servemark::{
    Bench, ExecuteError, ExitCode, Run, RunContext, RunEvent, RunObserver, RunTask, Scores,
    SloSearch, Sweep, execute,
};

#[expect(clippy::disallowed_methods, reason = "no absolute time matters here")]
async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// Answers every request with as many tokens as it asks for, one each millisecond.
#[derive(Clone, Debug)]
struct Echo {
    clock: MonotonicClock,
    answered: Arc<AtomicUsize>,
}

impl Echo {
    fn new(clock: MonotonicClock) -> Self {
        Self { clock, answered: Arc::default() }
    }
}

impl Transport for Echo {
    type Prepared = (String, u32);

    fn prepare(&self, sample: &Sample) -> Result<(String, u32), RequestError> {
        Ok((sample.prompt.text().unwrap_or_default().into_owned(), sample.output_tokens))
    }

    async fn execute(
        &self,
        (prompt, tokens): (String, u32),
        recorder: &mut Recorder,
    ) -> Result<Finish, RequestError> {
        if prompt == "refuse me" {
            return Err(RequestError::new(ErrorKind::Status, "refused"));
        }
        recorder.record_sent(self.clock.now());
        for _ in 0..tokens {
            pause(Duration::from_millis(1)).await;
            let word = Delta::content("word ").with_tokens(Some(1));
            recorder.output(self.clock.now(), word);
        }
        self.answered.fetch_add(1, Relaxed);
        Ok(Finish::new(Some("length".to_owned())))
    }
}

/// Draws prompts whose number is part of their text.
#[derive(Clone, Debug)]
struct Numbered;

impl Dataset for Numbered {
    fn draw(
        &mut self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Session>, DatasetError> {
        let mut number = || context.random.numpy.randint(0, 1000).unwrap();
        let sample = |_| Session::from(Sample::new(format!("question {}", number()), 2, 4));
        Ok((0..count).map(sample).collect())
    }
}

/// A chat dialect of the program's own.
#[derive(Clone, Debug)]
struct Chat;

#[derive(Default)]
struct ChatDecoder {
    is_whole: bool,
}

impl Backend for Chat {
    type Decoder = ChatDecoder;

    fn encode(&self, sample: &Sample) -> Result<WireRequest, RequestError> {
        let messages = json!([{"role": "user", "content": sample.prompt.text()}]);
        let body = json!({
            "model": "m", "messages": messages, "stream": true, "max_tokens": sample.output_tokens,
            "ignore_eos": true,
        });
        WireRequest::json("/v1/chat/completions", &body)
    }

    fn decoder(&self, _sample: &Sample) -> ChatDecoder {
        ChatDecoder::default()
    }
}

impl Decoder for ChatDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) -> Result<Flow, RequestError> {
        if event.data() == b"[DONE]" {
            self.is_whole = true;
            return Ok(Flow::Done);
        }
        let frame: Value = serde_json::from_slice(event.data())
            .map_err(|error| RequestError::new(ErrorKind::Decode, error.to_string()))?;
        let text = frame["choices"][0]["delta"]["content"].as_str().unwrap_or_default();
        if !text.is_empty() {
            out.delta(Delta::content(text).with_tokens(Some(1)));
        }
        Ok(Flow::Continue)
    }

    fn end(&mut self) -> Result<(), RequestError> {
        let cut = || RequestError::new(ErrorKind::Truncated, "no end mark");
        self.is_whole.then_some(()).ok_or_else(cut)
    }
}

#[test]
fn an_own_dialect_is_swept_on_two_client_threads_and_gated() {
    let mut spec = MockSpec::new(Duration::from_millis(100), Duration::from_millis(5));
    spec.keep_requests = 1000;
    let server = MockServer::start(spec).unwrap();
    let target = server.base_url().parse().unwrap();
    let mut bench = Bench::at(target, ("own-chat", Chat), ("numbered", Numbered), 20, burst());
    bench.plan.load.shards = NonZeroUsize::new(2);
    bench.plan.load.warmup = WarmupSpec::alike(0);
    bench.plan.scoring.slo = Some(SloSpec::new(Objective::list("e2el:p50<6000s").unwrap()));
    let axis = Axis::new("max_concurrency", [2, 4]).unwrap();
    let spec = SweepSpec::grid(bench.plan.clone(), vec![Side::of(axis)]);
    let runs = Sweep::open(&spec, None, &bench.context).unwrap().map(|done| done.unwrap().run);
    for run in runs {
        assert_eq!(run.log.header().facts.backend, "own-chat");
        assert!(run.log.measured().all(|record| record.is_success() && record.deltas.len() == 4));
        assert!(run.log.measured().all(|record| record.connection.is_some()));
        let scores = Scores::of(&run.log, &bench.plan.scoring);
        assert_eq!(scores.judgements()[0].verdict, SloVerdict::Holds, "{:?}", scores.judgements());
        let record = run.log.measured().next().unwrap();
        let body = run.sent.as_ref().unwrap().bodies(&run.log).body(record).unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert!(body["messages"][0]["content"].as_str().unwrap().contains("question"), "{body}");
    }
    let routes: Vec<String> = server.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(routes, vec!["/v1/chat/completions"; 40], "the server is asked nothing else");
}

#[test]
fn settings_that_an_own_dialect_does_not_read_are_refused() {
    let check = |key: &str, set: fn(&mut CommonSpec)| {
        let mut bench = bench(burst());
        set(bench.plan.wire.common_mut());
        let error = bench.run().unwrap_err();
        assert!(matches!(error, ExecuteError::Plan(_)), "{error:?}");
        assert!(error.to_string().contains(key), "{error}");
    };
    check("`wire.stream`", |common| common.stream = false);
    check("`wire.ignore_eos`", |common| common.ignore_eos = false);
    check("`wire.extra_body`", |common| {
        common.extra_body.insert("top_k".to_owned(), json!(1));
    });
}

fn bench(mut load: LoadSpec) -> Bench {
    load.warmup = WarmupSpec::alike(0);
    Bench::over(("echo", Echo::new), ("numbered", Numbered), 40, load)
}

fn burst() -> LoadSpec {
    LoadSpec::new(ArrivalSpec::Burst)
}

#[test]
fn own_parts_have_a_run_log_an_audit_and_a_warm_up_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = bench(burst());
    bench.plan.load.warmup = WarmupSpec::alike(2);
    bench.plan.output.run_log = Some(folder.path().join("run.jsonl"));
    let run = bench.run().unwrap();
    let facts = &run.log.header().facts;
    assert_eq!((facts.dataset.as_str(), facts.target.as_str()), ("numbered", "echo"));
    assert_eq!(run.log.measured().count(), 40);
    assert_eq!(run.log.records().len(), 42, "two of them are the warm-up");
    assert!(run.log.measured().all(|record| record.is_success() && record.deltas.len() == 4));
    let mut table = Vec::new();
    let scores = Scores::of(&run.log, &bench.plan.scoring);
    scores.write_tables(&mut table).unwrap();
    let table = String::from_utf8(table).unwrap();
    assert!(table.contains("  client audit "), "{table}");
    let read = RunLog::read(&bench.plan.output.run_log.unwrap()).unwrap();
    assert_eq!(read.records().len(), 42);
}

#[test]
fn equal_seeds_draw_equal_prompts_from_an_own_data_set() {
    let inputs = |seed| {
        let mut bench = bench(burst());
        bench.plan.workload.seed = seed;
        bench.plan.workload.requests = 3;
        let run = bench.run().unwrap();
        let sizes = run.log.measured().map(|record| record.index).collect::<Vec<_>>();
        (sizes, run.log.header().plan["workload"]["dataset"].clone())
    };
    assert_eq!(inputs(1), inputs(1));
    let spec = serde_json::json!({"dataset": "provided", "name": "numbered"});
    assert_eq!(inputs(1).1, spec);
}

#[test]
fn own_parts_go_through_a_sweep_that_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let bench = bench(burst());
    let axis = Axis::new("max_concurrency", [2, 4]).unwrap();
    let spec = SweepSpec::grid(bench.plan.clone(), vec![Side::of(axis)]);
    for expected in [80, 80] {
        let sweep = Sweep::open(&spec, Some(folder.path()), &bench.context).unwrap();
        let runs: Vec<_> = sweep.map(|done| done.unwrap().run).collect();
        let records: usize = runs.iter().map(|run| run.log.measured().count()).sum();
        assert_eq!((runs.len(), records), (2, expected));
    }
}

#[test]
fn own_parts_are_searched_and_gated() {
    let slo = SloSpec::new(Objective::list("e2el:p50<6000s").unwrap());
    let mut bench = bench(burst());
    bench.plan.scoring.slo = Some(slo.clone());
    let run = bench.run().unwrap();
    let scores = Scores::of(&run.log, &bench.plan.scoring);
    assert_eq!(scores.judgements()[0].verdict, SloVerdict::Holds);
    let mut spec = SloSearchSpec::new(bench.plan.clone(), "max_concurrency", slo).unwrap();
    spec.range = SearchRange::new(2.0, 1.0, 4.0, Grain::Whole).unwrap();
    spec.effort.rounds = NonZeroU32::MIN;
    spec.effort.requests = NonZeroUsize::new(40);
    spec.effort.duration = Duration::from_millis(10);
    let mut search = SloSearch::open(&spec, None, &bench.context).unwrap();
    for round in &mut search {
        round.unwrap();
    }
    assert_eq!(search.answer().tiers[0].bracket.holds, Some(4.0), "{}", search.answer());
}

const FROM_DUE: OwnLatency = OwnLatency::new("from_due", "first token from due", |record| {
    Some(record.deltas.first_at()?.since(record.scheduled))
});

#[derive(Debug)]
struct Completed;

impl ReportFormat for Completed {
    fn write(&self, report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{} completed", report.metrics.requests.completed)
    }
}

#[test]
fn an_own_latency_and_an_own_report_have_their_place() {
    FROM_DUE.register();
    let mut bench = bench(burst());
    bench.plan.scoring.own_latencies = vec!["from_due".to_owned()];
    let objectives = Objective::list("from_due:p50<60s,from_due:p50<1us").unwrap();
    bench.plan.scoring.slo = Some(SloSpec::new(objectives));
    let run = bench.run().unwrap();
    let scores = Scores::of(&run.log, &bench.plan.scoring);
    let verdicts: Vec<_> = scores.judgements().iter().map(|judged| judged.verdict).collect();
    // On a busy machine, the latencies may be correlated for too long to be judged.
    let code = match verdicts[..] {
        [SloVerdict::Holds, SloVerdict::Fails] => ExitCode::GateFailed,
        [SloVerdict::Holds | SloVerdict::Undecided, SloVerdict::Undecided] => ExitCode::Undecided,
        _ => panic!("{verdicts:?}"),
    };
    assert_eq!(scores.exit_code(), code);
    let (mut table, mut json, mut own) = (Vec::new(), Vec::new(), Vec::new());
    scores.write_tables(&mut table).unwrap();
    assert!(String::from_utf8(table).unwrap().contains("first token from due"));
    scores.write_json(&mut json).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert!(json["metrics"]["from_due_ms"]["mean"]["value"].as_f64().unwrap() > 0.0, "{json}");
    scores.write_report(&Completed, &mut own).unwrap();
    assert_eq!(own, b"40 completed");
    // The stored plan names the latency, and a resumed sweep reads it.
    let plan: BenchPlan = serde_json::from_value(run.log.header().plan.clone()).unwrap();
    assert_eq!(plan.scoring, bench.plan.scoring);
}

#[test]
fn a_part_that_the_program_does_not_supply_is_named() {
    let plan = bench(burst()).plan;
    let error = execute(&plan, &RunContext::default()).unwrap_err().to_string();
    assert!(error.contains("transport echo"), "{error}");
    let mut context = RunContext::default();
    context.parts.add_transport("echo", Echo::new);
    let error = execute(&plan, &context).unwrap_err().to_string();
    assert!(error.contains("data set numbered"), "{error}");
}

#[test]
fn a_failed_request_of_an_own_transport_is_data() {
    let sessions: Vec<Session> =
        ["hello", "refuse me"].map(|text| Session::from(Sample::new(text, 1, 2))).into();
    let bench = Bench::over(("echo", Echo::new), ("two", sessions), 2, burst());
    let run = bench.run().unwrap();
    let outcomes: Vec<bool> = run.log.measured().map(RequestRecord::is_success).collect();
    assert_eq!(outcomes.iter().filter(|is_success| **is_success).count(), 1);
}

fn is_send<T: Send>(value: T) -> T {
    value
}

#[tokio::test]
async fn a_run_is_awaited_beside_other_tasks() {
    let task: RunTask = is_send(bench(burst()).start());
    let run: Run = tokio::spawn(task).await.unwrap().unwrap();
    assert_eq!(run.log.measured().count(), 40);
}

#[tokio::test]
async fn the_blocking_entry_refuses_to_block_a_runtime() {
    let error = bench(burst()).run().unwrap_err();
    assert!(matches!(error, ExecuteError::InsideRuntime), "{error}");
}

/// Passes the key of each record on.
struct Keys(Sender<(usize, u32)>);

impl Progress for Keys {
    fn begin(&self, work: &str, total: u64) {
        NoProgress.begin(work, total);
    }

    fn advance(&self, steps: u64) {
        NoProgress.advance(steps);
    }

    fn end(&self) {
        NoProgress.end();
    }
}

impl RunObserver for Keys {
    fn on_event(&self, _event: &RunEvent<'_>) {}

    fn on_record(&self, record: &RequestRecord) {
        self.0.send(record.key()).unwrap();
    }
}

#[tokio::test]
async fn every_record_is_told_while_the_run_goes_on() {
    let (keys, receiver) = channel();
    let mut bench = bench(burst());
    bench.context.observer = Arc::new(Keys(keys));
    let task = bench.start();
    let live = task.live().finished();
    let run = task.await.unwrap();
    let mut receiver: Vec<_> = receiver.try_iter().collect();
    receiver.sort_unstable();
    assert_eq!(receiver, (0..40).map(|index| (index, 0)).collect::<Vec<_>>());
    assert!(live <= 40 && run.log.is_complete());
}

#[tokio::test]
async fn a_task_that_is_dropped_sends_nothing_more() {
    let answered = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&answered);
    let echo = move |clock| Echo { clock, answered: Arc::clone(&counter) };
    let load = LoadSpec::new(ArrivalSpec::at_rate(20.0).unwrap());
    let bench = Bench::over(("echo", echo), ("numbered", Numbered), 1000, load);
    let task = bench.start();
    while task.live().finished() < 3 {
        pause(Duration::from_millis(5)).await;
    }
    drop(task);
    pause(Duration::from_millis(300)).await;
    let before = answered.load(Relaxed);
    pause(Duration::from_millis(300)).await;
    assert_eq!(answered.load(Relaxed), before);
    assert!(before < 20, "{before}");
}

#[tokio::test]
async fn a_task_that_is_stopped_keeps_what_was_done() {
    let load = LoadSpec::new(ArrivalSpec::at_rate(50.0).unwrap());
    let mut bench = Bench::over(("echo", Echo::new), ("numbered", Numbered), 1000, load);
    bench.plan.output = OutputSpec::default();
    let users = bench.context.stop.clone();
    let task = bench.start();
    while task.live().finished() < 3 {
        pause(Duration::from_millis(5)).await;
    }
    task.stop().raise(Stop::Drain);
    let run = task.await.unwrap();
    let footer = run.log.footer().unwrap();
    assert!(footer.interrupted && run.log.measured().count() >= 3);
    assert_eq!(users.level(), Stop::No, "other runs of the program go on");
}
