//! Runs with vLLM's command line; vLLM's own client repeats each of them after ours.

use super::{Case, Expected, Promise};
use crate::conformance::dialect::Dialect;
use crate::conformance::engine::Task;

/// Returns all runs for a server of this kind.
pub(super) fn cases(task: Task) -> Vec<Case> {
    let requested = match task {
        Task::Generate => GENERATED,
        Task::Embed => EMBEDDED,
        Task::Rank => RANKED,
        Task::Items => &[],
    };
    requested.iter().map(RequestedCase::case).collect()
}

/// A run: backend, flags, and the number of vectors or scores in an answer.
struct RequestedCase {
    backend: &'static str,
    name: &'static str,
    flags: &'static [&'static [&'static str]],
    items: usize,
}

impl RequestedCase {
    fn case(&self) -> Case {
        let flags: Vec<_> = self.flags.iter().copied().flatten().copied().collect();
        Case {
            name: self.name.to_owned(),
            dialect: Dialect::Vllm,
            backend: self.backend,
            requests: requests(&flags),
            flags,
            expected: self.expected(),
        }
    }

    fn expected(&self) -> Expected {
        if self.items > 0 {
            return Expected::Items(self.items);
        }
        let is_plain = self.backend == "openai";
        let all =
            [(Promise::ExactPrompt, is_plain), (Promise::InTurn, self.flags.contains(&IN_TURN))];
        let some = all.into_iter().filter(|(_, holds)| *holds).map(|(promise, _)| promise);
        Expected::Answers([Promise::Counts, Promise::FullLength].into_iter().chain(some).collect())
    }
}

/// Number of requests: eight, or two batches that hold eight texts, plus the warm-ups.
fn requests(flags: &[&str]) -> usize {
    let warmups = if flags.contains(&"--num-warmups") { 2 } else { 0 };
    warmups + if flags.contains(&"--random-batch-size") { 2 } else { 8 }
}

const GENERATED: &[RequestedCase] = &[
    generated("openai", "random", &[COMPLETIONS, RANDOM, GREEDY]),
    generated("openai", "shared prefix", &[COMPLETIONS, RANDOM, GREEDY, PREFIX]),
    generated("openai", "at a rate", &[COMPLETIONS, RANDOM, GREEDY, PACED]),
    generated("openai", "in turn, warmed up", &[COMPLETIONS, RANDOM, GREEDY, IN_TURN, WARMED]),
    generated("openai", "log-probabilities", &[COMPLETIONS, RANDOM, GREEDY, LOGPROBS]),
    generated("openai", "prefix repetition", &[COMPLETIONS, REPETITION, GREEDY]),
    generated("openai", "sharegpt", &[COMPLETIONS, CONVERSATIONS, GREEDY]),
    generated("openai", "custom", &[COMPLETIONS, CUSTOM, GREEDY]),
    generated("openai-chat", "random", &[CHAT, RANDOM, GREEDY]),
    generated("openai-chat", "sharegpt", &[CHAT, CONVERSATIONS, GREEDY]),
    generated("openai-responses", "random", &[RESPONSES, RANDOM, GREEDY]),
];

const EMBEDDED: &[RequestedCase] = &[
    pooled("openai-embeddings", "one text", &[EMBEDDINGS, RANDOM], 1),
    pooled("openai-embeddings", "batch of 4", &[EMBEDDINGS, RANDOM, BATCHED], 4),
    pooled("openai-embeddings-chat", "one text", &[EMBEDDINGS, RANDOM], 1),
    pooled("vllm-pooling", "one text", &[POOLING, RANDOM], 1),
];

const RANKED: &[RequestedCase] =
    &[pooled("vllm-rerank", "4 documents", &[RERANK, DOCUMENTS, BATCHED], 4)];

const fn generated(
    backend: &'static str,
    name: &'static str,
    flags: &'static [&'static [&'static str]],
) -> RequestedCase {
    RequestedCase { backend, name, flags, items: 0 }
}

const fn pooled(
    backend: &'static str,
    name: &'static str,
    flags: &'static [&'static [&'static str]],
    items: usize,
) -> RequestedCase {
    RequestedCase { backend, name, flags, items }
}

const COMPLETIONS: &[&str] = &["--endpoint", "/v1/completions"];
const CHAT: &[&str] = &["--endpoint", "/v1/chat/completions"];
const RESPONSES: &[&str] = &["--endpoint", "/v1/responses"];
const EMBEDDINGS: &[&str] = &["--endpoint", "/v1/embeddings"];
const POOLING: &[&str] = &["--endpoint", "/pooling"];
const RERANK: &[&str] = &["--endpoint", "/v1/rerank"];

const RANDOM: &[&str] = &[
    "--dataset-name",
    "random",
    "--num-prompts",
    "8",
    "--random-input-len",
    "32",
    "--random-output-len",
    "24",
    "--random-range-ratio",
    "0.5",
    "--seed",
    "7",
];
const DOCUMENTS: &[&str] = &[
    "--dataset-name",
    "random-rerank",
    "--num-prompts",
    "8",
    "--random-input-len",
    "64",
    "--seed",
    "7",
];
const REPETITION: &[&str] = &[
    "--dataset-name",
    "prefix_repetition",
    "--num-prompts",
    "8",
    "--prefix-repetition-prefix-len",
    "16",
    "--prefix-repetition-suffix-len",
    "16",
    "--prefix-repetition-num-prefixes",
    "2",
    "--prefix-repetition-output-len",
    "24",
    "--ignore-eos",
    "--seed",
    "7",
];
const CONVERSATIONS: &[&str] = &[
    "--dataset-name",
    "sharegpt",
    "--dataset-path",
    "fixtures/prompts/sharegpt_format_dummy_500.json",
    "--num-prompts",
    "8",
    "--sharegpt-output-len",
    "24",
    "--ignore-eos",
    "--seed",
    "7",
];
const CUSTOM: &[&str] = &[
    "--dataset-name",
    "custom",
    "--dataset-path",
    "fixtures/vllm/inputs/custom.jsonl",
    "--num-prompts",
    "8",
    "--custom-output-len",
    "24",
    "--ignore-eos",
    "--seed",
    "7",
];
/// Without this flag the server samples tokens, and repeated runs have different answers.
const GREEDY: &[&str] = &["--temperature", "0"];
const PREFIX: &[&str] = &["--random-prefix-len", "16"];
const PACED: &[&str] = &["--request-rate", "20", "--burstiness", "2", "--goodput", "e2el:60000"];
const IN_TURN: &[&str] = &["--max-concurrency", "1"];
const WARMED: &[&str] = &["--num-warmups", "2"];
const LOGPROBS: &[&str] = &["--logprobs", "2"];
const BATCHED: &[&str] = &["--random-batch-size", "4"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_and_warm_ups_count() {
        let requests = |task| cases(task).iter().map(|case| case.requests).collect::<Vec<_>>();
        assert_eq!(requests(Task::Embed), [8, 2, 8, 8]);
        let warmed = cases(Task::Generate).into_iter().find(|case| case.name.contains("warmed"));
        assert_eq!(warmed.unwrap().requests, 10);
    }
}
