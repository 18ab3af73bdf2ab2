//! Prompts from a file with one JSON object per line, including two published data sets with
//! similar files.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{
    DatasetError, DrawContext, JsonObject, Sample, SpecialTokens, Tokenizer, TokenizerError,
};

use super::rows::{Choice, RowOrder, TooFewRows, no_file};
use crate::jsonl::Reader;
use crate::shaping::user_message;
use crate::{DatasetName, PromptFormat};

/// Prompts from a file.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct VllmCustomSpec {
    /// Path of the file, or of the folder of SPEED-Bench's files.
    pub path: Option<PathBuf>,
    /// Layout of the file.
    pub layout: CustomLayout,
    /// Maximum number of tokens sent of a row's text; `None` sends the whole text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_prompt_tokens: Option<u32>,
    /// Source of the output lengths.
    pub output: CustomOutput,
    /// Whether the prompt is raw text or a rendered conversation.
    pub prompt_format: PromptFormat,
    /// Additional arguments of the chat template.
    #[serde(skip_serializing_if = "JsonObject::is_empty")]
    pub template_arguments: JsonObject,
    /// Order in which prompts are sent.
    pub order: RowOrder,
    /// Handling of a file with too few rows.
    pub too_few: TooFewRows,
}

/// Layout of a file of prompts.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CustomLayout {
    /// Rows with `prompt`, and with `output_tokens` if the lengths are the rows' own.
    #[default]
    Prompts,
    /// Spec-Bench's layout, which uses the first of `turns`. The seed is 0.
    SpecBench {
        /// Category of the rows to use (`category`); `None` uses all.
        category: Option<String>,
    },
    /// SPEED-Bench's layout, which uses the content of the first of `messages`. The seed is 0.
    SpeedBench {
        /// Name of the folder's file to read, without its extension.
        subset: String,
        /// Category of the rows to use (`category`); `None` uses all.
        category: Option<String>,
    },
}

/// Source of the output lengths. Exhaustive: one length for all rows, or each row's own.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CustomOutput {
    /// This number of tokens.
    Fixed(u32),
    /// The row's `output_tokens`.
    OfRow,
}

impl Default for VllmCustomSpec {
    fn default() -> Self {
        Self {
            path: None,
            layout: CustomLayout::default(),
            most_prompt_tokens: None,
            output: CustomOutput::Fixed(256),
            prompt_format: PromptFormat::ChatTemplate,
            template_arguments: JsonObject::new(),
            order: RowOrder::default(),
            too_few: TooFewRows::default(),
        }
    }
}

/// The fields read from a line.
struct Row {
    line: usize,
    prompt: String,
    output_tokens: Option<Value>,
}

impl VllmCustomSpec {
    /// Draws `count` prompts, or all if `count` is 0.
    pub(super) fn draw(
        &self,
        count: usize,
        seed: u32,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Sample>, DatasetError> {
        let path = self.path.as_deref().ok_or_else(|| self.layout.no_file())?;
        let path = self.layout.file(path);
        let reader = Reader { path: &path, on_bad_line: None, limit: None };
        let rows = reader.read(|line, record| self.layout.row(line, record))?.rows;
        let seed = self.layout.seed().unwrap_or(seed);
        let tokenizer = context.tokenizer;
        let choice = Choice { order: self.order, too_few: self.too_few, count, seed };
        choice
            .samples(rows, "tokenizing prompts", context, |row| self.sample(row, &path, tokenizer))
    }

    fn sample(
        &self,
        row: &Row,
        path: &Path,
        tokenizer: &dyn Tokenizer,
    ) -> Result<Sample, DatasetError> {
        let output_tokens = output_tokens(self.output, row.output_tokens.as_ref())
            .map_err(|reason| crate::text_file::malformed(path, row.line, reason))?;
        let text = self.beginning(&row.prompt, tokenizer)?;
        let prompt = match self.prompt_format {
            PromptFormat::Raw => text.into_owned(),
            PromptFormat::ChatTemplate => {
                let messages = [user_message(&text)];
                tokenizer.render_chat(&messages, &self.template_arguments)?
            }
        };
        let prompt_tokens = tokenizer.count(&prompt, SpecialTokens::Add)?;
        Ok(Sample::new(prompt, prompt_tokens, output_tokens))
    }
}

impl VllmCustomSpec {
    /// Returns the beginning of a text, cut to the maximum number of tokens.
    fn beginning<'a>(
        &self,
        text: &'a str,
        tokenizer: &dyn Tokenizer,
    ) -> Result<Cow<'a, str>, TokenizerError> {
        let Some(most) = self.most_prompt_tokens else { return Ok(text.into()) };
        let ids = tokenizer.encode(text, SpecialTokens::Omit)?;
        match ids.get(..most as usize) {
            Some(kept) => tokenizer.decode(kept).map(Cow::Owned),
            None => Ok(text.into()),
        }
    }
}

impl CustomLayout {
    pub(super) fn name(&self) -> DatasetName {
        match self {
            Self::Prompts => DatasetName::Custom,
            Self::SpecBench { .. } => DatasetName::SpecBench,
            Self::SpeedBench { .. } => DatasetName::SpeedBench,
        }
    }

    fn no_file(&self) -> DatasetError {
        let hint = match self {
            Self::Prompts => "give a file with a JSON object with \"prompt\" on each line",
            Self::SpecBench { .. } => {
                "give Spec-Bench's question.jsonl with `workload.dataset.path`"
            }
            Self::SpeedBench { .. } => {
                "give the folder of SPEED-Bench's files with `workload.dataset.path`"
            }
        };
        no_file(self.name().as_str(), hint)
    }

    fn file(&self, path: &Path) -> PathBuf {
        match self {
            Self::SpeedBench { subset, .. } => path.join(format!("{subset}.jsonl")),
            _ => path.to_owned(),
        }
    }

    /// Returns the fixed seed of a published data set, or `None` if the run's seed is used.
    fn seed(&self) -> Option<u32> {
        (!matches!(self, Self::Prompts)).then_some(0)
    }

    fn row(&self, line: usize, mut record: JsonObject) -> Result<Option<Row>, String> {
        if !self.accepts(&record) {
            return Ok(None);
        }
        let prompt = match self {
            Self::Prompts => record.get("prompt"),
            Self::SpecBench { .. } => record.get("turns").and_then(|turns| turns.get(0)),
            Self::SpeedBench { .. } => {
                record.get("messages").and_then(|messages| messages.get(0)?.get("content"))
            }
        };
        let place = match self {
            Self::Prompts => "\"prompt\"",
            Self::SpecBench { .. } => "the first of \"turns\"",
            Self::SpeedBench { .. } => "the \"content\" of the first of \"messages\"",
        };
        let prompt = prompt.and_then(Value::as_str).ok_or(format!("{place} is not a string"))?;
        let prompt = prompt.to_owned();
        Ok(Some(Row { line, prompt, output_tokens: record.remove("output_tokens") }))
    }

    fn accepts(&self, record: &JsonObject) -> bool {
        match self {
            Self::SpecBench { category: Some(wanted) }
            | Self::SpeedBench { category: Some(wanted), .. } => {
                record.get("category").and_then(Value::as_str) == Some(wanted)
            }
            _ => true,
        }
    }
}

/// Returns the output length: the fixed one, or the row's own.
pub(super) fn output_tokens(output: CustomOutput, of_row: Option<&Value>) -> Result<u32, String> {
    match output {
        CustomOutput::Fixed(tokens) => Ok(tokens),
        CustomOutput::OfRow => tokens_of(of_row).ok_or_else(|| {
            "\"output_tokens\" is not a token count, and no output length is given \
             (`workload.dataset.output`)"
                .to_owned()
        }),
    }
}

/// Parses a token count as Python's `int` does: a fraction is truncated.
fn tokens_of(value: Option<&Value>) -> Option<u32> {
    match value? {
        Value::String(text) => text.trim().parse().ok(),
        number => {
            let number = number.as_f64()?;
            let fits = (0.0..=f64::from(u32::MAX)).contains(&number);
            #[expect(clippy::cast_sign_loss, reason = "the number is 0 or more")]
            fits.then_some(number as u32)
        }
    }
}
