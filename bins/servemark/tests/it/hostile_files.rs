//! Files that would exhaust the memory or the stack end a program with exit code 2 and a clear
//! message.

use std::fs;

use tempfile::TempDir;

use super::{servemark, text};

/// Asserts that the program refuses its input within a memory limit that is above the needs of a
/// normal run.
#[track_caller]
fn refuses(folder: &TempDir, args: &[&str], words: &[&str]) {
    let output = servemark(folder, args);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(!error.contains("panicked") && error.len() < 2_000, "{error}");
    for word in words {
        assert!(error.contains(word), "{word:?} is not in {error}");
    }
}

fn write(folder: &TempDir, name: &str, text: &str) {
    let path = folder.path().join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

#[test]
fn hostile_configs() {
    let folder = tempfile::tempdir().unwrap();
    let nested = format!("models = {}{}\n", "[".repeat(4_000), "]".repeat(4_000));
    write(&folder, "nested.py", &nested);
    let ais_bench = |config| ["ais_bench", config, "-m", "perf"];
    refuses(&folder, &ais_bench("nested.py"), &["nested.py:1: ", "more than 200 deep"]);
    write(&folder, "doubling.py", &format!("x = 'xxxxxxxx'\n{}", "x = x + x\n".repeat(60)));
    refuses(&folder, &ais_bench("doubling.py"), &["doubling.py:", "64 MB of text"]);
    write(&folder, "lists.py", &format!("x = [0]\n{}models = x", "x = [x, x]\n".repeat(60)));
    refuses(&folder, &ais_bench("lists.py"), &["lists.py:", "more than 1000000 values"]);
    write(&folder, "deep.toml", &format!("models = {}", "[".repeat(100_000)));
    refuses(&folder, &ais_bench("deep.toml"), &["deep.toml:1: "]);
    let laugh = |level: usize| {
        let before = vec![format!("*a{}", level - 1); 10].join(", ");
        format!("a{level}: &a{level} [{before}]\n")
    };
    let laughs: String = (1..12).map(laugh).collect();
    write(&folder, "laughs.yaml", &format!("a0: &a0 [lol]\n{laughs}"));
    let vllm = ["vllm", "bench", "serve", "--config", "laughs.yaml"];
    refuses(&folder, &vllm, &["laughs.yaml holds more than 100000 values"]);
    write(&folder, "deep.yaml", &"- ".repeat(100_000));
    let vllm = ["vllm", "bench", "serve", "--config", "deep.yaml"];
    refuses(&folder, &vllm, &["deep.yaml is nested more than 100 deep"]);
}

/// Returns the arguments of a run whose tokenizer is in a folder, with a data set from a file.
fn run(tokenizer: &str) -> Vec<&str> {
    let run = "python3 -m sglang.bench_serving --backend sglang-oai-chat --simulate ttft=1ms \
               --dataset-name custom --dataset-path talks.jsonl --num-prompts 1 \
               --apply-chat-template --tokenizer";
    run.split_whitespace().chain([tokenizer]).collect()
}

#[test]
fn hostile_tokenizers_and_data_sets() {
    let folder = tempfile::tempdir().unwrap();
    let talk = r#"{"conversations": [{"content": "Why?"}, {"content": "Because."}]}"#;
    write(&folder, "talks.jsonl", talk);
    let vocab = "\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 4294967295}, \"merges\": []}";
    write(&folder, "huge/tokenizer.json", &format!("{{{vocab}}}"));
    write(&folder, "huge/chat_template.jinja", "{{ messages[0].content }}");
    refuses(&folder, &run("huge"), &["tokenizer.json", "the id 4294967295"]);
    let gpt2 = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/tokenizers/gpt2");
    let tokenizer = fs::read_to_string(format!("{gpt2}/tokenizer.json")).unwrap();
    write(&folder, "doubling/tokenizer.json", &tokenizer);
    let doubling = "{% set ns = namespace(x=messages[0].content) %}{% for i in range(99) %}\
                    {% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x }}";
    write(&folder, "doubling/chat_template.jinja", doubling);
    let words = ["the chat template does not render", "a text of more than 33554432 bytes"];
    refuses(&folder, &run("doubling"), &words);
    let nested = format!("{{\"conversations\": {}", "[".repeat(100_000));
    write(&folder, "talks.jsonl", &nested);
    refuses(&folder, &run("doubling"), &["talks.jsonl:1: ", "recursion limit"]);
    let long = format!("{{\"conversations\": [\"{}\"]}}", "x".repeat(65 << 20));
    write(&folder, "talks.jsonl", &long);
    refuses(&folder, &run("doubling"), &["talks.jsonl:1: ", "67108864 bytes, which is the limit"]);
}
