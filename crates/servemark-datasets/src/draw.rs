//! What a draw gives besides the samples.

use std::fmt;

use servemark_core::Sample;

use crate::{DatasetName, SkippedLines};

/// The samples of a run and what a person should be told about them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Draw {
    /// The samples, in the order in which they will be sent.
    pub samples: Vec<Sample>,
    /// What SGLang prints about them.
    pub summary: Summary,
    /// Lines of the file that were left out, if any were.
    pub skipped: Option<SkippedLines>,
}

/// What SGLang 0.5.23 prints when a data set is ready; [`Display`](fmt::Display) gives its lines.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// The data set.
    pub dataset: DatasetName,
    /// How many samples there are.
    pub requests: usize,
    /// Prompt tokens of all samples. For `random` they are those of all that were asked for, even
    /// if the file had fewer prompts: SGLang sums what it drew, not what it found.
    pub input_tokens: u64,
    /// Output tokens, counted likewise.
    pub output_tokens: u64,
}

impl Summary {
    /// The sums over `samples`.
    pub(crate) fn of(dataset: DatasetName, samples: &[Sample]) -> Self {
        let input = samples.iter().map(|sample| u64::from(sample.prompt_tokens)).sum();
        let output = samples.iter().map(|sample| u64::from(sample.output_tokens)).sum();
        Self { dataset, requests: samples.len(), input_tokens: input, output_tokens: output }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dataset == DatasetName::Openai {
            writeln!(formatter, "Loaded {} OpenAI-format requests", self.requests)?;
        }
        writeln!(formatter, "#Input tokens: {}", self.input_tokens)?;
        writeln!(formatter, "#Output tokens: {}", self.output_tokens)
    }
}
