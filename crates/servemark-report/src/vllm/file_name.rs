//! What vLLM calls a result file when nobody names it.

use serde_json::Value;
use servemark_core::{RunFacts, RunLog};
use servemark_pyjson::repr;

use super::local_time::{WallClock, end_of};
use super::result::model_id;

/// The name of a run's result file, made so many seconds east of Greenwich: label or backend, load,
/// model and the time at which the run ended.
pub fn vllm_file_name(log: &RunLog, label: Option<&str>, utc_offset_s: i32) -> String {
    let facts = &log.header().facts;
    let label = label.filter(|label| !label.is_empty()).unwrap_or(&facts.backend);
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
    let asked = facts.echo.get("request_rate").and_then(Value::as_f64);
    format!("{}qps", repr(asked.or(facts.request_rate).unwrap_or(f64::INFINITY)))
}
