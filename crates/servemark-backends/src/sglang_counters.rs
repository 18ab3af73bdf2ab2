//! What SGLang's servers count of their own work and show under `/metrics`.

use servemark_core::ServerCounters;

use crate::prometheus::prometheus_samples;

/// The counters in the text under an SGLang server's `/metrics`, all of its schedulers together.
/// What the server does not count stays absent.
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
