//! How much speculative decoding yields.

use serde::Serialize;
use servemark_core::{RunLog, Usage};

/// How many tokens a step of speculative decoding yields on average, by the server. One step yields
/// one token where nothing that was guessed is accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AcceptLength {
    /// Of this run: the output tokens of its successes over their steps, of those requests for
    /// which the server tells both.
    pub of_run: Option<f64>,
    /// How many requests that is made of.
    pub requests: usize,
    /// Since the server's start, whoever asked it: the only figure that SGLang's client shows.
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
