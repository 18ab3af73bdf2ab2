//! Prompts from a file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{DatasetError, DrawContext, JsonObject, Prompt, parallel};

use super::target::Shaper;
use super::{EvalscopeData, EvalscopeName, EvalscopeSpec, RequestDraft, TargetLength, share_gpt};
use crate::{json_array, python_json, text_file};

/// Prompts from a file, in its order.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct EvalscopeTextSpec {
    /// Content of the file.
    pub texts: EvalscopeTexts,
    /// Path of the file, or of the folder of a published data set; without one, the data set is
    /// downloaded.
    #[serde(default)]
    pub path: Option<PathBuf>,
    /// Required prompt length. Without one, prompts outside the length bounds are left out.
    #[serde(default)]
    pub target: Option<TargetLength>,
}

/// Content of a file of prompts.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EvalscopeTexts {
    /// Texts, one per line.
    Custom,
    /// Texts, conversations or complete requests, one per line.
    LineByLine,
    /// Questions about long texts, one JSON array.
    LongAlpaca,
    /// Questions, one JSON object per line.
    Openqa,
    /// ShareGPT conversations in English, one per line; only the last turn is sent.
    ShareGptEn,
    /// ShareGPT conversations in Chinese, one per line; only the last turn is sent.
    ShareGptZh,
}

impl EvalscopeTexts {
    pub(super) fn name(self) -> EvalscopeName {
        match self {
            Self::Custom => EvalscopeName::Custom,
            Self::LineByLine => EvalscopeName::LineByLine,
            Self::LongAlpaca => EvalscopeName::LongAlpaca,
            Self::Openqa => EvalscopeName::Openqa,
            Self::ShareGptEn => EvalscopeName::ShareGptEn,
            Self::ShareGptZh => EvalscopeName::ShareGptZh,
        }
    }

    /// Returns the file's name in the published data set.
    fn published(self) -> Option<&'static str> {
        match self {
            Self::Custom | Self::LineByLine => None,
            Self::LongAlpaca => Some("LongAlpaca-12k.json"),
            Self::Openqa => Some("open_qa.jsonl"),
            Self::ShareGptEn => Some(share_gpt::ENGLISH),
            Self::ShareGptZh => Some(share_gpt::CHINESE),
        }
    }
}

impl EvalscopeTextSpec {
    pub(super) fn of(texts: EvalscopeTexts) -> EvalscopeData {
        EvalscopeData::Texts(Self { texts, path: None, target: None })
    }

    /// Returns the first `count` usable requests of the file.
    pub(super) fn ask(
        &self,
        of: &EvalscopeSpec,
        count: usize,
        context: &DrawContext<'_>,
    ) -> Result<Vec<RequestDraft>, DatasetError> {
        let name = self.texts.name().as_str();
        let path = file(name, self.path.as_deref(), self.texts.published())?;
        let shaper = Shaper::new(of, self.target.as_ref(), context)?;
        if self.texts == EvalscopeTexts::LongAlpaca {
            let questions = json_array::read(&path, context.progress, |item| {
                field(&item, "instruction").map(Some)
            })?;
            let ask = |question: &String| shaper.ask(question.trim());
            return parallel::first("making prompts", &questions, count, context.progress, ask);
        }
        let text = text_file::read(&path)?;
        let lines: Vec<_> = text_file::lines(&text).collect();
        let asker = Asker { texts: self.texts, path: &path, shaper };
        parallel::first("making prompts", &lines, count, context.progress, |(line, text)| {
            asker.ask(*line, text)
        })
    }
}

/// Converts lines to requests.
struct Asker<'a> {
    texts: EvalscopeTexts,
    path: &'a Path,
    shaper: Shaper<'a>,
}

impl Asker<'_> {
    fn ask(&self, line: usize, text: &str) -> Result<Option<RequestDraft>, DatasetError> {
        match self.texts {
            EvalscopeTexts::Custom | EvalscopeTexts::LongAlpaca => self.shaper.ask(text),
            EvalscopeTexts::LineByLine => self.ask_any(line, text),
            EvalscopeTexts::Openqa => {
                let row = self.parse(line, text)?;
                let question = field(&row, "question").map_err(|why| self.bad(line, why))?;
                self.shaper.ask(question.trim())
            }
            EvalscopeTexts::ShareGptEn | EvalscopeTexts::ShareGptZh => {
                let row = self.parse(line, text)?;
                let drafts = share_gpt::messages(&row).map_err(|why| self.bad(line, why))?;
                if drafts.is_empty() { Ok(None) } else { self.shaper.ask_last(drafts) }
            }
        }
    }

    /// Converts a line of any kind to a request. A line that is not JSON is a text.
    fn ask_any(&self, line: usize, text: &str) -> Result<Option<RequestDraft>, DatasetError> {
        let value = match python_json::parse(text) {
            Err(_) => return self.shaper.ask(text),
            Ok(Value::String(text)) => return self.shaper.ask(&text),
            Ok(value) => value,
        };
        if self.shaper.has_goal() {
            let why = "target_input_len and prefix_file go with lines of text; this one is JSON";
            return Err(self.bad(line, why.to_owned()));
        }
        let prompt = whole(value).map_err(|why| self.bad(line, why))?;
        Ok(Some(RequestDraft::new(prompt, 0)))
    }

    fn parse(&self, line: usize, text: &str) -> Result<Value, DatasetError> {
        python_json::parse(text).map_err(|error| self.bad(line, python_json::without_line(&error)))
    }

    fn bad(&self, line: usize, reason: String) -> DatasetError {
        text_file::malformed(self.path, line, reason)
    }
}

/// Converts a JSON value to a conversation, several texts or a complete request.
fn whole(value: Value) -> Result<Prompt, String> {
    match value {
        Value::Object(body) => Ok(Prompt::Body(body)),
        Value::Array(_) => {
            let messages = serde_json::from_value::<Vec<JsonObject>>(value.clone());
            let prompt = messages.map(Prompt::Messages);
            let texts = |_| serde_json::from_value(value).map(Prompt::Texts);
            prompt.or_else(texts).map_err(|_| NO_PROMPT.to_owned())
        }
        _ => Err(NO_PROMPT.to_owned()),
    }
}

const NO_PROMPT: &str = "this JSON is not a prompt: write an array of messages, the object of a \
    whole request, or a text in quotation marks";

/// Returns the text under a key.
pub(super) fn field(row: &Value, key: &str) -> Result<String, String> {
    let text = row.get(key).and_then(Value::as_str);
    text.map(str::to_owned).ok_or_else(|| format!("it has no text under {key:?}"))
}

/// Returns the path of a data set's file: `path`, or the published file name in `path` if it is a
/// folder.
pub(super) fn file(
    dataset: &'static str,
    path: Option<&Path>,
    published: Option<&str>,
) -> Result<PathBuf, DatasetError> {
    let hint = "give it with `workload.dataset.path`";
    let path = path.ok_or(DatasetError::NoFile { dataset, hint })?;
    Ok(match published.filter(|_| path.is_dir()) {
        Some(name) => path.join(name),
        None => path.to_owned(),
    })
}
