//! SPEED-Bench: prompts grouped by how predictable their answers are.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{
    DatasetError, DrawContext, JsonObject, Sample, SpecialTokens, Tokenizer, TokenizerError,
    parallel,
};
use servemark_rng::PythonRandom;

use crate::jsonl::{BadLine, Reader};
use crate::shaping::user_message;
use crate::{DatasetName, Draw, Summary};

/// Prompts of SPEED-Bench, one JSON object per line.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct SpeedBenchSpec {
    /// Path of the file.
    pub path: Option<PathBuf>,
    /// Handling of a line that is not JSON.
    pub on_bad_line: BadLine,
    /// Category of the prompts to use; `None` uses all.
    pub category: Option<SpeedBenchCategory>,
    /// Output length of every request, in tokens.
    pub output_tokens: u32,
}

/// How predictable an answer is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpeedBenchCategory {
    /// Answers are hard to predict.
    HighEntropy,
    /// Answers are easy to predict.
    LowEntropy,
    /// Answers vary in predictability.
    Mixed,
}

impl SpeedBenchCategory {
    /// Returns the category with this name, if there is one.
    pub fn of(name: &str) -> Option<Self> {
        let all = [Self::HighEntropy, Self::LowEntropy, Self::Mixed];
        all.into_iter().find(|category| category.as_str() == name)
    }

    /// Returns the category's name in the file and on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HighEntropy => "high_entropy",
            Self::LowEntropy => "low_entropy",
            Self::Mixed => "mixed",
        }
    }
}

impl Default for SpeedBenchSpec {
    fn default() -> Self {
        Self { path: None, on_bad_line: BadLine::Fail, category: None, output_tokens: 512 }
    }
}

impl SpeedBenchSpec {
    /// Draws `count` prompts in random order; prompts repeat if the file has fewer.
    pub(crate) fn draw(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Draw, DatasetError> {
        let hint = "pass SPEED-Bench's file of JSON lines with `workload.dataset.path`";
        let dataset = DatasetName::SpeedBench.as_str();
        let path = self.path.as_deref().ok_or(DatasetError::NoFile { dataset, hint })?;
        let reader = Reader { path, on_bad_line: Some(self.on_bad_line), limit: None };
        let read = reader.read(|_, record| self.prompt(&record))?;
        let chosen = choose(read.rows.len(), count, &mut context.random.python);
        let tokenizer = context.tokenizer;
        let sample = |prompt: &String| self.sample(prompt, tokenizer);
        let name = "tokenizing prompts";
        let samples = parallel::map(name, &read.rows, context.progress, sample);
        let samples = samples.into_iter().collect::<Result<Vec<Sample>, _>>()?;
        let drawn: Vec<Sample> = chosen.into_iter().map(|row| samples[row].clone()).collect();
        // SGLang prints no summary of this data set.
        let summary = Summary::of(DatasetName::SpeedBench, &drawn).in_lines(String::new());
        Ok(Draw::of(drawn, summary).skipping(read.skipped))
    }

    /// Returns the first turn of a record, or `None` if the record is of another category or has no
    /// turn.
    fn prompt(&self, record: &JsonObject) -> Result<Option<String>, String> {
        let category = record.get("category").and_then(Value::as_str);
        if self.category.is_some_and(|wanted| category != Some(wanted.as_str())) {
            return Ok(None);
        }
        let turns = match record.get("turns") {
            Some(turns) => turns.as_array().ok_or("\"turns\" is not an array")?,
            None => return Ok(None),
        };
        let text = |turn: &Value| turn.as_str().map(str::to_owned);
        turns
            .first()
            .map(|turn| text(turn).ok_or("the first turn is not a string".to_owned()))
            .transpose()
    }

    /// Builds the sample from the text rendered with the model's chat template, or from the raw
    /// text if rendering fails.
    fn sample(&self, text: &str, tokenizer: &dyn Tokenizer) -> Result<Sample, TokenizerError> {
        let (prompt, tokens) = match tokenizer.apply_chat_template(&[user_message(text)]) {
            Ok(rendered) => {
                let ids = tokenizer.encode(&rendered, SpecialTokens::Omit)?;
                (tokenizer.decode(&ids)?, ids.len() as u32)
            }
            Err(_) => (text.to_owned(), tokenizer.count(text, SpecialTokens::Add)?),
        };
        Ok(Sample::new(prompt, tokens, self.output_tokens))
    }

    /// Returns why no prompt was found.
    pub(crate) fn nothing(&self) -> &'static str {
        match self.category {
            Some(_) => "no line of that category (`workload.dataset.category`) has turns",
            None => "no line has \"turns\"",
        }
    }
}

/// Returns the indices of the rows to send, in order.
fn choose(rows: usize, count: usize, python: &mut PythonRandom) -> Vec<usize> {
    if let Some(sampled) = python.sample_indices(rows, count) {
        return sampled;
    }
    let mut tiled: Vec<usize> = (0..rows).cycle().take(count).collect();
    python.shuffle(&mut tiled);
    tiled
}
