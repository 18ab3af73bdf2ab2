//! Queries and documents of drawn lengths.

use std::num::NonZero;

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Prompt, Sample};
use servemark_rng::Pcg64;

use super::lengths::DrawnLengths;
use super::{Spread, VllmLengths};
use crate::alphabet::Alphabet;
use crate::fitting::{Fitted, Fitter, ids_of};

/// One query for all requests, with different documents in each request.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct VllmRerankSpec {
    /// Mean number of tokens of a query with a document, or of each text, depending on `mode`.
    pub input_tokens: u32,
    /// Spread of these lengths.
    pub spread: Spread,
    /// Number of documents per request; with [`RerankMode::Each`], the query is included.
    pub batch: NonZero<u32>,
    /// Kind of model that ranks.
    pub mode: RerankMode,
    /// Whether the request embeds texts instead of ranking them; the query is the first text then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub as_texts: bool,
}

/// Kind of model that ranks. Exhaustive: it reads query and document together or separately.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RerankMode {
    /// The model reads query and document as one text with a separator. Half of the length is the
    /// query's.
    #[default]
    Pair,
    /// The model reads each text separately, and the query is one of the request's texts.
    Each,
}

impl Default for VllmRerankSpec {
    fn default() -> Self {
        Self {
            input_tokens: 1024,
            spread: Spread::default(),
            batch: NonZero::<u32>::MIN,
            mode: RerankMode::default(),
            as_texts: false,
        }
    }
}

impl VllmRerankSpec {
    pub(super) fn draw(
        &self,
        count: usize,
        seed: u32,
        context: &DrawContext<'_>,
    ) -> Result<Vec<Sample>, DatasetError> {
        let (documents, batch) = self.documents(count)?;
        let tokenizer = context.tokenizer;
        let mut random = Pcg64::seeded(seed.into());
        let query = self.lengths(self.query_tokens()).draw(1, tokenizer, &mut random)?;
        let document = self.document_tokens(query[0].input_tokens as u32);
        let rows = self.lengths(document).draw(documents, tokenizer, &mut random)?;
        let alphabet = Alphabet::of(tokenizer)?;
        let vocabulary = tokenizer.vocab_size();
        let draw = |count| ids_of(&mut random, vocabulary, count);
        let numbered: Vec<(u64, DrawnLengths)> = (0..).zip(query.into_iter().chain(rows)).collect();
        let mut fitter = Fitter { tokenizer, draw };
        let texts = fitter.fit_all(&numbered, context.progress, |(number, row)| {
            (alphabet.count_up(row.offset + number, row.input_tokens), row.input_tokens)
        })?;
        let [query, documents @ ..] = texts.as_slice() else { return Ok(Vec::new()) };
        Ok(documents.chunks(batch).map(|batch| self.sample(query, batch)).collect())
    }

    /// Returns the total number of documents, and the number per request.
    fn documents(&self, count: usize) -> Result<(usize, usize), DatasetError> {
        let batch = self.batch.get() as usize;
        match self.mode {
            RerankMode::Pair => Ok((count, batch)),
            RerankMode::Each if count > 1 && batch > 1 => Ok((count - 1, batch - 1)),
            RerankMode::Each => Err(DatasetError::Settings(TOO_FEW.to_owned())),
        }
    }

    fn query_tokens(&self) -> u32 {
        match self.mode {
            RerankMode::Pair => (self.input_tokens / 2).saturating_sub(SEPARATOR),
            RerankMode::Each => self.input_tokens,
        }
    }

    fn document_tokens(&self, query: u32) -> u32 {
        match self.mode {
            RerankMode::Pair => self.input_tokens.saturating_sub(query + SEPARATOR),
            RerankMode::Each => self.input_tokens,
        }
    }

    fn lengths(&self, input_tokens: u32) -> VllmLengths {
        let (input_spread, output_spread) = (self.spread, self.spread);
        VllmLengths { input_tokens, output_tokens: 0, input_spread, output_spread }
    }

    /// Builds a request. Its token count includes the query once per document if they are read
    /// together, else once.
    fn sample(&self, query: &Fitted, documents: &[Fitted]) -> Sample {
        let own: u32 = documents.iter().map(Fitted::tokens).sum();
        let queries = match self.mode {
            RerankMode::Pair => (query.tokens() + SEPARATOR) * documents.len() as u32,
            RerankMode::Each => query.tokens(),
        };
        let documents = documents.iter().map(|document| document.text.clone());
        let query = query.text.clone();
        let prompt = if self.as_texts {
            Prompt::Texts([query].into_iter().chain(documents).collect())
        } else {
            Prompt::Ranking { query, documents: documents.collect() }
        };
        Sample::new(prompt, queries + own, 0)
    }
}

/// Number of separator tokens between query and document.
const SEPARATOR: u32 = 1;

const TOO_FEW: &str = "without a ranking model the query is one of the texts: `workload.requests` and \
    `workload.dataset.batch` must be 2 or more";
