//! A byte-level BPE, assembled into the layout of `tokenizer.json`.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::signs::signs;

/// The parts of a byte-level BPE.
pub(super) struct ByteLevel<'a> {
    /// How text is split before merging.
    pub(super) split: Split<'a>,
    /// Whether text is normalized to NFC first.
    pub(super) composes: bool,
    /// Whether a whole word that is in the vocabulary is one token even if merges would not produce
    /// it.
    pub(super) ignores_merges: bool,
    pub(super) vocabulary: Map<String, Value>,
    pub(super) merges: Vec<(String, String)>,
    /// Tokens that are matched in a text before it is split.
    pub(super) special: Vec<(String, u32)>,
}

/// How text is split before merging.
pub(super) enum Split<'a> {
    /// As in GPT-2.
    Gpt2,
    /// At the borders of the matches of a pattern.
    Pattern(&'a str),
}

impl ByteLevel<'_> {
    pub(super) fn into_json(self) -> Value {
        let normalizer = if self.composes { json!({"type": "NFC"}) } else { Value::Null };
        let merges: Vec<Value> = self.merges.into_iter().map(|pair| json!(pair)).collect();
        json!({
            "version": "1.0",
            "truncation": null,
            "padding": null,
            "added_tokens": self.special.iter().map(added_token).collect::<Vec<_>>(),
            "normalizer": normalizer,
            "pre_tokenizer": self.split.into_json(),
            "post_processor": null,
            "decoder": step(Splits::Nothing),
            "model": {
                "type": "BPE",
                "dropout": null,
                "unk_token": null,
                "continuing_subword_prefix": null,
                "end_of_word_suffix": null,
                "fuse_unk": false,
                "byte_fallback": false,
                "ignore_merges": self.ignores_merges,
                "vocab": self.vocabulary,
                "merges": merges,
            },
        })
    }
}

impl Split<'_> {
    fn into_json(self) -> Value {
        let Self::Pattern(pattern) = self else { return step(Splits::Words) };
        let split = json!({
            "type": "Split",
            "pattern": {"Regex": pattern},
            "behavior": "Isolated",
            "invert": false,
        });
        json!({"type": "Sequence", "pretokenizers": [split, step(Splits::Nothing)]})
    }
}

/// Whether the step splits a text into words or leaves it whole.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Splits {
    Words,
    Nothing,
}

/// Returns the step that converts bytes to characters or back.
fn step(splits: Splits) -> Value {
    json!({
        "type": "ByteLevel",
        "add_prefix_space": false,
        "trim_offsets": true,
        "use_regex": splits == Splits::Words,
    })
}

fn added_token((content, id): &(String, u32)) -> Value {
    json!({
        "id": id,
        "content": content,
        "single_word": false,
        "lstrip": false,
        "rstrip": false,
        "normalized": false,
        "special": true,
    })
}

/// Returns the merges that ranks imply: two tokens merge if their concatenation has a rank, the
/// lowest rank first.
pub(super) fn merges_of(ranks: &HashMap<Vec<u8>, u32>) -> Vec<(String, String)> {
    let mut merges = Vec::new();
    for (token, rank) in ranks {
        for (left, right) in (1..token.len()).map(|at| token.split_at(at)) {
            if let (Some(of_left), Some(of_right)) = (ranks.get(left), ranks.get(right)) {
                merges.push(([*rank, *of_left, *of_right], left, right));
            }
        }
    }
    merges.sort_unstable();
    merges.into_iter().map(|(_, left, right)| (signs(left), signs(right))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_rank_is_merged_first() {
        let ranks = ["a", "b", "ab", "aab", "aa"].map(|token| token.as_bytes().to_vec());
        let ranks: HashMap<_, _> = ranks.into_iter().zip(0..).collect();
        let expected = [("a", "b"), ("a", "ab"), ("aa", "b"), ("a", "a")];
        let expected = expected.map(|(left, right)| (left.to_owned(), right.to_owned()));
        assert_eq!(merges_of(&ranks), expected);
    }
}
