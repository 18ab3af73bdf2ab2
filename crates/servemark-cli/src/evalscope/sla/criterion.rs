//! A criterion of a search: a metric and its goal.

use serde_json::Value;
use servemark_pyjson as pyjson;

use crate::error::CliError;
use crate::python;

/// A metric and the goal that it has to meet.
#[derive(Clone, Debug, PartialEq)]
pub struct SlaCriterion {
    /// Metric of a run.
    pub metric: SlaMetric,
    /// Goal of the metric.
    pub goal: SlaGoal,
}

/// A metric of a run by which a search can judge loads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SlaMetric {
    /// Name in `--sla-params`.
    pub name: &'static str,
    /// Key in evalscope's summary or in its percentiles.
    pub field: &'static str,
    /// Percentile as evalscope's list of percentiles writes it, such as `99%`; `None` for a metric
    /// of the summary.
    pub percentile: Option<&'static str>,
    /// Unit of the metric.
    pub unit: &'static str,
}

/// The goal of a metric, in the metric's own unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SlaGoal {
    /// Below a limit (`<`).
    Below(f64),
    /// At most a limit (`<=`).
    AtMost(f64),
    /// Above a limit (`>`).
    Above(f64),
    /// At least a limit (`>=`).
    AtLeast(f64),
    /// The metric is to be as large as possible.
    Max,
    /// The metric is to be as small as possible.
    Min,
}

impl SlaMetric {
    fn from_name(name: &str) -> Option<Self> {
        METRICS.into_iter().find(|metric| metric.name == name)
    }

    /// Returns whether the metric exists for requests that generate nothing.
    pub(super) fn is_of_inputs(self) -> bool {
        ["avg_latency", "p99_latency", "rps"].contains(&self.name)
    }
}

impl SlaGoal {
    /// Returns whether the goal is an extreme value and not a limit.
    pub fn is_best(self) -> bool {
        matches!(self, Self::Max | Self::Min)
    }

    /// Returns whether a value meets the goal. Every value meets an extreme.
    pub fn is_met(self, value: f64) -> bool {
        match self {
            Self::Below(limit) => value < limit,
            Self::AtMost(limit) => value <= limit,
            Self::Above(limit) => value > limit,
            Self::AtLeast(limit) => value >= limit,
            Self::Max | Self::Min => true,
        }
    }
}

impl SlaCriterion {
    /// Returns the goal as evalscope writes it: `<= 40 ms`, `max`.
    pub fn text(&self) -> String {
        let (sign, limit) = match self.goal {
            SlaGoal::Below(limit) => ("<", limit),
            SlaGoal::AtMost(limit) => ("<=", limit),
            SlaGoal::Above(limit) => (">", limit),
            SlaGoal::AtLeast(limit) => (">=", limit),
            SlaGoal::Max => return "max".to_owned(),
            SlaGoal::Min => return "min".to_owned(),
        };
        let number = pyjson::repr(limit);
        let number = number.strip_suffix(".0").unwrap_or(&number);
        format!("{sign} {number} {}", self.metric.unit)
    }
}

/// Parses a criterion from its entry in `--sla-params`.
pub(super) fn read((name, value): (&String, &Value)) -> Result<SlaCriterion, CliError> {
    let metric = SlaMetric::from_name(name).ok_or_else(|| {
        let mut known = METRICS.map(|metric| metric.name);
        known.sort_unstable();
        let known = known.join(", ");
        CliError::Peer(format!("Unknown SLA metric '{name}'; supported: {known}"))
    })?;
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Ok(SlaCriterion { metric, goal: goal(&text, metric)? })
}

fn goal(text: &str, metric: SlaMetric) -> Result<SlaGoal, CliError> {
    let plain = text.trim().replace('≤', "<=").replace(['≥', '≧'], ">=").replace('\u{2009}', "");
    match plain.as_str() {
        "max" => return Ok(SlaGoal::Max),
        "min" => return Ok(SlaGoal::Min),
        _ => {}
    }
    let signs: [(&str, Limit); 4] = [
        ("<=", SlaGoal::AtMost),
        (">=", SlaGoal::AtLeast),
        ("<", SlaGoal::Below),
        (">", SlaGoal::Above),
    ];
    let known = signs.into_iter().find_map(|(sign, goal)| Some((plain.strip_prefix(sign)?, goal)));
    let (limit, goal) = known.ok_or_else(|| {
        CliError::Peer(format!(
            "Invalid SLA param format: {text}. Expected format: \"<=0.02\", \">=0.5\", etc."
        ))
    })?;
    Ok(goal(limit_of(limit.trim(), metric, text)?))
}

/// Constructor of a goal with a limit; the sign in front of the limit selects it.
type Limit = fn(f64) -> SlaGoal;

/// Parses a limit and converts it to the unit of the metric.
fn limit_of(limit: &str, metric: SlaMetric, text: &str) -> Result<f64, CliError> {
    let bad = || CliError::Peer(format!("Invalid target value in SLA param: {text}"));
    let is_unit =
        |sign: char| sign.is_ascii_alphabetic() && !"eE".contains(sign) || "/%".contains(sign);
    let (number, unit) = limit.split_at(limit.find(is_unit).unwrap_or(limit.len()));
    let number = python::float(number.trim()).map_err(|_| bad())?;
    let factor = factor(unit, metric.unit).ok_or_else(|| {
        CliError::Peer(format!(
            "Unit '{unit}' does not match the unit of this metric ('{}'): {text}",
            metric.unit
        ))
    })?;
    let limit = number * factor;
    if limit.is_finite() { Ok(limit) } else { Err(bad()) }
}

/// Returns the factor that converts numbers from one unit to another; `None` if there is none.
fn factor(from: &str, to: &str) -> Option<f64> {
    let seconds = |unit: &str| match unit {
        "s" => Some(1.0),
        "ms" => Some(0.001),
        _ => None,
    };
    if from.is_empty() || from == to {
        return Some(1.0);
    }
    Some(seconds(from)? / seconds(to)?)
}

const METRICS: [SlaMetric; 12] = [
    of_summary("avg_latency", "Avg Latency (s)", "s"),
    of_summary("avg_ttft", "Avg TTFT (ms)", "ms"),
    of_summary("avg_tpot", "Avg TPOT (ms)", "ms"),
    of_summary("rps", "Req Throughput (req/s)", "req/s"),
    of_summary("tps", "Output Throughput (tok/s)", "tok/s"),
    of_percentiles("p99_latency", "99%", "Latency (s)", "s"),
    of_percentiles("p99_ttft", "99%", "TTFT (ms)", "ms"),
    of_percentiles("p90_ttft", "90%", "TTFT (ms)", "ms"),
    of_percentiles("p50_ttft", "50%", "TTFT (ms)", "ms"),
    of_percentiles("p99_tpot", "99%", "TPOT (ms)", "ms"),
    of_percentiles("p90_tpot", "90%", "TPOT (ms)", "ms"),
    of_percentiles("p50_tpot", "50%", "TPOT (ms)", "ms"),
];

const fn of_summary(name: &'static str, field: &'static str, unit: &'static str) -> SlaMetric {
    SlaMetric { name, field, percentile: None, unit }
}

const fn of_percentiles(
    name: &'static str,
    percentile: &'static str,
    field: &'static str,
    unit: &'static str,
) -> SlaMetric {
    SlaMetric { name, field, percentile: Some(percentile), unit }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn criterion(name: &str, text: &str) -> Result<SlaCriterion, String> {
        read((&name.to_owned(), &json!(text))).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn check(name: &str, text: &str, message: &str) {
        assert_eq!(criterion(name, text).unwrap().text(), message);
    }

    #[test]
    fn limits_are_in_the_units_of_the_report() {
        check("avg_ttft", "<=2s", "<= 2000 ms");
        check("avg_ttft", "≤ 40", "<= 40 ms");
        check("p99_latency", "<500ms", "< 0.5 s");
        check("rps", ">=1.5", ">= 1.5 req/s");
        check("tps", ">1e3tok/s", "> 1000 tok/s");
        check("tps", "max", "max");
    }

    #[test]
    fn what_is_no_criterion_is_told() {
        let unknown = criterion("ttft", "<1").unwrap_err();
        assert!(
            unknown.starts_with("Unknown SLA metric 'ttft'; supported: avg_latency, "),
            "{unknown}"
        );
        let formless = criterion("rps", "5").unwrap_err();
        assert!(formless.starts_with("Invalid SLA param format: 5."), "{formless}");
        assert_eq!(
            criterion("rps", "<5ms").unwrap_err(),
            "Unit 'ms' does not match the unit of this metric ('req/s'): <5ms"
        );
        assert_eq!(criterion("rps", "<x").unwrap_err(), "Invalid target value in SLA param: <x");
    }

    #[test]
    fn limits_hold_or_not() {
        let holds = |text, value| criterion("rps", text).unwrap().goal.is_met(value);
        assert!(holds("<=2", 2.0) && !holds("<2", 2.0) && holds(">=2", 2.0) && !holds(">2", 2.0));
    }
}
