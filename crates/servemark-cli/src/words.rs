//! Replaces the plan's keys in messages by the flags of the command line's dialect.
//!
//! The messages of the crates below this one name settings by their keys in a plan, in backquotes.
//! Each dialect has a list of flags for those that it calls otherwise than SGLang.

use servemark_plan::PlanError;

use crate::error::CliError;

/// Keys of a plan, or phrases with a key, each with the words of a dialect.
pub(crate) type Words = &'static [(&'static str, &'static str)];

/// Returns a text with the flags of a dialect in place of the keys of a plan.
pub(crate) fn worded(text: &str, dialect: Words) -> String {
    if dialect.iter().chain(FLAGS).all(|(phrase, _)| !text.contains(phrase)) {
        return text.to_owned();
    }
    replaced(&replaced(text, dialect), FLAGS)
}

fn replaced(text: &str, words: Words) -> String {
    let mut rewritten = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(sign) = rest.chars().next() {
        let is_inside = rewritten.ends_with(|sign: char| sign.is_alphanumeric() || sign == '-');
        let found = words.iter().find(|(other, _)| !is_inside && begins(rest, other));
        let (other, own) = found.copied().unwrap_or_default();
        match other.len() {
            0 => {
                rewritten.push(sign);
                rest = &rest[sign.len_utf8()..];
            }
            length => {
                rewritten.push_str(own);
                rest = &rest[length..];
            }
        }
    }
    rewritten
}

/// Returns the refusal of a plan, in the words of a dialect.
pub(crate) fn refuse(words: Words) -> impl FnOnce(PlanError) -> CliError {
    move |error| {
        let (message, rewritten) = (error.to_string(), worded(&error.to_string(), words));
        if message == rewritten { CliError::Plan(error) } else { CliError::Peer(rewritten) }
    }
}

/// Returns whether a text begins with a flag or phrase that ends there: `--model` does not begin
/// `--model-path`.
fn begins(text: &str, phrase: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|sign: char| sign.is_alphanumeric() || sign == '-');
    text.strip_prefix(phrase).is_some_and(|rest| phrase.ends_with(' ') || ends(rest))
}

/// Keys that every dialect but for its own list gives by these flags.
pub(crate) const FLAGS: Words = &[
    ("`backend`", "--backend"),
    ("`control.cache_audit`", "--cache-audit"),
    ("`control.flush_cache`", "--flush-cache"),
    ("without `control.greeting` there is no test", "--no-test-connection does without the test"),
    ("`control.profile`", "--profile"),
    ("`control.server_times`", "--server-times"),
    ("`control.telemetry`", "--metrics-url"),
    ("`load.adapters`", "--lora-name"),
    (
        "choose other arrivals (`load.arrivals`)",
        "leave --use-trace-timestamps out and give a --request-rate",
    ),
    ("`load.arrivals`", "--request-rate"),
    ("`load.max_concurrency`", "--max-concurrency"),
    ("`load.precise_send`", "--precise-send"),
    ("`load.shards`", "--shards"),
    ("without `model.mistral_tokenizer`", "without --tokenizer-mode mistral"),
    ("`model.name`", "--model"),
    ("`model.tokenizer`", "--tokenizer"),
    ("let `output.run_log_if_taken` replace it", "give --overwrite"),
    ("`scoring.slos`", "--goodput"),
    ("`scoring.until`", "--until"),
    ("`server.at.answers.each`", "--max-answer-bytes"),
    ("`server.at.answers.together`", "--max-answers-bytes"),
    ("`server.at.ca_file`", "--ca-file FILE"),
    ("clear `server.at.reuse.keep_alive`", "give --no-keep-alive"),
    ("set `server.at.reuse.resend`", "leave --no-resend out"),
    ("change `server.at.http_version`", "leave --http2 out, or give it"),
    ("`server.at.trusts_anybody`", "--insecure"),
    ("`server.engine.engine.candle.load_format` \"dummy\"", "--load-format dummy"),
    ("`server.engine.engine.candle.model`", "--model-path DIR"),
    ("`server.engine.engine.worker.args`", "vLLM: --max-model-len"),
    ("`server.engine.engine.worker.python`", "--python PATH"),
    (
        "without `wire.stream` whole answers are measured",
        "bench-serving --disable-stream measures whole answers",
    ),
    ("`workload.dataset.category`", "--speed-bench-category"),
    ("`workload.dataset.context_tokens`", "--sharegpt-context-len"),
    ("with `workload.dataset.on_bad_line` \"fail\" it stops", "--bad-lines fail stops"),
    ("`workload.dataset.on_bad_line` \"skip\" leaves", "--bad-lines skip leaves"),
    ("`workload.dataset.path`", "--dataset-path"),
    ("draw texts or choose the `backend`", "leave --tokenize-prompt out or choose --backend"),
    ("`workload.grouping.ranking.documents`", "--documents"),
    ("`workload.requests`", "--num-prompts"),
    // A reader of run logs is no part of a plan.
    (
        "a reader may leave such lines out",
        "servemark score and servemark compare leave such lines out with --skip-damaged",
    ),
];

/// Backends that send conversations.
pub(crate) const CHAT_BACKENDS: &str = "`backend` sglang-oai-chat, vllm-chat or lmdeploy-chat";
