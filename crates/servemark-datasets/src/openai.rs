//! Complete chat requests, one JSON object per line, sent in the file's order.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{
    DatasetError, DrawContext, JsonObject, Sample, SpecialTokens, Tokenizer, TokenizerError,
    parallel,
};

use crate::jsonl::{BadLine, Reader};
use crate::{DatasetName, Draw, Summary, python_json, text_file};

/// Chat requests in the format of OpenAI's API, one JSON object per line.
///
/// Request fields other than messages, token limits and model are sent unchanged.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct OpenaiSpec {
    /// Path of the file.
    pub path: Option<PathBuf>,
    /// Handling of a line that is not JSON.
    pub on_bad_line: BadLine,
    /// Output length of every request, in tokens; `None` or 0 uses each request's own length.
    pub output_tokens: Option<u32>,
}

impl OpenaiSpec {
    /// Draws the first `count` requests of the file, or all if `count` is 0. Lines without messages
    /// count too.
    pub(crate) fn draw(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Draw, DatasetError> {
        let hint =
            "pass one with `workload.dataset.path`, a chat request as a JSON object on each line";
        let path = self.path.as_deref().ok_or(DatasetError::NoFile { dataset: "openai", hint })?;
        let limit = (count > 0).then_some(count);
        let reader = Reader { path, on_bad_line: Some(self.on_bad_line), limit };
        let read = reader.read(|line, object| Request::of(line, object, self.output_tokens))?;
        let sample = |request: &Request| request.sample(path, context.tokenizer);
        let samples = parallel::map("tokenizing requests", &read.rows, context.progress, sample);
        let samples = samples.into_iter().collect::<Result<Vec<Sample>, _>>()?;
        let summary = Summary::of(DatasetName::Openai, &samples);
        let loaded = format!("Loaded {} OpenAI-format requests\n{summary}", samples.len());
        let summary = summary.in_lines(loaded);
        Ok(Draw::of(samples, summary).skipping(read.skipped))
    }

    /// Returns the error of a draw with a tokenizer that has no chat template.
    pub(crate) fn without_chat_template() -> DatasetError {
        DatasetError::Settings(NO_TEMPLATE.to_owned())
    }
}

/// A line with messages.
struct Request {
    line: usize,
    messages: Vec<JsonObject>,
    output_tokens: u32,
    extra_body: JsonObject,
}

impl Request {
    fn of(line: usize, mut object: JsonObject, fixed: Option<u32>) -> Result<Option<Self>, String> {
        let messages = match object.shift_remove("messages") {
            Some(value) if !is_falsy(&value) => messages(value)?,
            _ => return Ok(None),
        };
        let output_tokens = match fixed.filter(|tokens| *tokens > 0) {
            Some(fixed) => fixed,
            None => output_tokens(object.get("max_tokens"))?,
        };
        for key in ["max_tokens", "max_completion_tokens", "model"] {
            object.shift_remove(key);
        }
        Ok(Some(Self { line, messages, output_tokens, extra_body: object }))
    }

    fn sample(&self, path: &Path, tokenizer: &dyn Tokenizer) -> Result<Sample, DatasetError> {
        let prompt_tokens = self.prompt_tokens(tokenizer).map_err(|error| match error {
            TokenizerError::NoChatTemplate => OpenaiSpec::without_chat_template(),
            TokenizerError::ChatTemplate { .. } => {
                text_file::malformed(path, self.line, error.to_string())
            }
            other => other.into(),
        })?;
        let sample = Sample::new(self.messages.clone(), prompt_tokens, self.output_tokens);
        Ok(sample.with_extra_body(self.extra_body.clone()))
    }

    /// Counts the tokens of the rendered messages plus those of the tools' definitions, which are
    /// estimated as in SGLang.
    fn prompt_tokens(&self, tokenizer: &dyn Tokenizer) -> Result<u32, TokenizerError> {
        let rendered = tokenizer.apply_chat_template(&self.messages)?;
        let messages = tokenizer.count(&rendered, SpecialTokens::Omit)?;
        let tools = match self.extra_body.get("tools") {
            Some(tools) => tokenizer.count(&python_json::dumps(tools), SpecialTokens::Add)?,
            None => 0,
        };
        Ok(messages + tools)
    }
}

/// Returns whether Python considers `messages` falsy.
fn is_falsy(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn messages(value: Value) -> Result<Vec<JsonObject>, String> {
    serde_json::from_value(value).map_err(|_| "\"messages\" is not an array of objects".to_owned())
}

fn output_tokens(max_tokens: Option<&Value>) -> Result<u32, String> {
    let Some(max_tokens) = max_tokens else {
        return Ok(DEFAULT_OUTPUT);
    };
    let tokens = max_tokens.as_u64().and_then(|tokens| u32::try_from(tokens).ok());
    tokens.ok_or_else(|| format!("\"max_tokens\" is not a token count: {max_tokens}"))
}

/// Output length of a request without `max_tokens`, in tokens.
const DEFAULT_OUTPUT: u32 = 256;

const NO_TEMPLATE: &str = "the data set openai counts the tokens of rendered messages, and this \
    tokenizer has no chat template; give a tokenizer that has one (`model.tokenizer`)";
