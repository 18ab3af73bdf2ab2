//! Prompt templates for rows.
//!
//! AISBench has templates for completions and for chats, and renders them by rules that depend on
//! its kind of model. These are the rules for models behind a service API.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{
    DatasetError, FollowUp, JsonObject, LazyText, Prompt, Sample, Session, TextSource,
};

use super::AisbenchTurns;
use super::media;
use super::row::{Cell, Row};

/// A prompt template. Column names in braces are replaced by the row's cells.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AisbenchTemplate {
    /// A single text.
    Text(String),
    /// Messages of several speakers; conversations repeat the round for each turn.
    Rounds {
        /// Messages before all rounds.
        begin: Vec<AisbenchMessage>,
        /// Messages of one round.
        round: Vec<AisbenchMessage>,
    },
    /// Parts of a user message by kind: `text`, `image`, `video`, `audio`.
    Parts(JsonObject),
}

/// A message of one speaker.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct AisbenchMessage {
    /// Role of the message.
    pub speaker: ChatRole,
    /// Text of the message.
    pub text: String,
}

impl AisbenchMessage {
    /// Creates a message of `speaker`.
    pub fn new(speaker: ChatRole, text: impl Into<String>) -> Self {
        Self { speaker, text: text.into() }
    }
}

/// Role of a message: AISBench's `HUMAN`, `BOT` and `SYSTEM`. Exhaustive: these are AISBench's
/// roles.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatRole {
    /// A user message.
    Human,
    /// A message of the model.
    Bot,
    /// The system prompt.
    System,
}

impl ChatRole {
    const fn role(self) -> &'static str {
        match self {
            Self::Human => "user",
            Self::Bot => "assistant",
            Self::System => "system",
        }
    }
}

/// A template that consists of the question alone.
impl Default for AisbenchTemplate {
    fn default() -> Self {
        Self::Text("{question}".to_owned())
    }
}

impl AisbenchTemplate {
    /// Builds the single request of a row. The column named by `answer` is replaced by an empty
    /// text.
    pub(super) fn sample(
        &self,
        row: &Row,
        answer: Option<&str>,
        messages: bool,
        output_tokens: u32,
    ) -> Result<Sample, DatasetError> {
        let fill = |text: &str| filled(text, row, answer);
        let prompt = match self {
            Self::Text(text) => match words(text, row) {
                Some(words) => LazyText::new(Words(words)).into(),
                None => fill(text).into(),
            },
            Self::Rounds { begin, round } => {
                let said = fill_messages(begin.iter().chain(round), fill);
                if messages { conversation(before_the_answer(said)) } else { joined(&said).into() }
            }
            Self::Parts(parts) => {
                let (content, media) = media::content(parts, row, fill)?;
                let mut sample =
                    Sample::new(Prompt::Messages(vec![message("user", content)]), 0, 0);
                (sample.media, sample.output_tokens) = (media, output_tokens);
                return Ok(sample);
            }
        };
        Ok(Sample::new(prompt, 0, output_tokens))
    }

    /// Builds the session of a conversation. A template without rounds sends each turn's question
    /// unchanged.
    pub(super) fn conversation(&self, row: &Row, turns: AisbenchTurns, output: u32) -> Session {
        let said = self.filled_rounds(row);
        let answers = said.iter().enumerate().filter(|(_, said)| said.speaker == ChatRole::Bot);
        let ends: Vec<usize> = answers.map(|(place, _)| place).collect();
        let sample = |part: &[AisbenchMessage]| Sample::new(conversation(part.to_vec()), 0, output);
        let asked = |from: usize, end: usize| FollowUp::new(sample(&said[from..end]));
        let whole = &said[..ends.last().copied().unwrap_or(said.len())];
        let first = ends.first().copied().unwrap_or(said.len());
        match turns {
            AisbenchTurns::Last => Session::from(sample(whole)),
            AisbenchTurns::Every => {
                let later = ends.windows(2).map(|ends| asked(ends[0] + 1, ends[1])).collect();
                Session::from(sample(&said[..first])).followed_by(later)
            }
            AisbenchTurns::EveryWithAnswers => {
                let later = ends.iter().skip(1).map(|end| asked(0, *end)).collect();
                Session::from(sample(&said[..first])).followed_by(later)
            }
        }
    }

    fn filled_rounds(&self, row: &Row) -> Vec<AisbenchMessage> {
        let usual = [
            AisbenchMessage::new(ChatRole::Human, "{question}"),
            AisbenchMessage::new(ChatRole::Bot, "{answer}"),
        ];
        let (begin, round): (&[AisbenchMessage], &[AisbenchMessage]) = match self {
            Self::Rounds { begin, round } => (begin, round),
            _ => (&[], &usual),
        };
        let turns = row.turns.iter().flat_map(|(question, answer)| {
            let fill =
                |text: &str| text.replace("{question}", question).replace("{answer}", answer);
            fill_messages(round.iter(), fill)
        });
        fill_messages(begin.iter(), str::to_owned).into_iter().chain(turns).collect()
    }
}

fn fill_messages<'a>(
    sayings: impl Iterator<Item = &'a AisbenchMessage>,
    fill: impl Fn(&str) -> String,
) -> Vec<AisbenchMessage> {
    sayings
        .map(|AisbenchMessage { speaker, text }| AisbenchMessage::new(*speaker, fill(text)))
        .collect()
}

/// Returns the messages up to the last user message and what follows it before the next message of
/// the model.
fn before_the_answer(mut said: Vec<AisbenchMessage>) -> Vec<AisbenchMessage> {
    let asked =
        said.iter().rposition(|saying| saying.speaker == ChatRole::Human).unwrap_or_default();
    let answer = said[asked..].iter().position(|saying| saying.speaker == ChatRole::Bot);
    said.truncate(answer.map_or(said.len(), |answer| asked + answer));
    said
}

/// Converts to chat messages, joining consecutive ones of the same speaker.
fn conversation(said: Vec<AisbenchMessage>) -> Prompt {
    let mut merged: Vec<AisbenchMessage> = Vec::new();
    for saying in said {
        match merged.last_mut() {
            Some(last) if last.speaker == saying.speaker => {
                last.text.push('\n');
                last.text.push_str(&saying.text);
            }
            _ => merged.push(saying),
        }
    }
    let message = |saying: AisbenchMessage| message(saying.speaker.role(), saying.text.into());
    Prompt::Messages(merged.into_iter().map(message).collect())
}

/// Builds a chat message with the key order of AISBench.
fn message(role: &str, content: Value) -> JsonObject {
    [("content", content), ("role", role.into())]
        .map(|(key, value)| (key.to_owned(), value))
        .into_iter()
        .collect()
}

/// Joins the texts into one prompt for a route that takes no messages.
fn joined(said: &[AisbenchMessage]) -> String {
    let texts = said.iter().map(|saying| saying.text.as_str()).filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join("\n")
}

/// Replaces the row's columns in a text, one after the other, as AISBench does.
fn filled(text: &str, row: &Row, answer: Option<&str>) -> String {
    let mut text = Cow::Borrowed(text);
    for (column, cell) in &row.columns {
        let place = format!("{{{column}}}");
        if text.contains(&place) {
            let is_answer = answer == Some(column.as_str());
            let cell = if is_answer { String::new() } else { cell.text().into_owned() };
            text = text.replace(&place, &cell).into();
        }
    }
    text.into_owned()
}

/// Returns the word count if the text consists of one column whose cell is [`Cell::Words`].
fn words(text: &str, row: &Row) -> Option<u32> {
    let column = text.strip_prefix('{')?.strip_suffix('}')?;
    match row.columns.iter().find(|(name, _)| name == column)? {
        (_, Cell::Words(count)) => Some(*count),
        _ => None,
    }
}

impl Cell {
    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => text.into(),
            Self::Words(count) => Words(*count).text().into(),
        }
    }
}

/// The letter A, repeated and separated by spaces: the text of AISBench's synthetic prompts.
#[derive(Clone, Copy, Debug)]
struct Words(u32);

impl TextSource for Words {
    fn text(&self) -> String {
        vec!["A"; self.0 as usize].join(" ")
    }
}

/// Returns all text of a prompt, for counting tokens.
pub(super) fn prompt_text(prompt: &Prompt) -> Cow<'_, str> {
    let Prompt::Messages(messages) = prompt else { return prompt.text().unwrap_or_default() };
    let contents = messages.iter().filter_map(|message| message.get("content"));
    let texts = contents.flat_map(|content| match content {
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        content => content.as_str().into_iter().collect::<Vec<_>>(),
    });
    texts.collect::<Vec<_>>().join("\n").into()
}
