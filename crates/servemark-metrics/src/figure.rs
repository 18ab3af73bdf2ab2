//! Figures of a run that can be compared with those of another run.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::{Latency, Metrics, MetricsError, RequestPart, Summary};

/// A figure of a run that can be compared with another run's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Part of the run that the figure covers.
    pub of: FigureScope,
    /// Quantity that is counted or measured.
    pub quantity: Quantity,
}

/// A part of a run. The enum is closed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FigureScope {
    /// The whole run.
    Run,
    /// The part at the load that was asked for.
    Plateau,
}

/// A quantity that is counted or measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantity {
    /// Number of requests that succeeded.
    Completed,
    /// Number of requests that failed.
    Failed,
    /// Duration of the run in seconds.
    Duration,
    /// Requests per second.
    Requests,
    /// Prompt tokens per second.
    InputTokens,
    /// Output tokens per second.
    OutputTokens,
    /// Prompt and output tokens per second.
    TotalTokens,
    /// Largest number of output tokens in one second.
    PeakOutput,
    /// Largest number of requests in flight.
    PeakConcurrency,
    /// Energy of the GPUs in joules per output token.
    JoulesPerOutputToken,
    /// Cost of a million output tokens.
    CostPerMillionOutputTokens,
    /// Output tokens per second and GPU.
    OutputTokensPerGpu,
    /// A statistic of a latency.
    Latency(Latency, Statistic),
}

/// A statistic of a sample of latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// Mean of the sample.
    Mean,
    /// Median of the sample.
    Median,
    /// A percentile of the sample, in percent.
    Percentile(f64),
}

/// Direction in which a figure improves. The enum is closed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// A higher value is better.
    Higher,
    /// A lower value is better.
    Lower,
}

impl Figure {
    /// Returns the figures that vLLM's Rust client compares, in its order: rates, latencies and
    /// counts of the whole run, then figures of the plateau.
    pub fn headline() -> Vec<Self> {
        let statistics = [Statistic::Mean, Statistic::Median, Statistic::Percentile(99.0)];
        let latencies = Latency::COMMON.into_iter().flat_map(|latency| {
            statistics.map(|statistic| Self::new(Quantity::Latency(latency, statistic)))
        });
        let rates = RATES.into_iter().map(Self::new);
        let counts = [Quantity::Completed, Quantity::Failed, Quantity::Duration].map(Self::new);
        let steady = STEADY.into_iter().map(Self::of_plateau);
        rates.chain(latencies).chain(counts).chain(steady).collect()
    }

    /// Returns the figures that comparisons show: [`headline`](Self::headline), then energy, cost and
    /// rate of the GPUs. A comparison leaves out those that a side does not have.
    pub fn compared() -> Vec<Self> {
        let of_gpus = [
            Quantity::JoulesPerOutputToken,
            Quantity::CostPerMillionOutputTokens,
            Quantity::OutputTokensPerGpu,
        ];
        Self::headline().into_iter().chain(of_gpus.map(Self::new)).collect()
    }

    /// Creates a figure of the whole run.
    pub const fn new(quantity: Quantity) -> Self {
        Self { of: FigureScope::Run, quantity }
    }

    /// Creates a figure of the plateau.
    pub const fn of_plateau(quantity: Quantity) -> Self {
        Self { of: FigureScope::Plateau, quantity }
    }

    /// Returns the key in vLLM's result file, for example `p99_ttft_ms`.
    pub fn key(&self) -> String {
        match self.quantity {
            Quantity::Completed => "completed".to_owned(),
            Quantity::Failed => "failed".to_owned(),
            Quantity::Duration => "duration".to_owned(),
            Quantity::Requests => "request_throughput".to_owned(),
            Quantity::InputTokens => "input_throughput".to_owned(),
            Quantity::OutputTokens => "output_throughput".to_owned(),
            Quantity::TotalTokens => "total_token_throughput".to_owned(),
            Quantity::PeakOutput => "max_output_tokens_per_s".to_owned(),
            Quantity::PeakConcurrency => "max_concurrent_requests".to_owned(),
            Quantity::JoulesPerOutputToken => "joules_per_output_token".to_owned(),
            Quantity::CostPerMillionOutputTokens => "cost_per_million_output_tokens".to_owned(),
            Quantity::OutputTokensPerGpu => "output_throughput_per_gpu".to_owned(),
            Quantity::Latency(latency, statistic) => {
                format!("{}_{}_ms", statistic.name(), latency.name())
            }
        }
    }

    /// Returns the path in the JSON of this program, for example `ttft_ms.p99` or
    /// `output_tokens_per_s`.
    pub fn path(&self) -> String {
        let path = match self.quantity {
            Quantity::Completed => "completed".to_owned(),
            Quantity::Failed => "failed".to_owned(),
            Quantity::Duration => "duration_s".to_owned(),
            Quantity::Requests => "requests_per_s".to_owned(),
            Quantity::InputTokens => "input_tokens_per_s".to_owned(),
            Quantity::OutputTokens => "output_tokens_per_s".to_owned(),
            Quantity::TotalTokens => "total_tokens_per_s".to_owned(),
            Quantity::PeakOutput => "peak_output_tokens_per_s".to_owned(),
            Quantity::PeakConcurrency => "peak_concurrency".to_owned(),
            Quantity::JoulesPerOutputToken => "energy.joules_per_output_token".to_owned(),
            Quantity::CostPerMillionOutputTokens => "cost.per_million_output_tokens".to_owned(),
            Quantity::OutputTokensPerGpu => "cost.output_tokens_per_s_per_gpu".to_owned(),
            Quantity::Latency(latency, Statistic::Median) => format!("{}_ms.p50", latency.name()),
            Quantity::Latency(latency, statistic) => {
                format!("{}_ms.{}", latency.name(), statistic.name())
            }
        };
        match self.of {
            FigureScope::Run => path,
            FigureScope::Plateau => format!("plateau.{path}"),
        }
    }

    /// Returns the key in SGLang's result file, if it differs from vLLM's.
    pub fn sglang_key(&self) -> Option<String> {
        match self.quantity {
            Quantity::TotalTokens => Some("total_throughput".to_owned()),
            Quantity::Latency(Latency::E2el, statistic) => {
                Some(format!("{}_e2e_latency_ms", statistic.name()))
            }
            _ => None,
        }
    }

    /// Returns the direction in which the figure improves.
    pub fn better(&self) -> Better {
        match self.quantity {
            Quantity::Failed
            | Quantity::Duration
            | Quantity::JoulesPerOutputToken
            | Quantity::CostPerMillionOutputTokens
            | Quantity::Latency(..) => Better::Lower,
            _ => Better::Higher,
        }
    }

    /// Returns the value of the figure in a run; absent if the run has none.
    pub fn read(&self, metrics: &Metrics) -> Option<f64> {
        match self.of {
            FigureScope::Run => of_run(self.quantity, metrics),
            FigureScope::Plateau => of_plateau(self.quantity, metrics),
        }
    }
}

fn of_run(quantity: Quantity, metrics: &Metrics) -> Option<f64> {
    let rates = &metrics.throughput;
    match quantity {
        Quantity::Completed => Some(metrics.requests.completed as f64),
        Quantity::Failed => Some(metrics.requests.failed as f64),
        Quantity::Duration => Some(metrics.duration_s),
        Quantity::Requests => rates.requests_per_s,
        Quantity::InputTokens => rates.input_tokens_per_s,
        Quantity::OutputTokens => rates.output_tokens_per_s,
        Quantity::TotalTokens => rates.total_tokens_per_s,
        Quantity::PeakOutput => Some(rates.peak_output_tokens_per_s as f64),
        Quantity::PeakConcurrency => Some(metrics.concurrency.peak as f64),
        Quantity::JoulesPerOutputToken => metrics.energy.as_ref()?.joules_per_output_token,
        Quantity::CostPerMillionOutputTokens => metrics.cost.as_ref()?.per_million_output_tokens,
        Quantity::OutputTokensPerGpu => metrics.cost.as_ref()?.output_tokens_per_s_per_gpu,
        Quantity::Latency(latency, statistic) => statistic.read(metrics.latency(latency)?),
    }
}

fn of_plateau(quantity: Quantity, metrics: &Metrics) -> Option<f64> {
    let plateau = metrics.plateau.as_ref()?;
    match quantity {
        Quantity::Completed => Some(plateau.window.requests_completed as f64),
        Quantity::Duration => Some(plateau.window.duration_s),
        Quantity::Requests => Some(plateau.requests_per_s),
        Quantity::InputTokens => Some(plateau.input_tokens_per_s),
        Quantity::OutputTokens => Some(plateau.output_tokens_per_s),
        Quantity::TotalTokens => Some(plateau.total_tokens_per_s),
        Quantity::Latency(Latency::Tpot, statistic) => statistic.read(&plateau.tpot),
        Quantity::Latency(Latency::Ttft, statistic) => statistic.read(&plateau.ttft),
        _ => None,
    }
}

impl Statistic {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Mean => "mean".to_owned(),
            Self::Median => "median".to_owned(),
            Self::Percentile(percent) => format!("p{percent}"),
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        match name {
            "mean" => Some(Self::Mean),
            "median" => Some(Self::Median),
            _ => {
                let percent = name.strip_prefix('p')?.parse().ok()?;
                (0.0..=100.0).contains(&percent).then_some(Self::Percentile(percent))
            }
        }
    }

    fn read(self, summary: &Summary) -> Option<f64> {
        match self {
            Self::Mean => summary.mean_ms,
            Self::Median => summary.median_ms,
            Self::Percentile(percent) => summary.percentile_ms(percent),
        }
    }
}

/// Displays the figure as a table's label, for example `P99 TTFT (ms)`.
impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self.quantity {
            Quantity::Completed => "Completed requests",
            Quantity::Failed => "Failed requests",
            Quantity::Duration => "Duration (s)",
            Quantity::Requests => "Request throughput (req/s)",
            Quantity::InputTokens => "Input throughput (tok/s)",
            Quantity::OutputTokens => "Output throughput (tok/s)",
            Quantity::TotalTokens => "Total token throughput (tok/s)",
            Quantity::PeakOutput => "Peak output tokens/s",
            Quantity::PeakConcurrency => "Peak concurrent requests",
            Quantity::JoulesPerOutputToken => "Energy per output token (J)",
            Quantity::CostPerMillionOutputTokens => "Cost per million output tokens",
            Quantity::OutputTokensPerGpu => "Output throughput per GPU (tok/s)",
            Quantity::Latency(latency, statistic) => {
                let name = latency.name().to_uppercase().replace('_', " ");
                return match statistic {
                    Statistic::Mean => write!(f, "Mean {name} (ms)"),
                    Statistic::Median => write!(f, "Median {name} (ms)"),
                    Statistic::Percentile(percent) => write!(f, "P{percent} {name} (ms)"),
                };
            }
        };
        f.write_str(words)
    }
}

impl FromStr for Figure {
    type Err = MetricsError;

    /// Parses `ttft:p99`, `e2el:mean`, `p99_ttft_ms`, `ttft_ms.p99`, `request_throughput` or
    /// `requests_per_s`.
    fn from_str(text: &str) -> Result<Self, MetricsError> {
        let quantity = latency(text).or_else(|| parse_count(text));
        let unknown = || MetricsError::Figure { given: text.to_owned() };
        quantity.map(Self::new).ok_or_else(unknown)
    }
}

fn latency(text: &str) -> Option<Quantity> {
    if let Some(latency) = text.strip_suffix("_ms.p50") {
        return Some(Quantity::Latency(compared(latency)?, Statistic::Median));
    }
    let (latency, statistic) = match text.split_once(':').or_else(|| text.split_once("_ms.")) {
        Some(pair) => pair,
        None => text.strip_suffix("_ms")?.split_once('_').map(|(left, right)| (right, left))?,
    };
    Some(Quantity::Latency(compared(latency)?, Statistic::from_name(statistic)?))
}

/// Returns the latency with this name that can be compared: one that every run has, or a part of a
/// request's time.
fn compared(name: &str) -> Option<Latency> {
    service(name).or_else(|| RequestPart::from_name(name).map(Latency::Part))
}

/// Returns the latency with this name that every run has, and that result files of peers have, too.
pub(crate) fn service(name: &str) -> Option<Latency> {
    Latency::SERVICE.into_iter().find(|latency| latency.name() == name)
}

fn parse_count(text: &str) -> Option<Quantity> {
    let is_named = |figure: Figure| figure.key() == text || figure.path() == text;
    COUNT_QUANTITIES.into_iter().find(|&quantity| is_named(Figure::new(quantity)))
}

const COUNT_QUANTITIES: [Quantity; 12] = [
    Quantity::Requests,
    Quantity::InputTokens,
    Quantity::OutputTokens,
    Quantity::TotalTokens,
    Quantity::PeakOutput,
    Quantity::PeakConcurrency,
    Quantity::JoulesPerOutputToken,
    Quantity::CostPerMillionOutputTokens,
    Quantity::OutputTokensPerGpu,
    Quantity::Completed,
    Quantity::Failed,
    Quantity::Duration,
];

const RATES: [Quantity; 5] = [
    Quantity::Requests,
    Quantity::OutputTokens,
    Quantity::TotalTokens,
    Quantity::PeakOutput,
    Quantity::PeakConcurrency,
];

const STEADY: [Quantity; 10] = [
    Quantity::Requests,
    Quantity::OutputTokens,
    Quantity::InputTokens,
    Quantity::TotalTokens,
    Quantity::Latency(Latency::Ttft, Statistic::Mean),
    Quantity::Latency(Latency::Ttft, Statistic::Median),
    Quantity::Latency(Latency::Tpot, Statistic::Mean),
    Quantity::Latency(Latency::Tpot, Statistic::Median),
    Quantity::Latency(Latency::Tpot, Statistic::Percentile(90.0)),
    Quantity::Latency(Latency::Tpot, Statistic::Percentile(99.0)),
];

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(text: &str, key: &str, words: &str) {
        let figure: Figure = text.parse().unwrap();
        assert_eq!((figure.key().as_str(), figure.to_string().as_str()), (key, words));
        assert_eq!(figure.key().parse::<Figure>().unwrap(), figure);
        assert_eq!(figure.path().parse::<Figure>().unwrap().key(), key);
    }

    #[test]
    fn a_figure_is_named_by_what_it_is_of_or_by_its_key() {
        reads("ttft:p99", "p99_ttft_ms", "P99 TTFT (ms)");
        reads("e2el:mean", "mean_e2el_ms", "Mean E2EL (ms)");
        reads("median_itl_ms", "median_itl_ms", "Median ITL (ms)");
        reads("tpot:p99.9", "p99.9_tpot_ms", "P99.9 TPOT (ms)");
        reads("server_queue:p99", "p99_server_queue_ms", "P99 SERVER QUEUE (ms)");
        reads("request_throughput", "request_throughput", "Request throughput (req/s)");
        reads(
            "energy.joules_per_output_token",
            "joules_per_output_token",
            "Energy per output token (J)",
        );
    }

    #[test]
    fn what_is_no_figure_is_told_so() {
        for wrong in ["ttft", "ttft:p101", "ttft:worst", "speed", "p99_slowness_ms", ""] {
            let error = wrong.parse::<Figure>().unwrap_err().to_string();
            assert!(error.starts_with("expected a metric such as ttft:p99"), "{error}");
        }
    }
}
