//! One criterion: a metric, and what is asked of it.

use serde_json::Value;
use servemark_pyjson as pyjson;

use crate::error::CliError;
use crate::python;

/// A metric and what is asked of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SlaCriterion {
    /// The metric.
    pub metric: SlaMetric,
    /// What is asked of it.
    pub goal: SlaGoal,
}

/// A number of a run's that can be searched by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct SlaMetric {
    /// As `--sla-params` has it.
    pub name: &'static str,
    /// Its key in evalscope's summary, or in its percentiles.
    pub field: &'static str,
    /// Which percentile, as evalscope's list of them has it; none of a number of the summary.
    pub percentile: Option<&'static str>,
    /// What it is counted in.
    pub unit: &'static str,
}

/// What is asked of a metric, in its own unit.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum SlaGoal {
    /// `<`
    Below(f64),
    /// `<=`
    AtMost(f64),
    /// `>`
    Above(f64),
    /// `>=`
    AtLeast(f64),
    /// As large as can be.
    Max,
    /// As small as can be.
    Min,
}

impl SlaMetric {
    fn named(name: &str) -> Option<Self> {
        METRICS.into_iter().find(|metric| metric.name == name)
    }

    /// Whether it is known of requests that generate nothing.
    pub(super) fn is_of_inputs(self) -> bool {
        ["avg_latency", "p99_latency", "rps"].contains(&self.name)
    }
}

impl SlaGoal {
    /// Whether an extreme is searched for instead of a limit.
    pub fn is_best(self) -> bool {
        matches!(self, Self::Max | Self::Min)
    }

    /// Whether a value is as it was asked for.
    pub fn holds(self, value: f64) -> bool {
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
    /// What is asked, as evalscope writes it: `<= 40 ms`, `max`.
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

/// Reads one criterion.
pub(super) fn read((name, value): (&String, &Value)) -> Result<SlaCriterion, CliError> {
    let metric = SlaMetric::named(name).ok_or_else(|| {
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

/// What a limit becomes behind a sign.
type Limit = fn(f64) -> SlaGoal;

/// A limit in the metric's own unit.
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

/// What a number in one unit is multiplied with to be in another.
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
    fn check(name: &str, text: &str, shown: &str) {
        assert_eq!(criterion(name, text).unwrap().text(), shown);
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
        let holds = |text, value| criterion("rps", text).unwrap().goal.holds(value);
        assert!(holds("<=2", 2.0) && !holds("<2", 2.0) && holds(">=2", 2.0) && !holds(">2", 2.0));
    }
}
