//! Where a token stands, turned into its queries and keys.

use std::f32::consts::TAU;

use candle_core::{Device, Result, Tensor};
use serde::Deserialize;
use serde_json::Value;

/// How fast each pair of a head's numbers turns from one position to the next.
#[derive(Clone, Debug)]
pub(super) struct Rope {
    turns: Vec<f32>,
}

impl Rope {
    /// Without any scaling.
    pub(super) fn plain(theta: f32, head_size: usize) -> Self {
        let turn = |pair: usize| 1.0 / theta.powf(pair as f32 / head_size as f32);
        Self { turns: (0..head_size).step_by(2).map(turn).collect() }
    }

    /// The same, slowed down for a longer context as `rope_scaling` says, or why that cannot be.
    pub(super) fn scaled(self, scaling: &Value) -> std::result::Result<Self, String> {
        let kind = scaling.get("rope_type").or(scaling.get("type")).and_then(Value::as_str);
        match kind.unwrap_or("default") {
            "default" => Ok(self),
            "linear" => {
                let Linear { factor } = read(scaling)?;
                Ok(self.map(|turn| turn / factor))
            }
            "llama3" => {
                let stretch: Stretch = read(scaling)?;
                Ok(self.map(|turn| stretch.apply(turn)))
            }
            other => Err(format!("its rope_scaling is {other:?}, not linear or llama3")),
        }
    }

    /// Cosines and sines, a row for each position.
    pub(super) fn at(&self, positions: &[usize]) -> Result<(Tensor, Tensor)> {
        let turned = |position| self.turns.iter().map(move |turn| position as f32 * turn);
        let angles: Vec<f32> = positions.iter().copied().flat_map(turned).collect();
        let angles = Tensor::from_vec(angles, (positions.len(), self.turns.len()), &Device::Cpu)?;
        Ok((angles.cos()?, angles.sin()?))
    }

    fn map(self, change: impl Fn(f32) -> f32) -> Self {
        Self { turns: self.turns.into_iter().map(change).collect() }
    }
}

#[derive(Deserialize)]
struct Linear {
    factor: f32,
}

/// Llama 3's way: slow turns are slowed down, fast ones are left, and what lies between is blended.
#[derive(Deserialize)]
struct Stretch {
    factor: f32,
    low_freq_factor: f32,
    high_freq_factor: f32,
    original_max_position_embeddings: f32,
}

impl Stretch {
    fn apply(&self, turn: f32) -> f32 {
        let cycles = self.original_max_position_embeddings * turn / TAU;
        let (low, high) = (self.low_freq_factor, self.high_freq_factor);
        let kept = ((cycles - low) / (high - low)).clamp(0.0, 1.0);
        (1.0 - kept) * turn / self.factor + kept * turn
    }
}

fn read<'a, T: Deserialize<'a>>(scaling: &'a Value) -> std::result::Result<T, String> {
    T::deserialize(scaling).map_err(|error| format!("its rope_scaling: {error}"))
}
