//! Multi-turn conversations of ShareGPT and MT-Bench.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{DatasetError, DrawContext, JsonObject, SpecialTokens};

use super::no_file;
use super::row::Row;
use crate::json_array;
use crate::jsonl::Reader;

/// A file of conversations and the way in which they are sent.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct AisbenchConversations {
    /// Path of the file: ShareGPT's JSON array or MT-Bench's JSON lines.
    pub path: Option<PathBuf>,
    /// Whether the file is MT-Bench's.
    pub mt_bench: bool,
    /// Whether conversations are shuffled.
    #[serde(default)]
    pub shuffled: bool,
    /// Which turns are sent, and with which history.
    pub turns: AisbenchTurns,
}

/// Which turns of a conversation are sent, and with which history: AISBench's `every`, `last` and
/// `every_with_gt`. Exhaustive: these are AISBench's modes.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AisbenchTurns {
    /// Each turn is sent, with the model's own answers as history.
    #[default]
    Every,
    /// Only the last turn is sent, with the file's answers as history.
    Last,
    /// Each turn is sent, with the file's answers as history.
    EveryWithAnswers,
}

impl AisbenchConversations {
    /// Creates a spec for ShareGPT's conversations in the order of the file.
    pub fn sharegpt(path: Option<PathBuf>, turns: AisbenchTurns) -> Self {
        Self { path, mt_bench: false, shuffled: false, turns }
    }

    /// Creates a spec for MT-Bench's questions.
    pub fn mt_bench(path: Option<PathBuf>, turns: AisbenchTurns) -> Self {
        Self { mt_bench: true, ..Self::sharegpt(path, turns) }
    }

    /// Reads the conversations. If `counted` is set, the tokens of ShareGPT's last answers are
    /// counted.
    pub(super) fn rows(
        &self,
        counted: bool,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Row>, DatasetError> {
        if self.mt_bench {
            return mt_bench(no_file("mtbench", self.path.as_ref())?);
        }
        let path = no_file("sharegpt", self.path.as_ref())?;
        let mut rows = json_array::read(path, context.progress, |record| Ok(sharegpt(&record)))?;
        if counted {
            for row in &mut rows {
                let last = row.turns.last().map_or("", |(_, answer)| answer.as_str());
                row.output_tokens = Some(context.tokenizer.count(last, SpecialTokens::Add)?);
            }
        }
        if self.shuffled {
            context.random.python.shuffle(&mut rows);
        }
        Ok(rows)
    }
}

/// Returns the conversation of a record if a human begins it and it ends with an answer.
fn sharegpt(record: &Value) -> Option<Row> {
    let messages = record["conversations"].as_array()?;
    let is_whole = messages.len() >= 2 && messages.len() % 2 == 0 && messages[0]["from"] == "human";
    let text = |turn: &Value| turn["value"].as_str().unwrap_or_default().to_owned();
    let turns = messages.chunks_exact(2).map(|turn| (text(&turn[0]), text(&turn[1]))).collect();
    is_whole.then(|| Row { turns, ..Row::default() })
}

fn mt_bench(path: &Path) -> Result<Vec<Row>, DatasetError> {
    let reader = Reader { path, on_bad_line: None, limit: None };
    Ok(reader.read(|_, record| questions(&record).map(Some))?.rows)
}

fn questions(record: &JsonObject) -> Result<Row, String> {
    let questions = texts(record, "prompt")?.ok_or("there is no \"prompt\"")?;
    let answers = texts(record, "reference")?.filter(|answers| !answers.is_empty());
    let answers = answers.unwrap_or_else(|| vec![String::new(); questions.len()]);
    if answers.len() != questions.len() {
        return Err("\"reference\" and \"prompt\" differ in length".to_owned());
    }
    Ok(Row { turns: questions.into_iter().zip(answers).collect(), ..Row::default() })
}

fn texts(record: &JsonObject, key: &str) -> Result<Option<Vec<String>>, String> {
    match record.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(list) => {
            let texts = serde_json::from_value(list.clone());
            texts.map(Some).map_err(|_| format!("{key:?} is not a list of texts"))
        }
    }
}
