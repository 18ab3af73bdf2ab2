//! Tests all cases in `fixtures/vllm/datasets` and `fixtures/vllm/slices`, recorded from the real
//! client.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use servemark_core::{NoProgress, NoTokenizer, Prompt, Session, Tokenizer};
use servemark_datasets::{DatasetSpec, Spread, TextSlice, TextSlicesSpec, VllmLengths};
use servemark_rng::RandomState;

use crate::vllm_flags::Flags;
use crate::{draw, fixture, tokenizer};

#[derive(Deserialize)]
struct Case {
    argv: Vec<String>,
    tokenizer: String,
    #[serde(default)]
    rows: Vec<Row>,
    after: Option<After>,
}

impl Case {
    fn tokenizer(&self, flags: &Flags) -> &'static dyn Tokenizer {
        if flags.does_without_tokenizer() { &NoTokenizer } else { tokenizer(&self.tokenizer) }
    }
}

#[derive(Debug, Deserialize, PartialEq)]
struct Row {
    prompt: Value,
    prompt_len: u32,
    output_len: u32,
    id: Option<String>,
    timestamp: Option<f64>,
}

/// The next draws of the two global generators.
#[derive(Debug, Deserialize, PartialEq)]
pub(crate) struct After {
    numpy: f64,
    python: f64,
}

impl Row {
    fn of(session: &Session) -> Self {
        let sample = &session.first;
        assert!(session.turns() == 1 && sample.extra_body.is_empty());
        Self {
            prompt: prompt(&sample.prompt),
            prompt_len: sample.prompt_tokens,
            output_len: sample.output_tokens,
            id: sample.headers.first().map(|(name, id)| {
                assert_eq!(name, "x-request-id");
                id.clone()
            }),
            timestamp: session.begins.as_ref().map(Duration::as_secs_f64),
        }
    }
}

/// Returns the prompt as vLLM represents it: a query and its documents are one list.
fn prompt(prompt: &Prompt) -> Value {
    match prompt {
        Prompt::Ranking { query, documents } => {
            [query].into_iter().chain(documents).map(|text| json!(text)).collect()
        }
        prompt => json!(prompt),
    }
}

impl After {
    pub(crate) fn of(mut random: RandomState) -> Self {
        Self { numpy: random.numpy.random_sample(), python: random.python.random() }
    }
}

/// Reads the files of a fixture folder, with their names.
pub(crate) fn read_all<T: DeserializeOwned>(folder: &str) -> Vec<(String, T)> {
    let paths = fs::read_dir(fixture(folder)).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, serde_json::from_slice(&fs::read(path).unwrap()).unwrap())
    };
    paths.map(read).collect()
}

#[test]
fn every_recorded_case_is_reproduced() {
    let (mut drawn, mut refused) = (0, 0);
    for (name, case) in read_all::<Case>("vllm/datasets") {
        let flags = Flags::new(case.argv.clone());
        let Some(after) = &case.after else {
            refused += usize::from(is_refused(&flags, case.tokenizer(&flags)));
            continue;
        };
        let mut random = RandomState::seeded(flags.seed());
        let spec = flags.spec().unwrap();
        let found = draw(&spec, flags.count(), case.tokenizer(&flags), &mut random);
        let found = found.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(found.sessions.len(), case.rows.len(), "{name}");
        for (index, (session, expected)) in found.sessions.iter().zip(&case.rows).enumerate() {
            assert_eq!(&Row::of(session), expected, "{name}, row {index}");
        }
        assert_eq!(&After::of(random), after, "{name}");
        assert_eq!(found.summary.to_string(), "", "{name}");
        drawn += 1;
    }
    // Paths, seeds, backends and timing that do not go together are refused by the command line.
    assert_eq!((drawn, refused), (40, 12), "a case was added or lost");
}

fn is_refused(flags: &Flags, tokenizer: &dyn Tokenizer) -> bool {
    let Ok(spec) = flags.spec() else { return true };
    let mut random = RandomState::seeded(flags.seed());
    draw(&spec, flags.count(), tokenizer, &mut random).is_err()
}

#[derive(Deserialize)]
struct Slices {
    arguments: Arguments,
    tokenizer: String,
    file: String,
}

#[derive(Deserialize)]
struct Arguments {
    num_prompts: usize,
    input_len: u32,
    output_len: u32,
    range_ratio: Value,
    seed: u32,
}

impl Arguments {
    fn spec(&self) -> TextSlicesSpec {
        let spread = |part: &str| {
            let share = self.range_ratio.get(part).unwrap_or(&self.range_ratio).as_f64();
            Spread::new(share.unwrap()).unwrap()
        };
        let mut lengths = VllmLengths::default();
        (lengths.input_tokens, lengths.output_tokens) = (self.input_len, self.output_len);
        (lengths.input_spread, lengths.output_spread) = (spread("input"), spread("output"));
        let mut spec = TextSlicesSpec::new(fixture("vllm/inputs/book.txt"));
        (spec.lengths, spec.seed) = (lengths, self.seed);
        spec
    }
}

#[test]
fn texts_are_cut_as_they_were() {
    let all = read_all::<Slices>("vllm/slices");
    assert_eq!(all.len(), 3, "a case was added or lost");
    for (name, Slices { arguments, tokenizer: folder, file }) in all {
        let cut = arguments.spec().cut(arguments.num_prompts, tokenizer(&folder), &NoProgress);
        let lines = cut.unwrap().iter().map(TextSlice::line).collect::<Result<String, _>>();
        assert_eq!(lines.unwrap(), file, "{name}");
    }
}

#[test]
fn a_plan_holds_every_knob() {
    for json in [
        r#"{"dataset":"vllm","seed":7,"request_ids":"r","kind":"random","lengths":{"input_tokens":30,"output_tokens":4,"input_spread":0.5,"output_spread":0.0},"prefix_tokens":3,"batch":2}"#,
        r#"{"dataset":"vllm","seed":0,"request_ids":null,"kind":"random_rerank","input_tokens":9,"spread":0.0,"batch":1,"mode":"each"}"#,
        r#"{"dataset":"vllm","seed":0,"request_ids":null,"kind":"custom","path":"a.jsonl","layout":{"speed_bench":{"subset":"qualitative","category":null}},"output":"of_row","prompt_format":"raw","order":"as_read","too_few":"keep"}"#,
        r#"{"dataset":"vllm","seed":0,"request_ids":null,"kind":"timed_trace","path":"a.jsonl","block_tokens":512,"seconds":0.001,"labels":{"timestamp":"t","input_length":"i","output_length":"o","hash_ids":"h"}}"#,
    ] {
        let spec: DatasetSpec = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&spec).unwrap(), json);
    }
    let short = r#"{"dataset":"vllm","kind":"sharegpt"}"#;
    assert_eq!(serde_json::from_str::<DatasetSpec>(short).unwrap().name().as_str(), "sharegpt");
}
