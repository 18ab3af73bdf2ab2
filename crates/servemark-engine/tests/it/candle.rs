//! The engine in this program: tokens equal to those of Transformers with the same weights, in any
//! batch, and models that are refused.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use servemark_core::Weights;
use servemark_engine::{
    CandleEngine, CandleSpec, Emission, Engine, EngineError, EnginePrompt, EngineRequest,
    EngineRunSpec, EngineSpec, LoadFormat, Sampling, StepEngine,
};
use tempfile::TempDir;

use crate::stage::{block_on, run};

/// An answer of Transformers to a prompt.
#[derive(Deserialize)]
struct Recorded {
    prompt: Vec<u32>,
    tokens: Vec<u32>,
}

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/engines/models")
}

fn recorded(family: &str) -> Vec<Recorded> {
    let text = fs::read_to_string(models().join("recorded.json")).unwrap();
    let mut families: Value = serde_json::from_str(&text).unwrap();
    serde_json::from_value(families[family].take()).unwrap()
}

fn model(folder: impl Into<PathBuf>) -> CandleSpec {
    CandleSpec { model: Some(folder.into()), ..CandleSpec::default() }
}

fn made_up(seed: u64) -> CandleSpec {
    CandleSpec { seed, ..CandleSpec::default() }
}

fn request(id: u64, ids: &[u32], output_tokens: u32) -> EngineRequest {
    EngineRequest::new(id, EnginePrompt::Ids(ids.to_vec()), output_tokens, Sampling::default())
}

/// The tokens of an answer, and its finish reason.
type ExpectedAnswer = (Vec<u32>, &'static str);

/// Answers requests; each is admitted as soon as there is room.
fn answer(
    engine: &mut CandleEngine,
    requests: Vec<EngineRequest>,
) -> BTreeMap<u64, ExpectedAnswer> {
    let (mut waiting, mut answers) = (requests.into_iter().peekable(), BTreeMap::new());
    while waiting.peek().is_some() || !engine.is_idle() {
        while engine.has_room()
            && let Some(request) = waiting.next()
        {
            engine.admit(request).unwrap();
        }
        let mut receive = |emission| match emission {
            Emission::Token { id, token } => {
                answers.entry(id).or_insert_with(|| (Vec::new(), "")).0.push(token);
            }
            Emission::Finished { id, reason, .. } => answers.get_mut(&id).unwrap().1 = reason,
            other @ Emission::Failed { .. } => panic!("{other:?}"),
        };
        engine.step(&mut receive).unwrap();
    }
    answers
}

#[test]
fn tokens_are_those_of_transformers() {
    for family in ["llama", "qwen2", "qwen3"] {
        let mut engine = CandleEngine::load(model(models().join(family))).unwrap();
        for Recorded { prompt, tokens } in recorded(family) {
            let answers = answer(&mut engine, vec![request(0, &prompt, 12)]);
            assert_eq!(answers[&0], (tokens, "length"), "{family} {prompt:?}");
        }
    }
}

#[test]
fn tokens_do_not_depend_on_what_runs_beside() {
    for family in ["llama", "qwen2", "qwen3"] {
        let mut spec = model(models().join(family));
        spec.max_running = NonZeroUsize::new(3).unwrap();
        spec.max_step_tokens = NonZeroUsize::new(7).unwrap();
        let mut engine = CandleEngine::load(spec).unwrap();
        let all: Vec<Recorded> = (0..3).flat_map(|_| recorded(family)).collect();
        let lengths = [12, 3, 7, 1, 12].into_iter().cycle();
        let numbered = (0..).zip(&all).zip(lengths.clone());
        let requests = numbered.map(|((id, one), most)| request(id, &one.prompt, most));
        let answers = answer(&mut engine, requests.collect());
        for (((_, (tokens, _)), one), most) in answers.iter().zip(&all).zip(lengths) {
            assert_eq!(tokens, &one.tokens[..most as usize], "{family} {:?}", one.prompt);
        }
    }
}

#[test]
fn an_answer_ends_at_the_models_end_if_that_is_asked_for() {
    let mut engine = CandleEngine::load(model(models().join("llama"))).unwrap();
    // The first token after the second prompt is an end token.
    let mut request = request(0, &recorded("llama")[1].prompt, 12);
    request.sampling.ignore_eos = false;
    assert_eq!(answer(&mut engine, vec![request])[&0], (vec![2], "stop"));
}

#[test]
fn a_seed_makes_the_same_model_and_the_same_draws() {
    let draw = |seed, beside: u64| {
        let mut engine = CandleEngine::load(made_up(seed)).unwrap();
        let drawn = |id| {
            let mut request = request(id, &[1, 2, 3], 8);
            request.sampling.temperature = 1.0;
            request
        };
        answer(&mut engine, (0..=beside).map(drawn).collect()).remove(&0).unwrap().0
    };
    assert_eq!(draw(1, 0), draw(1, 4));
    assert_ne!(draw(1, 0), draw(2, 0));
}

#[test]
fn a_request_that_is_dropped_makes_room() {
    let mut spec = made_up(0);
    spec.max_running = NonZeroUsize::MIN;
    let mut engine = CandleEngine::load(spec).unwrap();
    engine.admit(request(7, &[1], 100)).unwrap();
    engine.step(&mut |_| ()).unwrap();
    assert!(!engine.has_room());
    engine.cancel(7);
    assert!(engine.has_room() && engine.is_idle());
}

#[test]
fn what_the_model_cannot_do_is_refused() {
    let mut engine = CandleEngine::load(model(models().join("llama"))).unwrap();
    let mut refused = |request| engine.admit(request).unwrap_err().message;
    let loaded = "250 prompt tokens and 7 output tokens exceed the model's context of 256";
    assert_eq!(refused(request(0, &[3; 250], 7)), loaded);
    assert!(refused(request(0, &[3, 96], 1)).starts_with("token id 96 is beyond the model's"));
    assert!(refused(request(0, &[], 1)).starts_with("a request needs at least one"));
    let mut text = request(0, &[], 1);
    text.prompt = EnginePrompt::Text("hello".to_owned());
    assert!(refused(text).ends_with("name a tokenizer"));
    let mut unknown = request(0, &[3], 1);
    unknown.sampling.extra = serde_json::from_value(json!({"min_p": 0.1})).unwrap();
    assert!(refused(unknown).starts_with("its sampling parameters: unknown field `min_p`"));
}

#[test]
fn a_run_of_it_leaves_records_like_any_other() {
    let spec = EngineRunSpec::new(EngineSpec::Candle(made_up(3)));
    let records = run(&spec, &["a", "hello"]).unwrap();
    for record in records {
        let usage = record.usage.unwrap();
        assert_eq!(usage.prompt_tokens, Some(record.planned.prompt_tokens));
        assert_eq!((usage.completion_tokens, record.deltas.len()), (Some(3), 3));
    }
}

#[test]
fn it_says_what_it_is() {
    let facts = |spec: CandleSpec| {
        let spec = EngineRunSpec::new(EngineSpec::Candle(spec));
        let clock = servemark_core::MonotonicClock::start();
        block_on(async { Engine::start(&spec, clock).await.unwrap().facts().clone() })
    };
    let real = facts(model(models().join("qwen3")));
    assert_eq!((real.name.as_str(), real.dtype.as_str()), ("candle", "float32"));
    assert_eq!(real.weights, Weights::Real);
    assert_eq!(real.batch_policy, "continuous, 32 requests and 2048 tokens at once");
    let mut shape = model(models().join("qwen3"));
    shape.load_format = LoadFormat::Dummy;
    assert_eq!(facts(shape).weights, Weights::Dummy);
    assert_eq!(facts(made_up(0)).weights, Weights::Dummy);
}

/// Returns why a copy of a model cannot be loaded after a change to its configuration.
fn refused(family: &str, key: &str, value: Value) -> String {
    let (folder, of) = (TempDir::new().unwrap(), models().join(family));
    for entry in fs::read_dir(of).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let path = folder.path().join("config.json");
    let mut config: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    config[key] = value;
    fs::write(&path, config.to_string()).unwrap();
    reason(CandleEngine::load(model(folder.path())).unwrap_err())
}

fn reason(error: EngineError) -> String {
    let EngineError::Load { reason, .. } = error else { panic!("{error}") };
    reason
}

#[test]
fn a_model_that_cannot_be_run_is_refused_by_what_is_wrong() {
    let of_llama = |key, value| refused("llama", key, value);
    let ends = |text: String, end: &str| assert!(text.contains(end), "{text}");
    ends(of_llama("model_type", json!("mamba")), "its model_type is \"mamba\"; dense models");
    ends(of_llama("hidden_act", json!("gelu")), "its hidden_act is \"gelu\", not silu");
    ends(of_llama("quantization_config", json!({})), "its weights are quantized");
    ends(of_llama("num_key_value_heads", json!(3)), "4 heads cannot share 3");
    ends(of_llama("rope_parameters", json!({"rope_type": "yarn"})), "its rope_scaling is \"yarn\"");
    ends(of_llama("num_hidden_layers", json!(3)), "the weights lack model.layers.2.");
    let wrong = "model.embed_tokens.weight has the shape [96, 48]";
    ends(of_llama("vocab_size", json!(97)), wrong);
    ends(refused("qwen2", "num_hidden_layers", json!("two")), "config.json has unexpected");
}

#[test]
fn a_folder_without_a_model_is_refused() {
    let folder = TempDir::new().unwrap();
    let refused = || reason(CandleEngine::load(model(folder.path())).unwrap_err());
    assert!(refused().contains("cannot read") && refused().contains("config.json"));
    fs::copy(models().join("llama/config.json"), folder.path().join("config.json")).unwrap();
    assert!(refused().contains("`server.engine.engine.candle.load_format`"), "{}", refused());
}

#[test]
fn a_refused_request_takes_no_place() {
    let mut spec = made_up(0);
    spec.max_running = NonZeroUsize::MIN;
    let mut engine = CandleEngine::load(spec).unwrap();
    assert!(engine.admit(request(0, &[5000], 1)).is_err() && engine.has_room());
}
