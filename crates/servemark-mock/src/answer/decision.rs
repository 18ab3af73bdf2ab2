//! Answers of the decision APIs: all labels are equally likely and the first is chosen.

use serde_json::{Map, Value, json};

/// Returns a decision of System One's API: one answer to the question named `answer`.
pub(super) fn systemone(model: &str, question: &Value, counts: &Value) -> Value {
    let criteria = &question["criteria"];
    let kind = question["type"].as_str().unwrap_or_default();
    let labels: Vec<String> = match kind {
        "choice" => keys(criteria),
        "score" => (0..size(criteria)).map(|level| level.to_string()).collect(),
        _ => ["no", "yes"].map(str::to_owned).into(),
    };
    let even = even(labels.len());
    let likely: Map<String, Value> =
        labels.iter().map(|label| (label.clone(), json!(even))).collect();
    let mut answer = json!({"type": kind, "probabilities": likely});
    match kind {
        "choice" => answer["choice"] = json!(labels.first()),
        "score" => {
            let meanings = criteria.as_array().into_iter().flatten().cloned();
            answer["score"] = json!(middle(labels.len()));
            answer["legend"] = labels.into_iter().zip(meanings).collect();
        }
        _ => answer["noul"] = json!(even),
    }
    json!({"model": model, "answers": {"answer": answer}, "usage": counts})
}

/// Returns a decision of `AutoTrust`'s API.
pub(super) fn autotrust(model: &str, kind: &Value, options: &Value, counts: &Value) -> Value {
    let options = match kind.as_str() {
        Some("choice") => options.clone(),
        Some("score") => (0..6).map(|level| level.to_string()).collect(),
        _ => json!(["false", "true"]),
    };
    let count = size(&options);
    json!({
        "model": model,
        "kind": kind,
        "options": options,
        "probabilities": vec![even(count); count],
        "choice_index": 0,
        "choice": options[0],
        "usage": counts,
    })
}

fn keys(object: &Value) -> Vec<String> {
    object.as_object().map(|object| object.keys().cloned().collect()).unwrap_or_default()
}

fn size(list: &Value) -> usize {
    list.as_array().map_or(0, Vec::len)
}

fn even(labels: usize) -> f64 {
    1.0 / labels.max(1) as f64
}

/// The mean of equally likely levels, which count from 0.
fn middle(levels: usize) -> f64 {
    levels.saturating_sub(1) as f64 / 2.0
}
