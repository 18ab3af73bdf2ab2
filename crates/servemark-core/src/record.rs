//! Everything that was observed of one request.

use serde::{Deserialize, Serialize};

use crate::{ArrivalClock, DeltaLog, OddCount, RequestError, Sample, ServerTimes, Stamp, Usage};

/// Which request of a run: its session's position in the plan, and its turn.
pub type RequestKey = (usize, u32);

/// Everything that was observed of one request. Scores are made from it later, as often as one
/// likes and under whichever definitions; nothing in here is one.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RequestRecord {
    /// Its session's position in the plan, from zero; the warm-up counts for itself.
    pub index: usize,
    /// Which turn of its session, from zero.
    #[serde(default, skip_serializing_if = "is_default")]
    pub turn: u32,
    /// Which part of the run it belongs to.
    pub phase: Phase,
    /// How many tries of it failed before this one. Each has a record of its own, which is
    /// [retried](Phase::Retried).
    #[serde(default, skip_serializing_if = "is_default")]
    pub earlier_tries: u32,
    /// The name that a recorded request had where it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Box<str>>,
    /// What the data set planned.
    pub planned: Planned,
    /// By whose clock its arrivals are known.
    #[serde(default, skip_serializing_if = "is_default")]
    pub arrival_clock: ArrivalClock,
    /// When it was due.
    pub scheduled: Stamp,
    /// When the concurrency gate let it pass; a little before it was due where the transport has a
    /// [head start](crate::Transport::head_start).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<Stamp>,
    /// When its first byte was handed to the kernel, on an open connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Stamp>,
    /// When the kernel handed its last byte to the device, where it was asked and says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Stamp>,
    /// When the response's head was complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<Stamp>,
    /// When the first byte of the response's body arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte: Option<Stamp>,
    /// How many reads of the socket brought its answer, head included. Reads with one stamp are
    /// one: they took a packet in parts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reads: u32,
    /// How many bytes of its body arrived, without HTTP's framing.
    #[serde(default, skip_serializing_if = "is_default")]
    pub received_bytes: u64,
    /// Whether its answer was one document and no stream of events.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_document: bool,
    /// Every piece of output with its arrival.
    #[serde(default)]
    pub deltas: DeltaLog,
    /// How many events after the first piece brought no output: a step whose text the server holds
    /// back, or the last one with its reason to stop. Counts alone are no event of the answer.
    #[serde(default, skip_serializing_if = "is_default")]
    pub silent_events: u32,
    /// When the last byte of the response's body arrived, or when it failed.
    pub ended: Stamp,
    /// For how many microseconds the last bytes of its body had arrived when the client saw them;
    /// zero where only the client's own clock says when they arrived.
    #[serde(default, skip_serializing_if = "is_default")]
    pub end_lag_us: u32,
    /// What it cost to get a connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<Connection>,
    /// Present if it was sent a second time, on a new connection, because the server had not
    /// processed the first sending. All stamps and connection facts are those of the second one;
    /// `scheduled` and `granted` are unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resent: Option<Resent>,
    /// What the kernel knew of its connection at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<SocketFacts>,
    /// The HTTP status, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The server's own counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// A token count of the server that is no JSON integer, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub odd_count: Option<Box<OddCount>>,
    /// The name of the storage in which cached prompt tokens were, where the server says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_storage: Option<String>,
    /// The server's own times, where it tells them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_times: Option<ServerTimes>,
    /// The output's text, pieces of every kind in order of arrival.
    #[serde(default)]
    pub text: String,
    /// How it ended.
    pub outcome: Result<Finish, RequestError>,
}

impl RequestRecord {
    /// Which request of the run it is.
    pub fn key(&self) -> RequestKey {
        (self.index, self.turn)
    }

    /// Whether it is one of several turns. What such a request's prompt comes to depends on the
    /// answers before it.
    pub fn is_of_conversation(&self) -> bool {
        self.turn > 0 || self.planned.follow_ups > 0
    }

    /// Whether it ended well.
    pub fn is_success(&self) -> bool {
        self.outcome.is_ok()
    }

    /// The instant from which service times count: when it was sent, or, for a request that never
    /// was, when it was let go or due.
    pub fn started(&self) -> Stamp {
        self.sent.or(self.granted).unwrap_or(self.scheduled)
    }

    /// Gives back the memory that was reserved for it and is not used. Worth a copy where many
    /// records are kept; the thread that measures has no time for it.
    pub fn compact(&mut self) {
        self.deltas.compact();
        if self.text.capacity() > self.text.len() {
            self.text = self.text.as_str().into();
        }
    }

    /// The text of every piece, in order. Pieces are cut where the wire cut them, so each is
    /// whole UTF-8.
    pub fn pieces(&self) -> impl Iterator<Item = (crate::DeltaRow, &str)> {
        let mut rest = self.text.as_str();
        self.deltas.rows().map(move |row| {
            let (piece, tail) = rest.split_at_checked(row.bytes as usize).unwrap_or((rest, ""));
            rest = tail;
            (row, piece)
        })
    }
}

/// The part of a run to which a request belongs.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Phase {
    /// Sent before the measurement; never scored.
    Warmup,
    /// The measurement.
    #[default]
    Measure,
    /// A try that failed, of whichever part, after which the same request was sent once more; never
    /// scored.
    Retried,
    /// Sent beside the measurement, to see how a small request fares under its load.
    Probe,
}

/// What the data set planned for a request.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Planned {
    /// How many answers are asked for at once: the texts of an embedding request, the documents of
    /// a ranking; one of anything else.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub items: u32,
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
    /// The part of them that is text.
    pub text_tokens: u32,
    /// The part of them that is images.
    #[serde(default, skip_serializing_if = "is_default")]
    pub vision_tokens: u32,
    /// Output tokens asked for.
    pub output_tokens: u32,
    /// How long the speech of the prompt is, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub audio_ns: u64,
    /// How many turns of its session were to follow it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub follow_ups: u32,
}

impl From<&Sample> for Planned {
    fn from(sample: &Sample) -> Self {
        Self {
            items: sample.prompt.items(),
            prompt_tokens: sample.prompt_tokens,
            text_tokens: sample.text_tokens,
            vision_tokens: sample.vision_tokens,
            output_tokens: sample.output_tokens,
            audio_ns: sample.audio_ns,
            follow_ups: 0,
        }
    }
}

/// What it cost to get a connection.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Connection {
    /// It was opened before the measurement, for this request or any other.
    Ahead,
    /// It had carried a request before.
    Reused,
    /// It was opened for this request.
    New {
        /// Nanoseconds for TCP, name look-up included.
        connect_ns: u64,
        /// Nanoseconds for TLS.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tls_ns: Option<u64>,
    },
}

/// A first sending of a request that the server did not process.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Resent {
    /// Why the server cannot have processed it.
    pub reason: Unprocessed,
    /// When its first byte was handed to the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_sent: Option<Stamp>,
}

impl Resent {
    /// A first sending that left at `first_sent`.
    pub fn new(reason: Unprocessed, first_sent: Option<Stamp>) -> Self {
        Self { reason, first_sent }
    }
}

/// Why a server cannot have processed a request that was sent to it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Unprocessed {
    /// The server closed or reset a reused connection before the first byte of an answer.
    Closed,
    /// The server answered 408 on a reused connection: it had waited too long for a request.
    RequestTimeout,
    /// HTTP/2: the server reset the stream with `REFUSED_STREAM`.
    RefusedStream,
    /// HTTP/2: the server sent a GOAWAY whose last stream id is below the request's stream.
    GoAway,
}

impl Unprocessed {
    /// Every reason, in the order of reports.
    pub const ALL: [Self; 4] =
        [Self::Closed, Self::RequestTimeout, Self::RefusedStream, Self::GoAway];

    /// What the server did, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Closed => "closed by the server before an answer",
            Self::RequestTimeout => "answered 408 while idle",
            Self::RefusedStream => "stream refused (REFUSED_STREAM)",
            Self::GoAway => "stream above the last one of a GOAWAY",
        }
    }
}

/// What the kernel knew of a request's connection when its answer was over. Counts are of this
/// request alone, also on a connection that carried others before it.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SocketFacts {
    /// The smoothed round-trip time, in microseconds.
    pub rtt_us: u32,
    /// The shortest round trip of the connection, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rtt_us: Option<u32>,
    /// Segments that had to be sent again.
    #[serde(skip_serializing_if = "is_default")]
    pub retransmits: u32,
    /// Segments with data that arrived. Fewer than there were reads cannot be; fewer than there
    /// were pieces means that the server or the network put pieces together, and not this client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_segments_in: Option<u32>,
    /// Packets that arrived out of their order.
    #[serde(skip_serializing_if = "is_default")]
    pub out_of_order: u32,
}

impl SocketFacts {
    /// The facts of what came after `earlier` on the same connection: its counts are differences.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        let before = earlier.data_segments_in.unwrap_or_default();
        Self {
            retransmits: self.retransmits.wrapping_sub(earlier.retransmits),
            data_segments_in: self.data_segments_in.map(|count| count.wrapping_sub(before)),
            out_of_order: self.out_of_order.wrapping_sub(earlier.out_of_order),
            ..self
        }
    }
}

/// How a request ended well.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Finish {
    /// The server's word for why it stopped: `stop`, `length`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Finish {
    /// An end with the server's word for it.
    pub fn new(reason: Option<String>) -> Self {
        Self { reason }
    }
}

/// One request for nothing.
impl Default for Planned {
    fn default() -> Self {
        Self {
            items: 1,
            prompt_tokens: 0,
            text_tokens: 0,
            vision_tokens: 0,
            output_tokens: 0,
            audio_ns: 0,
            follow_ups: 0,
        }
    }
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields by reference")]
fn is_one(count: &u32) -> bool {
    *count == 1
}

pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(retransmits: u32, data_segments_in: Option<u32>) -> SocketFacts {
        SocketFacts { rtt_us: 7, retransmits, data_segments_in, ..SocketFacts::default() }
    }

    #[test]
    fn counts_are_differences_and_times_are_not() {
        assert_eq!(facts(5, Some(40)).since(facts(3, Some(30))), facts(2, Some(10)));
        assert_eq!(facts(5, Some(40)).since(SocketFacts::default()), facts(5, Some(40)));
        assert_eq!(facts(5, None).since(facts(5, None)), facts(0, None));
    }
}
