//! What AISBench's configuration asks of its tables.

use serde::{Deserialize, Serialize};
use servemark_core::RunFacts;
use servemark_metrics::{StageSpec, StageStatistic};

/// What AISBench's configuration asks of its tables.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct AisbenchOptions {
    /// The short name of the model, such as `vllm-api-stream-chat`; the backend's name without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The short name of the data set, such as `synthetic`; our name of it without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset: Option<String>,
    /// What is said of each quantity, in the order of the columns.
    pub statistics: Vec<StageStatistic>,
    /// Which part of the run is told of.
    pub stage: StageSpec,
    /// Where the prefill throughput stands.
    pub prefill: PrefillRow,
    /// The model's `batch_size`, where that does not limit how many requests are in flight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<usize>,
}

/// Where the prefill throughput stands: it moved in August 2026.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PrefillRow {
    /// In the first table, as a quantity of each request (`PrefillTokenThroughput`).
    #[default]
    OfRequests,
    /// In the second table, as one number of the run (`Prefill Token Throughput`).
    OfRun,
}

impl AisbenchOptions {
    /// The options of a model and a data set by their short names.
    pub fn new(model: impl Into<String>, dataset: impl Into<String>) -> Self {
        Self { model: Some(model.into()), dataset: Some(dataset.into()), ..Self::default() }
    }

    /// The same for a part of the run.
    #[must_use]
    pub fn with_stage(self, stage: StageSpec) -> Self {
        Self { stage, ..self }
    }

    /// The same with other columns.
    #[must_use]
    pub fn with_statistics(self, statistics: Vec<StageStatistic>) -> Self {
        Self { statistics, ..self }
    }

    /// The same with the prefill throughput elsewhere.
    #[must_use]
    pub fn with_prefill(self, prefill: PrefillRow) -> Self {
        Self { prefill, ..self }
    }

    /// The most requests in flight that the tables tell of: the run's limit, or what AISBench would
    /// call so.
    pub fn limit(&self, facts: &RunFacts) -> Option<usize> {
        facts.max_concurrency.or(self.batch_size)
    }

    /// The model's short name in a run.
    pub fn model<'a>(&'a self, facts: &'a RunFacts) -> &'a str {
        self.model.as_deref().unwrap_or(&facts.backend)
    }

    /// The data set's short name in a run.
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
