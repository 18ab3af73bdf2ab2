//! Prompts of drawn lengths: SGLang's `random` and `random-ids`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use servemark_core::{
    DatasetError, DrawContext, Prompt, Sample, SpecialTokens, Tokenizer, TokenizerError, parallel,
};

use crate::conversations::Exchange;
use crate::{DatasetName, Draw, RangeRatio, Summary, sharegpt};

/// Prompts and outputs of drawn lengths.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct RandomSpec {
    /// Source of the tokens.
    pub source: Source,
    /// Maximum prompt length, in tokens.
    pub input_tokens: u32,
    /// Maximum output length in tokens; 0 requests none.
    pub output_tokens: u32,
    /// Minimum length as a share of the maximum, for prompts and outputs.
    pub range_ratio: RangeRatio,
    /// Whether prompts are sent as text or as token ids.
    pub form: PromptForm,
}

/// Source of a random prompt's tokens.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// ShareGPT's prompts, each repeated or cut to the drawn length.
    Sharegpt {
        /// Path of the file. Without one, a run downloads the published file.
        path: Option<PathBuf>,
    },
    /// Consecutive ids of the vocabulary, from a drawn id on.
    Vocabulary,
}

/// Form in which a prompt is sent. Exhaustive: either the server tokenizes it or it does not.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptForm {
    /// Text, to which the server adds its special tokens.
    #[default]
    Text,
    /// Token ids.
    TokenIds,
}

impl Default for RandomSpec {
    fn default() -> Self {
        Self {
            source: Source::Sharegpt { path: None },
            input_tokens: 1024,
            output_tokens: 1024,
            range_ratio: RangeRatio::default(),
            form: PromptForm::Text,
        }
    }
}

impl RandomSpec {
    pub(crate) fn draw(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Draw, DatasetError> {
        let lengths = self.draw_lengths(count, context);
        let (dataset, prompts) = match &self.source {
            Source::Sharegpt { path } => {
                let prompts = self.form.sharegpt(path.as_deref(), &lengths.input, context);
                (DatasetName::Random, prompts?)
            }
            Source::Vocabulary => {
                (DatasetName::RandomIds, self.form.vocabulary(&lengths.input, context)?)
            }
        };
        let summary = lengths.summary(dataset, prompts.len());
        Ok(Draw::of(lengths.samples(prompts), summary))
    }

    /// Draws the lengths of every request. Texts are shortened by the special tokens that the
    /// server adds.
    fn draw_lengths(&self, count: usize, context: &mut DrawContext<'_>) -> Lengths {
        let numpy = &mut context.random.numpy;
        let mut input = self.range_ratio.draw(self.input_tokens, count, numpy);
        let output = self.range_ratio.draw(self.output_tokens, count, numpy);
        if self.form == PromptForm::Text {
            let special = context.tokenizer.special_tokens_added();
            for length in &mut input {
                *length = length.saturating_sub(special).max(1);
            }
        }
        Lengths { input, output }
    }
}

impl PromptForm {
    /// Makes prompts from ShareGPT's prompts in shuffled order, each repeated or cut to its length.
    fn sharegpt(
        self,
        path: Option<&Path>,
        lengths: &[u32],
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Prompt>, DatasetError> {
        let keep = |exchange: Exchange| exchange.prompt;
        let mut texts = sharegpt::read(DatasetName::Random, path, context.progress, keep)?;
        context.random.python.shuffle(&mut texts);
        let (tokenizer, progress) = (context.tokenizer, context.progress);
        let ids = |text: &String| not_empty(tokenizer, text);
        let found = parallel::first("tokenizing prompts", &texts, lengths.len(), progress, ids)?;
        let rows: Vec<(&Vec<u32>, u32)> = found.iter().zip(lengths.iter().copied()).collect();
        self.render(&rows, context, |(ids, length)| repeat(ids, *length))
    }

    /// Makes prompts of consecutive ids from a drawn one on, wrapping around at the end of the
    /// vocabulary. Row `i` starts `i` ids after the one that it drew, as in SGLang.
    fn vocabulary(
        self,
        lengths: &[u32],
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Prompt>, DatasetError> {
        let size = context.tokenizer.vocab_size();
        let Some(offsets) = context.random.numpy.randint_vec(0, size.into(), lengths.len()) else {
            return Err(DatasetError::Settings("the tokenizer's base vocabulary is empty".into()));
        };
        let starts = (0_u64..).zip(offsets).map(|(row, offset)| offset.unsigned_abs() + row);
        let rows: Vec<(u64, u32)> = starts.zip(lengths.iter().copied()).collect();
        self.render(&rows, context, |(start, length)| count_up(*start, *length, size))
    }

    /// Makes a prompt from each row's ids. For text prompts, the ids are dropped at once.
    fn render<T: Sync>(
        self,
        rows: &[T],
        context: &DrawContext<'_>,
        ids: impl Fn(&T) -> Vec<u32> + Sync,
    ) -> Result<Vec<Prompt>, DatasetError> {
        let prompt = |row: &T| match self {
            Self::TokenIds => Ok(Prompt::TokenIds(ids(row))),
            Self::Text => context.tokenizer.decode(&ids(row)).map(Prompt::Text),
        };
        let prompts = parallel::map("making prompts", rows, context.progress, prompt);
        Ok(prompts.into_iter().collect::<Result<_, TokenizerError>>()?)
    }
}

/// Lengths of the prompts and outputs, in tokens.
struct Lengths {
    input: Vec<u32>,
    output: Vec<u32>,
}

impl Lengths {
    /// Combines prompts and lengths into samples. There may be fewer prompts than lengths.
    fn samples(&self, prompts: Vec<Prompt>) -> impl Iterator<Item = Sample> {
        let lengths = self.input.iter().zip(&self.output);
        let rows = prompts.into_iter().zip(lengths);
        rows.map(|(prompt, (input, output))| Sample::new(prompt, *input, *output))
    }

    fn summary(&self, dataset: DatasetName, requests: usize) -> Summary {
        let total = |lengths: &[u32]| lengths.iter().copied().map(u64::from).sum();
        let (input_tokens, output_tokens) = (total(&self.input), total(&self.output));
        Summary::from_totals(dataset, requests, input_tokens, output_tokens)
    }
}

fn not_empty(tokenizer: &dyn Tokenizer, prompt: &str) -> Result<Option<Vec<u32>>, TokenizerError> {
    let ids = tokenizer.encode(prompt, SpecialTokens::Add)?;
    Ok((!ids.is_empty()).then_some(ids))
}

fn repeat(ids: &[u32], length: u32) -> Vec<u32> {
    ids.iter().copied().cycle().take(length as usize).collect()
}

fn count_up(start: u64, length: u32, vocabulary: u32) -> Vec<u32> {
    let ids = (start..).take(length as usize);
    ids.map(|id| (id % u64::from(vocabulary)) as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_repeated_or_cut() {
        assert_eq!(repeat(&[1, 2, 3], 7), [1, 2, 3, 1, 2, 3, 1]);
        assert_eq!(repeat(&[1, 2, 3], 2), [1, 2]);
        assert_eq!(repeat(&[1], 0), [0_u32; 0]);
    }

    #[test]
    fn counting_wraps_at_the_vocabulary() {
        assert_eq!(count_up(998, 4, 1000), [998, 999, 0, 1]);
        assert_eq!(count_up(1001, 2, 1000), [1, 2]);
    }

    #[test]
    fn a_spec_needs_only_what_differs_from_the_default() {
        let spec: RandomSpec = serde_json::from_str(r#"{"source":"vocabulary"}"#).unwrap();
        assert_eq!(spec, RandomSpec { source: Source::Vocabulary, ..RandomSpec::default() });
    }
}
