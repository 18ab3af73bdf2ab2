//! The configuration of the engine in this program.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The model that the engine in this program runs, and its limits. This type exists even where that
/// engine is not built, so that every program can read every plan.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct CandleSpec {
    /// The folder of a model: `config.json` and its weights. A plan may hold a name on the hub
    /// instead. Without one, the engine creates a small model with random weights for the tokenizer
    /// that is bundled with the simulator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<PathBuf>,
    /// Whether the weights are read or random.
    pub load_format: LoadFormat,
    /// The largest number of requests that run at once.
    pub max_running: NonZeroUsize,
    /// The largest number of tokens that one step processes for all requests; a longer prompt takes
    /// several steps.
    pub max_step_tokens: NonZeroUsize,
    /// The seed of random weights and of sampled tokens.
    pub seed: u64,
}

impl Default for CandleSpec {
    fn default() -> Self {
        const RUNNING: NonZeroUsize = NonZeroUsize::new(32).expect("it is not zero");
        const STEP_TOKENS: NonZeroUsize = NonZeroUsize::new(2048).expect("it is not zero");
        Self {
            model: None,
            load_format: LoadFormat::Auto,
            max_running: RUNNING,
            max_step_tokens: STEP_TOKENS,
            seed: 0,
        }
    }
}

/// Where a model's weights come from.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadFormat {
    /// The model's own weights, from its safetensors files.
    #[default]
    Auto,
    /// Random weights of the model's shape: timings are realistic, but the text is not.
    Dummy,
}
