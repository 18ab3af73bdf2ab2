//! Sessions: a user's conversation, or a single request.

use std::time::Duration;

use crate::Sample;

/// One or more requests of one user, each sent after the previous answer has ended.
///
/// Most data sets give sessions of one request; [`From<Sample>`](Self::from) creates those.
///
/// ```
/// use std::time::Duration;
///
/// use servemark_core::{FollowUp, Sample, Session};
///
/// let reads_first = FollowUp::new(Sample::new("And then?", 3, 64)).after(Duration::from_secs(4));
/// let session = Session::from(Sample::new("Tell me a story.", 5, 64)).followed_by(vec![reads_first]);
/// assert_eq!(session.turns(), 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Session {
    /// The first request.
    pub first: Sample,
    /// The later requests, in order.
    pub follow_ups: Vec<FollowUp>,
    /// Start of the session as a trace gives it, counted from the start of the trace.
    pub begins: Option<Duration>,
    /// Time between the session's admission by the gate and its first request.
    pub pause: Duration,
}

/// A later turn of a session.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FollowUp {
    /// Input that this turn adds to the conversation. Its prompt holds only the new messages, which
    /// the runner appends to the history; its token counts cover only them.
    pub sample: Sample,
    /// Time between the previous answer and this turn: a user who reads, a tool that runs.
    pub pause: Duration,
}

impl FollowUp {
    /// Creates a turn that is sent as soon as the previous answer has ended.
    pub fn new(sample: Sample) -> Self {
        Self { sample, pause: Duration::ZERO }
    }

    /// Sets the pause before the turn.
    #[must_use]
    pub fn after(self, pause: Duration) -> Self {
        Self { pause, ..self }
    }
}

impl Session {
    /// Sets the later turns.
    #[must_use]
    pub fn followed_by(self, follow_ups: Vec<FollowUp>) -> Self {
        Self { follow_ups, ..self }
    }

    /// Sets the start of the session as a trace gives it.
    #[must_use]
    pub fn beginning(self, begins: Duration) -> Self {
        Self { begins: Some(begins), ..self }
    }

    /// Returns the number of requests.
    pub fn turns(&self) -> usize {
        1 + self.follow_ups.len()
    }

    /// Returns the number of records that the session yields.
    pub fn records(&self) -> usize {
        self.samples().map(|sample| sample.prompt.records()).sum()
    }

    /// Returns the sample of every turn.
    pub fn samples(&self) -> impl Iterator<Item = &Sample> {
        std::iter::once(&self.first).chain(self.follow_ups.iter().map(|turn| &turn.sample))
    }

    /// Returns the sample of every turn for changes.
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
