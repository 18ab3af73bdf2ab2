//! Tests the error messages for malformed traces.

use std::fs;

use servemark_core::Prompt;
use servemark_datasets::{DatasetSpec, MooncakePrompts, MooncakeSpec, TraceFormat, TraceSpec};
use servemark_rng::RandomState;
use tempfile::{NamedTempFile, tempdir};

use crate::{draw, tokenizer};

fn error(spec: &DatasetSpec) -> String {
    let drawn = draw(spec, 10, tokenizer("gpt2"), &mut RandomState::seeded(1));
    drawn.unwrap_err().to_string()
}

/// Checks that reading `text` fails with `expected`, in which FILE stands for the file's path.
#[track_caller]
fn fails(format: TraceFormat, text: &str, expected: &str) {
    let file = NamedTempFile::new().unwrap();
    fs::write(&file, text).unwrap();
    let spec = DatasetSpec::Trace(TraceSpec::new(format, Some(file.path().to_owned())));
    assert_eq!(error(&spec), expected.replace("FILE", &file.path().to_string_lossy()));
}

#[track_caller]
fn mooncake_fails(text: &str, expected: &str) {
    let file = NamedTempFile::new().unwrap();
    fs::write(&file, text).unwrap();
    let spec = MooncakeSpec { path: Some(file.path().to_owned()), ..MooncakeSpec::default() };
    let error = error(&DatasetSpec::Mooncake(spec));
    assert_eq!(error, expected.replace("FILE", &file.path().to_string_lossy()));
}

#[test]
fn a_trace_without_a_file_says_what_to_do() {
    let message = |format| error(&DatasetSpec::Trace(TraceSpec::new(format, None)));
    assert_eq!(
        message(TraceFormat::Azure),
        "the data set azure-trace needs a file: pass one with `workload.dataset.path`, a CSV with \
         TIMESTAMP, ContextTokens and GeneratedTokens"
    );
    for format in [TraceFormat::Burstgpt, TraceFormat::Otel, TraceFormat::Servegen] {
        let message = message(format);
        assert!(message.contains("with `workload.dataset.path`"), "{message}");
    }
    let absent = TraceSpec::new(TraceFormat::Servegen, Some("/absent".into()));
    assert_eq!(error(&DatasetSpec::Trace(absent)), "cannot read /absent");
    let absent = TraceSpec::new(TraceFormat::Azure, Some("/absent".into()));
    assert_eq!(error(&DatasetSpec::Trace(absent)), "cannot read /absent");
}

#[test]
fn a_row_of_mooncake_is_named() {
    let good = r#"{"timestamp": 1, "input_length": 5, "output_length": 1, "hash_ids": [1]}"#;
    let bad = |row: &str, reason: &str| {
        mooncake_fails(&format!("{good}\n\n{row}"), &format!("FILE:3: {reason}"));
    };
    bad(r#"{"input_length": 5}"#, "\"timestamp\" must be a number of milliseconds");
    bad(
        r#"{"timestamp": NaN, "input_length": 5}"#,
        "\"timestamp\" must be a number of milliseconds",
    );
    bad(r#"{"timestamp": 2}"#, "\"input_length\" must be a number of tokens, 1 or more");
    bad(
        r#"{"timestamp": 2, "input_length": 0}"#,
        "\"input_length\" must be a number of tokens, 1 or more",
    );
    bad(r#"{"timestamp": 2, "input_length": -4}"#, "\"input_length\" is not a token count: -4");
    bad(
        r#"{"timestamp": 2, "input_length": 4, "output_length": 1.5}"#,
        "\"output_length\" is not a token count: 1.5",
    );
    bad(
        r#"{"timestamp": 2, "input_length": 4, "hash_ids": [-1]}"#,
        "\"hash_ids\" must be an array of whole numbers",
    );
    bad("nonsense", "expected ident at column 2");
    mooncake_fails("\n", "the data set gave no request at all: the trace has no requests");
}

#[test]
fn sglangs_prompts_need_no_length() {
    let file = NamedTempFile::new().unwrap();
    fs::write(&file, r#"{"timestamp": 1, "hash_ids": [1]}"#).unwrap();
    let mut spec = MooncakeSpec::default();
    (spec.path, spec.prompts) = (Some(file.path().to_owned()), MooncakePrompts::Sglang);
    let spec = DatasetSpec::Mooncake(spec);
    let drawn = draw(&spec, 10, tokenizer("gpt2"), &mut RandomState::seeded(1)).unwrap();
    assert_eq!(drawn.sessions[0].first.output_tokens, 256);
}

#[test]
fn sglangs_warm_up_is_made_of_the_files_first_row() {
    let file = NamedTempFile::new().unwrap();
    let rows = r#"{"timestamp": 9, "input_length": 600, "hash_ids": [7, 8], "output_length": 5}
        {"timestamp": 1, "input_length": 600, "hash_ids": [1], "output_length": 6}"#;
    fs::write(&file, rows).unwrap();
    let mut spec = MooncakeSpec { path: Some(file.path().to_owned()), ..MooncakeSpec::default() };
    let drawn = |spec: &MooncakeSpec| {
        let spec = DatasetSpec::Mooncake(spec.clone());
        draw(&spec, 10, tokenizer("gpt2"), &mut RandomState::seeded(1)).unwrap()
    };
    assert_eq!(drawn(&spec).warm_up, None);
    spec.prompts = MooncakePrompts::Sglang;
    let drawn = drawn(&spec);
    let warm_up = drawn.warm_up.unwrap();
    let words = ["hi"; 512].join(" ");
    let expected = format!("7{words}8{words}Can you tell me a detailed story in 1000 words?");
    assert_eq!(warm_up.prompt, Prompt::Text(expected));
    assert_eq!(warm_up.output_tokens, 5);
    assert_eq!(drawn.sessions[0].first.output_tokens, 6);
}

#[test]
fn a_table_of_other_columns_is_refused() {
    fails(
        TraceFormat::Azure,
        "TIMESTAMP,Tokens\n1,2\n",
        "FILE:1: expected the columns TIMESTAMP, ContextTokens, GeneratedTokens, found TIMESTAMP, \
         Tokens",
    );
    fails(
        TraceFormat::Burstgpt,
        "",
        "FILE:1: expected the columns Timestamp, Request tokens, Response tokens, found ",
    );
}

#[test]
fn a_row_of_azure_is_named() {
    let bad = |rows: &str, reason: &str| {
        fails(
            TraceFormat::Azure,
            &format!("TIMESTAMP,ContextTokens,GeneratedTokens\r\n{rows}"),
            reason,
        );
    };
    let first = "2023-11-16 18:17:03.97,10,5\r\n";
    bad(&format!("{first}2023-11-16 18:17:03.97,10\r\n"), "FILE:3: expected 3 columns, found 2");
    bad(
        &format!("{first}2023-11-16 18:17:03.96,10,5\r\n"),
        "FILE:3: this row is earlier than the one above it; sort by TIMESTAMP",
    );
    bad("NaN,10,5", "FILE:2: \"NaN\" is not a date and time, such as 2023-11-16 18:17:03.97");
    bad("2023-11-16 18:17:03.97,-1,5", "FILE:2: ContextTokens is not a token count: \"-1\"");
    bad("2023-11-16 18:17:03.97,1,NaN", "FILE:2: GeneratedTokens is not a token count: \"NaN\"");
    bad("", "the data set gave no request at all: the trace has no requests");
}

#[test]
fn a_row_of_burstgpt_is_named() {
    let bad = |row: &str, reason: &str| {
        let header = "Timestamp,Elapsed time,Request tokens,Response tokens";
        fails(TraceFormat::Burstgpt, &format!("{header}\n7,1,10,5\n{row}"), reason);
    };
    bad("inf,1,1,1", "FILE:3: Timestamp is not a number of 0 or more: \"inf\"");
    bad("9,-1,1,1", "FILE:3: Elapsed time is not a number of 0 or more: \"-1\"");
    bad("9,1,1.5,1", "FILE:3: Request tokens is not a token count: \"1.5\"");
    bad("6,1,1,1", "FILE:3: this row is earlier than the one above it; sort by Timestamp");
    bad(
        "1e300,1,1,1",
        "FILE:3: Timestamp: cannot convert float seconds to Duration: value is either too big or NaN",
    );
}

#[test]
fn a_span_is_named() {
    let bad = |span: &str, reason: &str| {
        fails(
            TraceFormat::Otel,
            &format!(
                "{{\"spans\": [\n{{\"start_time\": \"2026-01-01 00:00:00\", \"end_time\": \"2026-01-01 00:00:01\", \"attributes\": {{}}}},\n{span}]}}"
            ),
            reason,
        );
    };
    bad("7", "FILE:3: invalid type: integer `7`, expected struct Record at line 1 column 1");
    bad(
        "{\"start_time\": \"soon\", \"end_time\": \"\", \"attributes\": {\"gen_ai.input.messages\": \"[]\"}}",
        "FILE:3: \"soon\" is not a date and time, such as 2023-11-16 18:17:03.97",
    );
    let call = |end: &str, attributes: &str| {
        format!(
            "{{\"start_time\": \"2026-01-01 00:00:00\", \"end_time\": \"{end}\", \"attributes\": {{{attributes}}}}}"
        )
    };
    bad(
        &call("2026-01-01 00:00:01", "\"gen_ai.input.messages\": \"x\""),
        "FILE:3: gen_ai.input.messages is not an array of messages",
    );
    bad(
        &call(
            "2025-01-01 00:00:01",
            "\"gen_ai.input.messages\": [{}], \"gen_ai.output.text\": \"\"",
        ),
        "FILE:3: a model call must have messages and must not end before it starts",
    );
    bad(
        &call("2026-01-01 00:00:01", "\"gen_ai.input.messages\": [{}]"),
        "FILE:3: the answer and its length are both missing: gen_ai.output.text, \
         gen_ai.output.messages, gen_ai.usage.output_tokens and gen_ai.request.max_tokens are \
         absent",
    );
    bad(
        &call(
            "2026-01-01 00:00:01",
            "\"gen_ai.input.messages\": [{}], \"gen_ai.request.max_tokens\": -3",
        ),
        "FILE:3: gen_ai.request.max_tokens is not a token count: -3",
    );
    fails(
        TraceFormat::Otel,
        "{\"spans\": []}",
        "the data set gave no request at all: the trace has no requests",
    );
    fails(TraceFormat::Otel, "{}", "FILE:1: missing field `spans` at line 1 column 2");
}

/// Checks that a client of these two files fails with `expected`, in which FOLDER stands for the
/// folder's path.
#[track_caller]
fn client_fails(trace: &str, dataset: &str, expected: &str) {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("chunk-0-trace.csv"), trace).unwrap();
    fs::write(folder.path().join("chunk-0-dataset.json"), dataset).unwrap();
    let path = Some(folder.path().to_owned());
    let spec = DatasetSpec::Trace(TraceSpec::new(TraceFormat::Servegen, path));
    assert_eq!(error(&spec), expected.replace("FOLDER", &folder.path().to_string_lossy()));
}

#[test]
fn a_client_of_servegen_is_named() {
    let lengths = r#"{"0": {"input_tokens": "{5: 1.0}", "output_tokens": "{7: 1.0}"}}"#;
    let trace = |trace: &str, reason: &str| {
        client_fails(trace, lengths, &format!("FOLDER/chunk-0-trace.csv:{reason}"));
    };
    trace("0,1,1,Pareto,1,1\n", "1: the pattern must be Gamma or Weibull, not \"Pareto\"");
    trace("0,-1,1,Gamma,1,1\n", "1: rate is not a number of 0 or more: \"-1\"");
    trace("0,1,1,Gamma,nan,1\n", "1: shape is not a number of 0 or more: \"nan\"");
    trace("600,0,0,,0,0\n0,0,0,,0,0\n", "2: this window does not begin after the one above it");
    trace("0,1,1\n", "1: expected 6 columns, found 3");
    let dataset = |dataset: &str, reason: &str| {
        let expected = format!("FOLDER/chunk-0-dataset.json:{reason}");
        client_fails("0,1,1,Gamma,1,1\n", dataset, &expected);
    };
    dataset("[]", "1: invalid type: sequence, expected a map at line 1 column 0");
    dataset(
        "{\n\"x\": {\"input_tokens\": \"{}\", \"output_tokens\": \"{}\"}}",
        "2: \"x\" is not a number of seconds",
    );
    let field = |input: &str| {
        format!("{{\"0\": {{\"input_tokens\": \"{input}\", \"output_tokens\": \"{{}}\"}}}}")
    };
    dataset(&field("5"), "1: \"5\" is not a dictionary of lengths");
    dataset(&field("{-5: 1}"), "1: \"-5: 1\" is not a length with its share, such as 45: 0.25");
    dataset(&field("{5: nan}"), "1: \"5: nan\" is not a length with its share, such as 45: 0.25");
    client_fails(
        "0,1,1,Gamma,1,1\n",
        &field("{}"),
        "the data set gave no request at all: the trace has no requests",
    );
}
