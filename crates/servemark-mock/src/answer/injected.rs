//! The faults of one request, sorted by the part of the answer that they affect.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use super::template::Style;
use crate::{ErrorShape, Fault, FaultKind};

/// The faults that hit one request.
#[derive(Clone, Debug)]
pub(crate) struct Injected {
    pub(crate) status: Option<Status>,
    pub(super) head_delay: Duration,
    /// The index of the first delayed piece, and the delay of it and all later ones.
    pub(super) pause: Option<(u32, Duration)>,
    /// The index of the piece before which the answer is preempted.
    pub(crate) preempted_at: Option<u32>,
    pub(super) interruptions: Vec<(u32, Interruption)>,
    pub(super) content: Content,
    pub(super) style: Style,
    pub(super) end_mark: bool,
    pub(super) merge: NonZeroU32,
    pub(super) split: Option<NonZeroUsize>,
    pub(super) close_delimited: bool,
    /// The time from the end of the whole answer to the end of the connection.
    pub(crate) close_after: Option<Duration>,
}

/// An error status in place of the answer.
#[derive(Clone, Debug)]
pub(crate) struct Status {
    pub(crate) code: u16,
    pub(crate) body: Option<String>,
}

/// What replaces a piece.
#[derive(Clone, Copy, Debug)]
pub(super) enum Interruption {
    BadFrame,
    Cut,
    Error(ErrorShape),
    Hang,
}

/// How much of a stream is sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Content {
    All,
    EndMarkOnly,
    Nothing,
}

impl Injected {
    /// Collects the faults that hit the request with this one-based number.
    pub(crate) fn of(faults: &[Fault], number: u64) -> Self {
        let mut injected = Self::none();
        for fault in faults.iter().filter(|fault| fault.hits(number)) {
            injected.add(fault.kind());
        }
        injected
    }

    /// Returns how events are written.
    pub(crate) fn style(&self) -> Style {
        self.style
    }

    /// Returns the interruption that replaces a piece of output, if there is one.
    pub(super) fn interruption(&self, piece: u32) -> Option<Interruption> {
        self.interruptions.iter().find(|(at, _)| *at == piece).map(|(_, what)| *what)
    }

    fn none() -> Self {
        Self {
            status: None,
            head_delay: Duration::ZERO,
            pause: None,
            preempted_at: None,
            interruptions: Vec::new(),
            content: Content::All,
            style: Style { line_end: "\n", comment: None },
            end_mark: true,
            merge: NonZeroU32::MIN,
            split: None,
            close_delimited: false,
            close_after: None,
        }
    }

    fn add(&mut self, kind: &FaultKind) {
        match *kind {
            FaultKind::BadFrame { chunk } => self.interrupt(chunk, Interruption::BadFrame),
            FaultKind::CloseAfter { delay } => self.close_after = Some(delay),
            FaultKind::CloseDelimited => self.close_delimited = true,
            FaultKind::Comments => self.style.comment = Some(": keep-alive"),
            FaultKind::Crlf => self.style.line_end = "\r\n",
            FaultKind::Cut { chunk } => self.interrupt(chunk, Interruption::Cut),
            FaultKind::Empty => self.content = Content::Nothing,
            FaultKind::Error { chunk, shape } => self.interrupt(chunk, Interruption::Error(shape)),
            FaultKind::Merge { events } => self.merge = events,
            FaultKind::NoDone => self.end_mark = false,
            FaultKind::OnlyDone => self.content = Content::EndMarkOnly,
            FaultKind::Preempt { chunk, pause } => {
                self.pause = Some((chunk, pause));
                self.preempted_at = Some(chunk);
            }
            FaultKind::SlowHeaders { delay } => self.head_delay = delay,
            FaultKind::Split { bytes } => self.split = Some(bytes),
            FaultKind::Stall { chunk, pause: Some(pause) } => self.pause = Some((chunk, pause)),
            FaultKind::Stall { chunk, pause: None } => self.interrupt(chunk, Interruption::Hang),
            FaultKind::Status { code, ref body } => {
                self.status = Some(Status { code, body: body.clone() });
            }
            // These affect a connection or the whole server and are handled there.
            FaultKind::CloseIdle { .. }
            | FaultKind::Idle408 { .. }
            | FaultKind::NotReady { .. }
            | FaultKind::Reset => {}
        }
    }

    fn interrupt(&mut self, piece: u32, what: Interruption) {
        self.interruptions.push((piece, what));
    }
}
