//! One transformer layer: attention and the feed-forward network.

use candle_core::{Result, Tensor};
use candle_nn::kv_cache::KvCache;
use candle_nn::ops::{rms_norm, softmax_last_dim, swiglu};
use candle_nn::rotary_emb::rope_thd;
use candle_nn::{Linear, Module};

use super::config::ModelConfig;
use super::error::Loading;
use super::weights::Weights;

/// One transformer layer.
#[derive(Debug)]
pub(super) struct Layer {
    before_attention: Norm,
    attention: Attention,
    before_mlp: Norm,
    gate_up: Linear,
    down: Linear,
}

/// The rows of a step that belong to one request.
pub(super) struct Span<'a> {
    pub(super) first: usize,
    pub(super) rows: usize,
    /// The additive attention mask, minus infinity where a row must not attend; a single row needs
    /// none.
    pub(super) mask: Option<Tensor>,
    pub(super) cache: &'a mut [KvCache],
}

/// The rotary embeddings of a step's rows.
pub(super) struct RotaryPositions {
    pub(super) cos: Tensor,
    pub(super) sin: Tensor,
}

impl Layer {
    pub(super) fn load(config: &ModelConfig, index: usize, weights: &mut Weights) -> Loading<Self> {
        let of = |part: &str| format!("model.layers.{index}.{part}");
        let (hidden, wide) = (config.hidden, config.intermediate);
        let bias = config.biases.mlp;
        Ok(Self {
            before_attention: Norm::load(config, &of("input_layernorm"), hidden, weights)?,
            attention: Attention::load(config, index, weights)?,
            before_mlp: Norm::load(config, &of("post_attention_layernorm"), hidden, weights)?,
            gate_up: joined(
                [(of("mlp.gate_proj"), wide), (of("mlp.up_proj"), wide)],
                hidden,
                bias,
                weights,
            )?,
            down: joined([(of("mlp.down_proj"), hidden)], wide, bias, weights)?,
        })
    }

    /// Applies the layer to the rows of a step.
    pub(super) fn forward(
        &self,
        rows: &Tensor,
        places: &RotaryPositions,
        spans: &mut [Span<'_>],
    ) -> Result<Tensor> {
        let attended = self.before_attention.forward(rows)?;
        let rows = (rows + self.attention.forward(&attended, places, spans)?)?;
        let wide = self.gate_up.forward(&self.before_mlp.forward(&rows)?)?;
        rows + self.down.forward(&swiglu(&wide)?)?
    }
}

/// Grouped-query self-attention.
#[derive(Debug)]
struct Attention {
    index: usize,
    heads: usize,
    kv_heads: usize,
    head_size: usize,
    qkv: Linear,
    output: Linear,
    qk_norm: Option<(Norm, Norm)>,
}

impl Attention {
    fn load(config: &ModelConfig, index: usize, weights: &mut Weights) -> Loading<Self> {
        let of = |part: &str| format!("model.layers.{index}.self_attn.{part}");
        let ModelConfig { hidden, heads, kv_heads, head_size, .. } = *config;
        let (wide, narrow) = (heads * head_size, kv_heads * head_size);
        let parts = [(of("q_proj"), wide), (of("k_proj"), narrow), (of("v_proj"), narrow)];
        let qkv = joined(parts, hidden, config.biases.qkv, weights)?;
        let output = joined([(of("o_proj"), hidden)], wide, config.biases.output, weights)?;
        let mut norm = |part: &str| Norm::load(config, &of(part), head_size, weights);
        let qk_norm = if config.qk_norm { Some((norm("q_norm")?, norm("k_norm")?)) } else { None };
        Ok(Self { index, heads, kv_heads, head_size, qkv, output, qk_norm })
    }

    fn forward(
        &self,
        rows: &Tensor,
        places: &RotaryPositions,
        spans: &mut [Span<'_>],
    ) -> Result<Tensor> {
        let (wide, narrow) = (self.heads * self.head_size, self.kv_heads * self.head_size);
        let qkv = self.qkv.forward(rows)?;
        let (mut queries, mut keys) =
            (self.by_head(&qkv.narrow(1, 0, wide)?)?, self.by_head(&qkv.narrow(1, wide, narrow)?)?);
        let values = self.by_head(&qkv.narrow(1, wide + narrow, narrow)?)?;
        if let Some((of_queries, of_keys)) = &self.qk_norm {
            (queries, keys) = (of_queries.forward(&queries)?, of_keys.forward(&keys)?);
        }
        let scale = 1.0 / (self.head_size as f64).sqrt();
        let queries = (turned(&queries, places)? * scale)?;
        let keys = turned(&keys, places)?;
        let attended = spans.iter_mut().map(|span| self.attend(span, &queries, &keys, &values));
        self.output.forward(&Tensor::cat(&attended.collect::<Result<Vec<_>>>()?, 0)?)
    }

    /// Splits each row into its heads.
    fn by_head(&self, rows: &Tensor) -> Result<Tensor> {
        rows.reshape((rows.dim(0)?, (), self.head_size))?.contiguous()
    }

    /// Computes the attention of one request's rows. The query heads that share a key head form one
    /// matrix, so that keys are not copied for each of them.
    fn attend(
        &self,
        span: &mut Span<'_>,
        queries: &Tensor,
        keys: &Tensor,
        values: &Tensor,
    ) -> Result<Tensor> {
        let (n, group) = (span.rows, self.heads / self.kv_heads);
        let own = |all: &Tensor| all.narrow(0, span.first, n);
        let by_key = |own: Tensor| own.transpose(0, 1)?.contiguous();
        let (keys, values) =
            span.cache[self.index].append(&by_key(own(keys)?)?, &by_key(own(values)?)?)?;
        let queries = own(queries)?.reshape((n, self.kv_heads, group, self.head_size))?;
        let queries = queries.permute((1, 2, 0, 3))?.contiguous()?.flatten(1, 2)?;
        let mut scores = queries.matmul(&keys.t()?)?;
        if let Some(mask) = &span.mask {
            let apart = scores.reshape((self.kv_heads, group, n, ()))?;
            scores = apart.broadcast_add(mask)?.flatten(1, 2)?;
        }
        let attended = softmax_last_dim(&scores)?.matmul(&values)?;
        let attended = attended.reshape((self.kv_heads, group, n, self.head_size))?;
        attended.permute((2, 0, 1, 3))?.reshape((n, self.heads * self.head_size))
    }
}

fn turned(by_head: &Tensor, places: &RotaryPositions) -> Result<Tensor> {
    rope_thd(&by_head.unsqueeze(0)?, &places.cos, &places.sin)?.squeeze(0)
}

/// A root-mean-square norm.
#[derive(Debug)]
pub(super) struct Norm {
    scale: Tensor,
    epsilon: f32,
}

impl Norm {
    pub(super) fn load(
        config: &ModelConfig,
        name: &str,
        size: usize,
        weights: &mut Weights,
    ) -> Loading<Self> {
        let scale = weights.scale(&format!("{name}.weight"), size)?;
        Ok(Self { scale, epsilon: config.norm_epsilon })
    }

    pub(super) fn forward(&self, rows: &Tensor) -> Result<Tensor> {
        rms_norm(rows, &self.scale, self.epsilon)
    }
}

/// Concatenates matrices with equal inputs, so that one multiplication serves all of them.
fn joined<const N: usize>(
    parts: [(String, usize); N],
    inputs: usize,
    has_bias: bool,
    weights: &mut Weights,
) -> Loading<Linear> {
    let (mut matrices, mut biases) = (Vec::new(), Vec::new());
    for (name, outputs) in parts {
        matrices.push(weights.take(&format!("{name}.weight"), &[outputs, inputs])?);
        if has_bias {
            biases.push(weights.take(&format!("{name}.bias"), &[outputs])?);
        }
    }
    let bias = if has_bias { Some(Tensor::cat(&biases, 0)?) } else { None };
    Ok(Linear::new(Tensor::cat(&matrices, 0)?, bias))
}
