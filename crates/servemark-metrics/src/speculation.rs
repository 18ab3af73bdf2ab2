//! Acceptance length of speculative decoding.

use serde::Serialize;
use servemark_core::{RunLog, Usage};

/// Mean number of tokens of a step of speculative decoding, by the server's counts. A step whose
/// guesses are all rejected yields one token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AcceptLength {
    /// Acceptance length of this run: output tokens divided by steps, over the successes for which
    /// the server reports both.
    pub of_run: Option<f64>,
    /// Number of requests that `of_run` covers.
    pub requests: usize,
    /// Acceptance length since the server's start, over the requests of all clients: the only
    /// figure that SGLang's client shows.
    pub since_start: Option<f64>,
}

impl AcceptLength {
    pub(crate) fn of(log: &RunLog) -> Self {
        let successes = log.measured().filter(|record| record.is_success());
        let counts: Vec<_> =
            successes.filter_map(|record| tokens_and_steps(record.usage?)).collect();
        let tokens: u64 = counts.iter().map(|&(tokens, _)| u64::from(tokens)).sum();
        let steps: u64 = counts.iter().map(|&(_, steps)| u64::from(steps)).sum();
        Self {
            of_run: (steps > 0).then(|| tokens as f64 / steps as f64),
            requests: counts.len(),
            since_start: log.footer().and_then(|footer| footer.accept_length),
        }
    }
}

fn tokens_and_steps(usage: Usage) -> Option<(u32, u32)> {
    Some((usage.completion_tokens?, usage.verify_steps?))
}
