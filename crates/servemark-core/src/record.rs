//! The record of one request.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{ArrivalClock, DeltaLog, OddCount, RequestError, Sample, ServerTimes, Stamp, Usage};

/// Identifies a request of a run: its session's position in the plan, and its turn.
pub type RequestKey = (usize, u32);

/// Everything that was observed of one request. It holds no scores: those are computed from it
/// later, any number of times and under any definitions.
///
/// ```
/// use servemark_core::{Delta, Finish, Phase, Recorder, Sample, Stamp};
///
/// let mut recorder =
///     Recorder::new(3, Phase::Measure, &Sample::new("Hi", 1, 1), Stamp::from_nanos(50));
/// recorder.record_sent(Stamp::from_nanos(100));
/// recorder.output(Stamp::from_nanos(5_100), Delta::content("Hello"));
/// let record = recorder.finish(Ok(Finish::default()), Stamp::from_nanos(6_000));
///
/// let first = record.deltas.first_at().expect("there is a piece");
/// assert_eq!(first.since(record.started()).as_nanos(), 5_000);
/// assert_eq!((record.key(), record.is_success()), ((3, 0), true));
/// ```
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RequestRecord {
    /// Zero-based position of the session in the plan; the warm-up has positions of its own.
    pub index: usize,
    /// Zero-based turn of the session.
    #[serde(default, skip_serializing_if = "is_default")]
    pub turn: u32,
    /// The part of the run that the request belongs to.
    #[serde(default)]
    pub phase: Phase,
    /// Number of failed tries before this one. Each has a record of its own, whose phase is
    /// [retried](Phase::Retried).
    #[serde(default, skip_serializing_if = "is_default")]
    pub earlier_tries: u32,
    /// Id of the request in the trace that it was recorded in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Box<str>>,
    /// What the data set planned for the request.
    pub planned: Planned,
    /// Which clock stamped the arrivals.
    #[serde(default, skip_serializing_if = "is_default")]
    pub arrival_clock: ArrivalClock,
    /// When the request was due.
    pub scheduled: Stamp,
    /// When the concurrency gate let the request pass; slightly before it was due if the transport
    /// has a [head start](crate::Transport::head_start).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub granted: Option<Stamp>,
    /// When the first byte was passed to the kernel, on an open connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Stamp>,
    /// When the kernel passed the last byte to the network device, if transmit stamps were asked
    /// for and the kernel gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Stamp>,
    /// When the response's head was complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<Stamp>,
    /// When the first byte of the response's body arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte: Option<Stamp>,
    /// Number of socket reads that delivered the answer, head included. Consecutive reads with the
    /// same stamp count as one: they took parts of one packet.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reads: u32,
    /// Number of bytes of the body that arrived, without HTTP's framing.
    #[serde(default, skip_serializing_if = "is_default")]
    pub received_bytes: u64,
    /// Whether the answer was one document instead of a stream of events.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_document: bool,
    /// All pieces of output with their arrival times.
    #[serde(default)]
    pub deltas: DeltaLog,
    /// Number of events after the first piece that carried no output: a step whose text the server
    /// holds back, or the last one with its finish reason. An event that only carries counts is not
    /// included.
    #[serde(default, skip_serializing_if = "is_default")]
    pub silent_events: u32,
    /// Whether each event of the answer held all text so far, not its new part alone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_restated: bool,
    /// When the last byte of the response's body arrived, or when the request failed.
    pub ended: Stamp,
    /// Microseconds between the arrival of the body's last bytes and their read by the client; zero
    /// if only the client's own clock stamped the arrival.
    #[serde(default, skip_serializing_if = "is_default")]
    pub end_lag_us: u32,
    /// How the request got its connection, and what that cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<Connection>,
    /// Present if the request was sent a second time, on a new connection, because the server had
    /// not processed it the first time. All stamps and connection facts are those of the second
    /// time; `scheduled` and `granted` are unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resent: Option<Resent>,
    /// The kernel's facts about the connection at the end of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socket: Option<SocketFacts>,
    /// The HTTP status, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The server's own token counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// A token count of the server that is not a JSON integer, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub odd_count: Option<Box<OddCount>>,
    /// Name of the storage that held cached prompt tokens, if the server reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_storage: Option<String>,
    /// The server's own times, if it reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_times: Option<Box<ServerTimes>>,
    /// The output's text: pieces of every kind in order of arrival.
    #[serde(default)]
    pub text: String,
    /// How the request ended.
    pub outcome: Result<Finish, RequestError>,
}

impl RequestRecord {
    /// Returns the key that identifies the request within the run.
    pub fn key(&self) -> RequestKey {
        (self.index, self.turn)
    }

    /// Returns whether the session has several turns. The prompt of such a request depends on the
    /// earlier answers.
    pub fn is_of_conversation(&self) -> bool {
        self.turn > 0 || self.planned.follow_ups > 0
    }

    /// Returns whether the request succeeded.
    pub fn is_success(&self) -> bool {
        self.outcome.is_ok()
    }

    /// Returns the time from which service times are measured: when the request was sent, or, if it
    /// never was, when the gate let it pass or when it was due.
    pub fn started(&self) -> Stamp {
        self.sent.or(self.granted).unwrap_or(self.scheduled)
    }

    /// Moves all stamps by a number of nanoseconds, onto the axis of another clock. No time between
    /// two stamps changes.
    pub fn shift(&mut self, nanos: i64) {
        if nanos == 0 {
            return;
        }
        let optional = [
            &mut self.granted,
            &mut self.sent,
            &mut self.left,
            &mut self.headers,
            &mut self.first_byte,
        ];
        let resent = self.resent.as_mut().and_then(|resent| resent.first_sent.as_mut());
        let stamps = optional.into_iter().filter_map(Option::as_mut).chain(resent);
        for stamp in stamps.chain([&mut self.scheduled, &mut self.ended]) {
            *stamp = stamp.shifted(nanos);
        }
        self.deltas = self.deltas.shifted(nanos);
    }

    /// Frees the memory that is reserved and not used. The copy pays off where many records are
    /// kept; it must not run on the measuring thread.
    pub fn compact(&mut self) {
        self.deltas.compact();
        if self.text.capacity() > self.text.len() {
            self.text = self.text.as_str().into();
        }
    }

    /// Returns the text of every piece, in order. Pieces are cut where the wire cut them, so each
    /// is whole UTF-8.
    pub fn pieces(&self) -> impl Iterator<Item = (crate::DeltaRow, &str)> {
        let mut rest = self.text.as_str();
        self.deltas.rows().map(move |row| {
            let (piece, tail) = rest.split_at_checked(row.bytes as usize).unwrap_or((rest, ""));
            rest = tail;
            (row, piece)
        })
    }

    /// Returns the texts of all events one after the other. If each event held all text so far,
    /// earlier parts of the text appear several times.
    pub fn joined_text(&self) -> Cow<'_, str> {
        if !self.is_restated {
            return self.text.as_str().into();
        }
        let mut end = 0;
        let mut joined = String::new();
        for (_, piece) in self.pieces() {
            end += piece.len();
            joined.push_str(&self.text[..end]);
        }
        joined.into()
    }
}

/// The part of a run that a request belongs to.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Phase {
    /// Sent before the measurement; never scored.
    Warmup,
    /// The measurement.
    #[default]
    Measure,
    /// A failed try, of any phase, after which the same request was sent again; never scored.
    Retried,
    /// Sent beside the measurement, to see the latency of a small request under its load.
    Probe,
    /// Sent after the measurement, with a measured prompt behind words that no prefix cache holds.
    /// Its index is that of the measured request.
    CacheCold,
    /// The request of [`CacheCold`](Self::CacheCold) with the same index, sent again after it was
    /// answered.
    CacheWarm,
}

/// What the data set planned for a request.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(from = "PlannedLine")]
#[non_exhaustive]
pub struct Planned {
    /// Number of answers that the request asks for: texts of an embedding request, documents of a
    /// ranking; one for any other request.
    #[serde(skip_serializing_if = "is_one")]
    pub items: u32,
    /// Number of prompt tokens.
    pub prompt_tokens: u32,
    /// The part of `prompt_tokens` that is text.
    pub text_tokens: u32,
    /// The part of `prompt_tokens` that is images.
    #[serde(skip_serializing_if = "is_default")]
    pub vision_tokens: u32,
    /// Number of output tokens asked for.
    pub output_tokens: u32,
    /// Playing time of the prompt's audio in nanoseconds.
    #[serde(skip_serializing_if = "is_default")]
    pub audio_ns: u64,
    /// Number of turns planned after this one in its session.
    #[serde(skip_serializing_if = "is_default")]
    pub follow_ups: u32,
    /// Whether the request's own body asks for an answer that is not a stream.
    #[serde(skip_serializing_if = "is_default")]
    pub asks_for_document: bool,
}

/// What a log says of [`Planned`]. A log of another program may leave out everything but the tokens
/// of the prompt and of the output.
#[derive(Deserialize)]
struct PlannedLine {
    items: Option<u32>,
    prompt_tokens: u32,
    text_tokens: Option<u32>,
    #[serde(default)]
    vision_tokens: u32,
    output_tokens: u32,
    #[serde(default)]
    audio_ns: u64,
    #[serde(default)]
    follow_ups: u32,
    #[serde(default)]
    asks_for_document: bool,
}

impl From<PlannedLine> for Planned {
    fn from(line: PlannedLine) -> Self {
        let all_but_images = line.prompt_tokens.saturating_sub(line.vision_tokens);
        Self {
            items: line.items.unwrap_or(1),
            prompt_tokens: line.prompt_tokens,
            text_tokens: line.text_tokens.unwrap_or(all_but_images),
            vision_tokens: line.vision_tokens,
            output_tokens: line.output_tokens,
            audio_ns: line.audio_ns,
            follow_ups: line.follow_ups,
            asks_for_document: line.asks_for_document,
        }
    }
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
            asks_for_document: sample.prompt.asks_for_document(),
        }
    }
}

/// How a request got its connection, and what that cost.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Connection {
    /// The connection was opened before the measurement, for this or any other request.
    Ahead,
    /// The connection had carried a request before.
    Reused,
    /// The connection was opened for this request.
    New {
        /// Nanoseconds for the name look-up and the TCP handshake.
        connect_ns: u64,
        /// Nanoseconds for the TLS handshake.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tls_ns: Option<u64>,
    },
}

/// A first sending of a request that the server did not process.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Resent {
    /// Why the server cannot have processed the first sending.
    pub reason: Unprocessed,
    /// When its first byte was passed to the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_sent: Option<Stamp>,
}

impl Resent {
    /// Creates the facts of a first sending that left at `first_sent`.
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
    /// All reasons, in the order of reports.
    pub const ALL: [Self; 4] =
        [Self::Closed, Self::RequestTimeout, Self::RefusedStream, Self::GoAway];

    /// Returns what the server did, in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Closed => "closed by the server before an answer",
            Self::RequestTimeout => "answered 408 while idle",
            Self::RefusedStream => "stream refused (REFUSED_STREAM)",
            Self::GoAway => "stream above the last one of a GOAWAY",
        }
    }
}

/// The kernel's facts about a request's connection when its answer was over. Counts cover this
/// request alone, also on a connection that carried others before it.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SocketFacts {
    /// Smoothed round-trip time in microseconds.
    pub rtt_us: u32,
    /// Shortest round-trip time of the connection in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rtt_us: Option<u32>,
    /// Number of segments that were retransmitted.
    #[serde(skip_serializing_if = "is_default")]
    pub retransmits: u32,
    /// Number of received segments with data. It is at least the number of reads; if it is smaller
    /// than the number of pieces, the server or the network put pieces together, not this client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_segments_in: Option<u32>,
    /// Number of packets that arrived out of order.
    #[serde(skip_serializing_if = "is_default")]
    pub out_of_order: u32,
}

impl SocketFacts {
    /// Returns the facts since `earlier` on the same connection: counts are differences, times are
    /// kept.
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

/// How a successful request ended.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Finish {
    /// The server's finish reason, such as `stop` or `length`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Finish {
    /// Creates an end with the server's finish reason.
    pub fn new(reason: Option<String>) -> Self {
        Self { reason }
    }
}

/// One answer, no tokens.
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
            asks_for_document: false,
        }
    }
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
