//! Multiple-choice questions about long texts: SGLang's `longbench_v2`.

use std::num::NonZero;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{
    DatasetError, DrawContext, JsonObject, Progress, Sample, SpecialTokens, TokenizerError,
    parallel,
};

use crate::jsonl::{BadLine, Reader, Rows};
use crate::{DatasetName, Draw, SkippedLines, Summary, json_array, table};

/// Questions about long texts, from JSON lines, one JSON array or a parquet table.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct LongBenchSpec {
    /// Path of the file.
    pub path: Option<PathBuf>,
    /// Handling of a line that is not JSON.
    pub on_bad_line: BadLine,
    /// Output length of every request, in tokens.
    pub output_tokens: u32,
    /// Maximum number of prompt and output tokens together; longer questions are left out.
    pub context_tokens: Option<NonZero<u32>>,
}

impl Default for LongBenchSpec {
    /// Returns the default spec. Ten output tokens hold the letter of an answer and a few words.
    fn default() -> Self {
        Self { path: None, on_bad_line: BadLine::Fail, output_tokens: 10, context_tokens: None }
    }
}

impl LongBenchSpec {
    /// Draws the first `count` shuffled questions that fit the context.
    pub(crate) fn draw(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Draw, DatasetError> {
        let hint =
            "pass one with `workload.dataset.path`, a question as a JSON object on each line";
        let dataset = DatasetName::LongBenchV2.as_str();
        let path = self.path.as_deref().ok_or(DatasetError::NoFile { dataset, hint })?;
        let (prompts, skipped) = self.shuffled(path, context)?;
        let tokenizer = context.tokenizer;
        let sample = |prompt: &String| -> Result<Option<Sample>, TokenizerError> {
            let tokens = tokenizer.count(prompt, SpecialTokens::Add)?;
            let fits = tokens.saturating_add(self.output_tokens) <= self.most_tokens();
            Ok(fits.then(|| Sample::new(prompt.as_str(), tokens, self.output_tokens)))
        };
        let name = "tokenizing prompts";
        let samples = parallel::first(name, &prompts, count, context.progress, sample)?;
        // SGLang prints no summary of this data set.
        let summary = Summary::of(DatasetName::LongBenchV2, &samples).in_lines(String::new());
        Ok(Draw::of(samples, summary).skipping(skipped))
    }

    fn most_tokens(&self) -> u32 {
        self.context_tokens.map_or(u32::MAX, NonZero::get)
    }

    /// Reads all prompts of the file and shuffles them.
    fn shuffled(
        &self,
        path: &Path,
        context: &mut DrawContext<'_>,
    ) -> Result<(Vec<String>, Option<SkippedLines>), DatasetError> {
        let python = &mut context.random.python;
        if path.extension().is_some_and(|extension| extension == "parquet") {
            let shuffled = |rows| {
                let mut order: Vec<usize> = (0..rows).collect();
                python.shuffle(&mut order);
                order
            };
            let rows = table::rows(&[path.to_owned()], &COLUMNS, shuffled)?;
            let prompts = rows.iter().map(|row| prompt(|column| row.text(column)));
            return Ok((prompts.collect::<Result<_, _>>()?, None));
        }
        let mut read = self.read(path, context.progress)?;
        python.shuffle(&mut read.rows);
        Ok((read.rows, read.skipped))
    }

    /// Reads the prompts in the file's order. The published file is one JSON array; SGLang reads a
    /// file with one question per line.
    fn read(&self, path: &Path, progress: &dyn Progress) -> Result<Rows<String>, DatasetError> {
        if json_array::begins(path)? {
            let take = |record: Value| {
                let record = record.as_object().ok_or("expected a JSON object")?;
                prompt(|column| text(record, column)).map(Some)
            };
            let rows = json_array::read(path, progress, take)?;
            return Ok(Rows { rows, skipped: None });
        }
        let reader = Reader { path, on_bad_line: Some(self.on_bad_line), limit: None };
        reader.read(|_, record| prompt(|column| text(&record, column)).map(Some))
    }
}

/// Builds the prompt from text, question and choices, in SGLang's layout.
fn prompt<'a, E>(cell: impl Fn(&'static str) -> Result<&'a str, E>) -> Result<String, E> {
    let [context, question, a, b, c, d] = COLUMNS;
    let (context, question) = (cell(context)?, cell(question)?);
    let (a, b, c, d) = (cell(a)?, cell(b)?, cell(c)?, cell(d)?);
    Ok(format!("{context}\n\nQuestion: {question}\nA. {a}\nB. {b}\nC. {c}\nD. {d}\nAnswer:"))
}

fn text<'a>(record: &'a JsonObject, column: &str) -> Result<&'a str, String> {
    let text = record.get(column).and_then(Value::as_str);
    text.ok_or_else(|| format!("{column:?} is missing or no text"))
}

const COLUMNS: [&str; 6] = ["context", "question", "choice_A", "choice_B", "choice_C", "choice_D"];
