//! A model: from tokens to the logits of the next tokens.

use candle_core::{Device, Result, Tensor};
use candle_nn::kv_cache::KvCache;
use candle_nn::{Linear, Module};

use super::config::ModelConfig;
use super::error::Loading;
use super::layer::{Layer, Norm, RotaryPositions, Span};
use super::weights::Weights;

/// A model of Llama's family.
#[derive(Debug)]
pub(super) struct Model {
    config: ModelConfig,
    embedding: Tensor,
    layers: Vec<Layer>,
    norm: Norm,
    head: Linear,
}

/// The tokens of one request that a step processes.
pub(super) struct BatchPart<'a> {
    pub(super) ids: &'a [u32],
    /// Whether these are the request's last unprocessed tokens, so that its next token can be
    /// chosen.
    pub(super) is_whole: bool,
    /// The key-value cache, layer by layer.
    pub(super) cache: &'a mut [KvCache],
}

impl Model {
    pub(super) fn load(config: ModelConfig, weights: &mut Weights) -> Loading<Self> {
        let table = [config.vocabulary, config.hidden];
        let embedding = weights.take("model.embed_tokens.weight", &table)?;
        let layers = (0..config.layers).map(|index| Layer::load(&config, index, weights));
        let layers = layers.collect::<Loading<_>>()?;
        let norm = Norm::load(&config, "model.norm", config.hidden, weights)?;
        let is_tied = config.is_tied;
        let head =
            if is_tied { embedding.clone() } else { weights.take("lm_head.weight", &table)? };
        Ok(Self { config, embedding, layers, norm, head: Linear::new(head, None) })
    }

    pub(super) fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Processes one step. Returns a row of logits for each part that is whole, in the order of the
    /// parts.
    pub(super) fn forward(&self, parts: &mut [BatchPart<'_>]) -> Result<Option<Tensor>> {
        let ids: Vec<u32> = parts.iter().flat_map(|part| part.ids).copied().collect();
        let places = self.places(parts)?;
        let wanted = ends(parts);
        let mut spans = spans(parts)?;
        let mut rows = self.embedding.index_select(&vector(ids)?, 0)?;
        for layer in &self.layers {
            rows = layer.forward(&rows, &places, &mut spans)?;
        }
        if wanted.is_empty() {
            return Ok(None);
        }
        let last = rows.index_select(&vector(wanted)?, 0)?;
        self.head.forward(&self.norm.forward(&last)?).map(Some)
    }

    fn places(&self, parts: &[BatchPart<'_>]) -> Result<RotaryPositions> {
        let positions = parts.iter().flat_map(|part| (part.before()..).take(part.ids.len()));
        let (cos, sin) = self.config.rope.at(&positions.collect::<Vec<_>>())?;
        Ok(RotaryPositions { cos, sin })
    }
}

impl BatchPart<'_> {
    /// The number of tokens that were processed in earlier steps.
    fn before(&self) -> usize {
        self.cache.first().map_or(0, KvCache::current_seq_len)
    }

    /// Returns the causal mask, which hides later tokens of the same request from each row.
    fn mask(&self) -> Result<Option<Tensor>> {
        let (before, rows) = (self.before(), self.ids.len());
        if rows == 1 {
            return Ok(None);
        }
        let width = before + rows;
        let hidden = |row: usize| {
            (0..width).map(move |at| if at > before + row { f32::NEG_INFINITY } else { 0.0 })
        };
        let mask: Vec<f32> = (0..rows).flat_map(hidden).collect();
        Tensor::from_vec(mask, (rows, width), &Device::Cpu).map(Some)
    }
}

/// Returns, for each part that is whole, the index of its last row in the batch.
fn ends(parts: &[BatchPart<'_>]) -> Vec<u32> {
    let mut rows = 0;
    let end = |part: &BatchPart<'_>| {
        rows += part.ids.len();
        part.is_whole.then(|| u32::try_from(rows - 1).unwrap_or(u32::MAX))
    };
    parts.iter().filter_map(end).collect()
}

fn spans<'a>(parts: &'a mut [BatchPart<'_>]) -> Result<Vec<Span<'a>>> {
    let mut first = 0;
    let span = |part: &'a mut BatchPart<'_>| {
        let (rows, mask) = (part.ids.len(), part.mask()?);
        let span = Span { first, rows, mask, cache: &mut *part.cache };
        first += rows;
        Ok(span)
    };
    parts.iter_mut().map(span).collect()
}

fn vector(ids: Vec<u32>) -> Result<Tensor> {
    let count = ids.len();
    Tensor::from_vec(ids, count, &Device::Cpu)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use serde_json::Value;

    use super::*;

    /// Compares the logits after each prompt with those that Transformers computes.
    #[test]
    fn likelihoods_are_those_of_transformers() {
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/engines/models");
        let text = fs::read_to_string(models.join("recorded.json")).unwrap();
        let recorded: Value = serde_json::from_str(&text).unwrap();
        for family in ["llama", "qwen2", "qwen3"] {
            let folder = models.join(family);
            let config = ModelConfig::read(&folder).unwrap();
            let model = Model::load(config, &mut Weights::read(&folder).unwrap()).unwrap();
            for row in recorded[family].as_array().unwrap() {
                let prompt: Vec<u32> = serde_json::from_value(row["prompt"].clone()).unwrap();
                let expected: Vec<f32> = serde_json::from_value(row["logits"].clone()).unwrap();
                let worst = distance(&logits(&model, &prompt), &expected);
                assert!(worst < 1e-4, "{family} {prompt:?}: {worst}");
            }
        }
    }

    fn logits(model: &Model, ids: &[u32]) -> Vec<f32> {
        let mut cache: Vec<_> =
            (0..model.config.layers).map(|_| KvCache::new(1, ids.len())).collect();
        let part = BatchPart { ids, is_whole: true, cache: &mut cache };
        model.forward(&mut [part]).unwrap().unwrap().get(0).unwrap().to_vec1().unwrap()
    }

    fn distance(one: &[f32], other: &[f32]) -> f32 {
        assert_eq!(one.len(), other.len());
        one.iter().zip(other).map(|(one, other)| (one - other).abs()).fold(0.0, f32::max)
    }
}
