//! Recorded agent conversations, sent again turn by turn.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use servemark_core::{
    DatasetError, DrawContext, FollowUp, JsonObject, Sample, Session, SpecialTokens, Tokenizer,
    parallel,
};

use crate::shaping::user_message;
use crate::{DatasetName, Draw, Summary, python_json, text_file};

/// A trace of agent conversations. Each turn in the file holds only its new messages, without the
/// model's answers.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct AgenticTraceSpec {
    /// Path of the trace file.
    pub path: Option<PathBuf>,
    /// Index of the conversation to start with. The list is rotated, so earlier conversations come
    /// last; a negative index counts from the end.
    pub offset: i64,
    /// Maximum number of turns sent per conversation.
    pub max_turns: Option<usize>,
    /// Output length of every turn, in tokens.
    pub output_tokens: u32,
}

impl Default for AgenticTraceSpec {
    fn default() -> Self {
        Self { path: None, offset: 0, max_turns: None, output_tokens: 220 }
    }
}

/// The trace file. Each conversation is kept as raw JSON text.
#[derive(Deserialize)]
struct Trace<'a> {
    #[serde(borrow, default)]
    conversations: Vec<&'a RawValue>,
}

impl AgenticTraceSpec {
    /// Draws the first `count` conversations that have a turn, or all of them if `count` is 0.
    pub(crate) fn draw(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Draw, DatasetError> {
        let hint =
            "pass a trace with `workload.dataset.path`, a JSON object with \"conversations\"";
        let dataset = DatasetName::AgenticTrace.as_str();
        let path = self.path.as_deref().ok_or(DatasetError::NoFile { dataset, hint })?;
        let text = text_file::read(path)?;
        let text = python_json::standard(&text);
        let Trace { mut conversations } = serde_json::from_str(&text)
            .map_err(|error| text_file::malformed(path, error.line(), error.to_string()))?;
        let offset =
            i128::from(self.offset).rem_euclid(conversations.len().max(1) as i128) as usize;
        conversations.rotate_left(offset);
        let tokenizer = context.tokenizer;
        let session =
            |raw: &&RawValue| self.session(raw, &TraceFile { path, text: &text }, tokenizer);
        let name = "tokenizing conversations";
        let count = if count == 0 { conversations.len() } else { count };
        let sessions = parallel::first(name, &conversations, count, context.progress, session)?;
        let summary = self.summary(&sessions, offset);
        Ok(Draw::of_sessions(sessions, summary))
    }

    /// Builds the session of one conversation, or `None` if no turn has messages.
    fn session(
        &self,
        raw: &RawValue,
        place: &TraceFile<'_>,
        tokenizer: &dyn Tokenizer,
    ) -> Result<Option<Session>, DatasetError> {
        let malformed = |reason| place.malformed(raw, reason);
        let turns: Vec<TraceTurn> =
            serde_json::from_str(raw.get()).map_err(|error| malformed(error.to_string()))?;
        let first_tokens = turns.first().map_or(0, |turn| turn.prompt_tokens);
        let most = self.max_turns.unwrap_or(usize::MAX);
        let drafts = turns.into_iter().filter(TraceTurn::has_text).take(most);
        let messages: Vec<Vec<JsonObject>> =
            drafts.map(TraceTurn::messages).collect::<Result<_, _>>().map_err(malformed)?;
        let mut messages = messages.into_iter();
        let Some(first) = messages.next() else { return Ok(None) };
        let first = Sample::new(first, first_tokens, self.output_tokens);
        let follow_up = |messages: Vec<JsonObject>| {
            let tokens = new_tokens(&messages, tokenizer)?;
            Ok(FollowUp::new(Sample::new(messages, tokens, self.output_tokens)))
        };
        let follow_ups = messages.map(follow_up).collect::<Result<_, DatasetError>>()?;
        Ok(Some(Session::from(first).followed_by(follow_ups)))
    }

    fn summary(&self, sessions: &[Session], offset: usize) -> Summary {
        let turns: Vec<usize> = sessions.iter().map(Session::turns).collect();
        let (least, most) = (turns.iter().min().unwrap_or(&0), turns.iter().max().unwrap_or(&0));
        let mean = turns.iter().sum::<usize>() as f64 / turns.len() as f64;
        let lines = format!(
            "#Conversations: {} (offset={offset}, turns/conv min={least} max={most} \
             avg={mean:.1})\n#Output tokens per turn: {}\n",
            sessions.len(),
            self.output_tokens
        );
        Summary::of_sessions(DatasetName::AgenticTrace, sessions).in_lines(lines)
    }
}

/// One turn of a conversation.
#[derive(Deserialize)]
struct TraceTurn {
    #[serde(default)]
    messages: Value,
    /// Token count of the whole prompt at recording time.
    #[serde(default)]
    prompt_tokens: u32,
}

impl TraceTurn {
    /// Returns whether `messages` is neither null nor empty (Python's truth test).
    fn has_text(&self) -> bool {
        match &self.messages {
            Value::Null => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(messages) => !messages.is_empty(),
            _ => true,
        }
    }

    /// Returns the messages reduced to `role` and `content`, as SGLang sends them.
    fn messages(self) -> Result<Vec<JsonObject>, String> {
        match self.messages {
            Value::String(text) => Ok(vec![user_message(&text)]),
            Value::Array(messages) => messages.into_iter().map(message).collect(),
            _ => Err("\"messages\" is not an array".to_owned()),
        }
    }
}

fn message(message: Value) -> Result<JsonObject, String> {
    let wrong = || "a message has no \"role\" or no \"content\"".to_owned();
    let Value::Object(mut message) = message else { return Err(wrong()) };
    let part = |key: &str| message.shift_remove(key).map(|value| (key.to_owned(), value));
    ["role", "content"].map(part).into_iter().collect::<Option<_>>().ok_or_else(wrong)
}

/// Counts the tokens of the message texts. The trace's own count covers the whole conversation,
/// including recorded answers that this run does not receive.
fn new_tokens(messages: &[JsonObject], tokenizer: &dyn Tokenizer) -> Result<u32, DatasetError> {
    let texts = messages.iter().flat_map(|message| texts(&message["content"]));
    let counts = texts.map(|text| tokenizer.count(text, SpecialTokens::Omit));
    Ok(counts.sum::<Result<u32, _>>()?)
}

/// Returns a content's text, or the texts of its parts.
fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => Vec::new(),
    }
}

/// The trace's path and text, used to report the line of a malformed conversation.
struct TraceFile<'a> {
    path: &'a Path,
    text: &'a str,
}

impl TraceFile<'_> {
    fn malformed(&self, conversation: &RawValue, reason: String) -> DatasetError {
        let offset = conversation.get().as_ptr().addr() - self.text.as_ptr().addr();
        text_file::malformed(self.path, text_file::line_at(self.text, offset), reason)
    }
}
