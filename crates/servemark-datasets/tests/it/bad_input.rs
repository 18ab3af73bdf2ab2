//! Tests the error messages for malformed files.

use std::fs;
use std::num::NonZero;
use std::path::PathBuf;

use servemark_core::DatasetError;
use servemark_datasets::{
    AgenticTraceSpec, BadLine, BatchSource, BatchSpec, CustomSpec, DatasetSpec, Draw,
    LongBenchSpec, OpenaiSpec, PromptFormat, RandomSpec, Shaping, ShareGptSpec, Source,
    SpeedBenchSpec, VllmCustomSpec, VllmData, VllmSpec,
};
use servemark_rng::RandomState;
use tempfile::NamedTempFile;

use crate::{draw, tokenizer};

/// The ways to read a file.
#[derive(Clone, Copy)]
enum As {
    AgenticTrace,
    Custom,
    CustomSkipping,
    LongBench,
    Openai,
    Random,
    Sharegpt,
    SpeedBench,
}

impl As {
    fn spec(self, path: Option<PathBuf>) -> DatasetSpec {
        match self {
            Self::AgenticTrace => {
                let spec = AgenticTraceSpec { path, ..AgenticTraceSpec::default() };
                DatasetSpec::AgenticTrace(spec)
            }
            Self::LongBench => {
                let spec = LongBenchSpec { path, ..LongBenchSpec::default() };
                DatasetSpec::LongBenchV2(spec)
            }
            Self::SpeedBench => {
                let spec = SpeedBenchSpec { path, ..SpeedBenchSpec::default() };
                DatasetSpec::SpeedBench(spec)
            }
            Self::Custom | Self::CustomSkipping => {
                let mut spec = CustomSpec { path, ..CustomSpec::default() };
                if let Self::CustomSkipping = self {
                    spec.on_bad_line = BadLine::Skip;
                }
                DatasetSpec::Custom(spec)
            }
            Self::Openai => {
                let spec = OpenaiSpec { path, ..OpenaiSpec::default() };
                DatasetSpec::Openai(spec)
            }
            Self::Random => {
                let spec =
                    RandomSpec { source: Source::Sharegpt { path }, ..RandomSpec::default() };
                DatasetSpec::Random(spec)
            }
            Self::Sharegpt => {
                let spec = ShareGptSpec { path, ..ShareGptSpec::default() };
                DatasetSpec::Sharegpt(spec)
            }
        }
    }

    fn draw(self, path: Option<PathBuf>, count: usize) -> Result<Draw, DatasetError> {
        draw(&self.spec(path), count, tokenizer("gpt2"), &mut RandomState::seeded(42))
    }
}

fn file(text: &[u8]) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    fs::write(&file, text).unwrap();
    file
}

/// Checks that reading `text` fails with `expected`, in which FILE stands for the file's path.
#[track_caller]
fn fails(reading: As, text: impl AsRef<[u8]>, expected: &str) {
    let file = file(text.as_ref());
    let error = reading.draw(Some(file.path().to_owned()), 10).unwrap_err();
    assert_eq!(error.to_string(), expected.replace("FILE", &file.path().to_string_lossy()));
}

const TALK: &str = r#"{"conversations": [{"value": "How are you?"}, {"value": "Very well."}]}"#;

#[test]
fn a_data_set_without_a_file_says_what_to_do() {
    let message = |reading: As| reading.draw(None, 10).unwrap_err().to_string();
    let share_gpt = "needs a file: give ShareGPT's file with `workload.dataset.path`";
    assert_eq!(message(As::Sharegpt), format!("the data set sharegpt {share_gpt}"));
    assert_eq!(message(As::Random), format!("the data set random {share_gpt}"));
    assert_eq!(
        message(As::Custom),
        "the data set custom needs a file: pass one with `workload.dataset.path`, a conversation as a JSON \
         object on each line"
    );
    assert_eq!(
        message(As::Openai),
        "the data set openai needs a file: pass one with `workload.dataset.path`, a chat request as a JSON \
         object on each line"
    );
}

#[test]
fn a_file_that_is_not_there_is_named() {
    for reading in [As::Custom, As::Openai, As::Random, As::Sharegpt] {
        let error = reading.draw(Some("/absent/file".into()), 10).unwrap_err();
        assert_eq!(error.to_string(), "cannot read /absent/file");
    }
}

#[test]
fn a_line_that_is_no_json_is_named() {
    let text = format!("{TALK}\n\n{{broken\n{TALK}\n");
    let expected = "FILE:3: key must be a string at column 2; `workload.dataset.on_bad_line` \"skip\" leaves such lines out";
    fails(As::Custom, &text, expected);
    fails(As::Openai, &text, expected);
    let expected = "FILE:2: trailing characters at column 73; `workload.dataset.on_bad_line` \"skip\" leaves such lines out";
    fails(As::Custom, format!("{TALK}\r\n{TALK} {{}}"), expected);
}

#[test]
fn an_array_that_is_no_json_is_named() {
    let text = format!("[\n{TALK},\n{{broken\n]");
    let expected = "FILE:3: key must be a string at column 2";
    fails(As::Sharegpt, &text, expected);
    fails(As::Random, &text, expected);
    let object = "FILE:1: expected a JSON array, got an object; a file with one object per line is read by the data set custom or openai";
    fails(As::Sharegpt, TALK, object);
    fails(As::Sharegpt, "", "FILE:1: expected a JSON array");
    fails(As::Sharegpt, format!("[{TALK},\n{TALK}"), "FILE:2: the JSON array is not closed");
}

#[test]
fn a_file_that_is_no_text_is_named() {
    let text = |before: &str| [before.as_bytes(), b"\"\xff\"]"].concat();
    for reading in [As::Custom, As::Openai] {
        fails(reading, text(&format!("{TALK}\n")), "FILE:2: not UTF-8");
    }
    for reading in [As::Random, As::Sharegpt] {
        fails(reading, text(&format!("[{TALK},\n")), "FILE:2: not UTF-8");
    }
}

#[test]
fn a_record_of_the_wrong_shape_is_named() {
    fails(As::Custom, format!("{TALK}\n[1]"), "FILE:2: expected a JSON object");
    fails(As::Custom, r#"{"conversation": 1}"#, "FILE:1: the conversation is not an array");
    fails(As::Custom, r#"{"conversation": ["a", "b"]}"#, "FILE:1: a turn is not a JSON object");
    fails(
        As::CustomSkipping,
        r#"{"conversation": [{"content": null, "value": "a"}, {}]}"#,
        "FILE:1: the text of a turn is not a string",
    );
    let array = |record: &str| format!("[\n{TALK},\n\n{record}]");
    fails(As::Sharegpt, array("1"), "FILE:4: expected a JSON object");
    fails(
        As::Random,
        array(r#"{"conversations": [{"value": "a"}, {"content": "b"}]}"#),
        "FILE:4: a turn has no text under \"value\"",
    );
}

#[test]
fn a_chat_request_of_the_wrong_shape_is_named() {
    let request = |keys: &str| format!(r#"{{"messages": [{{"role": "user"}}]{keys}}}"#);
    fails(As::Openai, r#"{"messages": "hi"}"#, "FILE:1: \"messages\" is not an array of objects");
    fails(As::Openai, r#"{"messages": ["hi"]}"#, "FILE:1: \"messages\" is not an array of objects");
    let expected = "FILE:1: \"max_tokens\" is not a token count: ";
    for bad in ["null", "-1", "1.5", "\"9\"", "5000000000"] {
        let text = request(&format!(r#", "max_tokens": {bad}"#));
        fails(As::Openai, text, &format!("{expected}{bad}"));
    }
    fails(
        As::Openai,
        request(""),
        "the data set openai counts the tokens of rendered messages, and this tokenizer has no \
         chat template; give a tokenizer that has one (`model.tokenizer`)",
    );
}

#[test]
fn a_question_of_the_wrong_shape_is_named() {
    let question = r#"{"context": "c", "question": "q", "choice_A": "a", "choice_B": "b""#;
    let whole = format!("{question}, \"choice_C\": \"c\", \"choice_D\": \"d\"}}");
    let expected = "FILE:2: \"choice_C\" is missing or no text";
    fails(As::LongBench, format!("{whole}\n{question}}}"), expected);
    fails(As::LongBench, format!("[{whole},\n{question}, \"choice_C\": 1}}]"), expected);
    fails(As::LongBench, format!("{whole}\n1"), "FILE:2: expected a JSON object");
}

#[test]
fn a_prompt_of_speed_bench_of_the_wrong_shape_is_named() {
    fails(As::SpeedBench, "{}\n\n{\"turns\": 1}", "FILE:3: \"turns\" is not an array");
    fails(As::SpeedBench, r#"{"turns": [1]}"#, "FILE:1: the first turn is not a string");
    let nothing = "the data set gave no request at all: no line has \"turns\"";
    fails(As::SpeedBench, r#"{"turns": []}"#, nothing);
}

#[test]
fn a_trace_of_the_wrong_shape_is_named() {
    let trace = |turn: &str| format!("{{\"conversations\": [[],\n[{turn}]]}}");
    let wrong = "FILE:2: a message has no \"role\" or no \"content\"";
    fails(As::AgenticTrace, trace(r#"{"messages": [{"role": "user"}]}"#), wrong);
    fails(As::AgenticTrace, trace(r#"{"messages": [1]}"#), wrong);
    fails(As::AgenticTrace, trace(r#"{"messages": 1}"#), "FILE:2: \"messages\" is not an array");
    let nothing = "the data set gave no request at all: no conversation of the file has a turn \
         with messages";
    fails(As::AgenticTrace, trace(""), nothing);
    fails(As::AgenticTrace, "{}", nothing);
    let broken = "FILE:1: key must be a string at line 1 column 2";
    fails(As::AgenticTrace, "{broken", broken);
}

#[test]
fn a_conversation_that_the_template_refuses_is_named() {
    let file = file(b"\n{\"messages\": [{\"role\": \"user\", \"content\": 7}]}");
    let spec = As::Openai.spec(Some(file.path().to_owned()));
    let error = draw(&spec, 1, tokenizer("qwen2.5"), &mut RandomState::seeded(1)).unwrap_err();
    let expected = format!("{}:2: the chat template does not render: ", file.path().display());
    assert!(error.to_string().starts_with(&expected), "{error}");
}

#[test]
fn lines_are_skipped_only_when_asked_and_never_silently() {
    let file = file(format!("{{\n{TALK}\nnonsense\n\n{TALK}").as_bytes());
    let path = file.path().to_owned();
    let drawn = As::CustomSkipping.draw(Some(path.clone()), 10).unwrap();
    assert_eq!(drawn.sessions.len(), 2);
    let skipped = drawn.skipped.unwrap();
    assert_eq!(
        skipped.to_string(),
        format!(
            "lines left out: 2; the first is {}:1: EOF while parsing an object at column 1; \
             with `workload.dataset.on_bad_line` \"fail\" it stops there instead",
            path.display()
        )
    );
    assert_eq!((skipped.count, skipped.first_line), (2, 1));
}

#[test]
fn a_line_that_could_be_skipped_says_so() {
    let hint = "FILE:2: expected ident at column 2; `workload.dataset.on_bad_line` \"skip\" leaves such lines out";
    let custom = format!("{TALK}\nnonsense");
    fails(As::Custom, custom, hint);
    fails(As::Openai, "{\"messages\": []}\nnonsense", hint);
    fails(As::SpeedBench, "{\"category\": \"mixed\", \"turns\": [\"a\"]}\nnonsense", hint);
    let choices = ["A", "B", "C", "D"].map(|choice| format!("\"choice_{choice}\": \"x\""));
    let question = format!("{{\"context\": \"a\", \"question\": \"b\", {}}}", choices.join(", "));
    fails(As::LongBench, format!("{question}\nnonsense"), hint);
}

#[test]
fn a_draw_that_gives_nothing_says_why() {
    let nothing = "the data set gave no request at all: ";
    let too_short = "no conversation has two turns of two tokens or more that fit the context; is \
         `workload.dataset.context_tokens` too small?";
    fails(As::Sharegpt, "[]", &format!("{nothing}{too_short}"));
    fails(
        As::CustomSkipping,
        "x",
        &format!(
            "{nothing}{too_short}; lines left out: 1; the first is FILE:1: expected value \
             at column 1; with `workload.dataset.on_bad_line` \"fail\" it stops there instead"
        ),
    );
    fails(As::Random, "[]", &format!("{nothing}every prompt of the file is empty"));
    fails(As::Openai, "{}", &format!("{nothing}no line that was read has \"messages\""));
    let file = file(format!("[{TALK}]").as_bytes());
    let error = As::Sharegpt.draw(Some(file.path().to_owned()), 0).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{nothing}no request was asked for (`workload.requests`)")
    );
}

#[test]
fn what_needs_a_chat_template_is_known_before_the_draw() {
    let openai = file(b"{\"messages\": [{\"role\": \"user\", \"content\": \"hello there\"}]}\n");
    let turns =
        r#"{"from": "human", "value": "one two three"}, {"from": "gpt", "value": "four five"}"#;
    let sharegpt = file(format!("[{{\"conversations\": [{turns}]}}]").as_bytes());
    let custom = file(format!("{{\"conversations\": [{turns}]}}\n").as_bytes());
    let prompts = file(b"{\"prompt\": \"one two three\"}\n");
    let path = |file: &NamedTempFile| Some(file.path().to_owned());
    let shaped = |format: PromptFormat| Shaping { prompt_format: format, ..Shaping::default() };
    let with = |format: PromptFormat| {
        let custom_spec =
            CustomSpec { path: path(&custom), shaping: shaped(format), ..CustomSpec::default() };
        let vllm = VllmCustomSpec {
            path: path(&prompts),
            prompt_format: format,
            ..VllmCustomSpec::default()
        };
        let source = BatchSource::File { path: prompts.path().to_owned(), prompt_format: format };
        let mut batch =
            BatchSpec::new(NonZero::<u32>::MIN, DatasetSpec::Custom(custom_spec.clone()), 4);
        batch.source = source;
        [
            DatasetSpec::Custom(custom_spec),
            DatasetSpec::Sharegpt(ShareGptSpec { path: path(&sharegpt), shaping: shaped(format) }),
            DatasetSpec::Vllm(VllmSpec::new(VllmData::Custom(vllm))),
            DatasetSpec::Batch(batch),
        ]
    };
    let drawn = |spec: &DatasetSpec| {
        draw(spec, 1, tokenizer("gpt2"), &mut RandomState::seeded(42)).map(drop)
    };
    let rendered = with(PromptFormat::ChatTemplate);
    for spec in rendered.iter().chain([&As::Openai.spec(path(&openai))]) {
        let known = spec.without_chat_template().map(|error| error.to_string());
        assert_eq!(drawn(spec).err().map(|error| error.to_string()), known, "{spec:?}");
        assert!(known.is_some(), "{spec:?}");
    }
    for spec in with(PromptFormat::Raw) {
        assert!(spec.without_chat_template().is_none(), "{spec:?}");
        assert!(drawn(&spec).is_ok(), "{:?}", drawn(&spec));
    }
}
