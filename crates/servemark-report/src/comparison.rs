//! Comparisons of results: Servemark's table, the table of vLLM's Rust client, and JSON.

mod changes;

use std::io;

use serde_json::{Value, json};
use servemark_core::printable;
use servemark_metrics::{
    Change, Comparison, Figure, FigureScope, RunVerdict, Significance, ToleranceJudgement,
};

pub use self::changes::write_changes;

/// Description of a result in a comparison.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Side {
    /// Where the result comes from, such as a path.
    pub source: String,
    /// Model name, if the result contains one.
    pub model: Option<String>,
    /// Date of the run, if the result contains one.
    pub date: Option<String>,
    /// Verdicts on the run, if the result is a run log.
    pub verdicts: Vec<RunVerdict>,
}

impl Side {
    /// Returns a description without model and date.
    pub fn new(source: impl Into<String>) -> Self {
        Self { source: source.into(), ..Self::default() }
    }

    /// Returns the description of an SGLang or vLLM result file, with its model and date.
    pub fn of_result(source: impl Into<String>, result: &Value) -> Self {
        let text = |key: &str| result[key].as_str().map(str::to_owned);
        let (model, date) = (text("model_id"), text("date"));
        Self { source: source.into(), model, date, verdicts: Vec::new() }
    }

    fn json(&self) -> Value {
        let Self { source, model, date, verdicts } = self;
        json!({"source": source, "model": model, "date": date, "verdicts": verdicts})
    }

    fn line(&self, name: &str) -> String {
        let unknown = || "?".to_owned();
        let (model, date) = (self.model.clone(), self.date.clone());
        let (model, date) = (model.unwrap_or_else(unknown), date.unwrap_or_else(unknown));
        let line = format!("  {name}: {} (model: {model}, date: {date})", self.source);
        printable(&line).into_owned()
    }
}

/// Returns a figure from an SGLang or vLLM result file; the keys of both are tried.
pub fn figure_in(result: &Value, figure: Figure) -> Option<f64> {
    let part = match figure.of {
        FigureScope::Run => result,
        FigureScope::Plateau => result.get("steady_state")?,
    };
    let number = |key: &str| part.get(key).and_then(Value::as_f64);
    number(&figure.key()).or_else(|| number(&figure.sglang_key()?))
}

/// Writes the comparison as the table of vLLM's Rust client.
pub fn write_comparison(
    comparison: &Comparison,
    sides: &[Side; 2],
    out: &mut dyn io::Write,
) -> io::Result<()> {
    writeln!(out, "{:=^WIDTH$}", " Benchmark Comparison ")?;
    writeln!(out, "{}\n{}\n", sides[0].line("A"), sides[1].line("B"))?;
    writeln!(out, "{:<35} {:>12} {:>12} {:>10} {:>8}", "Metric", "A", "B", "Delta", "Change")?;
    writeln!(out, "{:-<35} {:->12} {:->12} {:->10} {:->8}", "", "", "", "", "")?;
    let of = |part: FigureScope| {
        comparison.changes.iter().filter(move |change| change.figure.of == part)
    };
    of(FigureScope::Run).try_for_each(|change| writeln!(out, "{}", row(change, "")))?;
    writeln!(out, "\n{:=^70}", " Steady-State Comparison ")?;
    if of(FigureScope::Plateau).next().is_none() {
        writeln!(out, "N/A — one or both runs have no steady-state window")?;
    }
    of(FigureScope::Plateau).try_for_each(|change| writeln!(out, "{}", row(change, "SS ")))?;
    writeln!(out, "{:=<WIDTH$}\n", "")?;
    writeln!(out, "Legend: + = improvement, - = regression (relative to A → B)")
}

/// Returns the comparison as JSON: each figure with its change, interval and significance.
pub fn comparison_json(
    comparison: &Comparison,
    sides: &[Vec<Side>; 2],
    tolerances: &[ToleranceJudgement],
) -> Value {
    let changes: Vec<Value> =
        comparison.changes.iter().map(|change| change_json(comparison, change)).collect();
    let [before, after] = sides.each_ref().map(|of| of.iter().map(Side::json).collect::<Vec<_>>());
    let mut document = json!({
        "schema": "servemark/compare/1",
        "runs": {"before": comparison.runs[0], "after": comparison.runs[1]},
        "sources": {"before": before, "after": after},
        "judged": comparison.is_judged,
        "doubts": comparison.doubts,
        "changes": changes,
    });
    if !tolerances.is_empty() {
        let listed: Vec<Value> = tolerances.iter().map(tolerance_json).collect();
        document["no_worse_than"] = listed.into();
    }
    document
}

fn change_json(comparison: &Comparison, change: &Change) -> Value {
    json!({
        "figure": change.figure.path(),
        "metric": change.figure.key(),
        "part": if change.figure.of == FigureScope::Run { "run" } else { "steady_state" },
        "before": change.before,
        "after": change.after,
        "runs": {"before": change.runs[0], "after": change.runs[1]},
        "delta": change.delta(),
        "percent": change.percent(),
        "low_percent": change.interval.map(|interval| interval.low_percent),
        "high_percent": change.interval.map(|interval| interval.high_percent),
        "confidence": 0.99,
        "detectable_percent": change.detectable_percent,
        "basis": change.basis,
        "between_runs_percent": change.between_runs_percent,
        "within_run_percent": change.within_run_percent,
        "better": comparison.is_better(change),
        "worth": match comparison.significance_of(change) {
            Significance::Better => "better",
            Significance::Worse => "worse",
            Significance::Same => "same",
            Significance::NotJudged | Significance::Unknown => "unknown",
        },
    })
}

fn tolerance_json(judgement: &ToleranceJudgement) -> Value {
    json!({
        "figure": judgement.figure.path(),
        "percent": judgement.percent,
        "low_percent": judgement.interval.map(|interval| interval.low_percent),
        "high_percent": judgement.interval.map(|interval| interval.high_percent),
        "confidence": 0.95,
        "verdict": judgement.verdict,
    })
}

fn row(change: &Change, prefix: &str) -> String {
    let label = format!("{prefix}{}", change.figure);
    let (before, after) = (number(change.before), number(change.after));
    let marker = match change.is_better() {
        None => " ",
        Some(true) => "+",
        Some(false) => "-",
    };
    let (delta, percent) = (signed(change.delta()), percent(change.percent()));
    format!("{label:<35} {before:>12} {after:>12} {delta:>10} {percent:>7}{marker}")
}

fn percent(percent: f64) -> String {
    if percent.is_finite() { format!("{percent:+.1}%") } else { "inf%".to_owned() }
}

/// Formats whole numbers without decimals and others with two.
fn number(value: f64) -> String {
    if is_whole(value) { format!("{value:.0}") } else { format!("{value:.2}") }
}

fn signed(value: f64) -> String {
    if is_whole(value) { format!("{value:+.0}") } else { format!("{value:+.2}") }
}

fn is_whole(value: f64) -> bool {
    value.fract() == 0.0 && value.abs() < 1e12
}

const WIDTH: usize = 90;
