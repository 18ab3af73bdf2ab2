//! Output tokens and requests in flight in each second of a run.

use crate::RequestScore;
use crate::statistics::whole;

/// Figures of one second of a run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Second {
    /// Number of pieces of output that came, each counted as the policy splits pieces into tokens.
    pub output_tokens: usize,
    /// Number of requests that were in flight at any time of the second.
    pub in_flight: usize,
}

/// Returns the seconds of a run from its first request on, by SGLang's definitions. They cover the
/// requests that succeeded, up to the second after the one in which the last of them ended.
///
/// ```
/// use servemark_metrics::timeline;
///
/// assert!(timeline(&[]).is_empty());
/// ```
pub fn timeline(scores: &[RequestScore<'_>]) -> Vec<Second> {
    let successes = || scores.iter().filter(|score| score.success);
    let first = successes().map(|score| score.start_s).fold(f64::INFINITY, f64::min);
    let last = successes().map(|score| score.start_s + score.latency_s).fold(first, f64::max);
    if first.is_infinite() {
        return Vec::new();
    }
    let mut seconds = vec![Second::default(); (whole((last - first).ceil()) + 1).min(LONGEST)];
    for score in successes() {
        for second in score.token_times().map(|time| whole(time - first)) {
            seconds.get_mut(second).into_iter().for_each(|second| second.output_tokens += 1);
        }
        let (start, end) = (score.start_s - first, score.start_s + score.latency_s - first);
        let open = seconds.iter_mut().take(whole(end) + 1).skip(whole(start));
        open.for_each(|second| second.in_flight += 1);
    }
    seconds
}

/// Largest number of seconds, about twelve days. A log from elsewhere that claims more must not
/// cost memory.
const LONGEST: usize = 1 << 20;
