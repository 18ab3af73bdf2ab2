//! Multi-turn conversations as in vLLM's Rust client (`--multi-turn`).
//!
//! Lengths and texts follow that client's rules, but the draws differ, because its random generator
//! is not reproduced here. A later turn holds what the user adds; the run inserts the preceding
//! messages and answers when it sends the turn.

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
pub struct ConversationSpec {
    /// Source of the conversations.
    pub source: ConversationSource,
    /// Pause before each later turn, which models the user's think time.
    #[serde(with = "servemark_core::seconds")]
    pub pause: Duration,
    /// Whether answers are requested with a minimum length equal to the planned one (`min_tokens`).
    pub full_answers: bool,
}

/// Source of the conversations.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConversationSource {
    /// Turns of random tokens with given lengths.
    Random(RandomTurnsSpec),
    /// The human's texts in ShareGPT's file.
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
    /// Creates a spec without pauses and without minimum output lengths.
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
        let mut turns = turns.into_iter().map(|turn| self.with_min_tokens(turn));
        let first = Session::from(turns.next()?);
        Some(first.followed_by(turns.map(|turn| FollowUp::new(turn).after(self.pause)).collect()))
    }

    fn with_min_tokens(&self, mut turn: Sample) -> Sample {
        if self.full_answers {
            turn.extra_body.insert("min_tokens".to_owned(), turn.output_tokens.into());
        }
        turn
    }
}

/// Adds session and request ids to all turns, in the format of vLLM's client.
pub(super) fn number(sessions: &mut [Session], prefix: &str) {
    for (number, session) in sessions.iter_mut().enumerate() {
        let name = format!("{prefix}conv-{number}");
        for (turn, sample) in session.samples_mut().enumerate() {
            sample.headers.push(("X-Session-ID".to_owned(), name.clone()));
            sample.headers.push(("x-request-id".to_owned(), format!("{name}-turn{turn}")));
        }
    }
}
