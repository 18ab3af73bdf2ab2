//! Waits in a server's queue that a run did not meet.

use servemark_core::RunFacts;
use servemark_statistics::UnmetWaits;

use crate::RequestScore;

/// Returns the waits in seconds that no request of a run met, though requests of the process may; none
/// unless requests arrive at a rate.
///
/// More requests than the peak of a run, `N` in flight, may have to wait. The server is taken for a queue
/// M/M/N with `A` requests in flight on average:
///
/// - A request that waits does so for `latency / (N - A)` on average.
/// - A phase of waits lasts about as long as the requests that are in flight at a time, whose mean latency
///   `L` is that of all requests weighted by itself.
/// - A run of `T` seconds met `T / L` such phases. By the rule of three, up to 3 of as many may have waits
///   that the run did not show.
///
/// Arrivals that are not at random come nearer to their peak than those of such a queue, so `N - A` is at
/// least `sqrt(N)`. With a limit on requests in flight alone there are never more of them.
pub(crate) fn unmet_waits(facts: &RunFacts, scores: &[RequestScore<'_>]) -> UnmetWaits {
    let ended = || scores.iter().filter(|score| score.success);
    let (count, peak) = (ended().count(), peak_in_flight(scores));
    let starts = || scores.iter().map(|score| score.start_s);
    let span = starts().fold(f64::MIN, f64::max) - starts().fold(f64::MAX, f64::min);
    if facts.request_rate.is_none() || count == 0 || span <= 0.0 {
        return UnmetWaits::default();
    }
    let all: f64 = ended().map(|score| score.latency_s).sum();
    let in_flight = ended().map(|score| score.latency_s.powi(2)).sum::<f64>() / all;
    let places = peak as f64;
    let spare = (places - all / span).max(places.sqrt());
    UnmetWaits { share: RULE_OF_THREE * in_flight / span, mean: all / count as f64 / spare }
}

/// Returns the waits that no request of several runs of one load met. The runs are as good as one that
/// is as long as all of them.
pub(crate) fn pooled(one: UnmetWaits, other: UnmetWaits) -> UnmetWaits {
    let share = (one.share.recip() + other.share.recip()).recip();
    UnmetWaits { share, mean: one.mean.max(other.mean) }
}

fn peak_in_flight(scores: &[RequestScore<'_>]) -> usize {
    let mut starts: Vec<f64> = scores.iter().map(|score| score.start_s).collect();
    let mut ends: Vec<f64> = scores.iter().map(RequestScore::end_s).collect();
    servemark_statistics::sort(&mut starts);
    servemark_statistics::sort(&mut ends);
    let mut ended = 0;
    let in_flight = starts.iter().enumerate().map(|(begun, start)| {
        while ends[ended] < *start {
            ended += 1;
        }
        begun + 1 - ended
    });
    in_flight.max().unwrap_or_default()
}

/// Rule of three: what none of n requests showed may happen to 3 in n, with 95 % confidence.
const RULE_OF_THREE: f64 = 3.0;

#[cfg(test)]
mod tests {
    use servemark_core::{Delta, Finish, Header, Phase, Recorder, RunLog, Sample, Sink, Stamp};

    use super::*;
    use crate::MetricPolicy;

    /// Scores requests that are sent every 100 ms and take 1.05 s.
    fn unmet(requests: usize, rate: Option<f64>) -> UnmetWaits {
        let ms = |at: usize| Stamp::from_nanos(at as u64 * 1_000_000);
        let record = |index: usize| {
            let sent = ms(100 * index);
            let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 1, 1), sent);
            let end = ms(100 * index + 1050);
            recorder.record_sent(sent);
            recorder.body(end, 1);
            recorder.at(end).delta(Delta::content("x"));
            recorder.finish(Ok(Finish::default()), end)
        };
        let mut facts = RunFacts::default();
        facts.request_rate = rate;
        let header = Header::new(0, facts, serde_json::Value::Null);
        let log = RunLog::new(header, (0..requests).map(record).collect(), None);
        let scores = RequestScore::of_log(&log, &MetricPolicy::native());
        unmet_waits(&log.header().facts, &scores)
    }

    #[test]
    fn a_longer_run_leaves_less_room_for_waits_that_it_did_not_meet() {
        // 40 s are 40/1.05 looks at eleven requests in flight. They come evenly, so the spare places are
        // the square root of eleven.
        let (run, longer) = (unmet(401, Some(10.0)), unmet(4001, Some(10.0)));
        let mean = 1.05 / 11f64.sqrt();
        assert!((run.mean - mean).abs() < 1e-9 && (longer.mean - run.mean).abs() < 1e-9);
        assert!((run.share - 3.0 * 1.05 / 40.0).abs() < 1e-9);
        assert!((longer.share - run.share / 10.0).abs() < 1e-9);
        // Two runs of 40 s are as good as one of 80 s.
        assert!((pooled(run, run).share - run.share / 2.0).abs() < 1e-9);
        let none = [unmet(401, None), unmet(0, Some(1.0)), unmet(1, Some(1.0))];
        assert_eq!(none, [UnmetWaits::default(); 3]);
    }
}
