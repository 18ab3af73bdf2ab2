//! Writes prompts that two benchmarks select in the same way: exactly as many as are sent, and
//! none too short for either benchmark.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};

use super::run::REQUESTS;

/// Writes the prompts in ShareGPT's format.
pub(super) fn write(workspace: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let source = fs::read_to_string(workspace.join(SOURCE))?;
    let rows: Vec<Value> = serde_json::from_str(&source)?;
    let texts: Vec<_> = rows.iter().filter_map(first_words).collect();
    let path = folder.join("prompts.json");
    let conversations: Value = prompts(&texts).map(|prompt| conversation(&prompt)).collect();
    fs::write(&path, conversations.to_string())
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

fn first_words(row: &Value) -> Option<&str> {
    row["conversations"][0]["value"].as_str()
}

/// Returns prompts of four sentences, five, six and so on.
fn prompts(texts: &[&str]) -> impl Iterator<Item = String> {
    texts.chunks(REQUESTS + SHORTEST).take(REQUESTS).enumerate().map(|(number, sentences)| {
        sentences.iter().take(SHORTEST + number).copied().collect::<Vec<_>>().join(" ")
    })
}

/// The second turn is not sent, but both benchmarks skip conversations without one.
fn conversation(prompt: &str) -> Value {
    json!({"conversations": [{"from": "human", "value": prompt}, {"from": "gpt", "value": "-"}]})
}

const SOURCE: &str = "fixtures/prompts/sharegpt_format_dummy_500.json";
const SHORTEST: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_as_are_sent_and_each_is_longer() {
        let texts = vec!["a b"; 500];
        let lengths: Vec<_> = prompts(&texts).map(|prompt| prompt.len()).collect();
        assert_eq!((lengths.len(), lengths[0]), (REQUESTS, 15));
        assert!(lengths.is_sorted_by(|one, next| one < next));
    }
}
