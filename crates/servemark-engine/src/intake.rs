//! Collects requests until all that belong together have arrived.

use std::num::NonZeroUsize;

use crate::EngineRequest;

/// The number of requests in a part of a run, and the number that are submitted together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Waves {
    /// The total number of requests.
    pub requests: usize,
    /// The number of requests that are submitted together.
    pub size: NonZeroUsize,
}

impl Waves {
    /// Returns a single wave of all requests.
    pub fn whole(requests: usize) -> Self {
        Self { requests, size: NonZeroUsize::new(requests).unwrap_or(NonZeroUsize::MIN) }
    }
}

/// Collects requests until their wave is complete.
#[derive(Debug, Default)]
pub(crate) struct Intake {
    waiting: Vec<EngineRequest>,
    /// The number of requests that the current wave still lacks.
    to_come: usize,
    /// The number of requests after the current wave.
    later: usize,
    wave: usize,
}

impl Intake {
    /// Announces the requests of the next part of a run.
    pub(crate) fn expect(&mut self, waves: Waves) {
        self.wave = waves.size.get();
        self.later = waves.requests;
        self.next_wave();
    }

    /// Adds a request, or with `None` counts one that was announced but cannot be sent. Returns the
    /// wave if it is complete now.
    pub(crate) fn add(&mut self, request: Option<EngineRequest>) -> Option<Vec<EngineRequest>> {
        self.waiting.extend(request);
        self.to_come = self.to_come.saturating_sub(1);
        (self.to_come == 0).then(|| self.take())
    }

    /// Returns the collected requests, whether or not their wave is complete.
    pub(crate) fn take(&mut self) -> Vec<EngineRequest> {
        self.next_wave();
        std::mem::take(&mut self.waiting)
    }

    fn next_wave(&mut self) {
        self.to_come = self.wave.min(self.later);
        self.later -= self.to_come;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EnginePrompt, Sampling};

    fn request(id: u64) -> EngineRequest {
        EngineRequest::new(id, EnginePrompt::Ids(vec![1]), 1, Sampling::default())
    }

    fn ids(wave: Option<Vec<EngineRequest>>) -> Option<Vec<u64>> {
        wave.map(|wave| wave.iter().map(|request| request.id).collect())
    }

    #[test]
    fn a_wave_goes_when_it_is_whole_and_the_last_when_it_is_all() {
        let mut intake = Intake::default();
        intake.expect(Waves { requests: 5, size: NonZeroUsize::new(2).unwrap() });
        let waves: Vec<_> = (0..5).map(|id| ids(intake.add(Some(request(id))))).collect();
        assert_eq!(waves, [None, Some(vec![0, 1]), None, Some(vec![2, 3]), Some(vec![4])]);
    }

    #[test]
    fn a_request_that_is_never_submitted_delays_no_other() {
        let mut intake = Intake::default();
        intake.expect(Waves::whole(2));
        assert_eq!(ids(intake.add(Some(request(0)))), None);
        assert_eq!(ids(intake.add(None)), Some(vec![0]));
    }

    #[test]
    fn what_is_there_can_be_had_at_any_time() {
        let mut intake = Intake::default();
        intake.expect(Waves::whole(3));
        intake.add(Some(request(7)));
        assert_eq!(ids(Some(intake.take())), Some(vec![7]));
    }
}
