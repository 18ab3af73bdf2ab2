//! Rotary position embeddings.

use std::f32::consts::TAU;

use candle_core::{Device, Result, Tensor};
use serde::Deserialize;
use serde_json::Value;

/// The angle by which each pair of a head's components rotates from one position to the next.
#[derive(Clone, Debug)]
pub(super) struct Rope {
    turns: Vec<f32>,
}

impl Rope {
    /// Returns the angles without any scaling.
    pub(super) fn plain(theta: f32, head_size: usize) -> Self {
        let turn = |pair: usize| 1.0 / theta.powf(pair as f32 / head_size as f32);
        Self { turns: (0..head_size).step_by(2).map(turn).collect() }
    }

    /// Scales the angles for a longer context as `rope_scaling` says, or returns why that is
    /// unsupported.
    pub(super) fn scaled(self, scaling: &Value) -> std::result::Result<Self, String> {
        let kind = scaling.get("rope_type").or(scaling.get("type")).and_then(Value::as_str);
        match kind.unwrap_or("default") {
            "default" => Ok(self),
            "linear" => {
                let Linear { factor } = read(scaling)?;
                Ok(self.map(|turn| turn / factor))
            }
            "llama3" => {
                let stretch: RopeScaling = read(scaling)?;
                Ok(self.map(|turn| stretch.apply(turn)))
            }
            other => Err(format!("its rope_scaling is {other:?}, not linear or llama3")),
        }
    }

    /// Returns the cosines and sines, a row for each position.
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

/// Llama 3's scaling: slow rotations are slowed down further, fast ones are unchanged, and those in
/// between are blended.
#[derive(Deserialize)]
struct RopeScaling {
    factor: f32,
    low_freq_factor: f32,
    high_freq_factor: f32,
    original_max_position_embeddings: f32,
}

impl RopeScaling {
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
