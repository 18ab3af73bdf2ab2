//! The server's Prometheus metrics, under the names of both vLLM and SGLang.

use std::fmt::Write;

use super::work::WorkCounts;

/// The media type of Prometheus's text format.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Returns the counts in Prometheus's text format.
pub(super) fn text(counts: &WorkCounts, model: &str) -> String {
    let model = model.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    let mut text = String::new();
    for (name, kind, help, value) in rows(counts) {
        for server in ["vllm", "sglang"] {
            let name = format!("{server}:{}", if server == "vllm" { name.0 } else { name.1 });
            // Writing to a `String` cannot fail.
            let _ = writeln!(
                text,
                "# HELP {name} {help}\n# TYPE {name} {kind}\n{name}{{model_name=\"{model}\"}} {value}"
            );
        }
    }
    text
}

/// The names in vLLM and in SGLang, the metric type, the help text and the value.
type Row = ((&'static str, &'static str), &'static str, &'static str, u64);

fn rows(counts: &WorkCounts) -> [Row; 4] {
    let &WorkCounts { running, waiting, prompt_tokens, generated_tokens } = counts;
    [
        (
            ("num_requests_running", "num_running_reqs"),
            "gauge",
            "Requests that are being answered.",
            running,
        ),
        (
            ("num_requests_waiting", "num_queue_reqs"),
            "gauge",
            "Requests that wait for a place.",
            waiting,
        ),
        (
            ("prompt_tokens_total", "prompt_tokens_total"),
            "counter",
            "Tokens of the prompts that were answered.",
            prompt_tokens,
        ),
        (
            ("generation_tokens_total", "generation_tokens_total"),
            "counter",
            "Tokens of output that were written.",
            generated_tokens,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_has_a_name_of_each_server() {
        let counts = WorkCounts { running: 1, waiting: 2, prompt_tokens: 3, generated_tokens: 4 };
        let text = text(&counts, "a\"b");
        let vllm = "# TYPE vllm:num_requests_waiting gauge\n\
                    vllm:num_requests_waiting{model_name=\"a\\\"b\"} 2\n";
        assert!(text.contains(vllm), "{text}");
        let sglang = "sglang:generation_tokens_total{model_name=\"a\\\"b\"} 4\n";
        assert!(text.contains(sglang), "{text}");
        assert_eq!(text.lines().count(), 4 * 2 * 3);
    }
}
