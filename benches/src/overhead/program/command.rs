//! Command lines of the programs.

use std::ffi::OsString;
use std::path::Path;

use super::{Program, Workload};

/// Returns the arguments of a program.
pub(super) fn arguments(
    program: Program,
    workload: &Workload,
    url: &str,
    result: &Path,
) -> Vec<OsString> {
    let told = match program {
        Program::VllmPython | Program::VllmRust => vllm(workload, url, result),
        Program::Servemark | Program::SglangPython | Program::SglangRust => {
            sglang(workload, url, result)
        }
    };
    told.into_iter().map(OsString::from).collect()
}

/// Returns SGLang's command line, which Servemark's program takes too.
fn sglang(workload: &Workload, url: &str, result: &Path) -> Vec<String> {
    let backend = if workload.embeddings { "sglang-embedding" } else { "vllm-chat" };
    let mut told = common(workload, url);
    told.extend(pairs(&[("--backend", backend), ("--dataset-name", "random-ids")]));
    told.extend(pairs(&[("--random-range-ratio", "1"), ("--warmup-requests", "0")]));
    told.extend(pairs(&[("--output-file", &result.to_string_lossy())]));
    told.push("--output-details".to_owned());
    told
}

fn vllm(workload: &Workload, url: &str, result: &Path) -> Vec<String> {
    let (backend, endpoint) = if workload.embeddings {
        ("openai-embeddings", "/v1/embeddings")
    } else {
        // vLLM's client in Rust takes a chat's opening chunk, which has no text, for the first
        // token.
        ("openai", "/v1/completions")
    };
    let file = result.file_name().unwrap_or_default().to_string_lossy();
    let folder = result.parent().unwrap_or(result).to_string_lossy();
    let mut told = common(workload, url);
    told.extend(pairs(&[("--backend", backend), ("--endpoint", endpoint)]));
    told.extend(pairs(&[("--dataset-name", "random"), ("--ready-check-timeout-sec", "0")]));
    told.extend(pairs(&[("--result-dir", &folder), ("--result-filename", &file)]));
    told.extend(["--ignore-eos", "--save-result", "--save-detailed"].map(str::to_owned));
    told
}

/// Returns the flags that both command lines have in common.
fn common(workload: &Workload, url: &str) -> Vec<String> {
    let number = |number: u32| number.to_string();
    let rate = workload.per_second.map_or_else(|| "inf".to_owned(), |rate| rate.to_string());
    let mut told = pairs(&[
        ("--base-url", url),
        ("--model", "mock"),
        ("--tokenizer", TOKENIZER),
        ("--num-prompts", &workload.requests.to_string()),
        ("--random-input-len", &number(workload.prompt_tokens)),
        ("--random-output-len", &number(workload.output_tokens)),
        ("--request-rate", &rate),
        ("--seed", "1"),
    ]);
    if let Some(in_flight) = workload.in_flight {
        told.extend(pairs(&[("--max-concurrency", &in_flight.to_string())]));
    }
    told.push("--disable-tqdm".to_owned());
    told
}

fn pairs(flags: &[(&str, &str)]) -> Vec<String> {
    flags.iter().flat_map(|(flag, value)| [(*flag).to_owned(), (*value).to_owned()]).collect()
}

/// A real tokenizer with 151,665 tokens.
const TOKENIZER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/tokenizers/qwen2.5");

#[cfg(test)]
mod tests {
    use super::*;

    fn command_line(program: Program, workload: Workload) -> String {
        let arguments = arguments(program, &workload, "http://h:1", Path::new("/w/r.json"));
        let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    #[track_caller]
    fn has_parts(told: &str, parts: &[&str]) {
        for part in parts {
            assert!(told.contains(part), "{part} is not in {told}");
        }
    }

    #[test]
    fn each_is_told_the_same_in_its_own_words() {
        let workload = Workload::new(7, 5, 150);
        let parts = ["--num-prompts 7 --random-input-len 5 --random-output-len 150"];
        for program in Program::ALL {
            has_parts(&command_line(program, workload), &parts);
            has_parts(
                &command_line(program, workload),
                &["--base-url http://h:1", "--request-rate inf"],
            );
        }
        has_parts(
            &command_line(Program::SglangRust, workload),
            &["vllm-chat", "--output-file /w/r.json"],
        );
        let vllm = command_line(Program::VllmPython, workload);
        has_parts(&vllm, &["/v1/completions", "--result-dir /w --result-filename r.json"]);
    }

    #[test]
    fn rates_limits_and_routes() {
        let workload = Workload::new(7, 5, 1).in_flight(64).at_rate(500.0).embeddings();
        has_parts(
            &command_line(Program::VllmRust, workload),
            &["--max-concurrency 64", "/v1/embeddings"],
        );
        let sglang = command_line(Program::SglangPython, workload);
        has_parts(&sglang, &["--request-rate 500 ", "--backend sglang-embedding"]);
        assert!(!Program::SglangRust.can(&workload) && Program::VllmRust.can(&workload));
    }
}
