//! Servemark's additions to vLLM's result, under names that vLLM does not use.

use servemark_metrics::{Completeness, ConversationFigures, Metrics, Summary};

use super::entries::Entries;
use crate::Report;
use crate::vllm_extras::json;

/// Adds the server's prefix cache counters, the additional results of vLLM's Rust client, the
/// verdict of the client audit, and the metrics by Servemark's definitions, if the report has them.
pub(super) fn numbers(result: &mut Entries, report: &Report<'_>) {
    if let Some(cache) = report.metrics.server_work.prefix_cache {
        result.put("prefix_cache_queries", cache.queries);
        result.put("prefix_cache_hits", cache.hits);
        result.put("prefix_cache_hit_rate", cache.hit_rate());
    }
    if report.metrics.policy.plateau.is_some() {
        result.put("steady_state", json::plateau(report.metrics.plateau.as_ref()));
    }
    if let Some(conversations) = ConversationFigures::of(report.log, report.metrics) {
        for (key, value) in json::conversations(&conversations) {
            result.put(key, value);
        }
    }
    if let Some(native) = report.native {
        by_our_definitions(result, native, report.log.header().facts.generates());
        result.put("native_client_audit", report.audit.verdict.to_string());
    }
    match report.metrics.completeness {
        Completeness::Complete => {}
        Completeness::Interrupted => result.put("native_incomplete", "interrupted"),
        Completeness::Killed => result.put("native_incomplete", "killed"),
    }
}

/// Adds the metrics by Servemark's definitions. vLLM's differ: it counts a chunk as a token, and a
/// second as full if it is only partly covered.
fn by_our_definitions(result: &mut Entries, native: &Metrics, generates: bool) {
    if generates {
        let peak = native.throughput.peak_output_tokens_per_s;
        result.put("native_max_output_tokens_per_s", peak);
    }
    result.put("native_max_concurrent_requests", native.concurrency.peak);
    let (service, response) = (&native.latencies, &native.response);
    if generates {
        family(result, "ttft", &service.ttft);
        family(result, "tpot", &service.tpot);
        family(result, "itl", &service.itl);
        family(result, "response_ttft", &response.ttft);
    }
    family(result, "e2el", &service.e2el);
    family(result, "response_e2el", &response.e2el);
    family(result, "queue_time", &native.waits.queue);
}

fn family(result: &mut Entries, name: &str, summary: &Summary) {
    result.put(format!("native_mean_{name}_ms"), summary.mean_ms);
    result.put(format!("native_median_{name}_ms"), summary.median_ms);
    result.put(format!("native_p99_{name}_ms"), summary.percentile_ms(99.0));
}
