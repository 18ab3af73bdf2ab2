//! The counters that SGLang's servers report under `/metrics`.

use servemark_core::ServerCounters;

use crate::prometheus::prometheus_samples;

/// Parses the counters of an SGLang server's `/metrics`, summed over its schedulers. Counters that
/// the server lacks are absent.
///
/// ```
/// use servemark_backends::sglang_counters;
///
/// let text = "sglang:prompt_tokens_total{model_name=\"m\"} 8.0\n\
///             sglang:cached_tokens_total{model_name=\"m\"} 6.0\n";
/// let cache = sglang_counters(text).prefix_cache.unwrap();
/// assert_eq!((cache.queries, cache.hits), (8, 6));
/// ```
pub fn sglang_counters(text: &str) -> ServerCounters {
    let mut counters = ServerCounters::default();
    for sample in prometheus_samples(text) {
        let (hits, queries) = match sample.name {
            "sglang:cached_tokens_total" => (sample.value as i64, 0),
            "sglang:prompt_tokens_total" => (0, sample.value as i64),
            _ => continue,
        };
        let cache = counters.prefix_cache.get_or_insert_default();
        cache.hits += hits;
        cache.queries += queries;
    }
    counters
}
