//! Tests all cases in `fixtures/sglang/datasets`, recorded from the real client.

use std::fs;

use serde::Deserialize;
use serde_json::{Value, json};
use servemark_core::{DatasetError, JsonObject, Session, TokenizerError};
use servemark_datasets::{DatasetName, Draw, SpecError};
use servemark_rng::RandomState;

use crate::sglang_flags::Flags;
use crate::{draw, fixture, tokenizer};

#[derive(Deserialize)]
struct Case {
    argv: Vec<String>,
    tokenizer: String,
    #[serde(default)]
    rows: Value,
    #[serde(default)]
    stdout: String,
    error: Option<String>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Row {
    prompt: Value,
    prompt_len: u32,
    output_len: u32,
    text_prompt_len: u32,
    extra_request_body: JsonObject,
}

impl Row {
    fn of(session: &Session, dataset: DatasetName) -> Self {
        let sample = &session.first;
        assert!(sample.headers.is_empty() && sample.vision_tokens == 0);
        Self {
            prompt: prompt(session, dataset),
            prompt_len: sample.prompt_tokens,
            output_len: sample.output_tokens,
            text_prompt_len: sample.text_tokens,
            extra_request_body: sample.extra_body.clone(),
        }
    }
}

/// Returns the prompt as SGLang represents it: a conversation is a list of turns, a single request
/// is not.
fn prompt(session: &Session, dataset: DatasetName) -> Value {
    if session.turns() > 1 || dataset == DatasetName::AgenticTrace {
        return session.samples().map(|sample| json!(sample.prompt)).collect();
    }
    json!(session.first.prompt)
}

/// Result of checking a case.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Checked {
    Drawn,
    Refused,
    /// SGLang refuses the case for a reason outside this crate, such as seeds and flags.
    NotOurs,
}

#[test]
fn every_recorded_case_is_reproduced() {
    let mut checked = Vec::new();
    for entry in fs::read_dir(fixture("sglang/datasets")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let case: Case = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        checked.push(check(&name, case));
    }
    let count = |what| checked.iter().filter(|checked| **checked == what).count();
    let drawn = (count(Checked::Drawn), count(Checked::Refused), count(Checked::NotOurs));
    assert_eq!(drawn, (71, 4, 3), "a case was added or lost");
}

fn check(name: &str, case: Case) -> Checked {
    let flags = Flags::new(case.argv);
    if let Some(error) = case.error {
        return check_error(name, &flags, &case.tokenizer, &error);
    }
    let mut rows: Vec<Row> = serde_json::from_value(case.rows).unwrap();
    if flags.name() == DatasetName::AgenticTrace.as_str() {
        for row in &mut rows {
            row.prompt = as_sent(&row.prompt);
        }
    }
    check_rows(name, &flags, &case.tokenizer, &rows, &case.stdout);
    Checked::Drawn
}

/// Returns the turns of a conversation as they are sent, with role and content only. SGLang drops
/// the other keys when it sends messages, Servemark when it reads them.
fn as_sent(turns: &Value) -> Value {
    let message = |message: &Value| json!({"role": message["role"], "content": message["content"]});
    let turn = |turn: &Value| turn.as_array().unwrap().iter().map(message).collect::<Value>();
    turns.as_array().unwrap().iter().map(turn).collect()
}

fn check_rows(name: &str, flags: &Flags, tokenizer: &str, rows: &[Row], stdout: &str) {
    let drawn = run(flags, tokenizer);
    if rows.is_empty() {
        return assert!(matches!(drawn, Err(DatasetError::Nothing { .. })), "{name}");
    }
    let drawn = drawn.unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(drawn.summary.to_string(), without_cache(stdout), "{name}");
    assert_eq!(drawn.sessions.len(), rows.len(), "{name}");
    for (index, (session, expected)) in drawn.sessions.iter().zip(rows).enumerate() {
        let found = Row::of(session, drawn.summary.dataset);
        assert_eq!(&found, expected, "{name}, row {index}");
        // Comparing with the order of keys, which matters on the wire but not for `Value`.
        assert_eq!(in_order(&found), in_order(expected), "{name}, row {index}");
    }
}

/// Removes SGLang's lines about its cache of shared-prefix prompts, which does not exist here.
fn without_cache(stdout: &str) -> String {
    let statistics = stdout.find("\nGenerated shared prefix").unwrap_or_default();
    let lines = stdout[statistics..].split_inclusive('\n');
    lines.filter(|line| !line.starts_with("Caching generated input data")).collect()
}

fn in_order(row: &Row) -> String {
    json!([row.prompt, row.extra_request_body]).to_string()
}

fn run(flags: &Flags, folder: &str) -> Result<Draw, DatasetError> {
    let mut random = RandomState::seeded(flags.seed().unwrap());
    draw(&flags.spec().unwrap(), flags.count(), tokenizer(folder), &mut random)
}

fn check_error(name: &str, flags: &Flags, tokenizer: &str, error: &str) -> Checked {
    match name {
        "error_output_len_too_small" => {
            assert_eq!(flags.spec(), Err(SpecError::OutputTooSmall(3)));
        }
        "error_ratio_above_one" => assert_eq!(flags.spec(), Err(SpecError::RangeRatio(1.5))),
        "error_custom_missing_file" => {
            assert!(matches!(run(flags, tokenizer), Err(DatasetError::Read { .. })));
        }
        "error_template_missing" => assert!(matches!(
            run(flags, tokenizer),
            Err(DatasetError::Tokenizer(TokenizerError::NoChatTemplate))
        )),
        // ShareGPT's spec has no option for token ids.
        "error_sharegpt_tokenize_prompt" => {
            assert!(flags.has("--tokenize-prompt"));
            return Checked::NotOurs;
        }
        // Seeds are refused by the plan.
        "error_seed_negative" | "error_seed_too_large" => {
            assert!(flags.seed().is_none_or(|seed| u32::try_from(seed).is_err()));
            return Checked::NotOurs;
        }
        _ => panic!("{name} is not checked: {error}"),
    }
    Checked::Refused
}
