//! The format of `PyTorch`'s benchmark database: one record per metric.

use serde_json::{Value, json};
use servemark_core::JsonObject;

/// Returns the records of a result for `PyTorch`'s benchmark database, as vLLM writes them. `args`
/// are the command line's flags by their Python names, without secrets.
pub fn vllm_pytorch_records(args: &JsonObject, result: &JsonObject) -> Value {
    let extra = |key: &str| !METRICS.contains(&key) && !TOO_LONG.contains(&key);
    let extra: JsonObject = result
        .iter()
        .filter(|(key, _)| extra(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let benchmark = benchmark(args, &extra);
    let metrics = METRICS.into_iter().filter_map(|name| Some((name, result.get(name)?)));
    metrics
        .map(|(name, value)| {
            json!({
                "benchmark": benchmark,
                "model": {"name": args.get("model")},
                "metric": {"name": name, "benchmark_values": [value], "extra_info": extra},
            })
        })
        .collect()
}

fn benchmark(args: &JsonObject, extra: &JsonObject) -> Value {
    let word = |key: &str| extra.get(key).cloned().unwrap_or_else(|| json!(""));
    let mode = word("compilation_config.mode");
    let file_name = args.get("result_filename").and_then(Value::as_str).unwrap_or_default();
    let use_compile = mode != json!("0") && !file_name.contains("eager");
    let mut args = args.clone();
    if let Some(size) = extra.get("tensor_parallel_size") {
        args.entry("tensor_parallel_size").or_insert_with(|| size.clone());
    }
    json!({
        "name": "vLLM benchmark",
        "extra_info": {
            "args": args,
            "compilation_config.mode": mode,
            "optimization_level": word("optimization_level"),
            "use_compile": use_compile,
        },
    })
}

const METRICS: [&str; 12] = [
    "median_ttft_ms",
    "mean_ttft_ms",
    "std_ttft_ms",
    "p99_ttft_ms",
    "mean_tpot_ms",
    "median_tpot_ms",
    "std_tpot_ms",
    "p99_tpot_ms",
    "median_itl_ms",
    "mean_itl_ms",
    "std_itl_ms",
    "p99_itl_ms",
];

const TOO_LONG: [&str; 6] =
    ["ttfts", "itls", "generated_texts", "errors", "server_queue_times", "server_ttfts"];
