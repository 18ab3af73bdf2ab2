//! ShareGPT's conversations, as vLLM chooses among them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{
    DatasetError, DrawContext, Sample, SpecialTokens, Tokenizer, TokenizerError, parallel,
};
use servemark_rng::PythonRandom;

use super::rows::{RowOrder, TooFewRows, no_file};
use crate::conversations::Exchange;
use crate::json_array;

/// Conversations in ShareGPT's layout: the first turn is the prompt, the second tells how long an
/// answer is.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct VllmShareGptSpec {
    /// The file.
    pub path: Option<PathBuf>,
    /// The output length of every request; without it, that of the recorded answer.
    pub output_tokens: Option<u32>,
    /// In which order conversations are sent.
    pub order: RowOrder,
    /// What to do if there are too few.
    pub too_few: TooFewRows,
}

impl VllmShareGptSpec {
    pub(super) fn draw(
        &self,
        count: usize,
        seed: u32,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Sample>, DatasetError> {
        let hint = "give ShareGPT's file with --dataset-path";
        let path = self.path.as_deref().ok_or_else(|| no_file("sharegpt", hint))?;
        let mut exchanges = json_array::read(path, context.progress, |record| exchange(&record))?;
        let python = &mut context.random.python;
        *python = PythonRandom::seeded(seed.into());
        self.order.arrange(&mut exchanges, python);
        let tokenizer = context.tokenizer;
        let sample = |exchange: &Exchange| self.sample(exchange, tokenizer);
        let name = "tokenizing prompts";
        let mut samples = parallel::first(name, &exchanges, count, context.progress, sample)?;
        self.too_few.fill(&mut samples, count, seed, python);
        Ok(samples)
    }

    fn sample(
        &self,
        exchange: &Exchange,
        tokenizer: &dyn Tokenizer,
    ) -> Result<Option<Sample>, TokenizerError> {
        let prompt_tokens = tokenizer.count(&exchange.prompt, SpecialTokens::Add)?;
        let output_tokens = match self.output_tokens {
            Some(tokens) => tokens,
            None => tokenizer.count(&exchange.completion, SpecialTokens::Add)?,
        };
        let fits = self.fits(prompt_tokens, output_tokens);
        Ok(fits.then(|| Sample::new(exchange.prompt.as_str(), prompt_tokens, output_tokens)))
    }

    /// An output length that was asked for may be as short as it likes.
    fn fits(&self, prompt_tokens: u32, output_tokens: u32) -> bool {
        let long_enough = self.output_tokens.is_some() || output_tokens >= SHORTEST;
        let total = prompt_tokens.saturating_add(output_tokens);
        (SHORTEST..=LONGEST_PROMPT).contains(&prompt_tokens) && long_enough && total <= LONGEST
    }
}

/// The exchange of a record; one without `conversations` has none.
fn exchange(record: &Value) -> Result<Option<Exchange>, String> {
    let record = record.as_object().ok_or("expected a JSON object")?;
    if !record.contains_key("conversations") {
        return Ok(None);
    }
    for key in ["image", "video"] {
        if record.get(key).is_some_and(|media| !media.is_null() && media != "") {
            return Err(format!("a conversation with \"{key}\" cannot be sent yet"));
        }
    }
    Exchange::of(record, |turn| match turn.get("value") {
        Some(Value::String(text)) => Ok(text.clone()),
        _ => Err("a turn has no text under \"value\"".to_owned()),
    })
}

const SHORTEST: u32 = 4;
const LONGEST_PROMPT: u32 = 1024;
const LONGEST: u32 = 2048;
