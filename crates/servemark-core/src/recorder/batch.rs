//! Records of a request that holds several prompts.

use super::Recorder;
use crate::{
    Arrival, ErrorKind, Finish, Phase, Planned, Prompt, RequestError, RequestRecord, Sample, Stamp,
};

/// Recorders of a batch, one for each prompt. Pieces of the answers may arrive in any order.
#[derive(Debug)]
pub(super) struct Batch {
    parts: Vec<Recorder>,
    current: usize,
}

impl Batch {
    /// Returns a batch recorder if the sample holds several prompts. Record indices are consecutive
    /// across samples; all samples must have the same batch size.
    pub(super) fn of(
        index: usize,
        phase: Phase,
        sample: &Sample,
        scheduled: Stamp,
    ) -> Option<Box<Self>> {
        let Prompt::Batch(prompts) = &sample.prompt else { return None };
        if prompts.is_empty() {
            return None;
        }
        let first = index * prompts.len();
        let part = |(place, ids): (usize, &Vec<u32>)| {
            let tokens = u32::try_from(ids.len()).unwrap_or(u32::MAX);
            let planned =
                Planned { prompt_tokens: tokens, text_tokens: tokens, ..Planned::from(sample) };
            Recorder::of_one(first + place, phase, planned, scheduled)
        };
        let parts = prompts.iter().enumerate().map(part).collect();
        Some(Box::new(Self { parts, current: 0 }))
    }

    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    /// Returns the number of bytes of memory that the output of all prompts uses.
    pub(super) fn output_bytes(&self) -> usize {
        self.parts.iter().map(|part| part.reading.output_bytes()).sum()
    }

    pub(super) fn drop_output(&mut self) {
        self.parts.iter_mut().for_each(|part| part.reading.drop_output());
    }

    /// Returns the recorder of the prompt whose answer is being read.
    pub(super) fn current(&mut self) -> &mut Recorder {
        &mut self.parts[self.current]
    }

    /// Continues with the answer to the prompt at `place`. A place outside the batch is ignored;
    /// the decoder refuses it.
    pub(super) fn turn_to(&mut self, place: usize, arrival: Arrival) {
        let Some(part) = self.parts.get_mut(place) else { return };
        self.current = place;
        part.reading.end_lag_us = arrival.lag_us();
        part.reading.read(arrival.at());
    }

    /// Closes the records and returns the first apart from the others. Each has the facts that all
    /// share, except that the connection facts are only in the first record.
    pub(super) fn finish(
        self,
        whole: &RequestRecord,
        now: Stamp,
    ) -> (RequestRecord, Vec<RequestRecord>) {
        let count = self.parts.len() as u64;
        let (share, rest) = (whole.received_bytes / count, whole.received_bytes % count);
        let mut records = self.parts.into_iter().map(|part| part.finish_part(whole, share, now));
        let mut first = records.next().unwrap_or_else(|| whole.clone());
        first.received_bytes += rest;
        (first.connection, first.socket) = (whole.connection, whole.socket);
        first.resent = whole.resent;
        (first, records.collect())
    }
}

impl Recorder {
    /// Closes the record of one of several prompts, with its share of the answer's bytes.
    fn finish_part(self, whole: &RequestRecord, bytes: u64, now: Stamp) -> RequestRecord {
        let outcome = self.outcome_within(&whole.outcome);
        let record = self.finish(outcome, now);
        RequestRecord {
            granted: whole.granted,
            sent: whole.sent,
            left: whole.left,
            headers: whole.headers,
            first_byte: whole.first_byte,
            received_bytes: bytes,
            is_document: whole.is_document,
            arrival_clock: whole.arrival_clock,
            status: whole.status,
            ..record
        }
    }

    /// Returns how one prompt's answer ended within a request that ended as `whole`.
    fn outcome_within(&self, whole: &Result<Finish, RequestError>) -> Result<Finish, RequestError> {
        let failed = |kind, story: &str| Err(RequestError::new(kind, story));
        match whole {
            _ if self.finish_reason.is_some() => Ok(Finish::default()),
            Err(error) => Err(error.clone()),
            Ok(_) if self.pieces() == 0 => {
                failed(ErrorKind::Empty, "the answer has nothing for this prompt of the batch")
            }
            Ok(_) => failed(
                ErrorKind::Truncated,
                "the answer stopped without a finish reason for this prompt of the batch",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delta, Sink};

    fn at(nanos: u64) -> Stamp {
        Stamp::from_nanos(nanos)
    }

    fn recorder(index: usize) -> Recorder {
        let prompt = Prompt::Batch(vec![vec![1, 2], vec![3], vec![4, 5, 6]]);
        let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new(prompt, 6, 2), at(10));
        recorder.record_sent(at(11));
        recorder.headers(at(12), 200);
        recorder
    }

    fn piece(recorder: &mut Recorder, time: u64, place: usize, reason: Option<&str>) {
        recorder.body(at(time), 10);
        let mut sink = recorder.at(at(time));
        sink.prompt(place);
        sink.delta(Delta::content("a").with_tokens(Some(1)));
        if let Some(reason) = reason {
            sink.finish_reason(reason);
        }
    }

    fn all(recorder: Recorder, outcome: Result<Finish, RequestError>) -> Vec<RequestRecord> {
        let (first, others) = recorder.finish_each(outcome, at(99));
        std::iter::once(first).chain(others).collect()
    }

    #[test]
    fn every_prompt_has_a_record_and_all_share_what_was_sent() {
        let mut recorder = recorder(2);
        for (time, place, reason) in [
            (13, 1, None),
            (13, 0, None),
            (14, 2, Some("stop")),
            (15, 0, Some("length")),
            (16, 1, Some("length")),
        ] {
            piece(&mut recorder, time, place, reason);
        }
        assert_eq!(recorder.records(), 3);
        let records = all(recorder, Ok(Finish::default()));
        let read_at = |record: &RequestRecord| {
            (record.index, record.planned.prompt_tokens, record.deltas.len(), record.ended)
        };
        let read_at: Vec<_> = records.iter().map(read_at).collect();
        assert_eq!(read_at, [(6, 2, 2, at(15)), (7, 1, 2, at(16)), (8, 3, 1, at(14))]);
        assert!(records.iter().all(|record| record.sent == Some(at(11)) && record.is_success()));
        assert_eq!(records.iter().map(|record| record.received_bytes).sum::<u64>(), 50);
        assert_eq!(records.iter().map(|record| record.reads).collect::<Vec<_>>(), [2, 2, 1]);
    }

    #[test]
    fn what_is_not_whole_has_failed() {
        let mut whole = recorder(0);
        piece(&mut whole, 13, 0, Some("length"));
        piece(&mut whole, 14, 1, None);
        let kinds: Vec<_> = all(whole, Ok(Finish::default()))
            .into_iter()
            .map(|record| record.outcome.err().map(|error| error.kind))
            .collect();
        assert_eq!(kinds, [None, Some(ErrorKind::Truncated), Some(ErrorKind::Empty)]);
    }

    #[test]
    fn a_failure_takes_those_that_were_not_over() {
        let mut cut = recorder(0);
        piece(&mut cut, 13, 1, Some("length"));
        let records = all(cut, Err(RequestError::new(ErrorKind::InStream, "out of memory")));
        assert_eq!(
            records.iter().map(RequestRecord::is_success).collect::<Vec<_>>(),
            [false, true, false]
        );
        assert_eq!((records[0].ended, records[1].ended), (at(99), at(13)));
    }
}
