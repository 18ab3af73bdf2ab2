//! What chance is let loose on: requests, and parts of a run's time.

use crate::figure::{Latency, Quantity, Statistic};
use crate::statistics::whole;
use crate::{Figure, Metrics, RequestScore};

/// What a run's figures are made of, unit by unit.
#[derive(Debug)]
pub(super) struct Units {
    /// How many requests are drawn.
    pub(super) requests: usize,
    /// How many parts of the time are drawn.
    pub(super) spans: usize,
    pub(super) estimators: Vec<Estimator>,
}

/// How a figure is worked out from units that were drawn so many times each.
#[derive(Debug)]
pub(super) enum Estimator {
    /// Nobody knows.
    Unknown,
    /// Of requests: a sum over a count, for each request.
    Mean(Vec<(f64, f64)>),
    /// Of requests: values in order, each with its request, and the percentile of them.
    Percentile(Vec<(f64, usize)>, f64),
    /// Of parts of the time: what came in each, and its length.
    Rate(Vec<f64>, f64),
}

impl Units {
    pub(super) fn of(scores: &[RequestScore<'_>], metrics: &Metrics, figures: &[Figure]) -> Self {
        let successes: Vec<_> = scores.iter().filter(|score| score.success).collect();
        let estimator = |figure: &Figure| Estimator::of(figure.quantity, &successes, metrics);
        Self {
            requests: successes.len(),
            spans: SPANS,
            estimators: figures.iter().map(estimator).collect(),
        }
    }
}

impl Estimator {
    fn of(quantity: Quantity, successes: &[&RequestScore<'_>], metrics: &Metrics) -> Self {
        match quantity {
            Quantity::Latency(latency, Statistic::Mean) => mean(latency, successes, metrics),
            Quantity::Latency(latency, Statistic::Median) => {
                percentile(latency, 50.0, successes, metrics)
            }
            Quantity::Latency(latency, Statistic::Percentile(percent)) => {
                percentile(latency, percent, successes, metrics)
            }
            Quantity::Requests => rate(successes, |_| 1.0, |_| 0.0),
            Quantity::InputTokens => rate(successes, prompt, |_| 0.0),
            Quantity::OutputTokens => rate(successes, |_| 0.0, output),
            Quantity::TotalTokens => rate(successes, prompt, output),
            _ => Self::Unknown,
        }
    }

    /// The figure, where each unit was drawn as often as `times` says.
    pub(super) fn value(&self, requests: &[u32], spans: &[u32]) -> Option<f64> {
        match self {
            Self::Unknown => None,
            Self::Mean(units) => {
                let drawn = units.iter().zip(requests);
                let (sum, count) = drawn.fold((0.0, 0.0), |(sum, count), (unit, &times)| {
                    (sum + unit.0 * f64::from(times), count + unit.1 * f64::from(times))
                });
                (count > 0.0).then(|| sum / count)
            }
            Self::Percentile(values, percent) => weighted(values, *percent, requests),
            Self::Rate(amounts, seconds) => {
                let drawn = amounts.iter().zip(spans);
                let sum: f64 = drawn.map(|(amount, &times)| amount * f64::from(times)).sum();
                Some(sum / (seconds * amounts.len() as f64))
            }
        }
    }
}

/// The smallest value that a share of all that was drawn does not exceed.
fn weighted(values: &[(f64, usize)], percent: f64, requests: &[u32]) -> Option<f64> {
    let times = |&(_, request): &(f64, usize)| u64::from(requests[request]);
    let all: u64 = values.iter().map(times).sum();
    let wanted = (percent / 100.0 * all as f64).max(1.0);
    let mut before = 0;
    let reached = values.iter().find(|value| {
        before += times(value);
        before as f64 >= wanted
    });
    reached.map(|&(value, _)| value)
}

fn mean(latency: Latency, successes: &[&RequestScore<'_>], metrics: &Metrics) -> Estimator {
    let unit = |score: &&RequestScore<'_>| {
        let values = values(latency, score, metrics);
        values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0))
    };
    Estimator::Mean(successes.iter().map(unit).collect())
}

fn percentile(
    latency: Latency,
    percent: f64,
    successes: &[&RequestScore<'_>],
    metrics: &Metrics,
) -> Estimator {
    let all = || {
        let numbered = successes.iter().enumerate();
        numbered.flat_map(|(request, score)| {
            values(latency, score, metrics).map(move |value| (value, request))
        })
    };
    // Of very many values evenly some: what is wanted is how far the percentile may be off.
    let step = all().count().div_ceil(MOST_VALUES).max(1);
    let mut values: Vec<(f64, usize)> = all().step_by(step).collect();
    values.sort_unstable_by(|left, right| left.0.total_cmp(&right.0));
    Estimator::Percentile(values, percent)
}

/// A request's values in milliseconds.
fn values<'a>(
    latency: Latency,
    score: &'a RequestScore<'_>,
    metrics: &Metrics,
) -> Box<dyn Iterator<Item = f64> + 'a> {
    let milliseconds = |seconds: f64| seconds * 1000.0;
    match latency {
        Latency::E2el => Box::new(std::iter::once(milliseconds(score.latency_s))),
        Latency::Itl => Box::new(score.itl_sample().map(milliseconds)),
        Latency::Tpot => Box::new(score.tpot_s(metrics.policy.tpot).map(milliseconds).into_iter()),
        Latency::Ttft => Box::new(score.ttft_s.map(milliseconds).into_iter()),
    }
}

/// So much at a request's end and so much spread over its pieces, per second.
fn rate(
    successes: &[&RequestScore<'_>],
    at_end: fn(&RequestScore<'_>) -> f64,
    over_pieces: fn(&RequestScore<'_>) -> f64,
) -> Estimator {
    let start = successes.iter().map(|score| score.start_s).fold(f64::INFINITY, f64::min);
    let ends = successes.iter().map(|score| score.start_s + score.latency_s);
    let seconds = (ends.fold(start, f64::max) - start) / SPANS as f64;
    if !(seconds > 0.0 && seconds.is_finite()) {
        return Estimator::Unknown;
    }
    let mut amounts = vec![0.0; SPANS];
    let mut add = |time: f64, amount: f64| {
        amounts[whole((time - start) / seconds).min(SPANS - 1)] += amount;
    };
    for score in successes {
        add(score.start_s + score.latency_s, at_end(score));
        let pieces = score.token_times().count().max(1) as f64;
        let amount = over_pieces(score) / pieces;
        score.token_times().for_each(|time| add(time, amount));
    }
    Estimator::Rate(amounts, seconds)
}

fn prompt(score: &RequestScore<'_>) -> f64 {
    f64::from(score.prompt_tokens)
}

fn output(score: &RequestScore<'_>) -> f64 {
    score.output_token_count() as f64
}

/// Into how many parts a run's time is cut: each is long against the time between two requests, and
/// there are enough of them to tell how much they differ.
const SPANS: usize = 20;
const MOST_VALUES: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_goes_by_how_often_each_request_was_drawn() {
        let values = [(1.0, 0), (2.0, 1), (3.0, 2)];
        assert_eq!(weighted(&values, 50.0, &[1, 1, 1]), Some(2.0));
        assert_eq!(weighted(&values, 50.0, &[3, 0, 0]), Some(1.0));
        assert_eq!(weighted(&values, 99.0, &[1, 1, 1]), Some(3.0));
        assert_eq!(weighted(&values, 0.0, &[0, 2, 1]), Some(2.0));
        assert_eq!(weighted(&[], 50.0, &[]), None);
    }

    #[test]
    fn a_mean_is_of_all_values_of_the_requests_that_were_drawn() {
        let mean = Estimator::Mean(vec![(10.0, 2.0), (3.0, 1.0)]);
        assert_eq!(mean.value(&[1, 1], &[]), Some(13.0 / 3.0));
        assert_eq!(mean.value(&[0, 2], &[]), Some(3.0));
        assert_eq!(mean.value(&[0, 0], &[]), None);
    }
}
