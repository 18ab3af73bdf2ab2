//! Inputs for embedding and for reranking.

mod random_texts;
mod read;

use std::num::NonZero;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{EvalscopeData, EvalscopeName, EvalscopeSpec, RequestDraft};

/// Embedding inputs made of randomly drawn tokens.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct EvalscopeRandomEmbeddingSpec {
    /// Number of texts per request; `None` sends a single text that is not in an array.
    pub batch: Option<NonZero<u32>>,
}

impl EvalscopeRandomEmbeddingSpec {
    pub(super) fn of(batch: Option<NonZero<u32>>) -> EvalscopeData {
        EvalscopeData::RandomEmbedding(Self { batch })
    }

    pub(super) fn name(&self) -> EvalscopeName {
        match self.batch {
            None => EvalscopeName::RandomEmbedding,
            Some(_) => EvalscopeName::RandomEmbeddingBatch,
        }
    }
}

/// Queries and documents made of randomly drawn tokens, for reranking.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct EvalscopeRandomRerankSpec {
    /// Number of documents per query.
    pub documents: u32,
    /// Ratio of a document's length to its query's length.
    pub length_ratio: f64,
}

impl Default for EvalscopeRandomRerankSpec {
    fn default() -> Self {
        Self { documents: 10, length_ratio: 5.0 }
    }
}

/// Embedding inputs from a file.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct EvalscopeEmbeddingSpec {
    /// Path of the file: `.txt`, `.json` or `.jsonl`.
    pub path: Option<PathBuf>,
    /// Number of texts per request; `None` sends a single text that is not in an array.
    pub batch: Option<NonZero<u32>>,
}

impl EvalscopeEmbeddingSpec {
    pub(super) fn of(batch: Option<NonZero<u32>>) -> EvalscopeData {
        EvalscopeData::Embedding(Self { path: None, batch })
    }

    pub(super) fn name(&self) -> EvalscopeName {
        match self.batch {
            None => EvalscopeName::Embedding,
            Some(_) => EvalscopeName::EmbeddingBatch,
        }
    }
}

/// Queries and documents from a file, for reranking.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct EvalscopeRerankSpec {
    /// Path of the file: `.json`, `.jsonl` or `.txt`.
    pub path: Option<PathBuf>,
}

/// evalscope's default number of texts per batch.
pub(super) const BATCH: NonZero<u32> = NonZero::new(8).expect("eight is not zero");
