//! JSON of the plateau and of multi-turn sessions, with the keys of the result file of vLLM's Rust
//! client.

use serde_json::{Map, Value, json};
use servemark_metrics::{
    ConversationFigures, Percentile, Plateau, PlateauWindow, Summary, TurnFigures,
};

/// Returns the plateau as JSON; null if there is none.
pub(crate) fn plateau(plateau: Option<&Plateau>) -> Value {
    let Some(plateau) = plateau else { return Value::Null };
    let (ttft, tpot) = (&plateau.ttft, &plateau.tpot);
    let known = |percentile: &Percentile| {
        json!([percentile.percent(), ttft.percentile_ms(percentile.percent())])
    };
    json!({
        "window": window(&plateau.window),
        "request_throughput": plateau.requests_per_s,
        "input_throughput": plateau.input_tokens_per_s,
        "output_throughput": plateau.output_tokens_per_s,
        "total_token_throughput": plateau.total_tokens_per_s,
        "mean_ttft_ms": ttft.mean_ms,
        "median_ttft_ms": ttft.median_ms,
        "percentiles_ttft_ms": ttft.percentiles.iter().map(known).collect::<Value>(),
        "mean_tpot_ms": tpot.mean_ms,
        "median_tpot_ms": tpot.median_ms,
        "p90_tpot_ms": tpot.percentile_ms(90.0),
        "p99_tpot_ms": tpot.percentile_ms(99.0),
    })
}

fn window(window: &PlateauWindow) -> Value {
    json!({
        "start_s": window.start_s,
        "end_s": window.end_s,
        "duration_s": window.duration_s,
        "target_concurrency": window.target_concurrency,
        "threshold": window.threshold,
        "threshold_abs": window.threshold_requests,
        "observed_peak": window.observed_peak,
        "requests_started_in_window": window.requests_started,
        "requests_completed_in_window": window.requests_completed,
        "requests_total": window.requests_total,
        "warning": super::warning_of(window),
    })
}

/// Returns the additional keys of a multi-turn result: how sessions ended, and the figures of each
/// turn.
pub(crate) fn conversations(figures: &ConversationFigures) -> [(&'static str, Value); 6] {
    let numbered = (0..).zip(&figures.turns);
    let turns: Value = numbered.map(|(index, of)| turn(index, of)).collect();
    [
        ("mode", json!("multi_turn")),
        ("conversations_completed", json!(figures.completed)),
        ("conversations_failed", json!(figures.failed)),
        ("avg_turns_completed", json!(figures.mean_turns)),
        ("avg_conversation_duration_ms", json!(figures.mean_duration_ms)),
        ("per_turn_metrics", turns),
    ]
}

fn turn(index: u32, turn: &TurnFigures) -> Value {
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| object.insert(key.to_owned(), value);
    put("turn_index", json!(index));
    put("num_samples", json!(turn.completed + turn.failed));
    put("completed", json!(turn.completed));
    put("failed", json!(turn.failed));
    put("total_input_tokens", json!(turn.input_tokens));
    put("total_output_tokens", json!(turn.output_tokens));
    put("request_throughput", json!(turn.requests_per_s));
    put("input_throughput", json!(turn.input_tokens_per_s));
    put("output_throughput", json!(turn.output_tokens_per_s));
    put("total_token_throughput", json!(turn.input_tokens_per_s + turn.output_tokens_per_s));
    let of = &turn.latencies;
    let families = [("ttft", &of.ttft), ("tpot", &of.tpot), ("itl", &of.itl), ("e2el", &of.e2el)];
    for (name, summary) in families {
        family(&mut object, name, summary);
    }
    Value::Object(object)
}

fn family(object: &mut Map<String, Value>, name: &str, summary: &Summary) {
    let mut put = |key: String, value: Option<f64>| object.insert(key, json!(value));
    put(format!("mean_{name}_ms"), summary.mean_ms);
    put(format!("median_{name}_ms"), summary.median_ms);
    put(format!("std_{name}_ms"), summary.std_ms);
    for percent in summary.percentiles.iter().map(Percentile::percent) {
        put(format!("p{percent}_{name}_ms"), summary.percentile_ms(percent));
    }
}
