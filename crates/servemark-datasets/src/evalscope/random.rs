//! Prompts of drawn lengths, counted up from a drawn token.

use std::num::NonZero;

use serde::{Deserialize, Serialize};

/// Prompts of drawn lengths, counted up from a drawn token.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct EvalscopeRandomSpec {
    /// Tokens with which every prompt begins, besides its own (`--prefix-length`).
    pub prefix_tokens: u32,
    /// How many such beginnings there are, taken in turn (`--prefix-count`).
    pub prefixes: NonZero<u32>,
}

impl Default for EvalscopeRandomSpec {
    fn default() -> Self {
        Self { prefix_tokens: 0, prefixes: NonZero::<u32>::MIN }
    }
}

/// Prompts of drawn lengths with drawn pictures.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct EvalscopeRandomVlSpec {
    /// Tokens with which every prompt begins, besides its own (`--prefix-length`).
    pub prefix_tokens: u32,
    /// How many pictures a request has (`--image-num`).
    pub images: NonZero<u32>,
    /// How wide they are, in pixels (`--image-width`).
    pub width: NonZero<u32>,
    /// How high (`--image-height`).
    pub height: NonZero<u32>,
}

impl Default for EvalscopeRandomVlSpec {
    fn default() -> Self {
        const SIDE: NonZero<u32> = NonZero::new(224).expect("a picture has pixels");
        Self { prefix_tokens: 0, images: NonZero::<u32>::MIN, width: SIDE, height: SIDE }
    }
}

/// Conversations of prompts of drawn lengths.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct EvalscopeRandomTurnsSpec {
    /// Tokens with which every turn begins, besides its own (`--prefix-length`).
    pub prefix_tokens: u32,
    /// The fewest turns (`--min-turns`).
    pub least_turns: NonZero<u32>,
    /// The most (`--max-turns`).
    pub most_turns: NonZero<u32>,
    /// How many conversations are drawn at least: evalscope draws four for each of `--parallel`.
    pub pool: usize,
}

impl Default for EvalscopeRandomTurnsSpec {
    fn default() -> Self {
        let one = NonZero::<u32>::MIN;
        Self { prefix_tokens: 0, least_turns: one, most_turns: one, pool: 4 }
    }
}
