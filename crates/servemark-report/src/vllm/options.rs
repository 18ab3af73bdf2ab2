//! What vLLM's flags ask of its table and its result.

use serde::{Deserialize, Serialize};

/// What vLLM's flags ask of its table and its result.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct VllmOptions {
    /// The metrics with a section of their own (`--percentile-metrics`). Without a choice they are
    /// those of the first token, the time per token and the time between tokens; of embeddings and
    /// rankings, the latency.
    pub metrics: Option<Vec<VllmMetric>>,
    /// The percentiles of each of them (`--metric-percentiles`).
    pub percentiles: Vec<f64>,
    /// Whether output tokens are told; without a tokenizer (`--skip-tokenizer-init`) they are not.
    pub tells_tokens: bool,
}

impl VllmOptions {
    /// The options with these metrics, by the names that `--percentile-metrics` takes. vLLM
    /// overlooks every other name.
    #[must_use]
    pub fn with_metrics<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { metrics: Some(names.into_iter().filter_map(VllmMetric::of).collect()), ..self }
    }

    /// The same with these percentiles.
    #[must_use]
    pub fn with_percentiles(self, percentiles: Vec<f64>) -> Self {
        Self { percentiles, ..self }
    }

    /// The same for a client that has no tokenizer.
    #[must_use]
    pub fn without_tokens(self) -> Self {
        Self { tells_tokens: false, ..self }
    }

    pub(super) fn shows(&self, metric: VllmMetric, generates: bool) -> bool {
        match &self.metrics {
            Some(metrics) => metrics.contains(&metric),
            None => metric.is_default(generates),
        }
    }
}

impl Default for VllmOptions {
    fn default() -> Self {
        Self { metrics: None, percentiles: vec![99.0], tells_tokens: true }
    }
}

/// A metric with a section of its own.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum VllmMetric {
    /// How long requests waited in the client.
    ClientQueueTime,
    /// Latency.
    E2el,
    /// Latency and how long requests waited in the client.
    E2elIncludingClientQueue,
    /// Time between tokens.
    Itl,
    /// Time per token after the first.
    Tpot,
    /// Time to the first token.
    Ttft,
}

impl VllmMetric {
    /// All of them, in the order of the table.
    pub(super) const ALL: [Self; 6] = [
        Self::Ttft,
        Self::Tpot,
        Self::Itl,
        Self::E2el,
        Self::ClientQueueTime,
        Self::E2elIncludingClientQueue,
    ];

    /// The metric of a name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// Its name, on the command line and in keys.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClientQueueTime => "client_queue_time",
            Self::E2el => "e2el",
            Self::E2elIncludingClientQueue => "e2el_including_client_queue",
            Self::Itl => "itl",
            Self::Tpot => "tpot",
            Self::Ttft => "ttft",
        }
    }

    /// Its name in the table's rows.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::ClientQueueTime => "Client Queue Time",
            Self::E2el => "E2EL",
            Self::E2elIncludingClientQueue => "E2EL incl. Client Queue",
            Self::Itl => "ITL",
            Self::Tpot => "TPOT",
            Self::Ttft => "TTFT",
        }
    }

    /// The title of its section.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::ClientQueueTime => "Client-side Queueing",
            Self::E2el => "End-to-end Latency",
            Self::E2elIncludingClientQueue => "Queue-inclusive End-to-end Latency",
            Self::Itl => "Inter-token Latency",
            Self::Tpot => "Time per Output Token (excl. 1st token)",
            Self::Ttft => "Time to First Token",
        }
    }

    /// Whether it is made of output tokens.
    pub(super) const fn is_of_tokens(self) -> bool {
        matches!(self, Self::Itl | Self::Tpot | Self::Ttft)
    }

    fn is_default(self, generates: bool) -> bool {
        if generates { self.is_of_tokens() } else { self == Self::E2el }
    }
}
