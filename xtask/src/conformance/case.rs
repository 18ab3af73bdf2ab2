//! Runs against an engine: backend, flags and expected results.

mod items;
mod vllm;

use super::dialect::Dialect;
use super::engine::{Refusal, Serving, Task};

/// One run of the client.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) dialect: Dialect,
    pub(super) backend: &'static str,
    pub(super) flags: Vec<&'static str>,
    /// Number of requests, including the warm-up.
    pub(super) requests: usize,
    pub(super) expected: Expected,
}

impl Case {
    /// Whether the answers keep a promise.
    pub(super) fn promises(&self, promise: Promise) -> bool {
        matches!(&self.expected, Expected::Answers(promises) if promises.contains(&promise))
    }

    /// Returns the name in the form of a folder name.
    pub(super) fn slug(&self) -> String {
        format!("{} {} {}", self.dialect.as_str(), self.backend, self.name).replace(' ', "-")
    }
}

/// Expected results of a run.
#[derive(Debug)]
pub(super) enum Expected {
    /// Every request is answered, and the answers keep these promises.
    Answers(Vec<Promise>),
    /// Every request is answered with this number of vectors or scores.
    Items(usize),
    /// Every request is refused.
    Refusals(&'static Refusal),
}

/// Property of every answer of a run, besides its agreement with the wire.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Promise {
    /// The server reports token counts.
    Counts,
    /// Every chunk has a token count.
    CountedPieces,
    /// No part of a prompt was in the server's cache.
    EmptyCache,
    /// The server's prompt token count equals the plan's.
    ExactPrompt,
    /// The output has the requested length.
    FullLength,
    /// One request is sent at a time, so the order on the wire is the order of the log.
    InTurn,
    /// The parts of each request sum up, and the engine's histograms agree with them.
    Parts,
    /// The server reports its own times.
    ServerTimes,
}

/// Returns all runs for a server.
pub(super) fn cases(serving: &'static Serving) -> Vec<Case> {
    let mut cases = match serving.task {
        Task::Generate => answers(serving),
        Task::Items => items::cases(serving),
        Task::Embed | Task::Rank => Vec::new(),
    };
    if serving.peer.is_some() {
        cases.extend(vllm::cases(serving.task));
    }
    cases
}

fn answers(serving: &'static Serving) -> Vec<Case> {
    let answered = serving.backends.iter().flat_map(|backend| {
        SHAPES
            .iter()
            .filter(|shape| shape.fits(serving, backend))
            .map(|shape| shape.case(serving, backend))
    });
    answered.chain(refusals(serving, Dialect::Sglang, RANDOM)).collect()
}

fn refusals(
    serving: &'static Serving,
    dialect: Dialect,
    data: &'static [&'static str],
) -> impl Iterator<Item = Case> {
    serving.refusals.iter().map(move |refusal| Case {
        name: refusal.name.to_owned(),
        dialect,
        backend: refusal.backend,
        flags: [data, &["--num-prompts", "2", "--warmup-requests", "0"], refusal.flags].concat(),
        requests: 2,
        expected: Expected::Refusals(refusal),
    })
}

/// Flags of a run that are independent of the backend.
struct Shape {
    name: &'static str,
    flags: &'static [&'static [&'static str]],
}

const SHAPES: [Shape; 10] = [
    Shape { name: "stream", flags: &[RANDOM, INCLUDE_USAGE] },
    Shape { name: "document", flags: &[RANDOM, DOCUMENT] },
    Shape { name: "stream in turn", flags: &[RANDOM, INCLUDE_USAGE, IN_TURN] },
    Shape { name: "counts not asked for", flags: &[RANDOM] },
    Shape { name: "conversations", flags: &[CONVERSATIONS, INCLUDE_USAGE] },
    Shape { name: "broken characters", flags: &[RANDOM, INCLUDE_USAGE, VARIED] },
    Shape { name: "log-probabilities", flags: &[RANDOM, INCLUDE_USAGE, LOGPROBS] },
    Shape { name: "cache flushed", flags: &[RANDOM, INCLUDE_USAGE, FLUSHED] },
    Shape { name: "token ids", flags: &[RANDOM, INCLUDE_USAGE, IDS] },
    Shape { name: "parts", flags: &[RANDOM, INCLUDE_USAGE, SERVER_TIMES] },
];

const RANDOM: &[&str] = &[
    "--dataset-name",
    "random-ids",
    "--num-prompts",
    "8",
    "--random-input-len",
    "32",
    "--random-output-len",
    "24",
    "--random-range-ratio",
    "1.0",
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
];
const INCLUDE_USAGE: &[&str] = &["--include-usage"];
const DOCUMENT: &[&str] = &["--disable-stream"];
const IN_TURN: &[&str] = &["--max-concurrency", "1"];
const LOGPROBS: &[&str] = &["--return-logprob", "--top-logprobs-num", "2"];
const FLUSHED: &[&str] = &["--flush-cache"];
const IDS: &[&str] = &["--tokenize-prompt"];
const SERVER_TIMES: &[&str] = &["--server-times"];
/// A greedy answer of a random model repeats one word. A sampled answer has tokens that are parts
/// of a character, for which the server delays the text.
const VARIED: &[&str] = &["--extra-request-body", r#"{"temperature":1.0}"#];
/// The temperature of `/generate` is in this object, and the flag replaces the whole object.
const VARIED_GENERATE: &[&str] = &[
    "--extra-request-body",
    r#"{"sampling_params":{"temperature":1.0,"max_new_tokens":24,"ignore_eos":true}}"#,
];

impl Shape {
    fn fits(&self, serving: &Serving, backend: &str) -> bool {
        match self.flags.last() {
            // Like SGLang's client, our client accepts the flag with this backend only.
            Some(&IDS) => backend == "sglang",
            // Of the engines, only SGLang can flush its cache without a start-up flag, and it
            // reports cached tokens only on this route.
            Some(&FLUSHED) => is_generate(backend),
            Some(&SERVER_TIMES) => serving.tells_times.contains(&backend),
            Some(&LOGPROBS) => serving.takes_logprobs && !is_chat(backend),
            // `/generate` always reports counts, so a run without a request for them is not a
            // separate case.
            Some(&RANDOM) => !is_generate(backend),
            _ => true,
        }
    }

    fn case(&self, serving: &Serving, backend: &'static str) -> Case {
        let parts = self.flags.iter().map(|part| match *part {
            VARIED if is_generate(backend) => VARIED_GENERATE,
            INCLUDE_USAGE if is_generate(backend) => &[],
            part => part,
        });
        Case {
            name: self.name.to_owned(),
            dialect: Dialect::Sglang,
            backend,
            flags: parts.flatten().copied().collect(),
            requests: 9,
            expected: Expected::Answers(self.promises(serving, backend)),
        }
    }

    fn promises(&self, serving: &Serving, backend: &str) -> Vec<Promise> {
        let is_exact = self.has(IDS) || (self.has(CONVERSATIONS) && !is_chat(backend));
        let all = [
            (Promise::Counts, self.asks_for_counts()),
            (Promise::CountedPieces, is_generate(backend)),
            (Promise::EmptyCache, self.has(FLUSHED)),
            (Promise::ExactPrompt, is_exact),
            (Promise::FullLength, serving.honours_ignore_eos),
            (Promise::InTurn, self.has(IN_TURN)),
            (Promise::Parts, self.has(SERVER_TIMES)),
            (Promise::ServerTimes, is_generate(backend)),
        ];
        all.into_iter().filter(|(_, holds)| *holds).map(|(promise, _)| promise).collect()
    }

    fn asks_for_counts(&self) -> bool {
        self.has(INCLUDE_USAGE) || self.has(DOCUMENT)
    }

    fn has(&self, part: &[&str]) -> bool {
        self.flags.contains(&part)
    }
}

/// Whether prompts are sent as messages, to which the server's template adds tokens.
fn is_chat(backend: &str) -> bool {
    backend.ends_with("-chat")
}

fn is_generate(backend: &str) -> bool {
    matches!(backend, "sglang" | "sglang-native")
}

#[cfg(test)]
mod tests {
    use super::super::engine::ALL;
    use super::*;

    fn names(engine: usize, backend: &str) -> Vec<String> {
        let cases =
            cases(&ALL[engine].servers[0]).into_iter().filter(|case| case.backend == backend);
        cases.map(|case| case.name).collect()
    }

    #[test]
    fn token_ids_go_only_where_they_are_taken() {
        let ids = "token ids".to_owned();
        assert!(names(1, "sglang").contains(&ids));
        assert!(!names(1, "sglang-native").contains(&ids) && !names(0, "vllm").contains(&ids));
    }

    #[test]
    fn generate_is_not_asked_for_counts_that_it_always_tells() {
        let generate =
            cases(&ALL[1].servers[0]).into_iter().filter(|case| case.backend == "sglang");
        for case in generate {
            assert!(!case.flags.contains(&"--include-usage"), "{case:?}");
        }
    }
}
