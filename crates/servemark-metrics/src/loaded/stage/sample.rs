//! Statistics of one quantity over the requests of a stage.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Stage;
use crate::statistics::{Moments, by_rank, order};
use crate::{Latency, RequestScore, SampleBudget, TpotRule};

/// A quantity with one value for each request, or many for times between tokens. Times are in
/// seconds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StageQuantity {
    /// Prompt tokens.
    InputTokens,
    /// A latency; gaps between tokens of all requests are one sample.
    Latency(Latency),
    /// Output tokens.
    OutputTokens,
    /// Output tokens divided by the latency.
    OutputTokensPerS,
    /// Prompt tokens divided by the time to first token.
    PrefillTokensPerS,
}

/// A statistic of a sample.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum StageStatistic {
    /// The mean.
    Average,
    /// The largest value.
    Max,
    /// The median.
    Median,
    /// The smallest value.
    Min,
    /// A percentile from 1 to 99, interpolated linearly between neighbours.
    Percentile(u8),
}

impl Stage<'_, '_> {
    /// Computes the wanted statistics of a quantity; zeros for an empty sample.
    pub fn statistics(
        &self,
        quantity: StageQuantity,
        wanted: &[StageStatistic],
        budget: SampleBudget,
    ) -> Vec<f64> {
        let values = || self.scores.iter().flat_map(|score| values(score, quantity));
        statistics(values, wanted, budget)
    }

    /// Returns whether any request has a value above zero.
    pub fn has(&self, quantity: StageQuantity) -> bool {
        match quantity {
            StageQuantity::Latency(Latency::Itl) => self.requests_with_gaps() > 0,
            _ => self.scores.iter().any(|score| values(score, quantity).any(|one| one > 0.0)),
        }
    }
}

fn values(score: &RequestScore<'_>, quantity: StageQuantity) -> impl Iterator<Item = f64> {
    let input = f64::from(score.prompt_tokens);
    let output = score.output_token_count() as f64;
    let (latency, other) = match quantity {
        StageQuantity::Latency(latency) => (Some(latency), None),
        StageQuantity::InputTokens => (None, Some(input)),
        StageQuantity::OutputTokens => (None, Some(output)),
        StageQuantity::OutputTokensPerS => (None, Some(over(output, score.latency_s))),
        StageQuantity::PrefillTokensPerS => (None, score.ttft_s.map(|ttft| over(input, ttft))),
    };
    let latencies =
        latency.map(|latency| latency.values(score, TpotRule::LatencyAfterFirstElseZero));
    latencies.into_iter().flatten().chain(other)
}

fn over(tokens: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { tokens / seconds } else { 0.0 }
}

/// Computes the wanted statistics of a sample; zeros for an empty one. `values` computes the values
/// anew for each pass.
fn statistics<I: Iterator<Item = f64>>(
    values: impl Fn() -> I,
    wanted: &[StageStatistic],
    budget: SampleBudget,
) -> Vec<f64> {
    let samples = values().count();
    let Some(mean) = Moments::of(samples, &values).map(|moments| moments.mean) else {
        return vec![0.0; wanted.len()];
    };
    let mut ranks = Vec::new();
    for statistic in wanted {
        statistic.read(samples, mean, &mut |rank| {
            ranks.push(rank);
            0.0
        });
    }
    let ranks = order::in_order(ranks);
    let ranked = if samples <= budget.values() {
        order::select(&mut values().collect::<Vec<_>>(), &ranks)
    } else {
        order::narrow(&values, &ranks)
    };
    wanted.iter().map(|one| one.read(samples, mean, &mut |rank| ranked.at(rank))).collect()
}

impl StageStatistic {
    /// AISBench's default statistics.
    pub const USUAL: [Self; 7] = [
        Self::Average,
        Self::Min,
        Self::Max,
        Self::Median,
        Self::Percentile(75),
        Self::Percentile(90),
        Self::Percentile(99),
    ];

    fn read(self, samples: usize, mean: f64, value: &mut impl FnMut(usize) -> f64) -> f64 {
        match self {
            Self::Average => mean,
            Self::Max => value(samples - 1),
            Self::Median => by_rank::percentile(samples, 50.0, value).unwrap_or_default(),
            Self::Min => value(0),
            Self::Percentile(percent) => {
                by_rank::percentile(samples, percent.into(), value).unwrap_or_default()
            }
        }
    }
}

/// Displays the name in a table's head.
impl std::fmt::Display for StageStatistic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Average => f.write_str("Average"),
            Self::Max => f.write_str("Max"),
            Self::Median => f.write_str("Median"),
            Self::Min => f.write_str("Min"),
            Self::Percentile(percent) => write!(f, "P{percent}"),
        }
    }
}

impl FromStr for StageStatistic {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let percent = || name.strip_prefix('P')?.parse().ok().filter(|p| (1..100).contains(p));
        match name {
            "Average" => Ok(Self::Average),
            "Max" => Ok(Self::Max),
            "Median" => Ok(Self::Median),
            "Min" => Ok(Self::Min),
            _ => percent().map(Self::Percentile).ok_or_else(|| {
                format!("{name:?} is no statistic; there are Average, Min, Max, Median, P1 to P99")
            }),
        }
    }
}

impl TryFrom<String> for StageStatistic {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        name.parse()
    }
}

impl From<StageStatistic> for String {
    fn from(statistic: StageStatistic) -> Self {
        statistic.to_string()
    }
}
