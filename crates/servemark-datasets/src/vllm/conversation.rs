//! Conversations of several turns, as vLLM's Rust client holds them (`--multi-turn`).
//!
//! Lengths and texts are made as that client makes them, from a generator of our own: the draws are
//! not that client's, whose generator nobody else has. A later turn is what a user adds; the answers
//! before it are put before it when they are there.

mod random;
mod sharegpt;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, FollowUp, Sample, Session};

use crate::DatasetName;

pub use self::random::RandomTurnsSpec;
pub use self::sharegpt::ShareGptTurnsSpec;

/// Conversations of several turns.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ConversationSpec {
    /// Where they come from.
    pub source: ConversationSource,
    /// How long a user thinks before each later turn.
    #[serde(with = "servemark_core::seconds")]
    pub pause: Duration,
    /// Whether each answer is asked to be no shorter than planned (`min_tokens`).
    pub full_answers: bool,
}

/// Where conversations come from.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ConversationSource {
    /// Turns of so many tokens.
    Random(RandomTurnsSpec),
    /// ShareGPT's file: what its humans said.
    Sharegpt(ShareGptTurnsSpec),
}

impl ConversationSource {
    pub(super) fn name(&self) -> DatasetName {
        match self {
            Self::Random(_) => DatasetName::Random,
            Self::Sharegpt(_) => DatasetName::Sharegpt,
        }
    }
}

impl ConversationSpec {
    /// Conversations without pauses, whose answers may be short.
    pub fn new(source: ConversationSource) -> Self {
        Self { source, pause: Duration::ZERO, full_answers: false }
    }

    pub(super) fn draw(
        &self,
        count: usize,
        seed: u32,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Session>, DatasetError> {
        let conversations = match &self.source {
            ConversationSource::Random(spec) => spec.draw(count, seed, context),
            ConversationSource::Sharegpt(spec) => spec.draw(count, seed, context),
        }?;
        let sessions = conversations.into_iter().filter_map(|turns| self.session(turns));
        Ok(sessions.collect())
    }

    fn session(&self, turns: Vec<Sample>) -> Option<Session> {
        let mut turns = turns.into_iter().map(|turn| self.asked(turn));
        let first = Session::from(turns.next()?);
        Some(first.followed_by(turns.map(|turn| FollowUp::new(turn).after(self.pause)).collect()))
    }

    fn asked(&self, mut turn: Sample) -> Sample {
        if self.full_answers {
            turn.extra_body.insert("min_tokens".to_owned(), turn.output_tokens.into());
        }
        turn
    }
}

/// Names every conversation and each of its turns, as vLLM's client does.
pub(super) fn number(sessions: &mut [Session], prefix: &str) {
    for (number, session) in sessions.iter_mut().enumerate() {
        let name = format!("{prefix}conv-{number}");
        for (turn, sample) in session.samples_mut().enumerate() {
            sample.headers.push(("X-Session-ID".to_owned(), name.clone()));
            sample.headers.push(("x-request-id".to_owned(), format!("{name}-turn{turn}")));
        }
    }
}
