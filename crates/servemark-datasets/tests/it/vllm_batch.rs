//! Tests the prompts of `vllm bench latency` against recordings of the real command.

use std::fs;

use serde_json::{Value, json};
use servemark_datasets::{DatasetSpec, VllmBatchSpec, VllmData, VllmSpec};
use servemark_rng::RandomState;

use crate::{draw, fixture, tokenizer};

#[test]
fn a_batch_is_the_one_of_bench_latency() {
    let cases = fs::read(fixture("vllm/latency.json")).unwrap();
    let cases: Vec<Value> = serde_json::from_slice(&cases).unwrap();
    assert_eq!(cases.len(), 3, "a case was added or lost");
    for case in cases {
        let prompts = case["prompts"].as_array().unwrap();
        let batch = VllmBatchSpec {
            input_tokens: prompts[0].as_array().unwrap().len() as u32,
            size: u32::try_from(prompts.len()).unwrap().try_into().unwrap(),
            ..VllmBatchSpec::default()
        };
        let spec = DatasetSpec::Vllm(VllmSpec::new(VllmData::Batch(batch)));
        assert!(spec.sends_token_ids());
        let mut random = RandomState::seeded(0);
        let drawn = draw(&spec, 2 * prompts.len(), tokenizer("gpt2"), &mut random).unwrap();
        let prompt = |session: &servemark_core::Session| json!(session.first.prompt);
        let twice = [prompts.as_slice(), prompts].concat();
        assert_eq!(drawn.sessions.iter().map(prompt).collect::<Vec<_>>(), twice);
    }
}
