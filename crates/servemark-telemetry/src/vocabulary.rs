//! One name for each quantity, whatever an engine calls it.

use std::collections::HashMap;
use std::sync::LazyLock;

use servemark_core::SeriesKind::{self, Counter, Gauge, Histogram};

/// The meaning of a metric of an engine or an exporter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Term {
    /// Name of the metric in the text; for a counter without `_total`.
    raw: &'static str,
    /// The label and its value that a series must have; `None` if all series of this name count.
    pub(crate) only: Option<(&'static str, &'static str)>,
    /// Name of the quantity.
    pub(crate) name: &'static str,
    pub(crate) kind: SeriesKind,
    pub(crate) unit: &'static str,
    /// Factor that converts the metric's unit into ours.
    pub(crate) scale: f64,
}

/// How a sample's name refers to a term.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Role {
    Value,
    Bucket,
    Count,
    Sum,
}

/// The terms by the names of samples. A name can have several terms, which differ in the label that
/// selects their series.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    by_sample: HashMap<String, (Role, Vec<&'static Term>)>,
}

impl Vocabulary {
    /// Returns the vocabulary, which all sources share.
    pub(crate) fn get() -> &'static Self {
        static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(Vocabulary::of_terms);
        &VOCABULARY
    }

    fn of_terms() -> Self {
        let mut by_sample: HashMap<String, (Role, Vec<&'static Term>)> = HashMap::new();
        let mut add = |name: String, role: Role, term: &'static Term| {
            by_sample.entry(name).or_insert((role, Vec::new())).1.push(term);
        };
        for term in TERMS {
            match term.kind {
                Histogram => {
                    add(format!("{}_bucket", term.raw), Role::Bucket, term);
                    add(format!("{}_count", term.raw), Role::Count, term);
                    add(format!("{}_sum", term.raw), Role::Sum, term);
                }
                Counter => {
                    add(format!("{}_total", term.raw), Role::Value, term);
                    add(term.raw.to_owned(), Role::Value, term);
                }
                _ => add(term.raw.to_owned(), Role::Value, term),
            }
        }
        Self { by_sample }
    }

    /// Returns the names of samples that begin with a prefix, in order.
    pub(crate) fn samples(&self, prefix: &str) -> Vec<&str> {
        let mut samples: Vec<&str> = self
            .by_sample
            .keys()
            .map(String::as_str)
            .filter(|sample| sample.starts_with(prefix))
            .collect();
        samples.sort_unstable();
        samples
    }

    /// Returns the role and the terms of a sample's name.
    pub(crate) fn find(&self, sample: &str) -> Option<(Role, &[&'static Term])> {
        self.by_sample.get(sample).map(|(role, terms)| (*role, terms.as_slice()))
    }
}

const fn term(raw: &'static str, name: &'static str, kind: SeriesKind, unit: &'static str) -> Term {
    Term { raw, only: None, name, kind, unit, scale: 1.0 }
}

const fn scaled(raw: &'static str, name: &'static str, unit: &'static str, scale: f64) -> Term {
    Term { raw, only: None, name, kind: Gauge, unit, scale }
}

const fn only(
    raw: &'static str,
    only: (&'static str, &'static str),
    name: &'static str,
    kind: SeriesKind,
    unit: &'static str,
) -> Term {
    Term { raw, only: Some(only), name, kind, unit, scale: 1.0 }
}

const MIB: f64 = 1024.0 * 1024.0;

/// Metrics of the engines and exporters, by their own documentation and by the texts of real
/// servers. Shares are from 0 to 1, times in seconds, memory in bytes, power in watts, energy in
/// joules, clocks in megahertz.
const TERMS: &[Term] = &[
    // vLLM
    term("vllm:num_requests_running", "running", Gauge, ""),
    term("vllm:num_requests_waiting", "waiting", Gauge, ""),
    term("vllm:kv_cache_usage_perc", "kv_use", Gauge, ""),
    term("vllm:gpu_cache_usage_perc", "kv_use", Gauge, ""),
    term("vllm:num_preemptions", "preemptions", Counter, ""),
    term("vllm:prompt_tokens", "prompt_tokens", Counter, "tokens"),
    term("vllm:prompt_tokens_cached", "cached_tokens", Counter, "tokens"),
    only(
        "vllm:prompt_tokens_by_source",
        ("source", "external_kv_transfer"),
        "transferred_tokens",
        Counter,
        "tokens",
    ),
    term("vllm:generation_tokens", "generated_tokens", Counter, "tokens"),
    term("vllm:request_success", "requests", Counter, ""),
    term("vllm:prefix_cache_queries", "prefix_queries", Counter, "tokens"),
    term("vllm:prefix_cache_hits", "prefix_hits", Counter, "tokens"),
    term("vllm:spec_decode_num_drafts", "drafts", Counter, ""),
    term("vllm:spec_decode_num_draft_tokens", "draft_tokens", Counter, "tokens"),
    term("vllm:spec_decode_num_accepted_tokens", "accepted_tokens", Counter, "tokens"),
    term("vllm:time_to_first_token_seconds", "ttft", Histogram, "s"),
    term("vllm:inter_token_latency_seconds", "itl", Histogram, "s"),
    term("vllm:e2e_request_latency_seconds", "e2e", Histogram, "s"),
    term("vllm:request_queue_time_seconds", "queue_time", Histogram, "s"),
    term("vllm:request_prefill_time_seconds", "prefill_time", Histogram, "s"),
    term("vllm:request_decode_time_seconds", "decode_time", Histogram, "s"),
    term("vllm:iteration_tokens_total", "batch_tokens", Histogram, "tokens"),
    // SGLang
    term("sglang:num_running_reqs", "running", Gauge, ""),
    term("sglang:num_queue_reqs", "waiting", Gauge, ""),
    term("sglang:token_usage", "kv_use", Gauge, ""),
    term("sglang:cache_hit_rate", "prefix_hit_rate", Gauge, ""),
    term("sglang:gen_throughput", "generation_rate", Gauge, "tokens/s"),
    term("sglang:spec_accept_length", "accept_length", Gauge, "tokens"),
    term("sglang:num_retracted_reqs", "retracted", Gauge, ""),
    term("sglang:num_retracted_requests", "preemptions", Counter, ""),
    term("sglang:prompt_tokens", "prompt_tokens", Counter, "tokens"),
    term("sglang:cached_tokens", "cached_tokens", Counter, "tokens"),
    term("sglang:generation_tokens", "generated_tokens", Counter, "tokens"),
    term("sglang:num_requests", "requests", Counter, ""),
    term("sglang:time_to_first_token_seconds", "ttft", Histogram, "s"),
    term("sglang:inter_token_latency_seconds", "itl", Histogram, "s"),
    term("sglang:e2e_request_latency_seconds", "e2e", Histogram, "s"),
    term("sglang:queue_time_seconds", "queue_time", Histogram, "s"),
    // llama.cpp
    term("llamacpp:requests_processing", "running", Gauge, ""),
    term("llamacpp:requests_deferred", "waiting", Gauge, ""),
    term("llamacpp:kv_cache_usage_ratio", "kv_use", Gauge, ""),
    term("llamacpp:n_busy_slots_per_decode", "batch_size", Gauge, ""),
    term("llamacpp:predicted_tokens_seconds", "generation_rate", Gauge, "tokens/s"),
    // Excludes the tokens that came from the cache.
    term("llamacpp:prompt_tokens", "computed_prompt_tokens", Counter, "tokens"),
    term("llamacpp:prompt_tokens_cached", "cached_tokens", Counter, "tokens"),
    term("llamacpp:tokens_predicted", "generated_tokens", Counter, "tokens"),
    term("llamacpp:spec_decode_num_draft_tokens", "draft_tokens", Counter, "tokens"),
    term("llamacpp:spec_decode_num_accepted_tokens", "accepted_tokens", Counter, "tokens"),
    // text-generation-inference
    term("tgi_batch_current_size", "running", Gauge, ""),
    term("tgi_queue_size", "waiting", Gauge, ""),
    term("tgi_request_success", "requests", Counter, ""),
    term("tgi_request_queue_duration", "queue_time", Histogram, "s"),
    term("tgi_request_duration", "e2e", Histogram, "s"),
    term("tgi_request_mean_time_per_token_duration", "itl", Histogram, "s"),
    term("tgi_request_generated_tokens", "output_length", Histogram, "tokens"),
    term("tgi_request_input_length", "prompt_length", Histogram, "tokens"),
    // Triton, and TensorRT-LLM behind it
    term("nv_inference_pending_request_count", "waiting", Gauge, ""),
    term("nv_inference_request_success", "requests", Counter, ""),
    only("nv_trt_llm_request_metrics", ("request_type", "scheduled"), "running", Gauge, ""),
    only("nv_trt_llm_request_metrics", ("request_type", "waiting"), "waiting", Gauge, ""),
    only(
        "nv_trt_llm_kv_cache_block_metrics",
        ("kv_cache_block_type", "fraction"),
        "kv_use",
        Gauge,
        "",
    ),
    term("nv_gpu_utilization", "gpu_use", Gauge, ""),
    term("nv_gpu_memory_used_bytes", "gpu_memory_used", Gauge, "bytes"),
    term("nv_gpu_memory_total_bytes", "gpu_memory_total", Gauge, "bytes"),
    term("nv_gpu_power_usage", "gpu_power", Gauge, "W"),
    term("nv_energy_consumption", "gpu_energy", Counter, "J"),
    term("trtllm_request_success", "requests", Counter, ""),
    term("trtllm_kv_cache_utilization", "kv_use", Gauge, ""),
    term("trtllm_kv_cache_hit_rate", "prefix_hit_rate", Gauge, ""),
    term("trtllm_time_to_first_token_seconds", "ttft", Histogram, "s"),
    term("trtllm_time_per_output_token_seconds", "itl", Histogram, "s"),
    term("trtllm_e2e_request_latency_seconds", "e2e", Histogram, "s"),
    term("trtllm_request_queue_time_seconds", "queue_time", Histogram, "s"),
    // Dynamo
    term("dynamo_frontend_inflight_requests", "running", Gauge, ""),
    term("dynamo_frontend_queued_requests", "waiting", Gauge, ""),
    term("dynamo_frontend_requests", "requests", Counter, ""),
    term("dynamo_frontend_output_tokens", "generated_tokens", Counter, "tokens"),
    term("dynamo_frontend_time_to_first_token_seconds", "ttft", Histogram, "s"),
    term("dynamo_frontend_inter_token_latency_seconds", "itl", Histogram, "s"),
    term("dynamo_frontend_request_duration_seconds", "e2e", Histogram, "s"),
    term("dynamo_component_kvstats_gpu_cache_usage_percent", "kv_use", Gauge, ""),
    term("dynamo_component_kvstats_gpu_prefix_cache_hit_rate", "prefix_hit_rate", Gauge, ""),
    // NVIDIA's DCGM exporter
    scaled("DCGM_FI_DEV_GPU_UTIL", "gpu_use", "", 0.01),
    scaled("DCGM_FI_DEV_FB_USED", "gpu_memory_used", "bytes", MIB),
    scaled("DCGM_FI_DEV_FB_FREE", "gpu_memory_free", "bytes", MIB),
    term("DCGM_FI_DEV_POWER_USAGE", "gpu_power", Gauge, "W"),
    Term {
        scale: 1e-3,
        ..term("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "gpu_energy", Counter, "J")
    },
    term("DCGM_FI_DEV_SM_CLOCK", "gpu_sm_clock", Gauge, "MHz"),
    term("DCGM_FI_DEV_MEM_CLOCK", "gpu_memory_clock", Gauge, "MHz"),
    term("DCGM_FI_DEV_GPU_TEMP", "gpu_temperature", Gauge, "C"),
    term("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", "gpu_throttle", Gauge, ""),
    term("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", "gpu_throttle", Gauge, ""),
    // AMD's device metrics exporter
    scaled("gpu_gfx_activity", "gpu_use", "", 0.01),
    scaled("gpu_used_vram", "gpu_memory_used", "bytes", MIB),
    scaled("gpu_free_vram", "gpu_memory_free", "bytes", MIB),
    scaled("gpu_total_vram", "gpu_memory_total", "bytes", MIB),
    term("gpu_package_power", "gpu_power", Gauge, "W"),
    term("gpu_average_package_power", "gpu_power", Gauge, "W"),
    Term { scale: 1e-6, ..term("gpu_energy_consumed", "gpu_energy", Counter, "J") },
    term("gpu_junction_temperature", "gpu_temperature", Gauge, "C"),
    only("gpu_clock", ("clock_type", "GPU_CLOCK_TYPE_SYSTEM"), "gpu_sm_clock", Gauge, "MHz"),
    only("gpu_clock", ("clock_type", "GPU_CLOCK_TYPE_MEMORY"), "gpu_memory_clock", Gauge, "MHz"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_name_has_one_role() {
        let vocabulary = Vocabulary::get();
        let (role, terms) = vocabulary.find("vllm:time_to_first_token_seconds_bucket").unwrap();
        assert_eq!((role, terms[0].name), (Role::Bucket, "ttft"));
        let (role, terms) = vocabulary.find("sglang:prompt_tokens_total").unwrap();
        assert_eq!((role, terms[0].name), (Role::Value, "prompt_tokens"));
        let (_, terms) = vocabulary.find("nv_trt_llm_request_metrics").unwrap();
        assert_eq!(terms.iter().map(|term| term.name).collect::<Vec<_>>(), ["running", "waiting"]);
        assert!(vocabulary.find("python_info").is_none());
    }

    /// SGLang has a gauge, a counter and, in some versions, a histogram of nearly the same name.
    #[test]
    fn sglangs_preemptions_are_its_counter_of_retracted_requests() {
        let vocabulary = Vocabulary::get();
        let name = |sample: &str| vocabulary.find(sample).map(|(_, terms)| terms[0].name);
        assert_eq!(name("sglang:num_retracted_requests_total"), Some("preemptions"));
        assert_eq!(name("sglang:num_retracted_reqs"), Some("retracted"));
        assert_eq!(name("sglang:num_retractions"), None);
        assert_eq!(name("sglang:num_retractions_count"), None);
    }

    /// vLLM has a histogram whose own name ends in `_total`.
    #[test]
    fn a_histogram_may_be_named_like_a_counter() {
        let vocabulary = Vocabulary::get();
        let (role, _) = vocabulary.find("vllm:iteration_tokens_total_sum").unwrap();
        assert_eq!(role, Role::Sum);
    }
}
