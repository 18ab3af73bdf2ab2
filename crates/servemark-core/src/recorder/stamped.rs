//! The sink that records output under the arrival time of its read.

use super::Recorder;
use crate::{Arrival, Delta, OddCount, ServerTimes, Sink, Usage};

/// A [`Sink`] that stamps all its input with the arrival of the read that delivered it.
#[derive(Debug)]
pub struct Stamped<'a> {
    pub(super) recorder: &'a mut Recorder,
    pub(super) arrival: Arrival,
}

impl Stamped<'_> {
    /// Returns the recorder of the answer that is being read: of the batch's current prompt, or of
    /// the request.
    fn keeper(&mut self) -> &mut Recorder {
        if self.recorder.batch.is_none() {
            return self.recorder;
        }
        self.recorder.batch.as_mut().expect("it was looked at").current()
    }
}

impl Sink for Stamped<'_> {
    fn prompt(&mut self, place: usize) {
        let arrival = self.arrival;
        if let Some(batch) = &mut self.recorder.batch {
            batch.turn_to(place, arrival);
        }
    }

    fn delta(&mut self, delta: Delta<'_>) {
        let arrival = self.arrival;
        let reading = &mut self.keeper().reading;
        reading.deltas.push(arrival, delta);
        reading.text.push_str(delta.text);
    }

    fn usage(&mut self, usage: Usage) {
        let known = self.keeper().record.usage.get_or_insert_default();
        known.prompt_tokens = usage.prompt_tokens.or(known.prompt_tokens);
        known.completion_tokens = usage.completion_tokens.or(known.completion_tokens);
        known.cached_tokens = usage.cached_tokens.or(known.cached_tokens);
        known.cached_details = usage.cached_details.or(known.cached_details);
        known.verify_steps = usage.verify_steps.or(known.verify_steps);
    }

    fn finish_reason(&mut self, reason: &str) {
        self.keeper().finish_reason = Some(reason.to_owned());
    }

    fn silent_event(&mut self) {
        let keeper = self.keeper();
        keeper.record.silent_events += u32::from(keeper.pieces() > 0);
    }

    fn restated(&mut self) {
        self.keeper().record.is_restated = true;
    }

    fn cache_storage(&mut self, name: &str) {
        let known = &mut self.keeper().record.cache_storage;
        if known.as_deref() != Some(name) {
            *known = Some(name.to_owned());
        }
    }

    fn server_times(&mut self, times: ServerTimes) {
        self.keeper().record.server_times = Some(Box::new(times));
    }

    /// Keeps the first count that was ignored, or else the first one that was used: the former is
    /// worse.
    fn odd_count(&mut self, count: OddCount) {
        let known = &mut self.keeper().record.odd_count;
        if known.as_ref().is_none_or(|known| known.is_read && !count.is_read) {
            *known = Some(Box::new(count));
        }
    }
}
