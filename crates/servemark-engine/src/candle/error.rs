//! Errors of loading a model.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a model cannot be loaded.
#[derive(Debug, Error)]
pub(super) enum CandleError {
    #[error("cannot read {path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("{path} has unexpected contents: {source}")]
    Json { path: PathBuf, source: serde_json::Error },
    #[error("{path} cannot be run here: {what}; {supported}", supported = SUPPORTED)]
    Unsupported { path: PathBuf, what: String },
    #[error(
        "no weights are in {folder}: it has no *.safetensors file \
         (`server.engine.engine.candle.load_format` \"dummy\" uses random ones)"
    )]
    NoWeights { folder: PathBuf },
    #[error("the weights lack {name}")]
    Missing { name: String },
    #[error("{name} has the shape {found:?}, but config.json implies {expected:?}")]
    Shape { name: String, found: Vec<usize>, expected: Vec<usize> },
    #[error(transparent)]
    Candle(#[from] candle_core::Error),
}

pub(super) type Loading<T> = Result<T, CandleError>;

const SUPPORTED: &str = "dense models of Llama, Mistral, Qwen2 and Qwen3 are supported";
