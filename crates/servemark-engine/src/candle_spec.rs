//! What the engine in this program computes.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What the engine in this program computes, and how much at once. Programs without it know the
/// words too, so that every plan can be read everywhere.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct CandleSpec {
    /// The folder of a model: `config.json` and its weights. In a plan it may be a name on the hub.
    /// A small model is made up where none is given, for the tokenizer that comes with the simulator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<PathBuf>,
    /// Whose weights it computes with.
    pub load_format: LoadFormat,
    /// How many requests it works on at once.
    pub max_running: NonZeroUsize,
    /// How many tokens of them all it reads in one step; a longer prompt takes several.
    pub max_step_tokens: NonZeroUsize,
    /// The seed of dummy weights and of tokens that are drawn.
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

/// Whose weights a model has. Closed: its own or none.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadFormat {
    /// Its own, from its safetensors files.
    #[default]
    Auto,
    /// Random ones of its shape: the times are real and the words are not.
    Dummy,
}
