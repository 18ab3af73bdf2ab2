//! Tests of `vllm bench throughput`: a command line sends the same prompts as in vLLM, before the
//! measurement and in it.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use servemark_cli::Offline;
use servemark_cli::{Invocation, Parsed, dispatch};
use servemark_core::{DrawContext, NoProgress, Session};
use servemark_rng::RandomState;
use servemark_schedule::AdapterSpec;
use servemark_tokenizer::HfTokenizer;

use super::environment;

#[test]
fn the_prompts_are_vllms() {
    let tokenizer = HfTokenizer::load(&fixture("tokenizers/gpt2")).unwrap();
    let cases = fs::read(fixture("vllm/throughput.json")).unwrap();
    let cases: Vec<Value> = serde_json::from_slice(&cases).unwrap();
    let mut compared = 0;
    for case in cases.iter().filter(|case| case["rows"].is_array()) {
        let offline = read(case);
        assert_eq!(
            drawn_rows(&offline.run, &tokenizer),
            prompts(&case["rows"]),
            "{}",
            case["argv"]
        );
        let warm_up = offline.warm_up.map(|warm_up| drawn_rows(&warm_up, &tokenizer));
        assert_eq!(warm_up.unwrap_or_default(), prompts(&case["warmup"]), "{}", case["argv"]);
        compared += 1;
    }
    assert_eq!(compared, 20, "a case was added or lost");
}

fn fixture(path: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../fixtures", path].iter().collect()
}

/// Parses the command line of a case. Its paths are relative to the folder of fixtures.
fn read(case: &Value) -> Offline {
    let argv = case["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    let word = |word: &str| {
        if word.contains('/') { fixture(word).into_os_string() } else { word.into() }
    };
    let words = ["vllm", "bench", "throughput"].into_iter().map(Into::into).chain(argv.map(word));
    match dispatch::parse(words, &environment()).unwrap() {
        Invocation::Offline(offline) => *offline,
        other => panic!("{other:?}"),
    }
}

fn drawn_rows(parsed: &Parsed, tokenizer: &HfTokenizer) -> Vec<Value> {
    let workload = &parsed.plan.workload;
    let mut random = RandomState::seeded(workload.seed.into());
    let mut context = DrawContext::new(tokenizer, &mut random, &NoProgress);
    let draw = workload.dataset.draw(workload.requests, &mut context).unwrap();
    let mut adapters = parsed.plan.load.adapters.as_ref().map(AdapterSpec::chooser);
    let mut adapter = || adapters.as_mut().map(|adapters| adapters.choose(&mut random));
    draw.sessions.iter().map(|session| row(session, adapter())).collect()
}

fn row(Session { first, .. }: &Session, adapter: Option<&str>) -> Value {
    json!([first.prompt, first.prompt_tokens, first.output_tokens, adapter])
}

fn prompts(rows: &Value) -> Vec<Value> {
    let rows = rows.as_array().into_iter().flatten();
    let row = |row: &Value| {
        json!([text(&row["prompt"]), row["prompt_len"], row["output_len"], row["adapter"]])
    };
    rows.map(row).collect()
}

/// Returns the text of a recorded prompt. With vLLM's chat backend it is recorded as a
/// conversation; ours becomes one when its request is encoded.
fn text(prompt: &Value) -> &Value {
    if prompt.is_string() { prompt } else { &prompt[0]["content"][0]["text"] }
}
