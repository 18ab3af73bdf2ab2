//! The counters that vLLM's servers report under `/metrics`.

use servemark_core::{DiffusionCounters, PrefixCacheCounters, ServerCounters, SpeculationCounters};

use crate::prometheus::{PrometheusSample, prometheus_samples};

/// Parses the counters of a vLLM server's `/metrics`, summed over its engines. Counters that the
/// server lacks are absent.
///
/// ```
/// use servemark_backends::vllm_counters;
///
/// let text = "vllm:prefix_cache_queries_total{engine=\"0\"} 8\n\
///             vllm:prefix_cache_hits_total{engine=\"0\"} 6\n";
/// let cache = vllm_counters(text).prefix_cache.unwrap();
/// assert_eq!((cache.queries, cache.hits), (8, 6));
/// ```
pub fn vllm_counters(text: &str) -> ServerCounters {
    let mut counters = ServerCounters::default();
    for sample in prometheus_samples(text) {
        let Some(name) = sample.name.strip_prefix("vllm:") else { continue };
        let Some(name) = name.strip_suffix("_total") else { continue };
        if let Some(name) = name.strip_prefix("spec_decode_") {
            guessed(counters.speculation.get_or_insert_default(), name, &sample);
        } else if let Some(name) = name.strip_prefix("diffusion_") {
            denoised(counters.diffusion.get_or_insert_default(), name, &sample);
        } else if let Some(name) = name.strip_prefix("prefix_cache_") {
            cached(counters.prefix_cache.get_or_insert_default(), name, &sample);
        } else if name == "prompt_tokens_by_source"
            && sample.label("source") == Some("external_kv_transfer")
        {
            *counters.transferred_tokens.get_or_insert_default() += count(&sample);
        }
    }
    counters
}

fn guessed(counters: &mut SpeculationCounters, name: &str, sample: &PrometheusSample<'_>) {
    match name {
        "num_drafts" => counters.drafts += count(sample),
        "num_draft_tokens" => counters.draft_tokens += count(sample),
        "num_accepted_tokens" => counters.accepted_tokens += count(sample),
        "num_accepted_tokens_per_pos" => {
            let position = sample.label("position").and_then(|position| position.parse().ok());
            if let Some(position) = position {
                *counters.accepted_by_position.entry(position).or_default() += count(sample);
            }
        }
        _ => {}
    }
}

fn denoised(counters: &mut DiffusionCounters, name: &str, sample: &PrometheusSample<'_>) {
    match name {
        "num_denoising_steps" => counters.denoising_steps += count(sample),
        "num_canvas_positions" => counters.canvas_positions += count(sample),
        "num_committed_tokens" => counters.committed_tokens += count(sample),
        _ => {}
    }
}

fn cached(counters: &mut PrefixCacheCounters, name: &str, sample: &PrometheusSample<'_>) {
    match name {
        "queries" => counters.queries += count(sample),
        "hits" => counters.hits += count(sample),
        _ => {}
    }
}

/// Returns a count, which is whole although Prometheus writes every value as a float.
fn count(sample: &PrometheusSample<'_>) -> i64 {
    sample.value as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# HELP vllm:spec_decode_num_drafts_total Number of spec decoding drafts.
vllm:spec_decode_num_drafts_total{engine="0",model_name="m"} 10.0
vllm:spec_decode_num_drafts_total{engine="1",model_name="m"} 5.0
vllm:spec_decode_num_drafts_created{engine="0",model_name="m"} 1.7e+09
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="a model"} 40.0
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 25.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="0"} 9.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",position="0"} 4.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="10"} 3.0
vllm:num_requests_running{engine="0"} 3.0
vllm:prompt_tokens_by_source_total{engine="0",source="local_compute"} 70.0
vllm:prompt_tokens_by_source_total{engine="0",source="external_kv_transfer"} 20.0
vllm:prompt_tokens_by_source_total{engine="1",source="external_kv_transfer"} 3.0
"#;

    #[test]
    fn engines_are_added_up() {
        let counters = vllm_counters(TEXT);
        assert_eq!(counters.transferred_tokens, Some(23));
        let guesses = counters.speculation.unwrap();
        assert_eq!((guesses.drafts, guesses.draft_tokens, guesses.accepted_tokens), (15, 40, 25));
        assert_eq!(guesses.accepted_by_position, [(0, 13), (10, 3)].into());
        assert_eq!((counters.diffusion, counters.prefix_cache), (None, None));
    }

    #[test]
    fn a_server_that_counts_none_of_it_has_nothing() {
        assert!(vllm_counters("vllm:num_requests_running 3.0\nup 1\n").is_empty());
        assert!(vllm_counters("<html>404</html>").is_empty());
    }

    #[test]
    fn a_diffusion_models_steps_are_its_own() {
        let text = "vllm:diffusion_num_denoising_steps_total 100\n\
                    vllm:diffusion_num_canvas_positions_total 6400\n\
                    vllm:diffusion_num_committed_tokens_total 1280\n";
        let counters = vllm_counters(text).diffusion.unwrap();
        assert_eq!(counters.denoising_steps, 100);
        assert_eq!((counters.canvas_positions, counters.committed_tokens), (6400, 1280));
    }
}
