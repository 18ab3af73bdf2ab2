//! The server's Prometheus metrics, under the names of vLLM, SGLang and llama.cpp at once.

use std::fmt::Write;

use super::histogram::Histogram;
use super::prefix_cache::CacheCounts;
use super::work::{WorkCounts, WorkTimes};

/// The media type of Prometheus's text format.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Returns the counts and the times in Prometheus's text format.
pub(super) fn text(
    counts: &WorkCounts,
    times: &WorkTimes,
    cache: Option<CacheCounts>,
    model: &str,
) -> String {
    let model = model.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    let labels = format!("model_name=\"{model}\"");
    let mut text = String::new();
    for Row { names, kind, help, value } in rows(counts).into_iter().chain(cached(cache)) {
        for name in names {
            // Writing to a `String` cannot fail.
            let _ = writeln!(
                text,
                "# HELP {name} {help}\n# TYPE {name} {kind}\n{name}{{{labels}}} {value}"
            );
        }
    }
    for (names, histogram) in histograms(times) {
        for name in names {
            histogram.write(name, &labels, &mut text);
        }
    }
    text
}

/// One count under the names of the engines that have it.
struct Row {
    names: &'static [&'static str],
    kind: &'static str,
    help: &'static str,
    value: u64,
}

fn rows(counts: &WorkCounts) -> [Row; 5] {
    let &WorkCounts { running, waiting, prompt_tokens, generated_tokens, requests } = counts;
    [
        Row {
            names: &[
                "vllm:num_requests_running",
                "sglang:num_running_reqs",
                "llamacpp:requests_processing",
            ],
            kind: "gauge",
            help: "Requests that are being answered.",
            value: running,
        },
        Row {
            names: &[
                "vllm:num_requests_waiting",
                "sglang:num_queue_reqs",
                "llamacpp:requests_deferred",
            ],
            kind: "gauge",
            help: "Requests that wait for a place.",
            value: waiting,
        },
        Row {
            names: &[
                "vllm:prompt_tokens_total",
                "sglang:prompt_tokens_total",
                "llamacpp:prompt_tokens_total",
            ],
            kind: "counter",
            help: "Tokens of the prompts that were answered.",
            value: prompt_tokens,
        },
        Row {
            names: &[
                "vllm:generation_tokens_total",
                "sglang:generation_tokens_total",
                "llamacpp:tokens_predicted_total",
            ],
            kind: "counter",
            help: "Tokens of output that were written.",
            value: generated_tokens,
        },
        Row {
            names: &["vllm:request_success_total", "sglang:num_requests_total"],
            kind: "counter",
            help: "Requests that were answered whole.",
            value: requests,
        },
    ]
}

/// Returns the counters of the prefix cache, if there is one.
fn cached(cache: Option<CacheCounts>) -> impl Iterator<Item = Row> {
    cache.into_iter().flat_map(|CacheCounts { queries, hits }| {
        [
            Row {
                names: &["vllm:prefix_cache_queries_total"],
                kind: "counter",
                help: "Prompt tokens that were looked up in the prefix cache.",
                value: queries,
            },
            Row {
                names: &[
                    "vllm:prefix_cache_hits_total",
                    "sglang:cached_tokens_total",
                    "llamacpp:prompt_tokens_cached_total",
                ],
                kind: "counter",
                help: "Prompt tokens that were found in the prefix cache.",
                value: hits,
            },
        ]
    })
}

fn histograms(times: &WorkTimes) -> [(&'static [&'static str], &Histogram); 4] {
    [
        (&["vllm:time_to_first_token_seconds", "sglang:time_to_first_token_seconds"], &times.ttft),
        (&["vllm:e2e_request_latency_seconds", "sglang:e2e_request_latency_seconds"], &times.e2e),
        (&["vllm:request_queue_time_seconds", "sglang:queue_time_seconds"], &times.queue),
        (&["vllm:request_prefill_time_seconds"], &times.prefill),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_has_a_name_of_each_server() {
        let counts = WorkCounts {
            running: 1,
            waiting: 2,
            prompt_tokens: 3,
            generated_tokens: 4,
            requests: 5,
        };
        let mut times = WorkTimes::default();
        times.e2e.add(0.4);
        let cache = Some(CacheCounts { queries: 9, hits: 6 });
        let text = text(&counts, &times, cache, "a\"b");
        for line in [
            "# TYPE vllm:num_requests_waiting gauge",
            r#"vllm:num_requests_waiting{model_name="a\"b"} 2"#,
            r#"sglang:generation_tokens_total{model_name="a\"b"} 4"#,
            r#"llamacpp:tokens_predicted_total{model_name="a\"b"} 4"#,
            r#"vllm:prefix_cache_hits_total{model_name="a\"b"} 6"#,
            r#"vllm:request_success_total{model_name="a\"b"} 5"#,
            r#"sglang:e2e_request_latency_seconds_bucket{model_name="a\"b",le="0.5"} 1"#,
        ] {
            assert!(text.lines().any(|logprobs| logprobs == line), "{line} is not in {text}");
        }
    }
}
