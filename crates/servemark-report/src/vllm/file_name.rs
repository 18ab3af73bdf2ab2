//! vLLM's default name of a result file.

use serde_json::Value;
use servemark_core::{RunFacts, RunLog};
use servemark_pyjson::repr;

use super::local_time::{WallClock, end_of};
use super::requested_rate;
use super::result::model_id;

/// Returns the default name of a run's result file: label or backend, load, model, and the local
/// time at which the run ended. `utc_offset_s` is the offset of local time from UTC, in seconds.
pub fn vllm_file_name(log: &RunLog, label: Option<&str>, utc_offset_s: i32) -> String {
    let facts = &log.header().facts;
    let backend = facts.echo.get("endpoint_type").and_then(Value::as_str).unwrap_or(&facts.backend);
    let label = label.filter(|label| !label.is_empty()).unwrap_or(backend);
    let limit = facts.max_concurrency.map(|limit| format!("-concurrency{limit}"));
    let model = model_id(facts).rsplit('/').next().unwrap_or_default();
    let date = WallClock::of(log, utc_offset_s).compact(end_of(log));
    format!("{label}-{}{}-{model}-{date}.json", load(facts), limit.unwrap_or_default())
}

fn load(facts: &RunFacts) -> String {
    let text = |key: &str| facts.echo.get(key).map(Value::to_string).unwrap_or_default();
    if let Some(strategy) = facts.echo.get("ramp_up_strategy").and_then(Value::as_str) {
        let [from, to] = ["ramp_up_start_rps", "ramp_up_end_rps"].map(text);
        return format!("ramp-up-{strategy}-{from}qps-{to}qps");
    }
    format!("{}qps", repr(requested_rate(facts).unwrap_or(f64::INFINITY)))
}
