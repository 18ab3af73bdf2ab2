//! Texts to be embedded, and queries with documents.

mod drawn;
mod read;

use std::num::NonZero;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Asked, EvalscopeData, EvalscopeName, EvalscopeSpec};

/// Texts of drawn tokens to be embedded.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct EvalscopeRandomEmbeddingSpec {
    /// How many are asked for at once; one, which stands alone, where this is not given.
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

/// Queries and documents of drawn tokens.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct EvalscopeRandomRerankSpec {
    /// How many documents a query has.
    pub documents: u32,
    /// How many times as long as its query a document is.
    pub length_ratio: f64,
}

impl Default for EvalscopeRandomRerankSpec {
    fn default() -> Self {
        Self { documents: 10, length_ratio: 5.0 }
    }
}

/// Texts of a file to be embedded.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct EvalscopeEmbeddingSpec {
    /// The file: `.txt`, `.json` or `.jsonl`.
    pub path: Option<PathBuf>,
    /// How many are asked for at once; one, which stands alone, where this is not given.
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

/// Queries and documents of a file.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct EvalscopeRerankSpec {
    /// The file: `.json`, `.jsonl` or `.txt`.
    pub path: Option<PathBuf>,
}

/// How many texts evalscope puts together.
pub(super) const BATCH: NonZero<u32> = NonZero::new(8).expect("eight is not zero");
