//! Prompts of drawn lengths, and prompts of drawn token ids.

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Task};
use servemark_rng::NumpyRandom;

use super::row::{Cell, Row};

/// Prompts of one repeated letter, with drawn prompt and output lengths.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct AisbenchTextSpec {
    /// Number of prompts.
    pub rows: u32,
    /// Distribution of the prompt lengths.
    pub input: AisbenchLengths,
    /// Distribution of the output lengths.
    pub output: AisbenchLengths,
}

/// Distribution of lengths. Drawn values are clamped to the bounds and truncated to whole numbers.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "method", rename_all = "snake_case")]
pub enum AisbenchLengths {
    /// Uniform distribution. Truncation makes `max` practically never occur, unless it equals
    /// `min`.
    Uniform {
        /// Minimum length, in tokens.
        min: u32,
        /// Maximum length, in tokens.
        max: u32,
    },
    /// Normal distribution.
    Gaussian {
        /// Mean length, in tokens.
        mean: f64,
        /// Variance of the length.
        variance: f64,
        /// Minimum length, in tokens.
        min: u32,
        /// Maximum length, in tokens.
        max: u32,
    },
    /// Zipf distribution, in which small values are frequent.
    Zipf {
        /// Exponent of the distribution; above 1.
        alpha: f64,
        /// Minimum length, in tokens.
        min: u32,
        /// Maximum length, in tokens.
        max: u32,
    },
}

impl AisbenchLengths {
    #[expect(clippy::cast_sign_loss, reason = "bounds are not negative")]
    fn draw(self, numpy: &mut NumpyRandom) -> u32 {
        let (value, min, max) = match self {
            Self::Uniform { min, max } => (numpy.uniform(min.into(), max.into()), min, max),
            Self::Gaussian { mean, variance, min, max } => {
                (numpy.normal(mean, variance.sqrt()), min, max)
            }
            Self::Zipf { alpha, min, max } => (numpy.zipf(alpha) as f64, min, max),
        };
        value.clamp(min.into(), max.into()) as u32
    }
}

impl AisbenchTextSpec {
    /// Creates a spec for `rows` prompts with the given length distributions.
    pub fn new(rows: u32, input: AisbenchLengths, output: AisbenchLengths) -> Self {
        Self { rows, input, output }
    }

    pub(super) fn rows(&self, numpy: &mut NumpyRandom) -> Vec<Row> {
        let mut row = || {
            let (words, output) = (self.input.draw(numpy), self.output.draw(numpy));
            let columns = [("question", Cell::Words(words)), ("answer", Cell::Text("aaa".into()))];
            Row {
                columns: columns.map(|(name, cell)| (name.to_owned(), cell)).into(),
                output_tokens: Some(output),
                prompt_tokens: Some(words),
                ..Row::default()
            }
        };
        (0..self.rows).map(|_| row()).collect()
    }
}

/// Prompts made of randomly drawn token ids and sent as text, with an optional common prefix.
///
/// Encoding the text may give a token count other than `tokens`. AISBench does not correct this,
/// and the count that the server reports is used.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct AisbenchIdsSpec {
    /// Number of prompts.
    pub rows: u32,
    /// Number of ids per prompt.
    pub tokens: u32,
    /// Number of ids at the beginning that all prompts share.
    pub prefix_tokens: u32,
    /// Vocabulary size, for a tokenizer that does not report one.
    #[serde(default)]
    pub vocabulary: Option<u32>,
}

impl AisbenchIdsSpec {
    /// Creates a spec for `rows` prompts of `tokens` ids, of which the first `prefix_tokens` are
    /// shared.
    pub fn new(rows: u32, tokens: u32, prefix_tokens: u32) -> Self {
        Self { rows, tokens, prefix_tokens, vocabulary: None }
    }

    pub(super) fn rows(&self, context: &mut DrawContext<'_>) -> Result<Vec<Row>, DatasetError> {
        let ids = self.plain_ids(context)?;
        let numpy = &mut context.random.numpy;
        let mut draw = |count: u32| -> Vec<u32> {
            let most = i64::try_from(ids.len()).unwrap_or(i64::MAX);
            let drawn = numpy.randint_vec(0, most, count as usize).unwrap_or_default();
            let places = drawn.into_iter().filter_map(|place| usize::try_from(place).ok());
            places.filter_map(|place| ids.get(place).copied()).collect()
        };
        let prefix = context.tokenizer.decode(&draw(self.prefix_tokens))?;
        let task = Task::begin(context.progress, "making prompts", self.rows.into());
        let mut rows = Vec::new();
        for _ in 0..self.rows {
            let rest = draw(self.tokens.saturating_sub(self.prefix_tokens));
            let text = format!("{prefix}{}", context.tokenizer.decode(&rest)?);
            let prompt_tokens = Some(self.tokens);
            rows.push(Row { prompt_tokens, ..Row::of("question", text) });
            task.advance(1);
        }
        Ok(rows)
    }

    /// Returns all ids except those of special tokens.
    fn plain_ids(&self, context: &DrawContext<'_>) -> Result<Vec<u32>, DatasetError> {
        let size = Some(context.tokenizer.vocab_size()).filter(|size| *size > 0);
        let size = size.or(self.vocabulary).ok_or_else(|| {
            let why = "the tokenizer does not report its vocabulary size; set VocabSize";
            DatasetError::Settings(why.to_owned())
        })?;
        let special = context.tokenizer.special_ids();
        Ok((0..size).filter(|id| special.binary_search(id).is_err()).collect())
    }
}
