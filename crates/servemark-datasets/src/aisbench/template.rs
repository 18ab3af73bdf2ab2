//! What is said around a row: templates of prompts.
//!
//! The peer has a way to write them for completions and for chats, and puts them into words by the
//! model's own rules; these are the rules of its models of a service.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{
    DatasetError, FollowUp, JsonObject, LazyText, Prompt, Prose, Sample, Session,
};

use super::AisbenchTurns;
use super::row::{Cell, Row};
use super::shown;

/// What is said around a row. Names in braces stand for its columns.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AisbenchTemplate {
    /// One text.
    Text(String),
    /// What several speakers say; conversations repeat the rounds for each of their turns.
    Rounds {
        /// What is said before all rounds.
        begin: Vec<Saying>,
        /// A round.
        round: Vec<Saying>,
    },
    /// Parts of what a user says, by what they are: `text`, `image`, `video`, `audio`.
    Parts(JsonObject),
}

/// What one speaker says.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Saying {
    /// Who.
    pub speaker: Speaker,
    /// What.
    pub text: String,
}

impl Saying {
    /// What a speaker says.
    pub fn new(speaker: Speaker, text: impl Into<String>) -> Self {
        Self { speaker, text: text.into() }
    }
}

/// Who speaks: AISBench's `HUMAN`, `BOT` and `SYSTEM`. Closed, as they are there.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// The user.
    Human,
    /// The model.
    Bot,
    /// Whoever sets the scene.
    System,
}

impl Speaker {
    const fn role(self) -> &'static str {
        match self {
            Self::Human => "user",
            Self::Bot => "assistant",
            Self::System => "system",
        }
    }
}

/// A question as it is.
impl Default for AisbenchTemplate {
    fn default() -> Self {
        Self::Text("{question}".to_owned())
    }
}

impl AisbenchTemplate {
    /// The one request of a row. The column `answer` is left empty.
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
                let said = said(begin.iter().chain(round), fill);
                if messages { conversation(before_the_answer(said)) } else { joined(&said).into() }
            }
            Self::Parts(parts) => {
                let (content, media) = shown::content(parts, row, fill)?;
                let mut sample =
                    Sample::new(Prompt::Messages(vec![message("user", content)]), 0, 0);
                (sample.media, sample.output_tokens) = (media, output_tokens);
                return Ok(sample);
            }
        };
        Ok(Sample::new(prompt, 0, output_tokens))
    }

    /// A conversation, by one of the ways of asking it. Without rounds a turn is its question.
    pub(super) fn conversation(&self, row: &Row, turns: AisbenchTurns, output: u32) -> Session {
        let said = self.said_in_turns(row);
        let answers = said.iter().enumerate().filter(|(_, said)| said.speaker == Speaker::Bot);
        let ends: Vec<usize> = answers.map(|(place, _)| place).collect();
        let sample = |part: &[Saying]| Sample::new(conversation(part.to_vec()), 0, output);
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

    fn said_in_turns(&self, row: &Row) -> Vec<Saying> {
        let usual =
            [Saying::new(Speaker::Human, "{question}"), Saying::new(Speaker::Bot, "{answer}")];
        let (begin, round): (&[Saying], &[Saying]) = match self {
            Self::Rounds { begin, round } => (begin, round),
            _ => (&[], &usual),
        };
        let turns = row.turns.iter().flat_map(|(question, answer)| {
            let fill =
                |text: &str| text.replace("{question}", question).replace("{answer}", answer);
            said(round.iter(), fill)
        });
        said(begin.iter(), str::to_owned).into_iter().chain(turns).collect()
    }
}

fn said<'a>(
    sayings: impl Iterator<Item = &'a Saying>,
    fill: impl Fn(&str) -> String,
) -> Vec<Saying> {
    sayings.map(|Saying { speaker, text }| Saying::new(*speaker, fill(text))).collect()
}

/// All that is said before the model is to answer: the last user's word, and nothing behind it that
/// the model would say.
fn before_the_answer(mut said: Vec<Saying>) -> Vec<Saying> {
    let asked =
        said.iter().rposition(|saying| saying.speaker == Speaker::Human).unwrap_or_default();
    let answer = said[asked..].iter().position(|saying| saying.speaker == Speaker::Bot);
    said.truncate(answer.map_or(said.len(), |answer| asked + answer));
    said
}

/// Messages, of which one speaker's that follow one another are one.
fn conversation(said: Vec<Saying>) -> Prompt {
    let mut merged: Vec<Saying> = Vec::new();
    for saying in said {
        match merged.last_mut() {
            Some(last) if last.speaker == saying.speaker => {
                last.text.push('\n');
                last.text.push_str(&saying.text);
            }
            _ => merged.push(saying),
        }
    }
    let message = |saying: Saying| message(saying.speaker.role(), saying.text.into());
    Prompt::Messages(merged.into_iter().map(message).collect())
}

/// The order is the peer's.
fn message(role: &str, content: Value) -> JsonObject {
    [("content", content), ("role", role.into())]
        .map(|(key, value)| (key.to_owned(), value))
        .into_iter()
        .collect()
}

/// One text, for a route that takes no messages.
fn joined(said: &[Saying]) -> String {
    let texts = said.iter().map(|saying| saying.text.as_str()).filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join("\n")
}

/// A text with a row's columns in it, one after the other, as the peer replaces them.
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

/// How many words a text is, if it is one column and that is nothing but words.
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

/// So many times the letter A, parted by blanks: the words of AISBench's synthetic prompts.
#[derive(Clone, Copy, Debug)]
struct Words(u32);

impl Prose for Words {
    fn text(&self) -> String {
        vec!["A"; self.0 as usize].join(" ")
    }
}

/// All that a prompt says, to be counted.
pub(super) fn spoken(prompt: &Prompt) -> Cow<'_, str> {
    let Prompt::Messages(messages) = prompt else { return prompt.text().unwrap_or_default() };
    let contents = messages.iter().filter_map(|message| message.get("content"));
    let texts = contents.flat_map(|content| match content {
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        content => content.as_str().into_iter().collect::<Vec<_>>(),
    });
    texts.collect::<Vec<_>>().join("\n").into()
}
