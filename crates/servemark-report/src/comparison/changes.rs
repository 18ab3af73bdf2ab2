//! Servemark's table of a comparison: each change with its interval and significance.

use std::io;

use servemark_core::printable;
use servemark_metrics::{
    Basis, Change, Comparison, FigureScope, Quantity, Significance, Statistic,
};

use super::{Side, number};

/// Writes the comparison as Servemark's table.
pub fn write_changes(
    comparison: &Comparison,
    sides: &[Vec<Side>; 2],
    out: &mut dyn io::Write,
) -> io::Result<()> {
    writeln!(out, "{:=^WIDTH$}", " Comparison ")?;
    for (name, side) in ["A", "B"].into_iter().zip(sides) {
        write_side(name, side, out)?;
    }
    for (name, side) in ["A", "B"].into_iter().zip(sides) {
        write_verdicts(name, side, out)?;
    }
    writeln!(out)?;
    write_doubts(comparison, out)?;
    let of = |part: FigureScope| {
        comparison.changes.iter().filter(move |change| change.figure.of == part)
    };
    let has_spread = comparison.runs.iter().any(|runs| *runs > 1);
    write_heads(has_spread, out)?;
    of(FigureScope::Run)
        .try_for_each(|change| writeln!(out, "{}", row(comparison, change, has_spread)))?;
    if of(FigureScope::Plateau).next().is_some() {
        writeln!(out, "{:-^WIDTH$}", " Plateau ")?;
        of(FigureScope::Plateau)
            .try_for_each(|change| writeln!(out, "{}", row(comparison, change, has_spread)))?;
    }
    writeln!(out, "{:=<WIDTH$}", "")?;
    write_notes(comparison, has_spread, out)
}

fn write_side(name: &str, side: &[Side], out: &mut dyn io::Write) -> io::Result<()> {
    let sources: Vec<&str> = side.iter().map(|of| of.source.as_str()).collect();
    let model = side.iter().find_map(|of| of.model.as_deref()).filter(|model| !model.is_empty());
    let model = model.map(|model| format!(" (model: {model})")).unwrap_or_default();
    let runs = if side.len() == 1 { String::new() } else { format!("{} runs: ", side.len()) };
    let line = format!("  {name}: {runs}{}{model}", sources.join(", "));
    writeln!(out, "{}", printable(&line))
}

/// Writes the verdicts on the runs of a side, such as `  A, run 2: saturated: asked 30.0 requests/s, …`.
fn write_verdicts(name: &str, side: &[Side], out: &mut dyn io::Write) -> io::Result<()> {
    for (number, run) in (1..).zip(side) {
        let run_name =
            if side.len() == 1 { name.to_owned() } else { format!("{name}, run {number}") };
        for verdict in &run.verdicts {
            let line = format!("  {run_name}: {}: {}", verdict.kind.name(), verdict.reason);
            writeln!(out, "{}", printable(&line))?;
        }
    }
    Ok(())
}

/// Writes, above the table, the runs whose numbers may reflect the client rather than the server.
fn write_doubts(comparison: &Comparison, out: &mut dyn io::Write) -> io::Result<()> {
    if comparison.doubts.is_empty() {
        return Ok(());
    }
    let head = if comparison.is_judged { FORCED } else { NOT_JUDGED };
    writeln!(out, "{head}")?;
    comparison.doubts.iter().try_for_each(|doubt| writeln!(out, "  {doubt}"))?;
    writeln!(out)
}

fn write_heads(has_spread: bool, out: &mut dyn io::Write) -> io::Result<()> {
    let spread =
        if has_spread { format!(" {:>8} {:>7}", "Between", "Within") } else { String::new() };
    writeln!(
        out,
        "{:<32} {:>11} {:>11} {:>9}  {:<16}{spread}  Significance",
        "Metric", "A", "B", "Change", "99 % interval"
    )?;
    let spread = if has_spread { format!(" {:->8} {:->7}", "", "") } else { String::new() };
    writeln!(out, "{:-<32} {:->11} {:->11} {:->9}  {:-<16}{spread}  -----", "", "", "", "", "")
}

fn row(comparison: &Comparison, change: &Change, has_spread: bool) -> String {
    let label = change.figure.to_string();
    let (before, after) = (number(change.before), number(change.after));
    let interval = change.interval.map(|interval| interval.to_string()).unwrap_or_default();
    let part = |percent: Option<f64>| {
        percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent:.1} %"))
    };
    let spread = if has_spread {
        let (between, within) = (change.between_runs_percent, change.within_run_percent);
        format!(" {:>8} {:>7}", part(between), part(within))
    } else {
        String::new()
    };
    let significance = match comparison.significance_of(change) {
        Significance::Better => "better",
        Significance::Worse => "worse",
        Significance::Same => "~",
        Significance::NotJudged => "not judged",
        Significance::Unknown => "?",
    };
    let percent = change.percent();
    let percent =
        if percent.is_finite() { format!("{percent:+.1} %") } else { "from zero".to_owned() };
    format!(
        "{label:<32} {before:>11} {after:>11} {percent:>9}  {interval:<16}{spread}  {significance}"
    )
}

fn write_notes(
    comparison: &Comparison,
    has_spread: bool,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let has = |basis: Basis| comparison.changes.iter().any(|change| change.basis == Some(basis));
    if comparison.changes.iter().all(|change| change.basis.is_none()) {
        return out.write_all(VALUES_ALONE.as_bytes());
    }
    out.write_all(LEGEND.as_bytes())?;
    if let Some((figure, percent)) = detectable(comparison) {
        writeln!(
            out,
            "A change of {percent:.1} % of the {figure} would be seen in eight of ten such comparisons."
        )?;
    }
    if has(Basis::PairedRequests) {
        out.write_all(PAIRED.as_bytes())?;
    }
    let method = match has_spread {
        false => WITHIN,
        true if has(Basis::PairedRuns) => PAIRED_RUNS,
        true => RUNS,
    };
    out.write_all(method.as_bytes())
}

/// Returns the name of the first mean latency with a detectable change below 100 %, and that change
/// in percent.
fn detectable(comparison: &Comparison) -> Option<(String, f64)> {
    let is_mean = |change: &&Change| {
        matches!(change.figure.quantity, Quantity::Latency(_, Statistic::Mean))
            && change.figure.of == FigureScope::Run
    };
    let listed = comparison.changes.iter().filter(is_mean).find_map(|change| {
        let percent = change.detectable_percent.filter(|percent| *percent < 100.0)?;
        Some((change.figure.to_string(), percent))
    });
    listed.map(|(figure, percent)| (figure.replace("Mean ", "mean ").replace(" (ms)", ""), percent))
}

const WIDTH: usize = 100;

const NOT_JUDGED: &str = "\
NOT JUDGED: the numbers may be those of the client and not of the server, so no change is
called better or worse (--force judges all the same).";

const FORCED: &str = "\
JUDGED BY FORCE: the numbers may be those of the client and not of the server.";

const LEGEND: &str = "\
Change: from A to B. Significance: better or worse by more than chance, with all figures tested at once at
1 % (Holm); ~ where chance alone would make the change, ? where the runs cannot tell.
";

const PAIRED: &str = "\
Both sides sent the same requests, so means are compared in pairs.
";

const WITHIN: &str = "\
All this holds within these two runs: what differs between any two runs of the same server is not in
it. Several runs a side tell that: servemark compare --before A1 A2 … --after B1 B2 …
";

const RUNS: &str = "\
Runs are compared by their figures (Welch's t). Between: standard deviation between the runs of a
side, apart from the chance within each. Within: standard error by the requests of one run.
";

const PAIRED_RUNS: &str = "\
The n-th runs of both sides sent the same requests, so their figures are compared in pairs (Student's
t). Between: standard deviation between the runs of a side, apart from the chance within each. Within:
standard error by the requests of one run.
";

const VALUES_ALONE: &str = "\
? where the effect of chance is unknown: it takes run logs, or several results a side.
";
