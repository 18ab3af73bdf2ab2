//! Selection of the next token from its logits.

use candle_core::{D, Result, Tensor};
use serde::Deserialize;
use servemark_rng::Pcg64;

use crate::{RequestId, Sampling};

/// A request's sampling parameters and its random numbers.
#[derive(Debug)]
pub(super) struct Choice {
    parameters: Parameters,
    random: Pcg64,
}

/// The sampling parameters that this engine supports.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    temperature: f64,
    ignore_eos: bool,
    #[serde(default = "all_of_it")]
    top_p: f64,
    #[serde(default = "any_number")]
    top_k: i64,
}

/// Returns the sampler of a request. Its draws depend only on the seed and the request's number.
pub(super) fn choice(sampling: &Sampling, seed: u64, id: RequestId) -> serde_json::Result<Choice> {
    let Sampling { temperature, ignore_eos, extra } = sampling;
    let mut given = serde_json::Map::new();
    given.insert("temperature".to_owned(), (*temperature).into());
    given.insert("ignore_eos".to_owned(), (*ignore_eos).into());
    given.extend(extra.clone());
    let parameters = serde_json::from_value(given.into())?;
    Ok(Choice { parameters, random: Pcg64::seeded(seed.wrapping_add(id)) })
}

impl Choice {
    pub(super) fn ignores_ends(&self) -> bool {
        self.parameters.ignore_eos
    }

    pub(super) fn token(&mut self, logits: &Tensor) -> Result<u32> {
        if self.parameters.temperature <= 0.0 {
            return logits.argmax(D::Minus1)?.to_scalar();
        }
        let mut weights = self.weights(&logits.to_vec1()?);
        self.parameters.cut(&mut weights);
        Ok(draw(&weights, self.random.random()))
    }

    /// Returns the probability of each token relative to the likeliest one.
    fn weights(&self, logits: &[f32]) -> Vec<(u32, f64)> {
        let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let temperature = self.parameters.temperature;
        let weight = |logit: &f32| (f64::from(logit - most) / temperature).exp();
        (0..).zip(logits.iter().map(weight)).collect()
    }
}

impl Parameters {
    /// Keeps the likeliest tokens, as `top_k` and `top_p` say.
    fn cut(&self, weights: &mut Vec<(u32, f64)>) {
        let is_cut = self.top_k > 0 || self.top_p < 1.0;
        if !is_cut {
            return;
        }
        weights.sort_by(|one, other| other.1.total_cmp(&one.1));
        if let Ok(top_k @ 1..) = usize::try_from(self.top_k) {
            weights.truncate(top_k);
        }
        let enough = total(weights) * self.top_p;
        let mut before = 0.0;
        weights.retain(|(_, weight)| {
            let is_kept = before < enough || before == 0.0;
            before += weight;
            is_kept
        });
    }
}

fn draw(weights: &[(u32, f64)], share: f64) -> u32 {
    let mut left = share * total(weights);
    let drawn = weights.iter().find(|(_, weight)| {
        left -= weight;
        left < 0.0
    });
    // Rounding can leave a remainder, which belongs to the last token.
    drawn.or(weights.last()).map_or(0, |(token, _)| *token)
}

fn total(weights: &[(u32, f64)]) -> f64 {
    weights.iter().map(|(_, weight)| weight).sum()
}

fn all_of_it() -> f64 {
    1.0
}

fn any_number() -> i64 {
    -1
}

#[cfg(test)]
mod tests {
    use candle_core::Device;
    use serde_json::json;

    use super::*;

    fn choice_counts(extra: serde_json::Value) -> Vec<u32> {
        let extra = serde_json::from_value(extra).unwrap();
        let sampling = Sampling { temperature: 1.0, extra, ..Sampling::default() };
        let mut choice = choice(&sampling, 7, 0).unwrap();
        // Probabilities of one half, a quarter, an eighth and an eighth.
        let logits: Vec<f32> = [4.0_f32, 2.0, 1.0, 1.0].iter().map(|share| share.ln()).collect();
        let logits = Tensor::new(logits, &Device::Cpu).unwrap();
        let mut counts = vec![0; 4];
        for _ in 0..8000 {
            counts[choice.token(&logits).unwrap() as usize] += 1;
        }
        counts
    }

    /// Whether a count lies within four standard deviations of its expectation in 8,000 draws,
    /// which are the same each time.
    fn is_near(count: u32, share: f64) -> bool {
        (f64::from(count) - 8000.0 * share).abs() < 4.0 * (8000.0 * share * (1.0 - share)).sqrt()
    }

    #[test]
    fn tokens_are_drawn_as_often_as_they_are_likely() {
        let counts = choice_counts(json!({}));
        let shares = [0.5, 0.25, 0.125, 0.125];
        assert!(counts.iter().zip(shares).all(|(count, share)| is_near(*count, share)));
    }

    #[test]
    fn unlikely_tokens_can_be_left_out() {
        let counts = choice_counts(json!({"top_k": 2}));
        assert!(is_near(counts[0], 2.0 / 3.0) && counts[2..] == [0, 0]);
        let counts = choice_counts(json!({"top_p": 0.6}));
        assert!(is_near(counts[1], 1.0 / 3.0) && counts[2..] == [0, 0]);
        assert_eq!(choice_counts(json!({"top_p": 0.0}))[1..], [0, 0, 0]);
        assert_eq!(choice_counts(json!({"temperature": 0}))[1..], [0, 0, 0]);
    }

    #[test]
    fn a_parameter_that_is_not_known_is_named() {
        let extra = serde_json::from_value(json!({"min_p": 0.1})).unwrap();
        let sampling = Sampling { extra, ..Sampling::default() };
        let error = choice(&sampling, 7, 0).unwrap_err().to_string();
        assert!(error.contains("`min_p`") && error.contains("`top_k`"), "{error}");
    }
}
