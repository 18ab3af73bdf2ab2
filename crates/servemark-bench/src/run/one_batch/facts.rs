//! A server's information about its capacity for batches.

use serde_json::Value;
use servemark_plan::BatchCase;

/// A server's information about its capacity for batches.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchServer {
    value: Value,
    is_sglang: bool,
}

impl BatchServer {
    /// Creates the information from an SGLang server's answer to `/server_info`.
    pub fn of_sglang(value: Value) -> Self {
        Self { value, is_sglang: true }
    }

    /// Creates the information of a vLLM server, which reports no capacity.
    pub fn of_vllm(value: Value) -> Self {
        Self { value, is_sglang: false }
    }

    /// Returns the complete information as JSON.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the name of the model.
    pub fn model(&self) -> Option<&str> {
        let names = ["model_name", "served_model_name", "model_path", "tokenizer_path"];
        let named = names.iter().find_map(|name| self.value.get(name)?.as_str());
        named.or_else(|| self.tokenizer())
    }

    /// Returns the name or path of the tokenizer. A router reports it for its first prefill
    /// worker.
    pub fn tokenizer(&self) -> Option<&str> {
        if !self.is_sglang {
            return self.value.get("model_name")?.as_str();
        }
        let prefill = || self.value.get("prefill")?.get(0)?.get("tokenizer_path");
        self.value.get("tokenizer_path").or_else(prefill)?.as_str()
    }

    /// Whether the server is a router, which does not report the capacity of its workers.
    pub fn is_router(&self) -> bool {
        let is_managed = self.value.get("router_manager").is_some_and(is_true);
        self.is_sglang && self.states().is_empty() && is_managed
    }

    /// Returns the number of data-parallel ranks: replicas times data-parallel attention groups.
    pub fn dp_ranks(&self) -> u64 {
        let count = |key| self.first(key).filter(|count| *count > 0).unwrap_or(1);
        count("dp_size").saturating_mul(count("attn_dp_size"))
    }

    /// Returns the maximum number of running requests of each data-parallel rank.
    pub fn running_per_dp(&self) -> Option<u64> {
        self.first("effective_max_running_requests_per_dp")
    }

    /// Returns the maximum number of running prompts; `None` for a router or a vLLM server, which
    /// report no limit.
    pub fn most_running(&self) -> Option<u64> {
        if self.is_router() {
            return None;
        }
        Some(self.running_per_dp()?.saturating_mul(self.dp_ranks()))
    }

    /// Returns the number of tokens that the KV cache can hold; `None` for a router or a vLLM
    /// server.
    pub fn token_capacity(&self) -> Option<u64> {
        if !self.is_sglang || self.is_router() {
            return None;
        }
        let capacity = |state: &Value| {
            let token_capacity =
                state.get("memory_usage").and_then(|usage| usage.get("token_capacity"));
            token_capacity.and_then(Value::as_u64).unwrap_or(UNTOLD)
        };
        Some(self.states().iter().map(capacity).sum())
    }

    /// Returns the line that SGLang prints if a batch does not fit; `None` if it fits.
    pub fn refuses(&self, case: &BatchCase, limits: BatchLimits) -> Option<String> {
        let (size, most) = (case.batch_size, self.most_running());
        if let Some(most) = most.filter(|most| limits.requests && u64::from(size) > *most) {
            return Some(format!(
                "========Skip benchmark batch_size={size} > \
                 skip_max_running_requests_threshold={most} due to max running requests limit.\
                 ========"
            ));
        }
        let at_once = most.filter(|_| !limits.requests).unwrap_or(u64::MAX);
        let resident = case.resident_tokens(at_once);
        let capacity = self.token_capacity().filter(|_| limits.tokens)?;
        let BatchCase { input_len, output_len, .. } = case;
        (resident > capacity).then(|| {
            let batch_size = u64::from(size).min(at_once);
            format!(
                "========Skip benchmark batch_size={batch_size} input_len={input_len} \
                 output_len={output_len}: resident_tokens={resident} > \
                 skip_token_capacity_threshold={capacity} due to kv cache limit.========"
            )
        })
    }

    fn states(&self) -> &[Value] {
        self.value.get("internal_states").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn first(&self, key: &str) -> Option<u64> {
        self.states().first()?.get(key)?.as_u64()
    }
}

/// Limits of the server that a batch must keep.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct BatchLimits {
    /// Whether the maximum number of running prompts applies.
    pub requests: bool,
    /// Whether the token capacity applies.
    pub tokens: bool,
}

fn is_true(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

/// Token capacity that SGLang's client assumes for a scheduler that does not report one.
const UNTOLD: u64 = 1_000_000_000;
