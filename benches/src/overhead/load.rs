//! What is put on the server.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use servemark::core::Sample;
use servemark::mock::MockSpec;
use servemark::schedule::Schedule;

/// So many streams, all open at the same time.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Load {
    /// How many streams.
    pub streams: usize,
    /// How many chunks of one token each stream has.
    pub tokens: u32,
    /// From the reading of a request to its first token.
    pub ttft: Duration,
    /// From one token to the next.
    pub itl: Duration,
    /// When the requests are due.
    pub start: Start,
}

/// When requests are due. Closed: the two ends of what a server does to its client.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// All at once, so that every step of the server brings one token for every stream at once.
    Burst,
    /// Spread evenly over one gap between tokens, so that tokens arrive one by one.
    Staggered,
}

impl Load {
    /// A load of its parts.
    pub fn new(streams: usize, tokens: u32, ttft: Duration, itl: Duration) -> Self {
        Self { streams, tokens, ttft, itl, start: Start::Burst }
    }

    /// The same load with its requests due otherwise.
    #[must_use]
    pub fn starting(self, start: Start) -> Self {
        Self { start, ..self }
    }

    /// As many chunks as the machine can carry in 64 streams, so many in each.
    pub fn flood(tokens: u32) -> Self {
        Self::new(64, tokens, Duration::from_millis(50), Duration::ZERO)
    }

    /// Whether the server sends without a pause.
    pub fn is_flood(&self) -> bool {
        self.itl.is_zero()
    }

    /// How many chunks there are in all.
    pub fn chunks(&self) -> u64 {
        self.streams as u64 * u64::from(self.tokens)
    }

    /// The server that this load wants.
    pub(crate) fn server(&self) -> MockSpec {
        MockSpec::new(self.ttft, self.itl)
    }

    /// One sample per stream. The header is how the server knows which stream it is.
    pub(crate) fn samples(&self) -> Vec<Sample> {
        let sample = |index: usize| {
            let mut sample = Sample::new("Tell me a story.", 5, self.tokens);
            sample.headers.push(("x-servemark-request".to_owned(), index.to_string()));
            sample
        };
        (0..self.streams).map(sample).collect()
    }

    /// From one request's due time to the next one's.
    pub(crate) fn step(&self) -> Duration {
        match self.start {
            Start::Burst => Duration::ZERO,
            Start::Staggered => self.itl.div_f64(self.streams as f64),
        }
    }

    pub(crate) fn schedule(&self) -> Schedule {
        (0..self.streams).map(|stream| self.step().mul_f64(stream as f64)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_staggered_start_fills_one_gap() {
        let load = Load::new(4, 9, Duration::ZERO, Duration::from_millis(20));
        let millis = |load: Load| load.schedule().iter().map(|due| due.as_millis()).collect();
        let (burst, staggered): (Vec<_>, Vec<_>) =
            (millis(load), millis(load.starting(Start::Staggered)));
        assert_eq!((burst, staggered), (vec![0; 4], vec![0, 5, 10, 15]));
        assert_eq!(load.chunks(), 36);
    }
}
