//! AISBench's data sets: rows of a file or drawn ones, put into a template of prompts.
//!
//! Rows, prompts and lengths are those of AISBench v3.1 (commit 29c363e). The peer draws from
//! generators that nobody has seeded; here they are the run's own, and from the same seed come the
//! same draws.

mod conversations;
mod custom;
mod mooncake;
mod row;
mod shown;
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
pub use self::mooncake::AisbenchTraceSpec;
use self::row::Row;
pub use self::shown::{AisbenchShownSpec, MediaForm, ShownLayout};
pub use self::synthetic::{AisbenchIdsSpec, AisbenchLengths, AisbenchTextSpec};
pub use self::template::{AisbenchTemplate, Saying, Speaker};
use crate::{DatasetName, Draw, Summary, text_file};

/// A data set of AISBench's, and what is made of its rows.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a question of its own")]
#[non_exhaustive]
pub struct AisbenchSpec {
    /// Where rows come from.
    #[serde(flatten)]
    pub data: AisbenchData,
    /// What is said around a row.
    pub template: AisbenchTemplate,
    /// The column of a row that is the answer, which a prompt leaves empty.
    #[serde(default)]
    pub answer: Option<String>,
    /// Whether the route takes messages; else prompts are one text.
    pub messages: bool,
    /// Whether a row's own length of the answer counts.
    #[serde(default)]
    pub own_lengths: bool,
    /// Whether a row's own time counts.
    #[serde(default)]
    pub timed: bool,
    /// How many output tokens are asked for where no row says.
    pub output_tokens: u32,
    /// The first row that is sent, from zero.
    #[serde(default)]
    pub from: usize,
    /// The row before which sending ends, if it is not the last.
    #[serde(default)]
    pub until: Option<usize>,
    /// How often each row is sent, one right after the other.
    pub repeats: NonZero<u32>,
    /// A JSON file that says which adapter answers which row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapters: Option<PathBuf>,
    /// Whether each request has an id of its own in its body, as Triton wants it.
    #[serde(default)]
    pub ids: bool,
    /// Whether prompts are counted, which takes a tokenizer.
    #[serde(default)]
    pub counted: bool,
    /// The data sets whose rows follow in the same run, with their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub followed_by: Vec<(String, Self)>,
    /// Its own name, where there are any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// Where rows come from.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AisbenchData {
    /// Conversations of ShareGPT or MT-Bench.
    Conversations(AisbenchConversations),
    /// Questions of one's own.
    Custom(AisbenchCustomSpec),
    /// Pictures, videos and recordings with questions about them.
    Shown(AisbenchShownSpec),
    /// Prompts of drawn token ids.
    SyntheticIds(AisbenchIdsSpec),
    /// Prompts of drawn lengths.
    SyntheticText(AisbenchTextSpec),
    /// Mooncake's traces.
    Trace(AisbenchTraceSpec),
}

impl AisbenchSpec {
    /// All rows of a data set, each once, said as they are.
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

    /// Up to `count` rows of each data set, or all of them where it is zero.
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
        // AISBench prints nothing of them.
        let summary =
            Summary::of_sessions(DatasetName::Aisbench, &sessions).in_lines(String::new());
        let draw = Draw::of_sessions(sessions, summary);
        Ok(if self.followed_by.is_empty() { draw } else { draw.of_parts(parts) })
    }

    /// What is sent of this data set alone.
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
        if self.ids {
            for sample in sessions.iter_mut().flat_map(Session::samples_mut) {
                let id = uuid(&mut context.random.python);
                sample.extra_body.insert("id".to_owned(), id.into());
            }
        }
        Ok(sessions)
    }

    /// Whether a session may have more than one turn.
    pub(crate) fn is_multi_turn(&self) -> bool {
        matches!(&self.data, AisbenchData::Conversations(spec) if spec.turns != AisbenchTurns::Last)
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

    /// How many tokens a prompt has: as many as were drawn, or as the tokenizer finds.
    fn count(
        &self,
        sample: &mut Sample,
        drawn: Option<u32>,
        context: &DrawContext<'_>,
    ) -> Result<(), DatasetError> {
        let tokens = if let Some(tokens) = drawn {
            tokens
        } else if self.counted {
            context.tokenizer.count(&template::spoken(&sample.prompt), SpecialTokens::Omit)?
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
            text_file::malformed(path, error.line(), format!("no map of rows to adapters: {error}"))
        };
        serde_json::from_str(&text).map_err(wrong)
    }
}

/// A random id as Python's `uuid4` writes it.
fn uuid(python: &mut PythonRandom) -> String {
    let high = python.getrandbits(64) & !0xf000 | 0x4000;
    let low = python.getrandbits(64) & !(0b11 << 62) | 0b10 << 62;
    let digits = format!("{high:016x}{low:016x}");
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    parts.join("-")
}

fn no_file<'a>(dataset: &'static str, path: Option<&'a PathBuf>) -> Result<&'a Path, DatasetError> {
    let hint = "give its path in the data set's config, or with --dataset-path";
    path.map(PathBuf::as_path).ok_or(DatasetError::NoFile { dataset, hint })
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
