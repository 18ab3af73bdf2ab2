//! When each piece of one answer is due: a function of the time at which the request was received
//! and of nothing that happens afterwards.

use std::time::Duration;

use servemark_core::Stamp;

use super::Injected;
use super::script::Length;
use crate::MockSpec;

/// The due times of one answer.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    received: Stamp,
    ttft: Duration,
    itl: Duration,
    jitter: Duration,
    /// The seed of this request's own jitter.
    seed: u64,
    head_delay: Duration,
    /// The network delay from the server to the client.
    network: Duration,
    pause: Option<(u32, Duration)>,
}

impl Schedule {
    /// Returns the schedule of the request with this one-based number.
    pub(crate) fn new(spec: &MockSpec, received: Stamp, number: u64, injected: &Injected) -> Self {
        Self {
            received,
            ttft: spec.ttft.saturating_add(spec.kv_transfer),
            itl: spec.itl,
            jitter: spec.jitter,
            seed: mix(spec.seed ^ mix(number)),
            head_delay: injected.head_delay,
            network: spec.network,
            pause: injected.pause,
        }
    }

    /// Adds the time that computing the prompt takes beyond the server's `ttft`.
    #[must_use]
    pub(crate) fn with_prefill(self, prefill: Duration) -> Self {
        Self { ttft: self.ttft.saturating_add(prefill), ..self }
    }

    /// The time from the reception to the last piece of an answer.
    pub(crate) fn lasts(&self, length: Length) -> Duration {
        self.piece(length.last_piece()).since(self.received)
    }

    /// Moves the schedule so that its times count from another instant, that at which a place
    /// became free.
    #[must_use]
    pub(crate) fn beginning(self, received: Stamp) -> Self {
        Self { received, ..self }
    }

    /// Returns when the response's head is due at the client's end of the network.
    pub(crate) fn head(&self) -> Stamp {
        self.received + self.head_delay + self.network
    }

    /// Returns when a piece is due at the client's end of the network.
    pub(crate) fn piece_out(&self, piece: u32) -> Stamp {
        self.piece(piece) + self.network
    }

    /// Returns when a piece leaves the server.
    pub(crate) fn piece(&self, piece: u32) -> Stamp {
        let pause = self.pause.filter(|(from, _)| piece >= *from).map_or(Duration::ZERO, |p| p.1);
        self.received + self.ttft + self.itl.saturating_mul(piece) + pause + self.draw(piece)
    }

    /// Draws the delay of a piece uniformly from zero to the jitter.
    fn draw(&self, piece: u32) -> Duration {
        let bound = u64::try_from(self.jitter.as_nanos()).unwrap_or(u64::MAX);
        let word = mix(self.seed.wrapping_add(u64::from(piece)));
        Duration::from_nanos(((u128::from(word) * u128::from(bound)) >> 64) as u64)
    }
}

/// The output step of `SplitMix64`: a random word for any position in a sequence, without computing
/// the words before it.
fn mix(place: u64) -> u64 {
    let mut word = place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn schedule(spec: &MockSpec, number: u64, fault: Option<&str>) -> Schedule {
        let faults: Vec<_> = fault.into_iter().map(|text| text.parse().unwrap()).collect();
        Schedule::new(spec, Stamp::from_nanos(7), number, &Injected::of(&faults, 1))
    }

    fn spec() -> MockSpec {
        MockSpec::new(Duration::from_millis(30), Duration::from_millis(2))
    }

    #[test]
    fn pieces_are_due_from_the_reception() {
        let schedule = schedule(&spec(), 1, None);
        assert_eq!(schedule.head().as_nanos(), 7);
        assert_eq!(schedule.piece(0).as_nanos(), 7 + 30 * MS);
        assert_eq!(schedule.piece(1000).as_nanos(), 7 + 2030 * MS);
    }

    #[test]
    fn faults_move_what_they_name() {
        let stalled = schedule(&spec(), 1, Some("stall@2:5ms"));
        assert_eq!(stalled.piece(1).as_nanos(), 7 + 32 * MS);
        assert_eq!(stalled.piece(2).as_nanos(), 7 + 39 * MS);
        assert_eq!(stalled.piece(3).as_nanos(), 7 + 41 * MS);
        let slow = schedule(&spec(), 1, Some("slow-headers:40ms"));
        assert_eq!(slow.head().as_nanos(), 7 + 40 * MS);
        assert_eq!(slow.piece(0).as_nanos(), 7 + 30 * MS);
    }

    #[test]
    fn jitter_is_seeded_bounded_and_does_not_add_up() {
        let mut spec = spec();
        spec.jitter = Duration::from_millis(1);
        let late = |number, piece| {
            schedule(&spec, number, None).piece(piece).as_nanos()
                - (7 + 30 * MS)
                - u64::from(piece) * 2 * MS
        };
        let first: Vec<_> = (0..500).map(|piece| late(1, piece)).collect();
        assert!(first.iter().all(|nanos| *nanos < MS));
        let mean = first.iter().sum::<u64>() / 500;
        assert!((400_000..600_000).contains(&mean), "{mean}");
        assert_eq!(first, (0..500).map(|piece| late(1, piece)).collect::<Vec<_>>());
        assert_ne!(first, (0..500).map(|piece| late(2, piece)).collect::<Vec<_>>());
    }
}
