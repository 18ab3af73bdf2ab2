//! Results of the engine's own benchmark.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::Value;

/// Results of the engine's own benchmark.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OwnRun {
    /// Number of requests in the benchmark's result.
    pub(super) requests: u64,
    pub(super) seconds: f64,
    /// Answers as returned by the engine.
    pub(super) answers: Vec<OwnAnswer>,
}

/// An answer of the engine with its token counts.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct OwnAnswer {
    pub(super) text: String,
    pub(super) prompt_tokens: u64,
    pub(super) output_tokens: u64,
}

impl OwnRun {
    /// Reads the output of the script that ran the benchmark.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("no {}", path.display()))?;
        Self::of(&serde_json::from_str(&text)?)
    }

    fn of(document: &Value) -> anyhow::Result<Self> {
        let answers = document["answers"].as_array().context("it kept no answers")?;
        let answers = answers.iter().map(OwnAnswer::of).collect::<Option<Vec<_>>>();
        let own = Self {
            requests: document["requests"].as_u64().context("it counted no requests")?,
            seconds: document["seconds"].as_f64().context("it took no time")?,
            answers: answers.context("an odd answer")?,
        };
        let counted = own.answers.iter().map(|answer| answer.prompt_tokens + answer.output_tokens);
        let (counted, total) = (counted.sum::<u64>(), document["tokens"].as_u64());
        ensure!(
            total == Some(counted),
            "its result has {total:?} tokens, the engine answered with {counted}"
        );
        Ok(own)
    }
}

impl OwnAnswer {
    fn of(counts: &Value) -> Option<Self> {
        let (prompt_tokens, output_tokens) = (counts[0].as_u64()?, counts[1].as_u64()?);
        Some(Self { text: counts[2].as_str()?.to_owned(), prompt_tokens, output_tokens })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn its_result_must_be_what_the_engine_answered() {
        let document = |tokens| {
            let answers = [json!([5, 3, "a b c"]), json!([6, 3, "d e f"])];
            json!({"requests": 2, "tokens": tokens, "seconds": 0.5, "answers": answers})
        };
        let own = OwnRun::of(&document(17)).unwrap();
        assert_eq!((own.requests, own.answers[1].prompt_tokens), (2, 6));
        let error = OwnRun::of(&document(18)).unwrap_err().to_string();
        assert_eq!(error, "its result has Some(18) tokens, the engine answered with 17");
        assert!(OwnRun::of(&json!({"requests": 2})).is_err());
    }
}
