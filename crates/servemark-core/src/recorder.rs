//! Turns what is observed of a request into its record.

mod batch;
mod stamped;

use self::batch::Batch;
pub use self::stamped::Stamped;
use crate::{
    Arrival, ArrivalClock, Connection, Delta, DeltaLog, Finish, Phase, Planned, RequestError,
    RequestRecord, Resent, Sample, Sink, SocketFacts, Stamp, Unprocessed,
};

/// Collects what is observed of one request while it is in flight.
///
/// The runner creates it, lends it to the transport and keeps it, so a request whose future is
/// dropped still has its record.
///
/// ```
/// use servemark_core::{Delta, Finish, Phase, Recorder, Sample, Stamp};
///
/// let at = Stamp::from_nanos;
/// let mut recorder = Recorder::new(0, Phase::Measure, &Sample::new("Hi", 1, 2), at(0));
/// recorder.record_sent(at(100));
/// recorder.output(at(5_100), Delta::content("Hel"));
/// recorder.output(at(7_100), Delta::content("lo"));
/// let record = recorder.finish(Ok(Finish::default()), at(9_000));
/// assert_eq!((record.text.as_str(), record.ended), ("Hello", at(7_100)));
/// ```
#[derive(Debug)]
pub struct Recorder {
    reading: Reading,
    /// Boxed, because a recorder is moved from function to function.
    record: Box<RequestRecord>,
    finish_reason: Option<String>,
    /// Recorders of the prompts; absent unless the request is a batch of prompts.
    batch: Option<Box<Batch>>,
}

/// Fields that every read of the answer changes, kept together in memory. Between two reads of one
/// stream the other streams are read, so each cache line that a read touches has to be fetched
/// again.
#[derive(Debug)]
struct Reading {
    first_byte: Option<Stamp>,
    reads: u32,
    end_lag_us: u32,
    received_bytes: u64,
    ended: Stamp,
    deltas: DeltaLog,
    text: String,
    arrival_clock: ArrivalClock,
}

impl Recorder {
    /// Creates a recorder for the sample at `index`, due at `scheduled`.
    pub fn new(index: usize, phase: Phase, sample: &Sample, scheduled: Stamp) -> Self {
        let mut alone = Self::of_one(index, phase, sample.into(), scheduled);
        alone.record.request_id.clone_from(&sample.request_id);
        Self { batch: Batch::of(index, phase, sample, scheduled), ..alone }
    }

    fn of_one(index: usize, phase: Phase, planned: Planned, scheduled: Stamp) -> Self {
        let expected = (planned.output_tokens as usize).min(MOST_RESERVED);
        Self {
            reading: Reading::of_nothing(expected, scheduled),
            record: Box::new(RequestRecord {
                index,
                turn: 0,
                phase,
                earlier_tries: 0,
                request_id: None,
                arrival_clock: ArrivalClock::User,
                planned,
                scheduled,
                granted: None,
                sent: None,
                left: None,
                headers: None,
                first_byte: None,
                reads: 0,
                received_bytes: 0,
                is_document: false,
                deltas: DeltaLog::default(),
                silent_events: 0,
                is_restated: false,
                ended: scheduled,
                end_lag_us: 0,
                connection: None,
                resent: None,
                socket: None,
                status: None,
                usage: None,
                odd_count: None,
                cache_storage: None,
                server_times: None,
                text: String::new(),
                outcome: Ok(Finish::default()),
            }),
            finish_reason: None,
            batch: None,
        }
    }

    /// Creates the recorder of a request that has ended, from its record without the output. For a
    /// dialect whose answers are decoded after they have ended.
    pub fn of_ended(record: RequestRecord) -> Self {
        let reading = Reading::of_ended(&record);
        Self { reading, record: Box::new(record), finish_reason: None, batch: None }
    }

    /// Sets the zero-based turn of the request in its session, and the number of turns that are
    /// planned after it.
    #[must_use]
    pub fn of_turn(mut self, turn: u32, follow_ups: u32) -> Self {
        self.record.turn = turn;
        self.record.planned.follow_ups = follow_ups;
        self
    }

    /// Marks the request as the try after `failed`: copies its turn, its plan and the time at which
    /// the gate let it pass, and counts one more earlier try.
    #[must_use]
    pub fn after(mut self, failed: &RequestRecord) -> Self {
        self.record.turn = failed.turn;
        self.record.planned = failed.planned;
        self.record.granted = failed.granted;
        self.record.earlier_tries = failed.earlier_tries + 1;
        self
    }

    /// Returns the number of records that will come of the request: one for each prompt.
    pub fn records(&self) -> usize {
        self.batch.as_ref().map_or(1, |batch| batch.len())
    }

    /// Returns when the request is due.
    pub fn due(&self) -> Stamp {
        self.record.scheduled
    }

    /// Records that the concurrency gate let the request pass.
    pub fn granted(&mut self, at: Stamp) {
        self.record.granted = Some(at);
    }

    /// Records the connection that the request uses.
    pub fn connected(&mut self, connection: Connection) {
        self.record.connection = Some(connection);
    }

    /// Records that the first byte was sent.
    pub fn record_sent(&mut self, at: Stamp) {
        self.record.sent = Some(at);
        self.reading.ended = at;
    }

    /// Records that the server did not process the request, which is sent again on a new
    /// connection. Forgets the sending; of the first one its time and `reason` are kept.
    pub fn resent(&mut self, reason: Unprocessed) {
        let sent = self.record.sent.take();
        self.record.resent.get_or_insert(Resent::new(reason, sent));
        self.record.connection = None;
        self.record.left = None;
        self.reading.ended = self.record.scheduled;
    }

    /// Records that the kernel passed the last byte to the network device.
    pub fn record_transmitted(&mut self, at: Stamp) {
        self.record.left = Some(at);
    }

    /// Records that the response's head is complete.
    pub fn headers(&mut self, at: Stamp, status: u16) {
        self.record.headers = Some(at);
        self.record.status = Some(status);
        self.reading.read(at);
    }

    /// Records that bytes of the response's body arrived.
    pub fn body(&mut self, arrival: impl Into<Arrival>, bytes: usize) {
        let arrival = arrival.into();
        self.reading.first_byte.get_or_insert(arrival.at());
        self.reading.received_bytes += bytes as u64;
        self.reading.end_lag_us = arrival.lag_us();
        self.reading.read(arrival.at());
    }

    /// Records that the answer is one document.
    pub fn document(&mut self) {
        self.record.is_document = true;
    }

    /// Records the kernel's facts about the connection.
    pub fn socket(&mut self, facts: SocketFacts) {
        self.record.socket = Some(facts);
    }

    /// Sets which clock stamps the arrivals; [`ArrivalClock::User`] unless set.
    pub fn arrival_clock(&mut self, clock: ArrivalClock) {
        self.reading.arrival_clock = clock;
    }

    /// Returns a sink for what a decoder finds in the bytes that arrived at `arrival`.
    pub fn at(&mut self, arrival: impl Into<Arrival>) -> Stamped<'_> {
        Stamped { recorder: self, arrival: arrival.into() }
    }

    /// Records a piece of output that arrived by itself. For transports without frames around their
    /// output: it is [`body`](Self::body) and a [`Delta`] at once.
    pub fn output(&mut self, arrival: impl Into<Arrival>, delta: Delta<'_>) {
        let arrival = arrival.into();
        self.body(arrival, delta.text.len());
        self.at(arrival).delta(delta);
    }

    /// Returns the number of pieces of output so far.
    pub fn pieces(&self) -> usize {
        self.reading.deltas.len()
    }

    /// Returns the number of bytes of memory that the output so far uses: its text and the log of
    /// its pieces.
    pub fn output_bytes(&self) -> usize {
        let parts = self.batch.as_ref().map_or(0, |batch| batch.output_bytes());
        self.reading.output_bytes() + parts
    }

    /// Drops the output so far, for an answer that is too large to keep.
    pub fn drop_output(&mut self) {
        self.reading.drop_output();
        if let Some(batch) = &mut self.batch {
            batch.drop_output();
        }
    }

    /// Closes the records of all prompts; the first is returned apart from the others.
    ///
    /// A prompt whose answer had ended before the request failed has succeeded. A prompt without an
    /// answer, or with an incomplete one, has failed.
    pub fn finish_each(
        mut self,
        outcome: Result<Finish, RequestError>,
        now: Stamp,
    ) -> (RequestRecord, Vec<RequestRecord>) {
        let Some(batch) = self.batch.take() else { return (self.finish(outcome, now), Vec::new()) };
        let whole = self.finish(outcome, now);
        batch.finish(&whole, now)
    }

    /// Closes the record. A failed request ends at `now`, a successful one with its last byte.
    pub fn finish(mut self, outcome: Result<Finish, RequestError>, now: Stamp) -> RequestRecord {
        if outcome.is_err() {
            self.reading.ended = now;
        }
        self.reading.put_into(&mut self.record);
        self.record.outcome =
            outcome.map(|finish| Finish { reason: finish.reason.or(self.finish_reason) });
        *self.record
    }
}

impl Reading {
    /// Creates an empty state with capacity reserved for `expected` pieces.
    fn of_nothing(expected: usize, scheduled: Stamp) -> Self {
        Self {
            first_byte: None,
            reads: 0,
            end_lag_us: 0,
            received_bytes: 0,
            ended: scheduled,
            deltas: DeltaLog::with_capacity(expected),
            text: String::with_capacity(expected * BYTES_PER_TOKEN),
            arrival_clock: ArrivalClock::User,
        }
    }

    /// Returns the state of an answer that has ended, without its output.
    fn of_ended(record: &RequestRecord) -> Self {
        Self {
            first_byte: record.first_byte,
            reads: record.reads,
            end_lag_us: record.end_lag_us,
            received_bytes: record.received_bytes,
            ended: record.ended,
            deltas: DeltaLog::default(),
            text: String::new(),
            arrival_clock: record.arrival_clock,
        }
    }

    /// Counts a read whose bytes arrived at `at`; several calls for one read count once.
    fn read(&mut self, at: Stamp) {
        let is_another = self.reads == 0 || self.ended != at;
        self.reads += u32::from(is_another);
        self.ended = at;
    }

    fn output_bytes(&self) -> usize {
        self.deltas.used_bytes() + self.text.len()
    }

    fn drop_output(&mut self) {
        (self.deltas, self.text) = (DeltaLog::default(), String::new());
    }

    fn put_into(self, record: &mut RequestRecord) {
        record.first_byte = self.first_byte;
        record.reads = self.reads;
        record.end_lag_us = self.end_lag_us;
        record.received_bytes = self.received_bytes;
        record.ended = self.ended;
        record.deltas = self.deltas;
        record.text = self.text;
        record.arrival_clock = self.arrival_clock;
    }
}

/// Limit of the number of tokens for which memory is reserved; a request may ask for any number.
const MOST_RESERVED: usize = 16_384;

/// English text has four to five bytes per token in common vocabularies.
const BYTES_PER_TOKEN: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CachedDetails, Delta, ErrorKind, Sink, Usage};

    fn at(nanos: u64) -> Stamp {
        Stamp::from_nanos(nanos)
    }

    fn recorder() -> Recorder {
        Recorder::new(3, Phase::Measure, &Sample::new("hi", 1, 2), at(10))
    }

    #[test]
    fn a_success_ends_with_its_last_byte() {
        let mut recorder = recorder();
        recorder.record_sent(at(11));
        recorder.headers(at(12), 200);
        recorder.body(at(13), 5);
        recorder.at(at(13)).delta(Delta::content("a"));
        recorder.body(at(14), 4);
        recorder.body(Arrival::new(at(14), at(5_014)), 3);
        recorder.at(at(14)).finish_reason("length");
        let record = recorder.finish(Ok(Finish::default()), at(99));
        assert_eq!((record.first_byte, record.ended), (Some(at(13)), at(14)));
        assert_eq!((record.reads, record.received_bytes, record.end_lag_us), (3, 12, 5));
        assert_eq!(record.outcome, Ok(Finish::new(Some("length".to_owned()))));
    }

    #[test]
    fn a_request_that_is_sent_again_has_the_stamps_of_its_second_sending() {
        let mut recorder = recorder();
        recorder.granted(at(10));
        recorder.connected(Connection::Reused);
        recorder.record_sent(at(11));
        recorder.resent(Unprocessed::Closed);
        recorder.connected(Connection::New { connect_ns: 5, tls_ns: None });
        recorder.record_sent(at(20));
        recorder.body(at(23), 5);
        let record = recorder.finish(Ok(Finish::default()), at(99));
        let resent = Resent::new(Unprocessed::Closed, Some(at(11)));
        assert_eq!(
            (record.resent, record.sent, record.ended),
            (Some(resent), Some(at(20)), at(23))
        );
        assert_eq!((record.scheduled, record.granted), (at(10), Some(at(10))));
        assert_eq!(record.connection, Some(Connection::New { connect_ns: 5, tls_ns: None }));
    }

    #[test]
    fn a_second_sending_that_gets_no_connection_was_not_sent() {
        let mut recorder = recorder();
        recorder.connected(Connection::Reused);
        recorder.record_sent(at(11));
        recorder.resent(Unprocessed::Closed);
        let error = RequestError::new(ErrorKind::Connect, "refused");
        let record = recorder.finish(Err(error), at(99));
        assert_eq!((record.sent, record.connection), (None, None));
        assert_eq!(record.resent.unwrap().first_sent, Some(at(11)));
    }

    #[test]
    fn the_output_of_an_ended_request_can_be_recorded_anew() {
        let mut recorder = recorder();
        recorder.record_sent(at(11));
        recorder.arrival_clock(ArrivalClock::Kernel);
        recorder.headers(at(12), 200);
        recorder.body(Arrival::new(at(13), at(7_013)), 5);
        recorder.at(at(13)).delta(Delta::content("frame"));
        let record = recorder.finish(Ok(Finish::default()), at(99));
        let mut again = Recorder::of_ended(record.clone());
        again.at(at(13)).delta(Delta::content("a").with_tokens(Some(1)));
        again.at(at(13)).finish_reason("stop");
        let decoded = again.finish(record.outcome.clone(), record.ended);
        assert_eq!((decoded.text.as_str(), decoded.deltas.len()), ("a", 1));
        assert_eq!(decoded.outcome, Ok(Finish::new(Some("stop".to_owned()))));
        let RequestRecord { deltas, text, outcome, .. } = record.clone();
        assert_eq!(RequestRecord { deltas, text, outcome, ..decoded }, record);
    }

    #[test]
    fn a_failure_keeps_what_was_seen_and_ends_when_noticed() {
        let mut recorder = recorder();
        recorder.record_sent(at(11));
        recorder.at(at(13)).delta(Delta::content("é"));
        let error = RequestError::new(ErrorKind::Truncated, "cut");
        let record = recorder.finish(Err(error), at(99));
        assert_eq!((record.ended, record.text.as_str()), (at(99), "é"));
        assert_eq!(record.pieces().map(|(_, text)| text).collect::<String>(), "é");
    }

    #[test]
    fn events_without_output_count_from_the_first_piece_on() {
        let mut recorder = recorder();
        let mut sink = recorder.at(at(12));
        sink.silent_event();
        sink.delta(Delta::content("a"));
        sink.silent_event();
        sink.silent_event();
        recorder.document();
        let record = recorder.finish(Ok(Finish::default()), at(20));
        assert_eq!((record.silent_events, record.is_document), (2, true));
    }

    #[test]
    fn the_joined_text_repeats_what_events_repeat() {
        let mut recorder = recorder();
        let mut sink = recorder.at(at(12));
        for text in ["é", "", "b"] {
            sink.delta(Delta::content(text));
        }
        let plain = recorder.finish(Ok(Finish::default()), at(20));
        assert_eq!(plain.joined_text(), "éb");
        let restated = RequestRecord { is_restated: true, ..plain };
        assert_eq!((&*restated.joined_text(), &*restated.text), ("éééb", "éb"));
    }

    #[test]
    fn usage_is_merged_field_by_field() {
        let mut recorder = recorder();
        let mut sink = recorder.at(at(12));
        sink.usage(Usage::new(Some(7), None));
        let details = Some(CachedDetails::new(Some(3), None, Some(1)));
        sink.usage(Usage::default().with_cached(Some(4)).with_cached_details(details));
        sink.usage(Usage::new(None, Some(2)));
        let usage = recorder.finish(Ok(Finish::default()), at(20)).usage.unwrap();
        assert_eq!((usage.prompt_tokens, usage.completion_tokens), (Some(7), Some(2)));
        assert_eq!((usage.cached_tokens, usage.cached_details), (Some(4), details));
    }
}
