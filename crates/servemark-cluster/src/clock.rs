//! Places the clock of rank 0 on that of another rank.

use std::time::Duration;

use servemark::core::{Clock, MonotonicClock, RankClock, Stamp};

use crate::coordinator::Coordinator;
use crate::pause::pause;
use crate::subject::Subjects;

/// One question for rank 0's time: when it was asked and answered on our clock, and the answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundTrip {
    pub(crate) asked: Stamp,
    pub(crate) answered: Stamp,
    /// Rank 0's time in between.
    pub(crate) lead_ns: u64,
}

impl RoundTrip {
    /// Returns rank 0's clock by this round trip: its time belongs to some instant between question
    /// and answer, so half of the round trip is the largest possible error.
    pub(crate) fn clock(self) -> RankClock {
        let took = self.answered.as_nanos().saturating_sub(self.asked.as_nanos());
        let middle = self.asked.as_nanos() + took / 2;
        let offset = i128::from(self.lead_ns) - i128::from(middle);
        let offset_ns = i64::try_from(offset).unwrap_or_default();
        RankClock { offset_ns, bound_ns: took.div_ceil(2) }
    }
}

/// Returns the clock with the smaller possible error.
pub(crate) fn better(one: Option<RankClock>, other: Option<RankClock>) -> Option<RankClock> {
    one.into_iter().chain(other).min_by_key(|clock| clock.bound_ns)
}

/// Asks rank 0 for its time once.
pub(crate) async fn ask(
    coordinator: &dyn Coordinator,
    subjects: &Subjects,
    clock: &MonotonicClock,
) -> Option<RankClock> {
    let asked = clock.now();
    let reply = coordinator.request(subjects.clock(), bytes::Bytes::new(), PATIENCE).await.ok()?;
    let answered = clock.now();
    let lead_ns = u64::from_le_bytes(reply.as_ref().try_into().ok()?);
    Some(RoundTrip { asked, answered, lead_ns }.clock())
}

/// Asks rank 0 for its time `times` times, and returns the best answer. If answers take long,
/// because many ranks ask at once or the network is slow, there are pauses between the questions,
/// and fewer of them.
pub(crate) async fn place(
    coordinator: &dyn Coordinator,
    subjects: &Subjects,
    clock: &MonotonicClock,
    times: usize,
) -> Option<RankClock> {
    let (mut best, mut missed) = (None, 0);
    let end = clock.now() + LONGEST;
    for _ in 0..times {
        let answer = ask(coordinator, subjects, clock).await;
        missed += usize::from(answer.is_none());
        let is_slow = answer.is_none_or(|answer| answer.bound_ns > SLOW_NS);
        best = better(best, answer);
        if missed == MOST_MISSED || clock.now() > end {
            break;
        }
        if is_slow {
            pause(between(clock.now())).await;
        }
    }
    best
}

/// Returns the pause after a slow answer. The last digits of the clock are as good as random, so
/// that ranks that asked at the same time do not do so again.
fn between(now: Stamp) -> Duration {
    SHORTEST_PAUSE + Duration::from_nanos(now.as_nanos() % 40_000_000)
}

/// Half of a round trip in nanoseconds from which on an answer is slow.
const SLOW_NS: u64 = 500_000;

/// Shortest pause after a slow answer; the longest is 40 ms longer.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);

/// Time after which no more questions are asked.
const LONGEST: Duration = Duration::from_secs(5);

/// Time to wait for an answer.
const PATIENCE: Duration = Duration::from_millis(500);

/// Number of unanswered questions after which the clock counts as out of reach for now.
const MOST_MISSED: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_is_right_within_its_bound_whatever_the_ways_take() {
        for (there, back) in [(10, 10), (30, 10), (5, 200), (0, 0), (7, 8)] {
            for skew in [-3_000_000_000_i64, 0, 5_000_000_000] {
                let asked = Stamp::from_nanos(10_000_000_000);
                let answered = asked + Duration::from_nanos(there + back);
                let lead_ns = (asked.as_nanos() + there).saturating_add_signed(skew);
                let clock = RoundTrip { asked, answered, lead_ns }.clock();
                assert!(clock.offset_ns.abs_diff(skew) <= clock.bound_ns, "{there} {back} {skew}");
                assert_eq!(clock.bound_ns, (there + back).div_ceil(2));
            }
        }
    }

    #[test]
    fn the_shortest_round_trip_counts() {
        let clock = |bound_ns| Some(RankClock { offset_ns: 1, bound_ns });
        assert_eq!(better(clock(5), clock(3)), clock(3));
        assert_eq!(better(None, clock(3)), clock(3));
        assert_eq!(better(None, None), None);
    }
}
