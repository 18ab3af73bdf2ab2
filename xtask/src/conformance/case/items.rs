//! Runs for an engine that embeds and reranks.

use super::{Case, Expected, refusals};
use crate::conformance::dialect::Dialect;
use crate::conformance::engine::Serving;

/// Returns all runs for a server of this kind.
pub(super) fn cases(serving: &'static Serving) -> Vec<Case> {
    let requested = ITEM_CASES.iter().map(|(backend, name, flags, items)| Case {
        name: (*name).to_owned(),
        dialect: Dialect::SglangItems,
        backend,
        flags: [TEXTS, flags].concat(),
        requests: 9,
        expected: Expected::Items(*items),
    });
    requested.chain(refusals(serving, Dialect::SglangItems, TEXTS)).collect()
}

/// Backend, name, flags, and number of items in an answer.
const ITEM_CASES: [(&str, &str, &[&str], usize); 8] = [
    ("vllm-embedding", "one text", &[], 1),
    ("vllm-embedding", "batch of 4", &["--batch-size", "4"], 4),
    ("vllm-embedding", "float", &["--encoding-format", "float", "--batch-size", "2"], 2),
    ("vllm-embedding", "base64", &["--encoding-format", "base64", "--batch-size", "2"], 2),
    ("vllm-embedding", "8 dimensions", &["--dimensions", "8"], 1),
    ("sglang-embedding", "one at a time", &["--max-concurrency", "1"], 1),
    ("vllm-rerank", "4 documents", &[RANKER[0], RANKER[1], "--documents", "4"], 4),
    ("sglang-rerank", "best 2 of 4", &[RANKER[0], RANKER[1], "--documents", "4", EXTRA, BEST], 2),
];

const TEXTS: &[&str] =
    &["--num-prompts", "8", "--random-input-len", "32", "--random-range-ratio", "1.0"];
const RANKER: [&str; 2] = ["--served-model-name", "reranker"];
const EXTRA: &str = "--extra-request-body";
const BEST: &str = r#"{"top_n":2}"#;
