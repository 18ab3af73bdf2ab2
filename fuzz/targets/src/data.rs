//! Targets for files of data sets: lines, arrays, tables, traces, pictures and recordings.

use std::ffi::OsString;
use std::path::Path;
use std::sync::LazyLock;

use servemark::core::{DrawContext, NoProgress, Sample, Session};
use servemark::datasets::DatasetSpec;
use servemark::rng::RandomState;
use servemark::tokenizer::HfTokenizer;
use servemark_cli::{Command, Environment, Invocation, dispatch};

use crate::scratch;

/// Reads any bytes as the file of a data set: samples are drawn from it or it is refused. The first
/// byte chooses the data set.
pub fn data_sets(bytes: &[u8]) {
    let Some((number, rest)) = scratch::choice(bytes, COMMANDS.len()) else { return };
    let _ = draw(COMMANDS[number], rest);
}

/// Reads any bytes as a picture or a recording: the request is built or the file is refused. The
/// first byte chooses the kind of file.
pub fn media(bytes: &[u8]) {
    let Some((number, rest)) = scratch::choice(bytes, MEDIA.len()) else { return };
    let _ = send(number, rest);
}

/// Builds a request with a picture or a recording. Returns why the file is refused, if it is.
fn send(number: usize, rest: &[u8]) -> Result<(), String> {
    let (command, name) = MEDIA[number];
    let file = scratch::file(name, rest);
    let line = serde_json::json!({
        "prompt": "What?", "output_tokens": 2, "image_files": [file], "audio": file,
    });
    let line = format!("{line}\n");
    draw(command, line.as_bytes())
}

/// Draws samples and builds the contents of their requests. Returns why the file is refused, if it
/// is.
fn draw(command: &str, bytes: &[u8]) -> Result<(), String> {
    let (extension, command) = command.split_once(' ').expect("an extension and a command");
    let path = scratch::file(&format!("data.{extension}"), bytes);
    let spec = spec(command, &path)?;
    let mut random = RandomState::seeded(1);
    let mut context = DrawContext::new(&*TOKENIZER, &mut random, &NoProgress);
    let drawn = spec.draw(4, &mut context).map_err(|error| error.to_string())?;
    let _ = drawn.summary.to_string();
    drawn.sessions.iter().flat_map(Session::samples).try_for_each(render)
}

/// Builds the contents of the sample's request.
fn render(sample: &Sample) -> Result<(), String> {
    if let Some(audio) = &sample.audio {
        audio.file().map_err(|error| error.to_string())?;
    }
    let mut media = sample.media.iter();
    media.try_for_each(|medium| medium.uri().map(drop).map_err(|error| error.to_string()))
}

/// Returns the data set of a command line, in which `FILE` stands for the path.
fn spec(command: &str, path: &Path) -> Result<DatasetSpec, String> {
    let words = command.split(' ');
    let args = words.map(|word| if word == "FILE" { path.into() } else { OsString::from(word) });
    match dispatch::parse(args, &Environment::default()) {
        Ok(Invocation::Bench(parsed)) => Ok(parsed.plan.workload.dataset),
        Ok(Invocation::Command(Command::Evalscope(runs))) => Ok(runs.first.plan.workload.dataset),
        Ok(other) => Err(format!("{other:?}")),
        Err(refusal) => Err(refusal.to_string()),
    }
}

static TOKENIZER: LazyLock<HfTokenizer> = LazyLock::new(|| {
    HfTokenizer::load(&scratch::fixture("tokenizers/qwen2.5")).expect("the fixture is a tokenizer")
});

/// Extensions of data sets' files, each with a command line that draws from the file.
const COMMANDS: [&str; 20] = [
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
    "json python3 -m sglang.bench_serving --dataset-name agentic-trace --backend sglang-oai-chat --dataset-path FILE",
    "jsonl vllm bench serve --model m --dataset-name custom --dataset-path FILE",
    "json vllm bench serve --model m --dataset-name sharegpt --dataset-path FILE",
    "csv vllm bench serve --model m --dataset-name burstgpt --dataset-path FILE",
    "jsonl vllm bench serve --model m --dataset-name timed_trace --self-timed --dataset-path FILE",
    "jsonl vllm bench serve --model m --dataset-name spec_bench --dataset-path FILE",
    "json python3 -m sglang.bench_serving --dataset-name otel-trace --backend sglang-oai-chat --dataset-path FILE",
    "jsonl evalscope perf --model m --dataset openqa --dataset-path FILE",
    "txt evalscope perf --model m --dataset line_by_line --dataset-path FILE",
];

/// Command lines, each with the name of the picture or recording that its row names.
const MEDIA: [(&str, &str); 6] = [
    (IMAGE, "picture.png"),
    (IMAGE, "picture.jpg"),
    (AUDIO, "sound.wav"),
    (AUDIO, "sound.mp3"),
    (AUDIO, "sound.flac"),
    (AUDIO, "sound.ogg"),
];
const IMAGE: &str = "jsonl vllm bench serve --model m --backend openai-chat --endpoint /v1/chat/completions \
     --dataset-name custom_image --custom-ensure-client-side-data --dataset-path FILE";
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

    /// Inputs of the corpus must not all be refused by the first check.
    #[test]
    fn the_corpus_reaches_what_is_behind_the_first_check() {
        let target = crate::TARGETS.iter().find(|target| target.name == "media");
        let corpus = crate::smoke::corpus(target.expect("a target"));
        let reach = |name: &str| {
            let (_, bytes) = corpus.iter().find(|(path, _)| path.ends_with(name)).expect(name);
            let (number, rest) = scratch::choice(bytes, MEDIA.len()).expect("a first byte");
            send(number, rest)
        };
        assert_eq!(reach("png"), Ok(()));
        assert_eq!(reach("wav"), Ok(()));
        let bomb = reach("png_bomb").expect_err("it is refused");
        assert!(bomb.contains("60000 x 60000 pixels") || bomb.contains("CRC"), "{bomb}");
        let target = crate::TARGETS.iter().find(|target| target.name == "data_sets");
        let mut refused = Vec::new();
        for (path, bytes) in crate::smoke::corpus(target.expect("a target")) {
            let (number, rest) = scratch::choice(&bytes, COMMANDS.len()).expect("a first byte");
            refused.extend(draw(COMMANDS[number], rest).err().map(|why| (path, why)));
        }
        assert!(refused.is_empty(), "{refused:#?}");
    }
}
