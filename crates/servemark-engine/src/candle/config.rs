//! A model's `config.json`.

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::{CandleError, Loading};
use super::rope::Rope;

/// The dimensions and options of a model.
#[derive(Clone, Debug)]
pub(super) struct ModelConfig {
    pub(super) vocabulary: usize,
    pub(super) hidden: usize,
    pub(super) intermediate: usize,
    pub(super) layers: usize,
    pub(super) heads: usize,
    pub(super) kv_heads: usize,
    pub(super) head_size: usize,
    /// The largest number of tokens of a request, prompt and output together.
    pub(super) context: usize,
    pub(super) norm_epsilon: f32,
    pub(super) rope: Rope,
    /// Whether the output head shares the embedding's weights.
    pub(super) is_tied: bool,
    pub(super) biases: Biases,
    /// Whether queries and keys are normalised head by head.
    pub(super) qk_norm: bool,
    /// Tokens that end an answer.
    pub(super) ends: Vec<u32>,
}

/// Which of a layer's projections have biases.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Biases {
    pub(super) qkv: bool,
    pub(super) output: bool,
    pub(super) mlp: bool,
}

impl ModelConfig {
    /// Returns the configuration of a small model without trained weights, for the bundled
    /// tokenizer of 1,000 tokens.
    pub(super) fn made_up() -> Self {
        Self {
            vocabulary: 1000,
            hidden: 256,
            intermediate: 688,
            layers: 4,
            heads: 4,
            kv_heads: 2,
            head_size: 64,
            context: 8192,
            norm_epsilon: 1e-5,
            rope: Rope::plain(10_000.0, 64),
            is_tied: true,
            biases: Biases::default(),
            qk_norm: false,
            ends: Vec::new(),
        }
    }

    /// Reads the configuration of the model in a folder.
    pub(super) fn read(folder: &Path) -> Loading<Self> {
        let path = folder.join("config.json");
        let document: Document = json(&path)?;
        let unsupported = |what| CandleError::Unsupported { path: path.clone(), what };
        let mut config = document.check().map_err(unsupported)?;
        let generation = folder.join("generation_config.json");
        if generation.exists() {
            let Generation { eos_token_id } = json(&generation)?;
            config.ends.extend(eos_token_id.unwrap_or_default().ids());
        }
        Ok(config)
    }
}

/// The keys of `config.json` that are read.
#[derive(Deserialize)]
struct Document {
    model_type: String,
    vocab_size: usize,
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    max_position_embeddings: usize,
    rms_norm_eps: f32,
    #[serde(default = "silu")]
    hidden_act: String,
    #[serde(default)]
    tie_word_embeddings: bool,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    sliding_window: Option<usize>,
    use_sliding_window: Option<bool>,
    rope_theta: Option<f32>,
    rope_scaling: Option<Value>,
    /// The place of `rope_theta` and `rope_scaling` in newer files.
    rope_parameters: Option<Value>,
    eos_token_id: Option<Ends>,
    quantization_config: Option<Value>,
}

impl Document {
    fn check(self) -> Result<ModelConfig, String> {
        if !FAMILIES.contains(&self.model_type.as_str()) {
            return Err(format!("its model_type is {:?}", self.model_type));
        }
        if self.hidden_act != "silu" {
            return Err(format!("its hidden_act is {:?}, not silu", self.hidden_act));
        }
        if self.quantization_config.is_some() {
            return Err("its weights are quantized".to_owned());
        }
        let heads = self.num_attention_heads;
        let kv_heads = self.num_key_value_heads.unwrap_or(heads);
        if kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
            return Err(format!("{heads} heads cannot share {kv_heads}"));
        }
        let head_size = self.head_dim.unwrap_or(self.hidden_size / heads);
        let is_qwen2 = self.model_type == "qwen2";
        Ok(ModelConfig {
            vocabulary: self.vocab_size,
            hidden: self.hidden_size,
            intermediate: self.intermediate_size,
            layers: self.num_hidden_layers,
            heads,
            kv_heads,
            head_size,
            context: self.context(),
            norm_epsilon: self.rms_norm_eps,
            rope: self.rope(head_size)?,
            is_tied: self.tie_word_embeddings,
            biases: Biases {
                qkv: is_qwen2 || self.attention_bias,
                output: self.attention_bias,
                mlp: self.mlp_bias,
            },
            qk_norm: self.model_type == "qwen3",
            ends: self.eos_token_id.map(Ends::ids).unwrap_or_default(),
        })
    }

    /// Returns the usable context. A model with a sliding window is limited to it, because within
    /// the window it behaves like a model without one.
    fn context(&self) -> usize {
        let slides = self.use_sliding_window.unwrap_or(true);
        let window = self.sliding_window.filter(|_| slides).unwrap_or(usize::MAX);
        self.max_position_embeddings.min(window)
    }

    fn rope(&self, head_size: usize) -> Result<Rope, String> {
        let parameters = self.rope_parameters.as_ref().or(self.rope_scaling.as_ref());
        let loaded = parameters.and_then(|parameters| parameters.get("rope_theta"));
        let loaded = loaded.and_then(Value::as_f64).map(|theta| theta as f32);
        let rope = Rope::plain(loaded.or(self.rope_theta).unwrap_or(10_000.0), head_size);
        match parameters {
            Some(scaling) if !scaling.is_null() => rope.scaled(scaling),
            _ => Ok(rope),
        }
    }
}

#[derive(Deserialize)]
struct Generation {
    eos_token_id: Option<Ends>,
}

/// One end token or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Ends {
    One(u32),
    Several(Vec<u32>),
}

impl Ends {
    fn ids(self) -> Vec<u32> {
        match self {
            Self::One(id) => vec![id],
            Self::Several(ids) => ids,
        }
    }
}

impl Default for Ends {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
}

fn silu() -> String {
    "silu".to_owned()
}

/// Reads a file that holds one JSON document.
pub(super) fn json<T: DeserializeOwned>(path: &Path) -> Loading<T> {
    let file = |source| CandleError::File { path: path.to_owned(), source };
    let text = std::fs::read_to_string(path).map_err(file)?;
    serde_json::from_str(&text)
        .map_err(|source| CandleError::Json { path: path.to_owned(), source })
}

const FAMILIES: [&str; 4] = ["llama", "mistral", "qwen2", "qwen3"];
