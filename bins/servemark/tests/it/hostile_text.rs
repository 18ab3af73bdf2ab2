//! Escape codes, line ends and bidi marks in a run log or from a server are never printed to the
//! terminal.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{RUN, servemark, text};

/// Text with control characters for terminals, and with lines that imitate the program's own.
const HOSTILE: &str = "m\u{1b}[2J\u{1b}]0;owned\u{7}\r\nClient audit: clean\nForged line\t\0\u{9b}31m\
                       \u{7f}\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}z|";

const FORGED: [&str; 2] = ["Client audit: clean", "Forged line"];

/// Asserts that no stream controls the terminal or has a line that begins with foreign text.
#[track_caller]
fn is_harmless(output: &Output, what: &str) {
    for (stream, bytes) in [("standard output", &output.stdout), ("standard error", &output.stderr)]
    {
        let rendered = String::from_utf8(bytes.clone()).expect("UTF-8");
        let is_raw = |character: &char| {
            (character.is_control() && *character != '\n')
                || "\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}".contains(*character)
                || ('\u{202a}'..='\u{202e}').contains(character)
                || ('\u{2066}'..='\u{2069}').contains(character)
        };
        let raw: Vec<char> = rendered.chars().filter(is_raw).collect();
        assert!(raw.is_empty(), "{what}: {raw:?} on {stream}: {rendered}");
        let is_forged = |line: &&str| FORGED.iter().any(|forged| line.trim().starts_with(forged));
        let forged: Vec<&str> = rendered.lines().filter(is_forged).collect();
        assert!(forged.is_empty(), "{what}: {forged:?} on {stream}: {rendered}");
    }
}

/// Puts the hostile text into every string below a value, except strings with a fixed meaning.
fn poison(value: &mut Value) {
    const KEPT_KEYS: [&str; 5] = ["verdict", "arrival_clock", "of", "dataset_name", "weights"];
    match value {
        Value::String(text) => HOSTILE.clone_into(text),
        Value::Array(values) => values.iter_mut().for_each(poison),
        Value::Object(fields) => {
            let open = fields.iter_mut().filter(|(key, _)| !KEPT_KEYS.contains(&key.as_str()));
            open.for_each(|(_, value)| poison(value));
        }
        _ => {}
    }
}

/// Creates a run log in which every line has hostile text.
fn hostile_log(folder: &TempDir) {
    let run = [&RUN[..], &["--simulate-fault", "status:500/3", "--warmup-requests", "0"]].concat();
    servemark(folder, &run);
    let path = folder.path().join("run.jsonl");
    let log = fs::read_to_string(&path).unwrap();
    let mut poisoned = String::new();
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        // The checksum is removed; a line is valid without it.
        let kinds = ["header", "request", "footer"];
        let kind = kinds.into_iter().find(|kind| line.get(kind).is_some()).unwrap();
        let mut body = line[kind].clone();
        match kind {
            "header" => ["facts", "host", "server_info", "servemark"]
                .into_iter()
                .for_each(|part| poison(&mut body[part])),
            "footer" => poison(&mut body["audit"]),
            _ => {
                body["text"] = json!(HOSTILE.repeat(20));
                if body["outcome"].get("Err").is_some() {
                    body["outcome"]["Err"]["message"] = json!(HOSTILE);
                }
            }
        }
        poisoned += &json!({kind: body}).to_string();
        poisoned.push('\n');
    }
    fs::write(path, poisoned).unwrap();
}

#[test]
fn a_hostile_run_log_is_scored_and_compared_without_harm_to_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    hostile_log(&folder);
    let layouts =
        "sglang,native,embedding,offline,vllm,aisbench,evalscope,evalscope-1.7,evalscope-1.0";
    for layout in layouts.split(',') {
        let score = servemark(&folder, &["score", "run.jsonl", "--layout", layout]);
        assert_eq!(score.status.code(), Some(0), "{layout}: {}", text(&score.stderr));
        assert!(!score.stdout.is_empty(), "{layout}");
        is_harmless(&score, layout);
    }
    for more in [&[][..], &["--json"]] {
        let compared = [&["compare", "run.jsonl", "run.jsonl"], more].concat();
        let compared = servemark(&folder, &compared);
        assert_eq!(compared.status.code(), Some(0), "{}", text(&compared.stderr));
        is_harmless(&compared, "compare");
        if !more.is_empty() {
            let document: Value = serde_json::from_slice(&compared.stdout).expect("JSON");
            assert_eq!(document["sources"]["before"][0]["model"], HOSTILE);
        }
    }
    is_harmless(&servemark(&folder, &["rerun", "run.jsonl", "--plan-only"]), "rerun");
    is_harmless(&servemark(&folder, &["score", &HOSTILE.replace('\0', "")]), "a file name");
}

/// A server with hostile text in every part of an HTTP answer that can have text.
struct Hostile {
    url: String,
}

impl Hostile {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || while answer(&stream).is_some() {});
            }
        });
        Self { url }
    }
}

/// Number of answers so far; every second answer is an error.
static ANSWER_COUNT: AtomicUsize = AtomicUsize::new(0);

const TOKENIZER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/tokenizers/gpt2");

/// Answers one request; `None` if the connection is closed.
fn answer(mut stream: &TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut request, mut length) = (String::new(), 0);
    reader.read_line(&mut request).ok().filter(|bytes| *bytes > 0)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (status, body) = if request.contains("/v1/models") {
        let models = json!({"data": [{"id": HOSTILE, "root": HOSTILE}]});
        ("200 OK", models.to_string())
    } else if request.starts_with("GET") || ANSWER_COUNT.fetch_add(1, Ordering::Relaxed) % 2 == 1 {
        ("500 Oh\u{9b}no", HOSTILE.to_owned())
    } else {
        let choice = json!({
            "index": 0,
            "text": HOSTILE,
            "delta": {"content": HOSTILE},
            "finish_reason": HOSTILE,
        });
        let usage = json!({"prompt_tokens": 1, "completion_tokens": 1});
        let event = json!({"id": HOSTILE, "choices": [choice], "usage": usage});
        ("200 OK", format!("data: {event}\n\ndata: [DONE]\n\n"))
    };
    let kind = if status.starts_with("200") { "text/event-stream" } else { "text/plain" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nX-Hostile: \u{9b}2J\u{202e}\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).ok()
}

#[test]
fn a_hostile_server_is_measured_without_harm_to_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let server = Hostile::start();
    let common = [
        "--backend",
        "sglang-oai-chat",
        "--base-url",
        &server.url,
        "--dataset-name",
        "random-ids",
        "--num-prompts",
        "4",
        "--random-input-len",
        "4",
        "--random-output-len",
        "8",
        "--seed",
        "1",
        "--tokenizer",
        TOKENIZER,
        "--print-requests",
        "--run-log",
        "own.jsonl",
    ];
    let sglang = [&["python3", "-m", "sglang.bench_serving"][..], &common].concat();
    let run = servemark(&folder, &sglang);
    assert!(run.stdout.len() > 500, "{}", text(&run.stderr));
    assert!(text(&run.stdout).contains("\\u001b[2J"), "{}", text(&run.stdout));
    is_harmless(&run, "SGLang's client");
    let vllm = [
        "vllm",
        "bench",
        "serve",
        "--base-url",
        &server.url,
        "--dataset-name",
        "random",
        "--num-prompts",
        "4",
        "--random-input-len",
        "4",
        "--random-output-len",
        "8",
        "--tokenizer",
        TOKENIZER,
        "--ready-check-timeout-sec",
        "0",
    ];
    is_harmless(&servemark(&folder, &vllm), "vLLM's client");
    let not_ready = [&sglang[..], &["--ready-check-timeout-sec", "1"]].concat();
    is_harmless(&servemark(&folder, &not_ready), "readiness");
}
