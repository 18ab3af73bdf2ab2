//! Detects a server that falls behind the arrivals.

use servemark_core::RunFacts;

use crate::RequestScore;
use crate::evidence::growth_of;

/// Returns the figures if a server fell behind the arrivals of an open loop: responses became
/// later, and fewer requests ended than were due in the same time.
pub(crate) fn saturated(facts: &RunFacts, scores: &[RequestScore<'_>]) -> Option<String> {
    facts.request_rate?;
    let due: Vec<f64> = scores.iter().map(|score| score.start_s - score.waited_s).collect();
    let (first, last) =
        (due.iter().copied().reduce(f64::min)?, due.iter().copied().reduce(f64::max)?);
    let first_end = scores.iter().map(RequestScore::end_s).reduce(f64::min)?;
    let span = last - first_end;
    if span <= 0.0 {
        return None;
    }
    let done = scores.iter().filter(|score| score.end_s() <= last).count();
    let (requested, ended) =
        ((due.len() - 1) as f64 / (last - first), done.saturating_sub(1) as f64 / span);
    if ended >= FALLEN_BEHIND * requested {
        return None;
    }
    let (growth, backlog) = (growth_of(scores)?, due.len() - done);
    Some(format!(
        "asked {requested:.1} requests/s, done {ended:.1}/s, {backlog} in flight when the last was due; {growth}"
    ))
}

/// Ratio of ended to due requests per second below which a server has fallen behind. Smaller
/// deficits occur by chance.
const FALLEN_BEHIND: f64 = 0.98;
