//! Options of AISBench's tables.

use serde::{Deserialize, Serialize};
use servemark_core::RunFacts;
use servemark_metrics::{MetricPolicy, StableRule, StageSpec, StageStatistic};

/// Options of AISBench's tables, from its configuration.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct AisbenchOptions {
    /// Short name of the model, such as `vllm-api-stream-chat`. Default: the name of the backend.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Short name of the data set, such as `synthetic`. Default: Servemark's name of the data set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset: Option<String>,
    /// Statistics of each quantity, in the order of the columns.
    pub statistics: Vec<StageStatistic>,
    /// Part of the run that the tables cover.
    pub stage: StageSpec,
    /// Table in which the prefill throughput is shown.
    pub prefill: PrefillRow,
    /// The model's `batch_size`, set where it does not limit the number of requests in flight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<usize>,
}

/// Table in which the prefill throughput is shown. AISBench moved it in August 2026.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PrefillRow {
    /// The first table, as a per-request quantity (`PrefillTokenThroughput`).
    #[default]
    OfRequests,
    /// The second table, as one figure of the run (`Prefill Token Throughput`).
    OfRun,
}

impl PrefillRow {
    /// Returns the metric policy of the AISBench releases that use this layout.
    pub fn policy(self) -> MetricPolicy {
        match self {
            Self::OfRequests => MetricPolicy::aisbench(),
            Self::OfRun => MetricPolicy::aisbench_2026_06(),
        }
    }

    /// Months of the releases that changed the layout, the newest first.
    pub const RELEASES: [&str; 2] = ["2026-08", "2026-06"];

    /// Returns the layout of a release, named by its month; `None` for a month that is not among
    /// [`RELEASES`](Self::RELEASES).
    pub fn of_release(month: &str) -> Option<Self> {
        let [newest, before] = Self::RELEASES;
        match month {
            _ if month == newest => Some(Self::OfRequests),
            _ if month == before => Some(Self::OfRun),
            _ => None,
        }
    }
}

impl AisbenchOptions {
    /// Returns default options with the short names of a model and a data set.
    pub fn new(model: impl Into<String>, dataset: impl Into<String>) -> Self {
        Self { model: Some(model.into()), dataset: Some(dataset.into()), ..Self::default() }
    }

    /// Sets the part of the run that the tables cover.
    #[must_use]
    pub fn with_stage(self, stage: StageSpec) -> Self {
        Self { stage, ..self }
    }

    /// Sets the statistics that the columns show.
    #[must_use]
    pub fn with_statistics(self, statistics: Vec<StageStatistic>) -> Self {
        Self { statistics, ..self }
    }

    /// Sets the prefill layout and the matching stable-stage rule of that AISBench release; both
    /// changed in the same month.
    #[must_use]
    pub fn of_release(mut self, prefill: PrefillRow) -> Self {
        if let (PrefillRow::OfRun, StageSpec::Stable { rule, .. }) = (prefill, &mut self.stage) {
            *rule = StableRule::NearlyFull;
        }
        self.with_prefill(prefill)
    }

    /// Sets the table in which the prefill throughput is shown.
    #[must_use]
    pub fn with_prefill(self, prefill: PrefillRow) -> Self {
        Self { prefill, ..self }
    }

    /// Returns the concurrency limit that the tables show: the run's limit, or else `batch_size`.
    pub fn limit(&self, facts: &RunFacts) -> Option<usize> {
        facts.max_concurrency.or(self.batch_size)
    }

    /// Returns the model's short name for a run.
    pub fn model<'a>(&'a self, facts: &'a RunFacts) -> &'a str {
        self.model.as_deref().unwrap_or(&facts.backend)
    }

    /// Returns the data set's short name for a run.
    pub fn dataset<'a>(&'a self, facts: &'a RunFacts) -> &'a str {
        self.dataset.as_deref().unwrap_or(&facts.dataset)
    }
}

impl Default for AisbenchOptions {
    fn default() -> Self {
        Self {
            model: None,
            dataset: None,
            statistics: StageStatistic::USUAL.to_vec(),
            stage: StageSpec::default(),
            prefill: PrefillRow::default(),
            batch_size: None,
        }
    }
}
