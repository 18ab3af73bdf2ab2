//! The server's Prometheus metrics, under the names of vLLM, SGLang, llama.cpp and
//! text-generation-inference: those of the imitated engine, or all at once.

use std::fmt::Write;

use super::histogram::Histogram;
use super::prefix_cache::CacheCounts;
use super::work::{WorkCounts, WorkTimes};
use crate::{ImitatedEngine, MockSpec};

/// The media type of Prometheus's text format.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The server's state at one instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServerSnapshot {
    pub(super) counts: WorkCounts,
    /// Share of the memory for keys and values that is taken, if it is limited.
    pub(super) kv_use: Option<f64>,
    /// Whether the keys and values of prompts come from another server.
    pub(super) has_transfers: bool,
    /// Use of the prefix cache, if there is one and the server reports it.
    pub(super) cache: Option<CacheCounts>,
}

/// Returns the state and the times in Prometheus's text format.
pub(super) fn text(snapshot: &ServerSnapshot, times: &WorkTimes, spec: &MockSpec) -> String {
    let model = spec.model.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    let labels = format!("model_name=\"{model}\"");
    let prefix = spec.engine.and_then(prefix);
    let is_shown = |name: &&&str| prefix.is_none_or(|prefix| name.starts_with(prefix));
    let mut text = String::new();
    for Row { names, kind, help, label, value } in rows(snapshot) {
        for name in names.iter().filter(is_shown) {
            // Writing to a `String` cannot fail.
            let _ = writeln!(
                text,
                "# HELP {name} {help}\n# TYPE {name} {kind}\n{name}{{{labels}{label}}} {value}"
            );
        }
    }
    for (names, histogram) in histograms(times) {
        for name in names.iter().filter(is_shown) {
            histogram.write(name, &labels, &mut text);
        }
    }
    text
}

/// Returns the prefix of the metrics' names of an engine; `None` if the simulator does not imitate
/// its metrics.
fn prefix(engine: ImitatedEngine) -> Option<&'static str> {
    match engine {
        ImitatedEngine::LlamaCpp => Some("llamacpp:"),
        ImitatedEngine::Sglang => Some("sglang:"),
        ImitatedEngine::Tgi => Some("tgi_"),
        ImitatedEngine::Vllm => Some("vllm:"),
        _ => None,
    }
}

/// One number under the names of the engines that have it.
struct Row {
    names: &'static [&'static str],
    kind: &'static str,
    help: &'static str,
    /// Further label, behind a comma; usually empty.
    label: &'static str,
    value: f64,
}

const fn gauge(names: &'static [&'static str], help: &'static str, value: f64) -> Row {
    Row { names, kind: "gauge", help, label: "", value }
}

const fn counter(names: &'static [&'static str], help: &'static str, value: u64) -> Row {
    Row { names, kind: "counter", help, label: "", value: value as f64 }
}

fn rows(snapshot: &ServerSnapshot) -> Vec<Row> {
    let &ServerSnapshot { counts, kv_use, has_transfers, cache } = snapshot;
    let mut rows = vec![
        gauge(
            &[
                "vllm:num_requests_running",
                "sglang:num_running_reqs",
                "llamacpp:requests_processing",
                "tgi_batch_current_size",
            ],
            "Requests that are being answered.",
            counts.running as f64,
        ),
        gauge(
            &[
                "vllm:num_requests_waiting",
                "sglang:num_queue_reqs",
                "llamacpp:requests_deferred",
                "tgi_queue_size",
            ],
            "Requests that wait for a place.",
            counts.waiting as f64,
        ),
        counter(
            &["vllm:prompt_tokens_total", "sglang:prompt_tokens_total"],
            "Tokens of the prompts that were answered.",
            counts.prompt_tokens,
        ),
        counter(
            &["llamacpp:prompt_tokens_total"],
            "Tokens of the prompts that were answered, without those from the prefix cache.",
            counts.computed_prompt_tokens,
        ),
        counter(
            &[
                "vllm:generation_tokens_total",
                "sglang:generation_tokens_total",
                "llamacpp:tokens_predicted_total",
            ],
            "Tokens of output that were written.",
            counts.generated_tokens,
        ),
        counter(
            &["vllm:request_success_total", "sglang:num_requests_total", "tgi_request_success"],
            "Requests that were answered whole.",
            counts.requests,
        ),
        counter(
            &["vllm:num_preemptions_total", "sglang:num_retracted_requests_total"],
            "Answers that were put back into the queue.",
            counts.preemptions,
        ),
    ];
    if let Some(kv_use) = kv_use {
        rows.push(gauge(
            &["vllm:kv_cache_usage_perc", "sglang:token_usage", "llamacpp:kv_cache_usage_ratio"],
            "Share of the memory for keys and values that is taken.",
            kv_use,
        ));
    }
    if has_transfers {
        let transferred = counter(
            &["vllm:prompt_tokens_by_source_total"],
            "Prompt tokens whose keys and values came from another server.",
            counts.prompt_tokens,
        );
        rows.push(Row { label: ",source=\"external_kv_transfer\"", ..transferred });
    }
    if let Some(CacheCounts { queries, hits }) = cache {
        rows.push(counter(
            &["vllm:prefix_cache_queries_total"],
            "Prompt tokens that were looked up in the prefix cache.",
            queries,
        ));
        rows.push(counter(
            &[
                "vllm:prefix_cache_hits_total",
                "sglang:cached_tokens_total",
                "llamacpp:prompt_tokens_cached_total",
            ],
            "Prompt tokens that were found in the prefix cache.",
            hits,
        ));
    }
    rows
}

fn histograms(times: &WorkTimes) -> [(&'static [&'static str], &Histogram); 4] {
    [
        (&["vllm:time_to_first_token_seconds", "sglang:time_to_first_token_seconds"], &times.ttft),
        (
            &[
                "vllm:e2e_request_latency_seconds",
                "sglang:e2e_request_latency_seconds",
                "tgi_request_duration",
            ],
            &times.e2e,
        ),
        (
            &[
                "vllm:request_queue_time_seconds",
                "sglang:queue_time_seconds",
                "tgi_request_queue_duration",
            ],
            &times.queue,
        ),
        (&["vllm:request_prefill_time_seconds"], &times.prefill),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics_text(engine: Option<ImitatedEngine>) -> String {
        let counts = WorkCounts {
            running: 1,
            waiting: 2,
            prompt_tokens: 9,
            computed_prompt_tokens: 3,
            generated_tokens: 4,
            preemptions: 7,
            requests: 5,
        };
        let mut times = WorkTimes::default();
        times.e2e.add(0.4);
        let cache = Some(CacheCounts { queries: 9, hits: 6 });
        let snapshot = ServerSnapshot { counts, kv_use: Some(0.25), has_transfers: true, cache };
        let spec = MockSpec { model: "a\"b".to_owned(), engine, ..MockSpec::default() };
        text(&snapshot, &times, &spec)
    }

    #[test]
    fn every_count_has_a_name_of_each_server() {
        let text = metrics_text(None);
        for line in [
            "# TYPE vllm:num_requests_waiting gauge",
            r#"vllm:num_requests_waiting{model_name="a\"b"} 2"#,
            r#"sglang:generation_tokens_total{model_name="a\"b"} 4"#,
            r#"llamacpp:tokens_predicted_total{model_name="a\"b"} 4"#,
            r#"llamacpp:prompt_tokens_total{model_name="a\"b"} 3"#,
            r#"vllm:prompt_tokens_total{model_name="a\"b"} 9"#,
            r#"vllm:prefix_cache_hits_total{model_name="a\"b"} 6"#,
            r#"vllm:request_success_total{model_name="a\"b"} 5"#,
            r#"vllm:kv_cache_usage_perc{model_name="a\"b"} 0.25"#,
            r#"vllm:prompt_tokens_by_source_total{model_name="a\"b",source="external_kv_transfer"} 9"#,
            r#"sglang:token_usage{model_name="a\"b"} 0.25"#,
            r#"sglang:num_retracted_requests_total{model_name="a\"b"} 7"#,
            r#"tgi_queue_size{model_name="a\"b"} 2"#,
            r#"sglang:e2e_request_latency_seconds_bucket{model_name="a\"b",le="0.5"} 1"#,
        ] {
            assert!(text.lines().any(|logprobs| logprobs == line), "{line} is not in {text}");
        }
    }

    #[test]
    fn an_imitated_engine_has_its_own_names_only() {
        for (engine, prefix) in [
            (ImitatedEngine::LlamaCpp, "llamacpp:"),
            (ImitatedEngine::Sglang, "sglang:"),
            (ImitatedEngine::Tgi, "tgi_"),
            (ImitatedEngine::Vllm, "vllm:"),
        ] {
            let text = metrics_text(Some(engine));
            let mut names = text.lines().filter(|line| !line.starts_with('#'));
            assert!(names.all(|name| name.starts_with(prefix)), "{text}");
            assert!(text.contains(" 2\n"), "{text}");
        }
    }
}
