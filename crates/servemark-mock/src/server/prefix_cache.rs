//! A prefix cache of fixed blocks, as engines keep it: a block is found only after the blocks
//! before it, and the block that was used least recently makes room.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

/// A prefix cache and the counters of its use.
#[derive(Debug)]
pub(super) struct PrefixCache {
    block_tokens: usize,
    capacity: usize,
    /// When each block was used last, by the hash of all tokens up to its end.
    used: HashMap<u64, u64>,
    by_use: BTreeMap<u64, u64>,
    uses: u64,
    counts: CacheCounts,
}

/// The number of prompt tokens that were looked up, and of those that were found.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct CacheCounts {
    pub(super) queries: u64,
    pub(super) hits: u64,
}

impl PrefixCache {
    pub(super) fn new(capacity: usize, block_tokens: usize) -> Self {
        Self {
            block_tokens,
            capacity,
            used: HashMap::new(),
            by_use: BTreeMap::new(),
            uses: 0,
            counts: CacheCounts::default(),
        }
    }

    /// Looks up a prompt and keeps its whole blocks. Returns the number of its first tokens that
    /// were found; the last token is always computed.
    pub(super) fn find(&mut self, tokens: &[u64]) -> u32 {
        let (mut found, mut is_found) = (0, true);
        let mut hasher = DefaultHasher::new();
        for block in tokens.chunks_exact(self.block_tokens) {
            block.hash(&mut hasher);
            let key = hasher.finish();
            is_found &= self.used.contains_key(&key);
            if is_found {
                found += self.block_tokens;
            }
            self.touch(key);
        }
        let found = found.min(tokens.len().saturating_sub(1));
        self.counts.queries += tokens.len() as u64;
        self.counts.hits += found as u64;
        u32::try_from(found).unwrap_or(u32::MAX)
    }

    pub(super) fn clear(&mut self) {
        self.used.clear();
        self.by_use.clear();
    }

    pub(super) fn counts(&self) -> CacheCounts {
        self.counts
    }

    fn touch(&mut self, key: u64) {
        self.uses += 1;
        if let Some(last) = self.used.insert(key, self.uses) {
            self.by_use.remove(&last);
        }
        self.by_use.insert(self.uses, key);
        while self.used.len() > self.capacity {
            let Some((_, oldest)) = self.by_use.pop_first() else { return };
            self.used.remove(&oldest);
        }
    }
}

/// Returns the tokens of a request's prompt: ids as they are, and the hashes of words.
pub(super) fn tokens(body: &[u8]) -> Vec<u64> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let mut tokens = Vec::new();
    for key in ["input_ids", "prompt", "text", "messages", "input", "inputs"] {
        add(&body[key], &mut tokens);
    }
    tokens
}

fn add(value: &Value, tokens: &mut Vec<u64>) {
    match value {
        Value::Number(id) => tokens.push(id.as_u64().unwrap_or_default()),
        Value::String(text) => tokens.extend(text.split_whitespace().map(hash)),
        Value::Array(parts) => parts.iter().for_each(|part| add(part, tokens)),
        Value::Object(part) => ["content", "text"].iter().for_each(|key| {
            add(part.get(*key).unwrap_or(&Value::Null), tokens);
        }),
        Value::Null | Value::Bool(_) => {}
    }
}

fn hash(word: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_blocks_of_a_prefix_are_found() {
        let mut cache = PrefixCache::new(100, 4);
        let prompt: Vec<u64> = (0..10).collect();
        assert_eq!([cache.find(&prompt), cache.find(&prompt)], [0, 8]);
        let longer: Vec<u64> = (0..20).collect();
        assert_eq!([cache.find(&longer), cache.find(&longer)], [8, 19], "the last is computed");
        let other: Vec<u64> = (1..11).collect();
        assert_eq!(cache.find(&other), 0);
        assert_eq!(cache.counts(), CacheCounts { queries: 70, hits: 35 });
        cache.clear();
        assert_eq!(cache.find(&prompt), 0);
    }

    #[test]
    fn the_block_used_least_recently_makes_room() {
        let mut cache = PrefixCache::new(2, 1);
        cache.find(&[1, 0]);
        cache.find(&[1, 0]);
        cache.find(&[7]);
        assert_eq!(cache.find(&[1, 5]), 0, "its first block was the oldest");
    }

    #[test]
    fn prompts_of_every_form_have_tokens() {
        let chat = br#"{"messages":[{"role":"user","content":[{"type":"text","text":"a b"}]}]}"#;
        assert_eq!(tokens(chat), tokens(br#"{"prompt":"a b"}"#));
        assert_eq!(tokens(br#"{"input_ids":[3,4]}"#), [3, 4]);
    }
}
