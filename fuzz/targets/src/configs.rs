//! Target for config files and JSON arguments of every dialect.

use std::ffi::OsString;

use servemark_cli::{Environment, dispatch};

use crate::scratch;

/// Reads any bytes as a config file or a JSON argument: the command line becomes a plan or is
/// refused. The first byte chooses the command line.
pub fn configs(bytes: &[u8]) {
    let Some((dialect, rest)) = scratch::choice(bytes, COMMANDS.len()) else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let words = COMMANDS[dialect].split(' ');
    let args = words.map(|word| if word == "TEXT" { text.into() } else { OsString::from(word) });
    let environment = Environment::default()
        .with_file("config.py", text)
        .with_file("config.toml", text)
        .with_file("config.yaml", text);
    match dispatch::parse(args, &environment) {
        Ok(invocation) => drop(format!("{invocation:?}")),
        Err(refusal) => assert!(!refusal.to_string().is_empty()),
    }
}

/// Command lines with a config file or a JSON argument.
const COMMANDS: [&str; 9] = [
    "ais_bench config.py -m perf",
    "ais_bench config.toml -m perf",
    "vllm bench serve --config config.yaml",
    "python3 -m sglang.bench_serving --extra-request-body TEXT",
    "vllm bench serve --model m --extra-body TEXT",
    "vllm bench serve --model m --random-range-ratio TEXT",
    "evalscope perf --model m --extra-args TEXT",
    "evalscope perf --model m --dataset-args TEXT",
    "python3 -m sglang.bench_serving --header TEXT",
];
