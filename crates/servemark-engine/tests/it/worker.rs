//! Worker processes: stand-ins of both engines, and every way in which one can end. The tests need
//! a `python3`, which the project's checks install.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use servemark_core::{
    ErrorKind, JsonObject, MonotonicClock, Prompt, RequestRecord, Sample, Weights,
};
use servemark_engine::{
    Engine, EngineControl, EngineError, EngineRunSpec, EngineSpec, PromptForm, Submission,
    WorkerEngine, WorkerSpec,
};
use tempfile::TempDir;

use crate::stage::{block_on, run, run_samples, send};

const BOTH: [WorkerEngine; 2] = [WorkerEngine::Sglang, WorkerEngine::Vllm];

/// Returns the spec of a worker that runs a stand-in, with an instruction to misbehave.
pub(crate) fn worker(engine: WorkerEngine, fake: &Value) -> WorkerSpec {
    let mut worker = WorkerSpec::new(engine, "python3");
    worker.args = object(json!({"load_format": "dummy", "fake": fake}));
    let engines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/engines");
    worker.environment.insert("PYTHONPATH".to_owned(), engines.to_str().unwrap().to_owned());
    worker.environment.insert("PYTHONDONTWRITEBYTECODE".to_owned(), "1".to_owned());
    worker
}

pub(crate) fn spec(worker: WorkerSpec, submission: Submission) -> EngineRunSpec {
    let mut spec = EngineRunSpec::new(EngineSpec::Worker(Box::new(worker)));
    spec.submission = submission;
    spec
}

pub(crate) fn object(value: Value) -> JsonObject {
    let Value::Object(object) = value else { panic!("{value} is no object") };
    object
}

/// Refusals of an engine before it is loaded.
fn refusal(worker: &WorkerSpec) -> Option<EngineError> {
    let spec = spec(worker.clone(), Submission::AtOnce);
    block_on(async { spec.check_presence().await.err() })
}

#[test]
fn an_engine_that_its_python_does_not_have_is_known_before_it_is_loaded() {
    let engines = [
        (WorkerEngine::Sglang, "sglang"),
        (WorkerEngine::SglangRuntime, "sglang"),
        (WorkerEngine::Transformers, "torch"),
        (WorkerEngine::Vllm, "vllm"),
    ];
    for (engine, module) in engines {
        let mut worker = worker(engine, &json!({}));
        assert!(refusal(&worker).is_none(), "{engine:?}");
        worker.environment.insert("PYTHONPATH".to_owned(), String::new());
        let message = refusal(&worker).unwrap().to_string();
        assert!(
            message.contains(&format!("python3 has no module named {module}; install")),
            "{message}"
        );
        assert!(message.contains("`server.engine.engine.worker.python`"), "{message}");
    }
}

#[test]
fn an_engine_without_what_it_computes_with_is_known_before_it_is_loaded() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("vllm")).unwrap();
    std::fs::write(folder.path().join("vllm/__init__.py"), "").unwrap();
    let mut worker = worker(WorkerEngine::Vllm, &json!({}));
    let path = folder.path().to_str().unwrap().to_owned();
    worker.environment.insert("PYTHONPATH".to_owned(), path);
    let message = refusal(&worker).unwrap().to_string();
    assert!(message.contains("the engine vllm is not installed: "), "{message}");
    assert!(message.contains("python3 has no module named torch; install"), "{message}");
}

#[test]
fn a_program_that_is_no_python_is_known_before_it_is_asked_for_an_engine() {
    let mut worker = worker(WorkerEngine::Vllm, &json!({}));
    worker.python = "false".into();
    let message = refusal(&worker).unwrap().to_string();
    assert!(message.contains("false ended with exit status: 1"), "{message}");
    worker.python = "no-such-python".into();
    assert!(matches!(refusal(&worker), Some(EngineError::Start { .. })));
}

fn failure(record: &RequestRecord) -> (ErrorKind, &str) {
    let error = record.outcome.as_ref().unwrap_err();
    (error.kind, &error.message)
}

#[test]
fn a_batch_is_answered_in_one_call() {
    for engine in BOTH {
        let worker = worker(engine, &json!({"noise": "{\"op\": \"hello\"}"}));
        let records = run(&spec(worker, Submission::AtOnce), &["abc", "x"]).unwrap();
        let texts: Vec<_> = records.iter().map(|record| record.text.as_str()).collect();
        assert_eq!(texts, ["cba", "xxx"], "{engine:?}");
        assert_eq!(records[0].sent, records[1].sent);
        for record in &records {
            let usage = record.usage.unwrap();
            assert_eq!(usage.prompt_tokens, Some(record.planned.prompt_tokens));
            assert_eq!(usage.completion_tokens, Some(3));
            assert_eq!(record.deltas.rows().map(|row| row.tokens).collect::<Vec<_>>(), [Some(3)]);
            assert!(record.scheduled <= record.sent.unwrap());
            assert!(record.sent.unwrap() < record.ended);
        }
    }
}

#[test]
fn a_stream_has_a_stamp_for_every_token() {
    for engine in BOTH {
        let spec = spec(worker(engine, &json!({})), Submission::OneByOne);
        let records = run(&spec, &["abc", "xyz", "q"]).unwrap();
        let texts: Vec<_> = records.iter().map(|record| record.text.as_str()).collect();
        assert_eq!(texts, ["cba", "zyx", "qqq"], "{engine:?}");
        for record in &records {
            let rows: Vec<_> = record.deltas.rows().collect();
            assert_eq!(rows.iter().map(|row| row.tokens).collect::<Vec<_>>(), [Some(1); 3]);
            assert!(rows.is_sorted_by_key(|row| row.at));
            assert!(record.sent.unwrap() <= rows[0].at);
            assert_eq!(record.outcome.as_ref().unwrap().reason.as_deref(), Some("length"));
        }
    }
}

#[test]
fn a_worker_says_what_its_engine_is() {
    for engine in BOTH {
        let mut worker = worker(engine, &json!({}));
        worker.args = JsonObject::new();
        let flags = ["--model", "tiny", "--load-format", "dummy"];
        worker.argv = flags.map(str::to_owned).to_vec();
        block_on(async {
            let spec = spec(worker, Submission::AtOnce);
            let engine = Engine::start(&spec, MonotonicClock::start()).await.unwrap();
            let facts = engine.facts();
            assert_eq!((&*facts.version, facts.weights), ("0.0.fake", Weights::Dummy));
            assert_eq!((&*facts.device, &*facts.dtype), ("cpu", "float32"));
            assert!(facts.batch_policy.starts_with("continuous batching on, "));
        });
    }
}

#[test]
fn texts_that_stay_texts_are_told_by_the_engine() {
    for engine in [WorkerEngine::SglangRuntime, WorkerEngine::Vllm] {
        let mut spec = spec(worker(engine, &json!({})), Submission::AtOnce);
        spec.prompts = PromptForm::Text;
        let records = run(&spec, &["abc", "x"]).unwrap();
        let texts: Vec<_> = records.iter().map(|record| record.text.as_str()).collect();
        assert_eq!(texts, ["cba", "xxx"], "{engine:?}");
    }
}

#[test]
fn a_runtime_that_refuses_its_requests_says_why() {
    let refusals = [
        (PromptForm::Text, "this prompt is refused"),
        (PromptForm::Tokens, "takes texts, and no token ids"),
    ];
    for (prompts, why) in refusals {
        let worker = worker(WorkerEngine::SglangRuntime, &json!({"refuse": 3}));
        let mut spec = spec(worker, Submission::AtOnce);
        spec.prompts = prompts;
        let records = run(&spec, &["abc"]).unwrap();
        assert!(failure(&records[0]).1.contains(why), "{:?}", failure(&records[0]));
    }
}

#[test]
fn vllms_ways_of_answering_are_asked_for_by_name() {
    let counted = |call: Value| {
        let mut worker = worker(WorkerEngine::Vllm, &json!({}));
        worker.call = object(call);
        let mut spec = spec(worker, Submission::AtOnce);
        spec.sampling.extra = object(json!({"n": 2}));
        let record = run(&spec, &["abc"]).unwrap().remove(0);
        (record.usage.unwrap().completion_tokens, record.text)
    };
    assert_eq!(counted(json!({"prequeue": true})), (Some(6), "cbacba".to_owned()));
    assert_eq!(counted(json!({"detokenize": false})), (Some(6), String::new()));
    let beams = (Some(9), "abccba".repeat(3));
    assert_eq!(counted(json!({"beam_width": 3})), beams);
}

#[test]
fn a_conversation_is_the_engines_to_render() {
    for call in [json!({}), json!({"prequeue": true})] {
        let mut worker = worker(WorkerEngine::Vllm, &json!({}));
        worker.call = object(call);
        let mut spec = spec(worker, Submission::AtOnce);
        spec.prompts = PromptForm::Chat;
        let message = json!([{"role": "x", "content": [{"type": "text", "text": "y"}]}]);
        let message = Prompt::Messages(serde_json::from_value(message).unwrap());
        let samples = vec![Sample::new("abc", 3, 3), Sample::new(message, 1, 3)];
        let records = run_samples(&spec, samples).unwrap();
        let texts: Vec<_> = records.iter().map(|record| record.text.as_str()).collect();
        assert_eq!(texts, ["cba", "y:x"]);
        let counted = records.iter().map(|record| record.usage.unwrap().prompt_tokens.unwrap());
        assert_eq!(counted.collect::<Vec<_>>(), ["user:abc".len() as u32, "x:y".len() as u32]);
    }
}

#[test]
fn an_adapter_answers_those_who_ask_for_it() {
    for submission in [Submission::AtOnce, Submission::OneByOne] {
        let mut worker = worker(WorkerEngine::Vllm, &json!({}));
        worker.call = object(json!({"lora_path": "an/adapter"}));
        let mut asking = Sample::new("abc", 3, 1);
        asking.adapter = Some("2".to_owned());
        let samples = vec![asking, Sample::new("x", 1, 1)];
        let records = run_samples(&spec(worker, submission), samples).unwrap();
        let texts: Vec<_> = records.iter().map(|record| record.text.as_str()).collect();
        assert_eq!(texts, ["2 of /an/adapter: c", "x"]);
    }
}

#[test]
fn vllm_says_how_many_tokens_it_takes_and_knows_the_flags_of_both_its_classes() {
    let mut worker = worker(WorkerEngine::Vllm, &json!({}));
    worker.args = JsonObject::new();
    let flags = ["--model=m", "--max-model-len=99", "--enable-log-requests"];
    worker.argv = flags.map(str::to_owned).to_vec();
    block_on(async {
        let spec = spec(worker, Submission::AtOnce);
        let engine = Engine::start(&spec, MonotonicClock::start()).await.unwrap();
        assert_eq!(engine.facts().context_tokens, Some(99));
    });
}

#[test]
fn a_profiler_is_told_between_two_batches() {
    for submission in [Submission::AtOnce, Submission::OneByOne] {
        block_on(async {
            let spec = spec(worker(WorkerEngine::Sglang, &json!({})), submission);
            let clock = MonotonicClock::start();
            let engine = Engine::start(&spec, clock).await.unwrap();
            assert!(send(&engine, clock, &["a"]).await[0].is_success());
            let start = EngineControl::StartProfile(object(json!({"num_steps": 3})));
            engine.control(start).await.unwrap();
            assert!(send(&engine, clock, &["b"]).await[0].is_success());
            engine.control(EngineControl::StopProfile).await.unwrap();
            let info = engine.control(EngineControl::Info).await.unwrap();
            assert_eq!(info["profiles"], json!([{"num_steps": 3}, "stopped"]));
            assert_eq!(info["internal_states"][0]["last_gen_throughput"], 7.5);
            engine.shut_down().await;
        });
    }
}

#[test]
fn a_crash_is_told_with_its_signal_and_the_last_words() {
    for submission in [Submission::AtOnce, Submission::OneByOne] {
        let spec = spec(worker(WorkerEngine::Vllm, &json!({"crash": 2})), submission);
        let records = run(&spec, &["ab"]).unwrap();
        let (kind, message) = failure(&records[0]);
        assert_eq!(kind, ErrorKind::Truncated);
        assert!(message.starts_with("the engine ended: signal 9"), "{message}");
        assert!(message.ends_with("the engine is about to die"), "{message}");
    }
}

#[test]
fn an_engine_whose_own_process_is_gone_is_not_asked_again() {
    let ends = [
        ("lose", "EngineDeadError: the engine's own process is gone"),
        ("widow", "the engine's process Part ended with -9"),
    ];
    for (what, last_words) in ends {
        for submission in [Submission::AtOnce, Submission::OneByOne] {
            let spec = spec(worker(WorkerEngine::Vllm, &json!({what: 2})), submission);
            let records = run(&spec, &["ab"]).unwrap();
            let (kind, message) = failure(&records[0]);
            assert_eq!(kind, ErrorKind::Truncated);
            assert!(message.starts_with("the engine ended: exit code 1"), "{message}");
            assert!(message.ends_with(last_words), "{message}");
        }
    }
}

#[test]
fn an_exception_fails_its_call_and_no_later_one() {
    let spec = spec(worker(WorkerEngine::Sglang, &json!({"refuse": 2})), Submission::AtOnce);
    block_on(async {
        let clock = MonotonicClock::start();
        let engine = Engine::start(&spec, clock).await.unwrap();
        let records = send(&engine, clock, &["ab", "c"]).await;
        let refused = (ErrorKind::InStream, "ValueError: this prompt is refused");
        assert_eq!([failure(&records[0]), failure(&records[1])], [refused; 2]);
        assert!(send(&engine, clock, &["c"]).await[0].is_success());
    });
}

#[test]
fn an_engine_that_does_not_load_says_why() {
    let fails = worker(WorkerEngine::Vllm, &json!({"fail": "no such model"}));
    let error = run(&spec(fails, Submission::AtOnce), &["a"]).unwrap_err();
    let message = "the engine vllm could not be loaded: RuntimeError: no such model";
    assert_eq!(error.to_string(), message);

    let mut absent = worker(WorkerEngine::Sglang, &json!({}));
    absent.environment.clear();
    let error = run(&spec(absent, Submission::AtOnce), &["a"]).unwrap_err();
    let message = "No module named 'sglang'; name a Python that has it (`server.engine.engine.worker.python`)";
    assert!(error.to_string().ends_with(message), "{error}");

    let mut bad_flag = worker(WorkerEngine::Sglang, &json!({}));
    bad_flag.argv = vec!["--no-such-flag".to_owned()];
    let error = run(&spec(bad_flag, Submission::AtOnce), &["a"]).unwrap_err();
    assert!(matches!(&error, EngineError::Died(death) if death.how == "exit code 2"), "{error}");

    let missing = WorkerSpec::new(WorkerEngine::Vllm, "/no/such/python");
    let error = run(&spec(missing, Submission::AtOnce), &["a"]).unwrap_err();
    assert!(matches!(error, EngineError::Start { .. }), "{error}");
}

#[test]
fn all_that_an_engine_prints_can_be_kept() {
    let folder = TempDir::new().unwrap();
    let mut worker = worker(WorkerEngine::Sglang, &json!({"noise": "hm"}));
    worker.log = Some(folder.path().join("engine.log"));
    run(&spec(worker, Submission::AtOnce), &["a"]).unwrap();
    let printed = std::fs::read_to_string(folder.path().join("engine.log")).unwrap();
    let lines: Vec<_> = printed.lines().collect();
    let child = "noise of a child";
    assert_eq!(lines, ["hm while loading", child, "hm while answering", child]);
}

/// A child in a session of its own that ignores every signal that can be ignored.
struct Stray {
    folder: TempDir,
}

impl Stray {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("pid")
    }

    /// Whether the child still runs; fails if it never started.
    fn is_alive(&self) -> bool {
        let pid = std::fs::read_to_string(self.file()).unwrap();
        Path::new("/proc").join(pid.trim()).exists()
    }
}

#[test]
fn nothing_is_left_behind_however_an_engine_ends() {
    for (fake, patience) in [(json!({}), 60), (json!({"crash": 2}), 60), (json!({"hang": 2}), 5)] {
        for submission in [Submission::AtOnce, Submission::OneByOne] {
            let (stray, mut fake) = (Stray::new(), fake.clone());
            fake["child"] = json!(stray.file());
            let mut spec = spec(worker(WorkerEngine::Sglang, &fake), submission);
            spec.patience = Duration::from_secs(patience);
            let records = run(&spec, &["ab"]).unwrap();
            assert_eq!(records[0].is_success(), fake.as_object().unwrap().len() == 1);
            assert!(!stray.is_alive(), "{fake}");
        }
    }
}

#[test]
fn an_engine_that_is_dropped_is_gone() {
    let stray = Stray::new();
    let fake = json!({"child": stray.file()});
    block_on(async {
        let spec = spec(worker(WorkerEngine::Vllm, &fake), Submission::OneByOne);
        let engine = Engine::start(&spec, MonotonicClock::start()).await.unwrap();
        assert!(stray.is_alive());
        drop(engine);
        assert!(!stray.is_alive());
    });
}

#[test]
fn an_engine_that_hangs_is_killed() {
    let mut spec = spec(worker(WorkerEngine::Vllm, &json!({"hang": 1})), Submission::AtOnce);
    spec.patience = Duration::from_secs(5);
    let records = run(&spec, &["a"]).unwrap();
    let (kind, message) = failure(&records[0]);
    assert_eq!(
        (kind, message),
        (ErrorKind::Timeout, "the engine was silent for 5s and was killed")
    );
}
