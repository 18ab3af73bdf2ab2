//! Mooncake's traces. Each row has the request's time, its length, and hashes of its blocks of 512
//! tokens, which identify shared beginnings.

mod peer;
mod row;

use std::iter::repeat_n;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Sample, Session};

use self::row::Row;
use crate::jsonl::Reader;
use crate::text_generator::TextGenerator;
use crate::{DatasetName, Draw, Summary};

/// A Mooncake trace.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct MooncakeSpec {
    /// Path of the trace. Without one, the workload's file in the system's temporary folder is
    /// read, or downloaded by a run if it does not exist.
    pub path: Option<PathBuf>,
    /// The published trace to use if `path` is not set.
    pub workload: MooncakeWorkload,
    /// Number of requests per row, all sent at the row's time. Each request's prompt is the
    /// previous one's prompt followed by an answer and the row's own text.
    pub rounds: NonZeroU32,
    /// How prompts are made.
    pub prompts: MooncakePrompts,
}

/// A published Mooncake trace.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MooncakeWorkload {
    /// The conversation trace.
    #[default]
    Conversation,
    /// The trace of the first publication.
    Mooncake,
    /// The synthetic trace.
    Synthetic,
    /// The trace of tools and agents.
    Toolagent,
}

/// How prompts are made from a row.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MooncakePrompts {
    /// Prompts have `input_length` tokens; blocks with equal hashes have equal texts.
    #[default]
    Lengths,
    /// Prompts have about 130 tokens per hash regardless of `input_length`, as in SGLang.
    Sglang,
}

impl Default for MooncakeSpec {
    fn default() -> Self {
        Self {
            path: None,
            workload: MooncakeWorkload::default(),
            rounds: NonZeroU32::MIN,
            prompts: MooncakePrompts::default(),
        }
    }
}

impl MooncakeSpec {
    /// Draws the requests of the first `count` rows, sorted by time.
    pub(crate) fn draw(
        &self,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Draw, DatasetError> {
        let mut rows = self.rows(count)?;
        let warm_up = match (self.prompts, rows.first()) {
            (MooncakePrompts::Sglang, Some(row)) => Some(peer::warm_up(row, context.tokenizer)?),
            _ => None,
        };
        rows.sort_by(|one, other| one.millis.total_cmp(&other.millis));
        let rounds = self.rounds.get();
        let samples = match self.prompts {
            MooncakePrompts::Lengths => by_lengths(&rows, rounds, context)?,
            MooncakePrompts::Sglang => peer::samples(&rows, rounds, context)?,
        };
        let begins = begins(&rows).flat_map(|begins| repeat_n(begins, rounds as usize));
        let sessions = samples.into_iter().zip(begins);
        let sessions = sessions.map(|(sample, begins)| Session::from(sample).beginning(begins));
        let sessions: Vec<Session> = sessions.collect();
        // SGLang prints no summary for it.
        let summary = Summary::of_sessions(DatasetName::Mooncake, &sessions);
        let summary = summary.in_lines(String::new());
        Ok(Draw::of_sessions(sessions, summary).warming_up_with(warm_up))
    }

    fn rows(&self, count: usize) -> Result<Vec<Row>, DatasetError> {
        let path = self.file()?;
        let reader = Reader { path: &path, on_bad_line: None, limit: Some(count) };
        let needs_length = self.prompts == MooncakePrompts::Lengths;
        Ok(reader.read(|line, object| Row::of(line, &object, needs_length).map(Some))?.rows)
    }

    fn file(&self) -> Result<PathBuf, DatasetError> {
        match &self.path {
            Some(path) => Ok(path.clone()),
            None if self.workload.is_here() => Ok(self.workload.file()),
            None => Err(DatasetError::NoFile { dataset: "mooncake", hint: NO_FILE }),
        }
    }
}

impl MooncakeWorkload {
    /// Returns the name under which the trace is published.
    pub(crate) const fn published(self) -> &'static str {
        match self {
            Self::Conversation => "mooncake/conversation",
            Self::Mooncake => "mooncake/mooncake",
            Self::Synthetic => "mooncake/synthetic",
            Self::Toolagent => "mooncake/toolagent",
        }
    }

    /// Returns whether the trace exists where SGLang stores it.
    pub(crate) fn is_here(self) -> bool {
        self.file().exists()
    }

    /// Returns the path at which SGLang stores the trace.
    fn file(self) -> PathBuf {
        let name = self.published().trim_start_matches("mooncake/");
        std::env::temp_dir().join(format!("{name}_trace.jsonl"))
    }
}

fn by_lengths(
    rows: &[Row],
    rounds: u32,
    context: &DrawContext<'_>,
) -> Result<Vec<Sample>, DatasetError> {
    let generator = TextGenerator::open(context)?;
    Ok(rows.iter().flat_map(|row| row.rounds(rounds, &generator)).collect())
}

/// Returns the time of each row relative to the first row.
fn begins(rows: &[Row]) -> impl Iterator<Item = Duration> {
    let start = rows.first().map(|row| row.millis).unwrap_or_default();
    let since = move |row: &Row| (row.millis - start) / 1000.0;
    rows.iter().map(move |row| Duration::try_from_secs_f64(since(row)).unwrap_or(Duration::MAX))
}

const NO_FILE: &str = "pass a trace of Mooncake with `workload.dataset.path`, or put the workload's, \
                       such as conversation_trace.jsonl, into the system's temporary folder";
