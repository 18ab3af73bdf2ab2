//! A data set that is a function of Python.

use std::collections::BTreeMap;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;
use serde::Deserialize;
use serde_json::Value;
use servemark::core::{
    Dataset, DatasetError, DrawContext, FollowUp, JsonObject, Prompt, Sample, Session,
    SpecialTokens, Tokenizer, TokenizerError,
};

use crate::json;
use crate::raised::Raised;

/// A function that returns the requests of a run, given their number. It is called once, before
/// anything is measured.
#[derive(Clone, Debug)]
pub(crate) struct PythonDataset {
    function: Arc<Py<PyAny>>,
    raised: Raised,
}

/// A request as Python describes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    prompt: Prompt,
    output_tokens: u32,
    /// Counted with the run's tokenizer if absent.
    input_tokens: Option<u32>,
    #[serde(default)]
    extra_body: JsonObject,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

impl PythonDataset {
    pub(crate) fn new(function: Py<PyAny>) -> Self {
        Self { function: Arc::new(function), raised: Raised::default() }
    }

    /// Returns where an exception of the function is kept.
    pub(crate) fn raised(&self) -> Raised {
        self.raised.clone()
    }

    /// Calls the function and returns the first `count` of its requests as JSON.
    fn call(&self, python: Python<'_>, count: usize) -> PyResult<String> {
        let requests = PyList::empty(python);
        for request in self.function.bind(python).call1((count,))?.try_iter()?.take(count) {
            requests.append(request?)?;
        }
        json::dumps(&requests)
    }
}

impl Dataset for PythonDataset {
    fn draw(
        &mut self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Session>, DatasetError> {
        let requests = Python::attach(|python| self.call(python, count)).map_err(|exception| {
            let reason = format!("the data set raised {exception}");
            self.raised.keep(exception);
            DatasetError::Settings(reason)
        })?;
        let requests: Vec<Value> = serde_json::from_str(&requests)
            .map_err(|error| DatasetError::Settings(format!("the data set: {error}")))?;
        let sessions = requests.into_iter().enumerate();
        sessions.map(|(index, request)| session(index, request, context.tokenizer)).collect()
    }
}

/// Returns the session of a request, or of a list of requests: the turns of a conversation.
fn session(
    index: usize,
    request: Value,
    tokenizer: &dyn Tokenizer,
) -> Result<Session, DatasetError> {
    let turns = match request {
        Value::Array(turns) => turns,
        one => vec![one],
    };
    let wrong = |reason: String| {
        DatasetError::Settings(format!("the data set: requests[{index}]: {reason}"))
    };
    let mut samples = Vec::with_capacity(turns.len());
    for turn in turns {
        let request = serde_json::from_value(turn).map_err(|error| wrong(error.to_string()))?;
        samples.push(sample(request, tokenizer)?);
    }
    let mut samples = samples.into_iter();
    let first = samples.next().ok_or_else(|| wrong("a conversation without turns".to_owned()))?;
    Ok(Session::from(first).followed_by(samples.map(FollowUp::new).collect()))
}

fn sample(request: Request, tokenizer: &dyn Tokenizer) -> Result<Sample, DatasetError> {
    let Request { prompt, output_tokens, input_tokens, extra_body, headers } = request;
    let input_tokens = match input_tokens {
        Some(tokens) => tokens,
        None => count(&prompt, tokenizer)?,
    };
    let mut sample = Sample::new(prompt, input_tokens, output_tokens).with_extra_body(extra_body);
    sample.headers = headers.into_iter().collect();
    Ok(sample)
}

/// Returns the number of tokens of a prompt. Of a complete body, which few dialects take, it is zero:
/// what of it the model reads is unknown.
fn count(prompt: &Prompt, tokenizer: &dyn Tokenizer) -> Result<u32, TokenizerError> {
    let text = |text: &str| tokenizer.count(text, SpecialTokens::Add);
    match prompt {
        Prompt::TokenIds(ids) => Ok(length(ids)),
        Prompt::Batch(prompts) => Ok(prompts.iter().map(|ids| length(ids)).sum()),
        Prompt::Messages(messages) => {
            tokenizer.count(&tokenizer.apply_chat_template(messages)?, SpecialTokens::Omit)
        }
        Prompt::Texts(texts) => texts.iter().map(|part| text(part)).sum(),
        Prompt::Ranking { query, documents } => {
            std::iter::once(query).chain(documents).map(|part| text(part)).sum()
        }
        other => other.text().map_or(Ok(0), |whole| text(&whole)),
    }
}

fn length(ids: &[u32]) -> u32 {
    u32::try_from(ids.len()).unwrap_or(u32::MAX)
}
