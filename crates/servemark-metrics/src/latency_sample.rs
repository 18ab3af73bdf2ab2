//! Samples of latencies in the order of time, for confidence intervals.

use servemark_statistics::Observations;

use crate::latency::LatencyValues;
use crate::{Latency, RequestScore, TpotRule};

impl Latency {
    /// Returns whether waits in a server's queue are part of the latency.
    pub(crate) fn has_waits(self) -> bool {
        matches!(
            self,
            Self::E2el | Self::Queue | Self::ResponseE2el | Self::ResponseTtft | Self::Ttft
        )
    }

    /// Returns the sample of the latency from requests in the order of time.
    pub(crate) fn sample(self, scores: &[&RequestScore<'_>], tpot: TpotRule) -> Observations {
        let (mut sample, lengths) =
            (Observations::default(), AnswerLengths::of(scores.iter().copied()));
        for score in scores {
            lengths.add(self, score, self.values(score, tpot), &mut sample);
        }
        sample
    }
}

/// The lengths of the answers of a run, which hide in end-to-end latencies how the server slows down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerLengths {
    /// Mean number of tokens after the first.
    mean: f64,
    /// Mean time in seconds of a token after the first.
    per_token_s: f64,
}

impl AnswerLengths {
    pub(crate) fn of<'a, 's: 'a>(scores: impl Iterator<Item = &'a RequestScore<'s>>) -> Self {
        let (mut requests, mut tokens, mut seconds) = (0.0_f64, 0.0_f64, 0.0);
        for score in scores.filter(|score| score.success) {
            requests += 1.0;
            if let (Some(first), further @ 1..) = (score.ttft_s, tokens_after_first(score)) {
                tokens += further as f64;
                seconds += score.latency_s - first;
            }
        }
        Self { mean: tokens / requests.max(1.0), per_token_s: seconds / tokens.max(1.0) }
    }

    /// Adds the values of the next request to the sample of a latency in the order of time.
    pub(crate) fn add(
        self,
        latency: Latency,
        score: &RequestScore<'_>,
        values: LatencyValues<'_>,
        sample: &mut Observations,
    ) {
        match latency {
            Latency::E2el => self.add_e2el(sample, score, 0.0),
            Latency::ResponseE2el => self.add_e2el(sample, score, score.waited_s),
            _ => sample.push(values),
        }
    }

    /// Adds the end-to-end latency of the next request, counted from `waited_s` seconds before it was
    /// sent. Known parts of it are the time to its first token, and the latency that its wait and its time
    /// per token would give an answer of the mean length.
    fn add_e2el(self, sample: &mut Observations, score: &RequestScore<'_>, waited_s: f64) {
        let whole = waited_s + score.latency_s;
        let Some(first) = score.ttft_s else { return sample.push([whole]) };
        // An answer of one token does not show the time of further ones.
        let per_token = match tokens_after_first(score) {
            0 => self.per_token_s,
            tokens => (score.latency_s - first) / tokens as f64,
        };
        let to_first = waited_s + first;
        sample.push_with_parts(whole, [to_first, to_first + per_token * self.mean]);
    }
}

fn tokens_after_first(score: &RequestScore<'_>) -> u64 {
    score.output_token_count().saturating_sub(1)
}
