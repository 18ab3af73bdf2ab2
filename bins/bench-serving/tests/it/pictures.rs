//! Requests with images, from the command line to the table.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use servemark_mock::{MockServer, MockSpec};

use crate::program::{Folder, text};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");

/// Creates a folder with a tokenizer and an image processor, like that of a model.
fn model(folder: &Folder) -> String {
    let model = folder.path("model");
    fs::create_dir(&model).unwrap();
    for source in ["processors/qwen2-vl", "tokenizers/qwen2.5"] {
        for entry in fs::read_dir(Path::new(FIXTURES).join(source)).unwrap() {
            let entry = entry.unwrap();
            symlink(entry.path().canonicalize().unwrap(), model.join(entry.file_name())).unwrap();
        }
    }
    "model".to_owned()
}

fn run(folder: &Folder, tokenizer: &str, flags: &str) -> Output {
    let server = MockServer::start(MockSpec::default()).unwrap();
    let target = format!("--base-url {} --tokenizer {tokenizer}", server.base_url());
    let line = format!("{target} {flags} --random-output-len 4 --no-run-log --layout sglang");
    folder.run(&line.split_whitespace().collect::<Vec<_>>())
}

#[track_caller]
fn vision_tokens(output: &Output) -> u64 {
    let (table, news) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{news}");
    let line = table.lines().find(|line| line.starts_with("Total input vision tokens:"));
    line.expect(&table).rsplit(' ').find(|word| !word.is_empty()).unwrap().parse().unwrap()
}

#[test]
fn drawn_pictures_are_sent_and_their_tokens_told() {
    let folder = Folder::new();
    let model = model(&folder);
    for backend in ["sglang", "vllm-chat"] {
        let flags = "--dataset-name image --num-prompts 3 --image-count 2 --random-input-len 8 \
                     --image-resolution 64x96 --image-format png";
        let output = run(&folder, &model, &format!("{flags} --backend {backend}"));
        let lines = text(&output.stdout);
        assert!(lines.contains("=== Token Breakdown (per request avg / total) ==="), "{lines}");
        assert!(lines.contains("Created 3 random png images with "), "{lines}");
        // 4 and 3 tokens per side, plus a start and an end token; three requests with two images
        // each.
        assert_eq!(vision_tokens(&output), 3 * 2 * (6 + 2));
        let result = result(&folder, &format!("{backend}_"), "_3_8_4_2imgs_64x96.jsonl");
        assert_eq!(result["total_input_vision_tokens"], 48);
        assert_eq!(result["completed"], 3);
    }
}

#[test]
fn questions_come_from_a_table() {
    let folder = Folder::new();
    let model = model(&folder);
    let path = format!("{FIXTURES}/parquet/mmmu.parquet");
    let flags = format!("--backend sglang --dataset-name mmmu --dataset-path {path} --seed 7");
    let output = run(&folder, &model, &format!("{flags} --num-prompts 4"));
    assert!(vision_tokens(&output) > 0);
    let lines = text(&output.stdout);
    assert!(lines.contains("Selected 4 examples for benchmarking"), "{lines}");
}

#[test]
fn a_model_of_text_alone_is_told_apart() {
    let folder = Folder::new();
    let tokenizer = format!("{FIXTURES}/tokenizers/qwen2.5");
    let flags = "--backend sglang-oai-chat --dataset-name image --num-prompts 2 \
                 --random-input-len 8 --image-resolution 20x20";
    let output = run(&folder, &tokenizer, flags);
    assert_eq!(vision_tokens(&output), 0);
    let news = text(&output.stderr);
    assert!(news.contains("Vision tokens are not counted: "), "{news}");
}

/// Returns the result file whose name follows SGLang's pattern, for any date.
fn result(folder: &Folder, begins: &str, ends: &str) -> Value {
    let entries = fs::read_dir(folder.path(".")).unwrap();
    let mut names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let name = names.find(|name| name.starts_with(begins) && name.ends_with(ends)).expect(ends);
    serde_json::from_str(&folder.read(&name)).unwrap()
}
