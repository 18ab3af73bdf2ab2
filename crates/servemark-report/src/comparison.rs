//! Two results side by side, in the table of vLLM's Rust client.
//!
//! Where every request of both is known a column is added, which the peer does not have: whether
//! chance alone would do it.

use std::io;

use serde_json::{Value, json};
use servemark_core::printable;
use servemark_metrics::{Change, Comparison, Figure, Part, Worth};

/// What a result is called in a comparison.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Side {
    /// Where it comes from.
    pub source: String,
    /// The model, where it says so.
    pub model: Option<String>,
    /// When it was made, where it says so.
    pub date: Option<String>,
}

impl Side {
    /// A result from somewhere.
    pub fn new(source: impl Into<String>) -> Self {
        Self { source: source.into(), ..Self::default() }
    }

    /// What a result file of SGLang's or vLLM's says of itself.
    pub fn of_result(source: impl Into<String>, result: &Value) -> Self {
        let text = |key: &str| result[key].as_str().map(str::to_owned);
        Self { source: source.into(), model: text("model_id"), date: text("date") }
    }

    fn line(&self, name: &str) -> String {
        let unknown = || "?".to_owned();
        let (model, date) = (self.model.clone(), self.date.clone());
        let (model, date) = (model.unwrap_or_else(unknown), date.unwrap_or_else(unknown));
        let line = format!("  {name}: {} (model: {model}, date: {date})", self.source);
        printable(&line).into_owned()
    }
}

/// A number in a result file of SGLang's or vLLM's, under either's key.
pub fn figure_in(result: &Value, figure: Figure) -> Option<f64> {
    let part = match figure.of {
        Part::Run => result,
        Part::Plateau => result.get("steady_state")?,
    };
    let number = |key: &str| part.get(key).and_then(Value::as_f64);
    number(&figure.key()).or_else(|| number(&figure.sglang_key()?))
}

/// Writes the table.
pub fn write_comparison(
    comparison: &Comparison,
    sides: &[Side; 2],
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let tells_noise = comparison.changes.iter().any(|change| change.interval.is_some());
    writeln!(out, "{:=^WIDTH$}", " Benchmark Comparison ")?;
    writeln!(out, "{}\n{}\n", sides[0].line("A"), sides[1].line("B"))?;
    doubts(comparison, out)?;
    heads(tells_noise, out)?;
    let of = |part: Part| comparison.changes.iter().filter(move |change| change.figure.of == part);
    of(Part::Run)
        .try_for_each(|change| writeln!(out, "{}", row(comparison, change, "", tells_noise)))?;
    writeln!(out, "\n{:=^70}", " Steady-State Comparison ")?;
    if of(Part::Plateau).next().is_none() {
        writeln!(out, "N/A — one or both runs have no steady-state window")?;
    }
    of(Part::Plateau)
        .try_for_each(|change| writeln!(out, "{}", row(comparison, change, "SS ", false)))?;
    writeln!(out, "{:=<WIDTH$}\n", "")?;
    writeln!(out, "Legend: + = improvement, - = regression (relative to A → B)")?;
    if tells_noise { out.write_all(NOISE.as_bytes()) } else { Ok(()) }
}

/// Says at the head of the table which run's numbers may be its client's.
fn doubts(comparison: &Comparison, out: &mut dyn io::Write) -> io::Result<()> {
    if comparison.doubts.is_empty() {
        return Ok(());
    }
    let head = if comparison.is_judged { FORCED } else { NOT_JUDGED };
    writeln!(out, "{head}")?;
    comparison.doubts.iter().try_for_each(|doubt| writeln!(out, "  {doubt}"))?;
    writeln!(out)
}

/// The same for a program: each number with its change, and what that is worth.
pub fn comparison_json(comparison: &Comparison, sides: &[Side; 2]) -> Value {
    let side = |side: &Side| json!({"source": side.source, "model": side.model, "date": side.date});
    let change = |change: &Change| {
        json!({
            "metric": change.figure.key(),
            "part": if change.figure.of == Part::Run { "run" } else { "steady_state" },
            "before": change.before,
            "after": change.after,
            "delta": change.delta(),
            "percent": change.percent(),
            "better": comparison.is_better(change),
            "interval_of_delta": change.interval.map(|interval| [interval.low, interval.high]),
            "worth": comparison.worth_of(change),
        })
    };
    let changes: Vec<Value> = comparison.changes.iter().map(change).collect();
    json!({
        "before": side(&sides[0]),
        "after": side(&sides[1]),
        "judged": comparison.is_judged,
        "doubts": comparison.doubts,
        "changes": changes,
    })
}

fn heads(tells_noise: bool, out: &mut dyn io::Write) -> io::Result<()> {
    let (noise, rule) = if tells_noise { ("  Beyond noise", "  ------------") } else { ("", "") };
    writeln!(
        out,
        "{:<35} {:>12} {:>12} {:>10} {:>8}{noise}",
        "Metric", "A", "B", "Delta", "Change"
    )?;
    writeln!(out, "{:-<35} {:->12} {:->12} {:->10} {:->8}{rule}", "", "", "", "", "")
}

fn row(comparison: &Comparison, change: &Change, prefix: &str, tells_noise: bool) -> String {
    let label = format!("{prefix}{}", change.figure);
    let (before, after) = (number(change.before), number(change.after));
    let marker = match comparison.is_better(change) {
        None => " ",
        Some(true) => "+",
        Some(false) => "-",
    };
    let (delta, percent) = (signed(change.delta()), percent(change.percent()));
    let noise = if tells_noise { worth(comparison.worth_of(change)) } else { "" };
    format!("{label:<35} {before:>12} {after:>12} {delta:>10} {percent:>7}{marker}{noise}")
}

fn worth(worth: Worth) -> &'static str {
    match worth {
        Worth::Better => "  yes, better",
        Worth::Worse => "  yes, worse",
        Worth::Noise => "  no",
        Worth::NotJudged => "  not judged",
        Worth::Unknown => "  unknown",
    }
}

fn percent(percent: f64) -> String {
    if percent.is_finite() { format!("{percent:+.1}%") } else { "inf%".to_owned() }
}

/// Whole numbers have no decimals, others two.
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

const NOT_JUDGED: &str = "\
NOT JUDGED: the numbers may be those of the client and not of the server, so no change is
called better or worse (--force judges all the same).";

const FORCED: &str = "\
JUDGED BY FORCE: the numbers may be those of the client and not of the server.";

const NOISE: &str = "\
Beyond noise: whether the change is larger than chance within the two runs would make it,
with 99 % confidence (bootstrap over requests; of rates, over twenty parts of the time).
What differs between any two runs of the same is not in it: several runs tell that.
";
