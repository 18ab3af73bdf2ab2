//! One user's conversation, or a single request.

use std::time::Duration;

use crate::Sample;

/// One or more requests of one user, each sent when the answer to the one before it is in.
///
/// Most data sets give sessions of one request; [`From<Sample>`](Self::from) makes those.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Session {
    /// The request that opens it.
    pub first: Sample,
    /// What follows, in order.
    pub follow_ups: Vec<FollowUp>,
    /// When a trace says it begins, from the trace's beginning.
    pub begins: Option<Duration>,
    /// How long its user waits before the first request, once it may begin and has its place.
    pub pause: Duration,
}

/// A later turn of a session.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FollowUp {
    /// What this turn adds to the conversation. Its prompt holds the new messages only: the runner
    /// puts them behind the history. Its token counts are of them only.
    pub sample: Sample,
    /// The time between the answer and this turn: a user who thinks, a tool that runs.
    pub pause: Duration,
}

impl FollowUp {
    /// A turn that follows its predecessor's answer at once.
    pub fn new(sample: Sample) -> Self {
        Self { sample, pause: Duration::ZERO }
    }

    /// The same turn after a pause.
    #[must_use]
    pub fn after(self, pause: Duration) -> Self {
        Self { pause, ..self }
    }
}

impl Session {
    /// The same session with what follows its first request.
    #[must_use]
    pub fn followed_by(self, follow_ups: Vec<FollowUp>) -> Self {
        Self { follow_ups, ..self }
    }

    /// The same session, begun when a trace says.
    #[must_use]
    pub fn beginning(self, begins: Duration) -> Self {
        Self { begins: Some(begins), ..self }
    }

    /// How many requests it is.
    pub fn turns(&self) -> usize {
        1 + self.follow_ups.len()
    }

    /// How many records are kept of it.
    pub fn records(&self) -> usize {
        self.samples().map(|sample| sample.prompt.records()).sum()
    }

    /// The sample of every turn.
    pub fn samples(&self) -> impl Iterator<Item = &Sample> {
        std::iter::once(&self.first).chain(self.follow_ups.iter().map(|turn| &turn.sample))
    }

    /// The sample of every turn, to be changed.
    pub fn samples_mut(&mut self) -> impl Iterator<Item = &mut Sample> {
        let later = self.follow_ups.iter_mut().map(|turn| &mut turn.sample);
        std::iter::once(&mut self.first).chain(later)
    }
}

impl From<Sample> for Session {
    fn from(first: Sample) -> Self {
        Self { first, follow_ups: Vec::new(), begins: None, pause: Duration::ZERO }
    }
}
