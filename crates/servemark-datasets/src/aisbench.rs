//! AISBench's data sets: rows that are read from a file or drawn, and put into a prompt template.
//!
//! Rows, prompts and lengths are those of AISBench v3.1 (commit 29c363e). AISBench draws from
//! unseeded generators; here the draws come from the run's generators, so equal seeds give equal
//! draws.

mod conversations;
mod custom;
mod media;
mod media_file;
mod mooncake;
mod row;
mod synthetic;
mod template;

use std::num::NonZero;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use servemark_core::{
    DataPart, DatasetError, DrawContext, JsonObject, Sample, Session, SpecialTokens,
};
use servemark_rng::PythonRandom;

pub use self::conversations::{AisbenchConversations, AisbenchTurns};
pub use self::custom::AisbenchCustomSpec;
pub use self::media::{AisbenchMediaSpec, MediaForm, ShownLayout};
pub use self::mooncake::AisbenchTraceSpec;
use self::row::Row;
pub use self::synthetic::{AisbenchIdsSpec, AisbenchLengths, AisbenchTextSpec};
pub use self::template::{AisbenchMessage, AisbenchTemplate, ChatRole};
use crate::layout::FileLayout;
use crate::{DatasetName, Draw, Summary, text_file};

/// An AISBench data set and how its rows become requests.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent setting")]
pub struct AisbenchSpec {
    /// Source of the rows.
    #[serde(flatten)]
    pub data: AisbenchData,
    /// Prompt template that each row is put into.
    pub template: AisbenchTemplate,
    /// Column that holds the answer; the prompt leaves it empty.
    #[serde(default)]
    pub answer: Option<String>,
    /// Whether the route takes chat messages. If not, each prompt is a single text.
    pub messages: bool,
    /// Whether a row's own output length overrides `output_tokens`.
    #[serde(default)]
    pub own_lengths: bool,
    /// Whether a row's own time sets when its request is sent.
    #[serde(default)]
    pub timed: bool,
    /// Requested output length in tokens, for rows without a length of their own.
    pub output_tokens: u32,
    /// Zero-based index of the first row that is sent.
    #[serde(default)]
    pub from: usize,
    /// Zero-based index of the first row that is no longer sent; `None` sends all rows from `from`
    /// on.
    #[serde(default)]
    pub until: Option<usize>,
    /// Number of times each row is sent; the copies are consecutive.
    pub repeats: NonZero<u32>,
    /// Path of a JSON file that maps row numbers to adapter names. Row numbers are zero-based and
    /// count from the first row sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapters: Option<PathBuf>,
    /// Whether each request body has a random id of its own, as Triton requires.
    #[serde(default)]
    pub ids: bool,
    /// Whether prompt tokens are counted, which requires a tokenizer.
    #[serde(default)]
    pub counted: bool,
    /// Names and specs of the data sets that follow in the same run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub followed_by: Vec<(String, Self)>,
    /// Name of this data set, if the run has several.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// Source of an AISBench data set's rows.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AisbenchData {
    /// Conversations of ShareGPT or MT-Bench.
    Conversations(AisbenchConversations),
    /// Questions from a file in AISBench's custom format.
    Custom(AisbenchCustomSpec),
    /// Images, videos and audio files with questions about them.
    Shown(AisbenchMediaSpec),
    /// Prompts of randomly drawn token ids.
    SyntheticIds(AisbenchIdsSpec),
    /// Text prompts of randomly drawn lengths.
    SyntheticText(AisbenchTextSpec),
    /// A Mooncake trace.
    Trace(AisbenchTraceSpec),
}

impl AisbenchSpec {
    /// Creates a spec that sends every row of a data set once, with the default template.
    pub fn new(data: AisbenchData, output_tokens: u32) -> Self {
        Self {
            data,
            template: AisbenchTemplate::default(),
            answer: None,
            messages: true,
            own_lengths: false,
            timed: false,
            output_tokens,
            from: 0,
            until: None,
            repeats: NonZero::<u32>::MIN,
            adapters: None,
            ids: false,
            counted: false,
            followed_by: Vec::new(),
            name: String::new(),
        }
    }

    /// Draws up to `count` rows of each data set, or all rows if `count` is zero.
    pub(crate) fn draw(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Draw, DatasetError> {
        let mut sessions = self.sessions(count, context)?;
        let mut parts = vec![DataPart::new(&self.name, sessions.len())];
        for (name, spec) in &self.followed_by {
            let more = spec.sessions(count, context)?;
            parts.push(DataPart::new(name, more.len()));
            sessions.extend(more);
        }
        // AISBench prints no summary of its data sets.
        let summary =
            Summary::of_sessions(DatasetName::Aisbench, &sessions).in_lines(String::new());
        let draw = Draw::of_sessions(sessions, summary);
        Ok(if self.followed_by.is_empty() { draw } else { draw.of_parts(parts) })
    }

    /// Draws the sessions of this data set alone, without those of `followed_by`.
    fn sessions(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Session>, DatasetError> {
        let adapters = self.adapters()?;
        let rows = self.rows(context)?;
        let count = if count == 0 { usize::MAX } else { count };
        let until = self.until.unwrap_or(usize::MAX);
        let part = rows.into_iter().take(until).skip(self.from).take(count);
        let mut sessions = Vec::new();
        for (index, row) in part.enumerate() {
            let mut session = self.session(&row, context)?;
            let adapter = adapters.get(&index.to_string()).and_then(|name| name.as_str());
            for sample in session.samples_mut() {
                sample.adapter = adapter.map(str::to_owned);
            }
            sessions.extend(vec![session; self.repeats.get() as usize]);
        }
        if self.timed {
            close_gaps(&mut sessions);
        }
        if self.ids {
            for sample in sessions.iter_mut().flat_map(Session::samples_mut) {
                let id = uuid(&mut context.random.python);
                sample.extra_body.insert("id".to_owned(), id.into());
            }
        }
        Ok(sessions)
    }

    /// Returns the data set's own file and its layout, if it has one file of one text layout.
    pub(crate) fn file_layout(&self) -> Option<(&Path, FileLayout)> {
        let (path, layout) = match &self.data {
            AisbenchData::Conversations(spec) if spec.mt_bench => {
                (&spec.path, FileLayout::Lines(None))
            }
            AisbenchData::Conversations(spec) => (&spec.path, FileLayout::Array),
            AisbenchData::Custom(spec) => {
                let path = spec.path.as_deref()?;
                let is_lines = path.extension().is_some_and(|ending| ending == "jsonl");
                return is_lines.then_some((path, FileLayout::Lines(None)));
            }
            AisbenchData::Shown(spec) if spec.layout != ShownLayout::Mmstar => {
                (&spec.path, FileLayout::Lines(None))
            }
            AisbenchData::Trace(spec) => (&spec.path, FileLayout::Lines(None)),
            AisbenchData::Shown(_)
            | AisbenchData::SyntheticIds(_)
            | AisbenchData::SyntheticText(_) => {
                return None;
            }
        };
        Some((path.as_deref()?, layout))
    }

    /// Returns the files of this data set and of those that follow it in the same run.
    pub(crate) fn file_layouts(&self) -> Vec<(&Path, FileLayout)> {
        self.parts().filter_map(Self::file_layout).collect()
    }

    /// Returns whether a session may have more than one turn.
    pub(crate) fn is_multi_turn(&self) -> bool {
        let has_turns = |spec: &Self| matches!(&spec.data, AisbenchData::Conversations(spec) if spec.turns != AisbenchTurns::Last);
        self.parts().any(has_turns)
    }

    /// Returns whether sessions have recorded start times that can be replayed.
    pub(crate) fn has_timestamps(&self) -> bool {
        self.timed
    }

    /// Returns this data set and those that follow it in the same run.
    fn parts(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.followed_by.iter().map(|(_, spec)| spec))
    }

    /// Returns whether a data set that follows this one names further ones, which are not drawn.
    pub fn has_nested_parts(&self) -> bool {
        self.followed_by.iter().any(|(_, spec)| !spec.followed_by.is_empty())
    }

    fn rows(&self, context: &mut DrawContext<'_>) -> Result<Vec<Row>, DatasetError> {
        match &self.data {
            AisbenchData::Conversations(spec) => spec.rows(self.own_lengths, context),
            AisbenchData::Custom(spec) => spec.rows(context.random),
            AisbenchData::Shown(spec) => spec.rows(),
            AisbenchData::SyntheticIds(spec) => spec.rows(context),
            AisbenchData::SyntheticText(spec) => Ok(spec.rows(&mut context.random.numpy)),
            AisbenchData::Trace(spec) => spec.rows(context),
        }
    }

    fn session(&self, row: &Row, context: &DrawContext<'_>) -> Result<Session, DatasetError> {
        let own = row.output_tokens.filter(|tokens| self.own_lengths && *tokens > 0);
        let output = own.unwrap_or(self.output_tokens);
        let mut session = if let AisbenchData::Conversations(spec) = &self.data {
            self.template.conversation(row, spec.turns, output)
        } else {
            self.template.sample(row, self.answer.as_deref(), self.messages, output)?.into()
        };
        session.begins = row.begins.filter(|_| self.timed);
        for sample in session.samples_mut() {
            self.count(sample, row.prompt_tokens, context)?;
        }
        Ok(session)
    }

    /// Sets the prompt's token counts: the drawn count if there is one, else the tokenizer's count
    /// if `counted` is set, else 0.
    fn count(
        &self,
        sample: &mut Sample,
        drawn: Option<u32>,
        context: &DrawContext<'_>,
    ) -> Result<(), DatasetError> {
        let tokens = if let Some(tokens) = drawn {
            tokens
        } else if self.counted {
            context.tokenizer.count(&template::prompt_text(&sample.prompt), SpecialTokens::Omit)?
        } else {
            0
        };
        (sample.prompt_tokens, sample.text_tokens) = (tokens, tokens);
        Ok(())
    }

    fn adapters(&self) -> Result<JsonObject, DatasetError> {
        let Some(path) = &self.adapters else { return Ok(JsonObject::new()) };
        let text = text_file::read(path)?;
        let wrong = |error: serde_json::Error| {
            text_file::malformed(
                path,
                error.line(),
                format!("not a map of row numbers to adapters: {error}"),
            )
        };
        serde_json::from_str(&text).map_err(wrong)
    }
}

/// Draws a random UUID in the format of Python's `uuid4`.
fn uuid(python: &mut PythonRandom) -> String {
    let high = python.getrandbits(64) & !0xf000 | 0x4000;
    let low = python.getrandbits(64) & !(0b11 << 62) | 0b10 << 62;
    let digits = format!("{high:016x}{low:016x}");
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    parts.join("-")
}

fn no_file<'a>(dataset: &'static str, path: Option<&'a PathBuf>) -> Result<&'a Path, DatasetError> {
    let hint = "give its path in the data set's config, or with `workload.dataset.path`";
    path.map(PathBuf::as_path).ok_or(DatasetError::NoFile { dataset, hint })
}

/// Assigns the sessions' own times, in order, to the first sessions, and the last time to the
/// remaining ones. AISBench collects the times that rows have in a list and sends by that list.
fn close_gaps(sessions: &mut [Session]) {
    let times: Vec<_> = sessions.iter().filter_map(|session| session.begins).collect();
    for (index, session) in sessions.iter_mut().enumerate() {
        session.begins = times.get(index).or(times.last()).copied();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_random_ones_by_their_own_word() {
        let mut python = PythonRandom::seeded(3);
        let (one, other) = (uuid(&mut python), uuid(&mut python));
        assert_ne!(one, other);
        for id in [one, other] {
            let lengths: Vec<usize> = id.split('-').map(str::len).collect();
            assert_eq!(lengths, [8, 4, 4, 4, 12]);
            assert_eq!(&id[14..15], "4", "{id}");
            assert!("89ab".contains(&id[19..20]), "{id}");
        }
    }
}
