//! Rates of a part of a run, per second.

use serde::{Deserialize, Serialize};

use crate::RequestScore;

/// Tokens and requests that the rates of a stable stage count.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StableCounting {
    /// All tokens of the stage's requests, as in AISBench. Where requests are long, most of these
    /// tokens come after the stage, so the rates exceed what the server does.
    Requests,
    /// Prompts sent, tokens received and requests ended during the stage, of all requests.
    #[default]
    Within,
}

/// Rates of a part of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct StageRates {
    /// Mean number of requests in flight.
    pub concurrency: f64,
    /// Requests per second.
    pub requests_per_s: f64,
    /// Prompt tokens per second.
    pub input_tokens_per_s: f64,
    /// Output tokens per second.
    pub output_tokens_per_s: f64,
    /// Prompt and output tokens per second.
    pub total_tokens_per_s: f64,
}

impl StageRates {
    /// Divides the totals of all these requests by the window's duration.
    pub(super) fn of_requests(scores: &[&RequestScore<'_>], window: (f64, f64)) -> Self {
        let latencies: f64 = scores.iter().map(|score| score.latency_s).sum();
        Self::over(window, latencies, scores.len(), input(scores), output(scores) as f64)
    }

    /// Computes the rates within the window. A request's output tokens count with the share of its
    /// pieces that came within it.
    pub(super) fn within(scores: &[&RequestScore<'_>], (start, end): (f64, f64)) -> Self {
        let holds = |time: f64| (start..=end).contains(&time);
        let in_flight = |score: &&RequestScore<'_>| {
            (score.end_s().min(end) - score.start_s.max(start)).max(0.0)
        };
        let came = |score: &&RequestScore<'_>| {
            let all = score.token_times().count().max(1) as f64;
            let within = score.token_times().filter(|&time| holds(time)).count() as f64;
            score.output_token_count() as f64 * within / all
        };
        let sent: Vec<_> =
            scores.iter().copied().filter(|score| (start..end).contains(&score.start_s)).collect();
        let latencies = scores.iter().map(in_flight).sum();
        let ended = scores.iter().filter(|score| holds(score.end_s())).count();
        Self::over((start, end), latencies, ended, input(&sent), scores.iter().map(came).sum())
    }

    fn over(
        (start, end): (f64, f64),
        latencies: f64,
        requests: usize,
        input: u64,
        output: f64,
    ) -> Self {
        let seconds = end - start;
        let per_second = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
        Self {
            concurrency: per_second(latencies),
            requests_per_s: per_second(requests as f64),
            input_tokens_per_s: per_second(input as f64),
            output_tokens_per_s: per_second(output),
            total_tokens_per_s: per_second(input as f64 + output),
        }
    }
}

pub(super) fn input(scores: &[&RequestScore<'_>]) -> u64 {
    scores.iter().map(|score| u64::from(score.prompt_tokens)).sum()
}

pub(super) fn output(scores: &[&RequestScore<'_>]) -> u64 {
    scores.iter().map(|score| score.output_token_count()).sum()
}
