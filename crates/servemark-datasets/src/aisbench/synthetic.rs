//! Prompts of drawn lengths, and of drawn token ids.

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Task};
use servemark_rng::NumpyRandom;

use super::row::{Cell, Row};

/// Prompts of one letter, so many times as is drawn, with drawn lengths of the answers.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AisbenchTextSpec {
    /// How many there are.
    pub rows: u32,
    /// How long prompts are.
    pub input: AisbenchLengths,
    /// How long answers are.
    pub output: AisbenchLengths,
}

/// How lengths are drawn: a value of a distribution, cut to its bounds and to a whole number.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "method", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AisbenchLengths {
    /// Each as likely as any other, but for the largest, which is as good as never drawn.
    Uniform {
        /// The smallest.
        min: u32,
        /// The largest.
        max: u32,
    },
    /// Around a mean.
    Gaussian {
        /// The mean.
        mean: f64,
        /// The variance.
        variance: f64,
        /// The smallest.
        min: u32,
        /// The largest.
        max: u32,
    },
    /// Mostly small.
    Zipf {
        /// By how much the likelier of two is the likelier; above one.
        alpha: f64,
        /// The smallest.
        min: u32,
        /// The largest.
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
    /// So many prompts with lengths of these kinds.
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

/// Prompts of token ids that are drawn one by one, as text. They may begin alike.
///
/// The text of so many ids need not be so many tokens again: AISBench does not repair it, and what
/// the server counts is what counts.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AisbenchIdsSpec {
    /// How many there are.
    pub rows: u32,
    /// How many ids a prompt is.
    pub tokens: u32,
    /// How many of them all prompts begin with.
    pub prefix_tokens: u32,
    /// How many ids there are, where the tokenizer does not know.
    #[serde(default)]
    pub vocabulary: Option<u32>,
}

impl AisbenchIdsSpec {
    /// So many prompts of so many ids, of which the first ones are the same.
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

    /// All ids but the special ones.
    fn plain_ids(&self, context: &DrawContext<'_>) -> Result<Vec<u32>, DatasetError> {
        let size = Some(context.tokenizer.vocab_size()).filter(|size| *size > 0);
        let size = size.or(self.vocabulary).ok_or_else(|| {
            let why = "the tokenizer does not say how large its vocabulary is; give VocabSize";
            DatasetError::Settings(why.to_owned())
        })?;
        let special = context.tokenizer.special_ids();
        Ok((0..size).filter(|id| special.binary_search(id).is_err()).collect())
    }
}
