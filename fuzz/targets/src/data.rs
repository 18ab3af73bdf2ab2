//! Files of data sets: lines, arrays, tables, traces, pictures and recordings.

use std::ffi::OsString;
use std::path::Path;
use std::sync::LazyLock;

use servemark::core::{DrawContext, NoProgress, Sample, Session};
use servemark::datasets::DatasetSpec;
use servemark::rng::RandomState;
use servemark::tokenizer::HfTokenizer;
use servemark_cli::{Environment, Invocation, door};

use crate::scratch;

/// Whatever a data set's file holds, samples are drawn of it or it is refused. The first byte
/// chooses the data set.
pub fn data_sets(bytes: &[u8]) {
    let Some((number, rest)) = scratch::choice(bytes, COMMANDS.len()) else { return };
    draw(COMMANDS[number], rest);
}

/// Whatever a picture or a recording holds, it is sent or refused. The first byte chooses between
/// them.
pub fn media(bytes: &[u8]) {
    let Some((number, rest)) = scratch::choice(bytes, MEDIA.len()) else { return };
    let (command, name, key) = MEDIA[number];
    let file = scratch::file(name, rest);
    let line =
        serde_json::json!({"prompt": "What?", "output_tokens": 2, key: [file], "audio_path": file});
    let line = format!("{line}\n");
    draw(command, line.as_bytes());
}

fn draw(command: &str, bytes: &[u8]) {
    let (extension, command) = command.split_once(' ').expect("an extension and a command");
    let path = scratch::file(&format!("data.{extension}"), bytes);
    let Ok(spec) = spec(command, &path) else { return };
    let mut random = RandomState::seeded(1);
    let mut context = DrawContext::new(&*TOKENIZER, &mut random, &NoProgress);
    match spec.draw(4, &mut context) {
        Ok(drawn) => {
            let _ = drawn.summary.to_string();
            let samples = drawn.sessions.iter().flat_map(Session::samples);
            samples.for_each(render);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Makes what a request of the sample would carry.
fn render(sample: &Sample) {
    if let Some(audio) = &sample.audio {
        let _ = audio.file();
    }
    for medium in &sample.media {
        let _ = medium.uri();
    }
}

/// The data set of a command line, with its file in the place of `FILE`.
fn spec(command: &str, path: &Path) -> Result<DatasetSpec, String> {
    let words = command.split(' ');
    let args = words.map(|word| if word == "FILE" { path.into() } else { OsString::from(word) });
    match door::parse(args, &Environment::default()) {
        Ok(Invocation::Bench(parsed)) => Ok(parsed.plan.workload.dataset),
        Ok(Invocation::Evalscope(runs)) => Ok(runs.first.plan.workload.dataset),
        Ok(other) => Err(format!("{other:?}")),
        Err(refusal) => Err(refusal.to_string()),
    }
}

static TOKENIZER: LazyLock<HfTokenizer> = LazyLock::new(|| {
    HfTokenizer::load(&scratch::fixture("tokenizers/spm-unigram-botchan-1000"))
        .expect("the fixture is a tokenizer")
});

/// The extension of a data set's file, and a command line that draws from it.
const COMMANDS: [&str; 22] = [
    "jsonl python3 -m sglang.bench_serving --dataset-name custom --dataset-path FILE",
    "json python3 -m sglang.bench_serving --dataset-name sharegpt --dataset-path FILE",
    "jsonl python3 -m sglang.bench_serving --dataset-name openai --backend sglang-oai-chat --dataset-path FILE",
    "jsonl python3 -m sglang.bench_serving --dataset-name mooncake --backend sglang --dataset-path FILE",
    "csv python3 -m sglang.bench_serving --dataset-name azure-trace --dataset-path FILE",
    "csv python3 -m sglang.bench_serving --dataset-name burstgpt --dataset-path FILE",
    "jsonl python3 -m sglang.bench_serving --dataset-name speed-bench --dataset-path FILE",
    "jsonl python3 -m sglang.bench_serving --dataset-name longbench_v2 --dataset-path FILE",
    "parquet python3 -m sglang.bench_serving --dataset-name longbench_v2 --dataset-path FILE",
    "parquet python3 -m sglang.bench_serving --dataset-name mmmu --backend sglang-oai-chat --dataset-path FILE",
    "json python3 -m sglang.bench_serving --dataset-name random --random-input-len 8 --random-output-len 4 --dataset-path FILE",
    "jsonl python3 -m sglang.bench_serving --dataset-name agentic-trace --backend sglang-oai-chat --dataset-path FILE",
    "jsonl vllm bench serve --model m --dataset-name custom --dataset-path FILE",
    "json vllm bench serve --model m --dataset-name sharegpt --dataset-path FILE",
    "csv vllm bench serve --model m --dataset-name burstgpt --dataset-path FILE",
    "jsonl vllm bench serve --model m --dataset-name timed_trace --self-timed --dataset-path FILE",
    "jsonl vllm bench serve --model m --dataset-name spec_bench --dataset-path FILE",
    "jsonl python3 -m sglang.bench_serving --dataset-name otel-trace --backend sglang-oai-chat --dataset-path FILE",
    "json python3 -m sglang.bench_serving --dataset-name servegen --dataset-path FILE",
    "jsonl vllm bench serve --model m --dataset-name speed_bench --dataset-path FILE",
    "jsonl evalscope perf --model m --dataset openqa --dataset-path FILE",
    "txt evalscope perf --model m --dataset line_by_line --dataset-path FILE",
];

/// A command line, a file's name and the key under which a row names it.
const MEDIA: [(&str, &str, &str); 6] = [
    (IMAGE, "picture.png", "image_files"),
    (IMAGE, "picture.jpg", "image_files"),
    (AUDIO, "sound.wav", "audio_files"),
    (AUDIO, "sound.mp3", "audio_files"),
    (AUDIO, "sound.flac", "audio_files"),
    (AUDIO, "sound.ogg", "audio_files"),
];
const IMAGE: &str = "jsonl vllm bench serve --model m --backend openai-chat --endpoint /v1/chat/completions \
     --dataset-name custom_image --dataset-path FILE";
const AUDIO: &str = "jsonl vllm bench serve --model m --backend openai-audio --endpoint \
                     /v1/audio/transcriptions --dataset-name custom_audio --dataset-path FILE";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_line_has_a_data_set() {
        let commands = COMMANDS.into_iter().chain(MEDIA.into_iter().map(|(command, ..)| command));
        for command in commands {
            let (extension, command) = command.split_once(' ').expect("an extension");
            let path = scratch::file(&format!("data.{extension}"), b"");
            let made = spec(command, &path);
            assert!(made.is_ok(), "{command}: {made:?}");
        }
    }
}
