//! Options of vLLM's table and result.

use serde::{Deserialize, Serialize};
use servemark_metrics::Latency;

use super::VllmStyle;

/// Options of vLLM's table and result: the release, and vLLM's flags.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct VllmOptions {
    /// The release whose table and result are written.
    #[serde(skip_serializing_if = "is_newest")]
    pub style: VllmStyle,
    /// Metrics with a section of their own (`--percentile-metrics`). Default: TTFT, TPOT and ITL;
    /// for embeddings and reranking, the end-to-end latency.
    pub metrics: Option<Vec<VllmMetric>>,
    /// Percentiles of each of these metrics (`--metric-percentiles`).
    pub percentiles: Vec<f64>,
    /// Whether output tokens are reported; they are not without a tokenizer
    /// (`--skip-tokenizer-init`).
    #[serde(rename = "tells_tokens")]
    pub has_tokens: bool,
}

impl VllmOptions {
    /// Sets the metrics by the names that `--percentile-metrics` takes. Unknown names are ignored,
    /// as vLLM does.
    #[must_use]
    pub fn with_metrics<'a>(self, names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { metrics: Some(names.into_iter().filter_map(VllmMetric::of).collect()), ..self }
    }

    /// Sets the percentiles.
    #[must_use]
    pub fn with_percentiles(self, percentiles: Vec<f64>) -> Self {
        Self { percentiles, ..self }
    }

    /// Leaves out output tokens, as for a client without a tokenizer.
    #[must_use]
    pub fn without_tokens(self) -> Self {
        Self { has_tokens: false, ..self }
    }

    pub(super) fn includes(&self, metric: VllmMetric, generates: bool) -> bool {
        match &self.metrics {
            Some(metrics) => metrics.contains(&metric),
            // Releases before 0.11.1 have one default for all kinds of run.
            None => metric.is_default(generates || self.style < VllmStyle::V0_11_1),
        }
    }
}

impl Default for VllmOptions {
    fn default() -> Self {
        let style = VllmStyle::default();
        Self { style, metrics: None, percentiles: vec![99.0], has_tokens: true }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_newest(style: &VllmStyle) -> bool {
    *style == VllmStyle::Newest
}

/// A metric with a section of its own.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VllmMetric {
    /// Queue time in the client.
    ClientQueueTime,
    /// End-to-end latency.
    E2el,
    /// End-to-end latency plus queue time in the client.
    E2elIncludingClientQueue,
    /// Inter-token latency.
    Itl,
    /// Time per output token after the first.
    Tpot,
    /// Time to first token.
    Ttft,
}

impl VllmMetric {
    /// All metrics in the order of the table.
    pub(super) const ALL: [Self; 6] = [
        Self::Ttft,
        Self::Tpot,
        Self::Itl,
        Self::E2el,
        Self::ClientQueueTime,
        Self::E2elIncludingClientQueue,
    ];

    /// Returns the metric with this name.
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// Returns the latency that every run has, if the metric is one.
    pub(super) const fn latency(self) -> Option<Latency> {
        match self {
            Self::ClientQueueTime | Self::E2elIncludingClientQueue => None,
            Self::E2el => Some(Latency::E2el),
            Self::Itl => Some(Latency::Itl),
            Self::Tpot => Some(Latency::Tpot),
            Self::Ttft => Some(Latency::Ttft),
        }
    }

    /// Returns the name, the label of the table's rows, and the title of the table's section.
    const fn words(self) -> [&'static str; 3] {
        match self {
            Self::ClientQueueTime => {
                ["client_queue_time", "Client Queue Time", "Client-side Queueing"]
            }
            Self::E2el => ["e2el", "E2EL", "End-to-end Latency"],
            Self::E2elIncludingClientQueue => [
                "e2el_including_client_queue",
                "E2EL incl. Client Queue",
                "Queue-inclusive End-to-end Latency",
            ],
            Self::Itl => ["itl", "ITL", "Inter-token Latency"],
            Self::Tpot => ["tpot", "TPOT", "Time per Output Token (excl. 1st token)"],
            Self::Ttft => ["ttft", "TTFT", "Time to First Token"],
        }
    }

    /// Returns the name on the command line and in keys.
    pub const fn name(self) -> &'static str {
        self.words()[0]
    }

    /// Returns the name in the table's rows.
    pub(super) const fn label(self) -> &'static str {
        self.words()[1]
    }

    /// Returns the title of the section.
    pub(super) const fn title(self) -> &'static str {
        self.words()[2]
    }

    /// Returns whether the metric requires output tokens.
    pub(super) const fn is_of_tokens(self) -> bool {
        matches!(self.latency(), Some(latency) if latency.needs_tokens())
    }

    fn is_default(self, generates: bool) -> bool {
        if generates { self.is_of_tokens() } else { self == Self::E2el }
    }
}
