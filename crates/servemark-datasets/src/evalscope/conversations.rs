//! Conversations from a file, with the server's own answers as history.

use std::num::NonZero;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{DatasetError, DrawContext, JsonObject, parallel};

use super::measure::{Measure, user};
use super::texts::file;
use super::{Conversation, EvalscopeData, EvalscopeName, EvalscopeSpec, share_gpt};
use crate::{python_json, text_file};

/// Conversations from a file, sent turn by turn.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct EvalscopeTurnsSpec {
    /// Content of the file.
    pub turns: EvalscopeTurns,
    /// Path of the file; without one, the published data set is downloaded.
    #[serde(default)]
    pub path: Option<PathBuf>,
    /// Maximum number of turns; longer conversations are cut (`--max-turns`).
    #[serde(default)]
    pub most_turns: Option<NonZero<u32>>,
}

impl EvalscopeTurnsSpec {
    pub(super) fn of(turns: EvalscopeTurns) -> EvalscopeData {
        EvalscopeData::Turns(Self { turns, path: None, most_turns: None })
    }

    /// Reads the first `count` usable conversations.
    pub(super) fn converse(
        &self,
        of: &EvalscopeSpec,
        count: usize,
        context: &DrawContext<'_>,
    ) -> Result<Vec<Conversation>, DatasetError> {
        let name = self.turns.name().as_str();
        let path = file(name, self.path.as_deref(), self.turns.published())?;
        let text = text_file::read(&path)?;
        let lines: Vec<_> = text_file::lines(&text).collect();
        let reader = Reader { spec: self, path: &path, measure: Measure::of(of, context) };
        parallel::first("reading conversations", &lines, count, context.progress, |(line, text)| {
            reader.read(*line, text)
        })
    }
}

/// Converts lines to conversations.
struct Reader<'a> {
    spec: &'a EvalscopeTurnsSpec,
    path: &'a Path,
    measure: Measure<'a>,
}

impl Reader<'_> {
    /// Converts a line to a conversation, or returns `None` if the first user text is outside the
    /// length bounds.
    fn read(&self, line: usize, text: &str) -> Result<Option<Conversation>, DatasetError> {
        let bad = |why| text_file::malformed(self.path, line, why);
        let row = python_json::parse(text).map_err(|why| bad(python_json::without_line(&why)))?;
        let mut turns = self.spec.turns.of_row(&row).map_err(bad)?;
        turns.truncate(self.spec.most_turns.map_or(usize::MAX, |most| most.get() as usize));
        match opening(&turns) {
            Some(text) if !self.measure.fits(text)? => Ok(None),
            _ => Conversation::of(turns, &self.measure),
        }
    }
}

/// Returns the first user message of the first turn, if it is a text.
fn opening(turns: &[Vec<JsonObject>]) -> Option<&str> {
    let by_user = |message: &&JsonObject| message.get("role").is_some_and(|role| role == "user");
    turns.first()?.iter().find(by_user)?.get("content")?.as_str()
}

/// Content of a file of conversations.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EvalscopeTurns {
    /// Messages, one JSON array per line.
    Custom,
    /// ShareGPT conversations in English, one JSON object per line.
    ShareGptEn,
    /// ShareGPT conversations in Chinese, one JSON object per line.
    ShareGptZh,
}

impl EvalscopeTurns {
    pub(super) fn name(self) -> EvalscopeName {
        match self {
            Self::Custom => EvalscopeName::CustomMultiTurn,
            Self::ShareGptEn => EvalscopeName::ShareGptEnMultiTurn,
            Self::ShareGptZh => EvalscopeName::ShareGptZhMultiTurn,
        }
    }

    /// Returns the file's name in the published data set.
    fn published(self) -> Option<&'static str> {
        match self {
            Self::Custom => None,
            Self::ShareGptEn => Some(share_gpt::ENGLISH),
            Self::ShareGptZh => Some(share_gpt::CHINESE),
        }
    }

    /// Returns the messages that each turn adds to the conversation.
    fn of_row(self, row: &Value) -> Result<Vec<Vec<JsonObject>>, String> {
        match self {
            Self::Custom => between_answers(row),
            Self::ShareGptEn | Self::ShareGptZh => {
                let humans = share_gpt::human_texts(row)?;
                Ok(humans.into_iter().map(|text| vec![user(text)]).collect())
            }
        }
    }
}

/// Splits messages into turns at the assistant's messages, which are dropped.
fn between_answers(row: &Value) -> Result<Vec<Vec<JsonObject>>, String> {
    let messages = row.as_array().filter(|messages| !messages.is_empty()).ok_or(NO_MESSAGES)?;
    let messages = messages.iter().map(message).collect::<Result<Vec<_>, _>>()?;
    let is_answer = |message: &&JsonObject| message["role"] == "assistant";
    let turns = messages.split(|message| is_answer(&message)).map(<[JsonObject]>::to_vec);
    Ok(turns.filter(|turn| !turn.is_empty()).collect())
}

fn message(value: &Value) -> Result<JsonObject, String> {
    let message = value.as_object().ok_or(NO_MESSAGES)?;
    let has_all = ["role", "content"].iter().all(|key| message.contains_key(*key));
    has_all.then(|| message.clone()).ok_or_else(|| NO_MESSAGES.to_owned())
}

const NO_MESSAGES: &str = "expected an array of messages, each an object with a role and a content";
