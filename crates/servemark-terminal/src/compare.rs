//! Comparison of results before and after a change, with conditions on the changes.

use std::path::Path;

use anyhow::Context as _;
use servemark::metrics::{Broken, Comparison, SloVerdict, ToleranceJudgement};
use servemark::report::{Gate, GateReport, comparison_json, write_changes, write_comparison};
use servemark::{
    ComparedResults, ExitCode, compare as compare_results, compare_for_page, replace_file,
};
use servemark_cli::CompareArgs;

use crate::between_runs::BetweenRuns;
use crate::{gates, score, screen};

/// Compares results. The exit code is 3 if a condition holds or a tolerance fails, and 6 if either
/// cannot be judged.
pub(crate) fn compare(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let [before, after] = args.sides();
    let if_damaged = score::if_damaged(args.skip_damaged);
    let read = if args.page.is_some() { compare_for_page } else { compare_results };
    let mut compared = read([&before, &after], &args.figures(), &args.policy(), if_damaged)?;
    for (path, left_out) in &compared.left_out {
        score::say_left_out(path, left_out);
    }
    if args.force {
        compared.comparison = compared.comparison.judged_anyway();
    }
    let comparison = &compared.comparison;
    let judgements: Vec<_> =
        args.no_worse_than.iter().flat_map(|tolerance| tolerance.judge(comparison)).collect();
    screen::print(&render(args, &compared, &judgements)?);
    if let Some(path) = &args.page {
        write_page(&compared, path)
            .with_context(|| format!("cannot write the page {}", path.display()))?;
    }
    let between = BetweenRuns::of(args.noise.as_deref(), &compared);
    between.print(comparison.changes.iter().map(|change| change.figure));
    let code = judge(args, comparison, &judgements, &between);
    gates::write(&gate_report(args, comparison, &judgements, code), &args.gates)?;
    Ok(code)
}

/// Writes the page of a comparison and prints its path.
fn write_page(compared: &ComparedResults, path: &Path) -> anyhow::Result<()> {
    let mut page = Vec::new();
    compared.write_page(&mut page)?;
    replace_file(path, &page)?;
    screen::eprint_line(&format!("Page: {}", path.display()));
    Ok(())
}

fn render(
    args: &CompareArgs,
    compared: &ComparedResults,
    judgements: &[ToleranceJudgement],
) -> anyhow::Result<String> {
    let ComparedResults { sides, comparison, .. } = compared;
    if args.json {
        return Ok(format!("{:#}\n", comparison_json(comparison, sides, judgements)));
    }
    let mut table = Vec::new();
    match sides.each_ref().map(Vec::as_slice) {
        [[before], [after]] if args.has_vllm_table => {
            write_comparison(comparison, &[before.clone(), after.clone()], &mut table)?;
        }
        _ => write_changes(comparison, sides, &mut table)?,
    }
    Ok(String::from_utf8(table)?)
}

fn judge(
    args: &CompareArgs,
    comparison: &Comparison,
    judgements: &[ToleranceJudgement],
    between: &BetweenRuns,
) -> ExitCode {
    if !comparison.is_judged {
        return refuse(args, comparison);
    }
    let conditions = between.judged(&args.conditions);
    let tolerated = between.tolerated(judgements);
    let is_refused = conditions.len() < args.conditions.len() || tolerated.len() < judgements.len();
    let counts = |broken: &Broken<'_>| !(args.beyond_noise && broken.is_noise());
    let broken: Vec<_> = comparison.broken(&conditions).filter(counts).collect();
    for broken in &broken {
        screen::eprint_line(&format!("error: --fail-if {broken}"));
    }
    for judgement in &tolerated {
        screen::eprint_line(&format!("{}: {judgement}", level(judgement.verdict)));
    }
    let is = |verdict| tolerated.iter().any(|judgement| judgement.verdict == verdict);
    if !broken.is_empty() || is(SloVerdict::Fails) {
        ExitCode::GateFailed
    } else if is(SloVerdict::Undecided) || is_refused {
        ExitCode::Undecided
    } else {
        ExitCode::Ok
    }
}

fn level(verdict: SloVerdict) -> &'static str {
    match verdict {
        SloVerdict::Holds => "note",
        SloVerdict::Undecided => "warning",
        SloVerdict::Fails => "error",
    }
}

/// Returns the gates with their verdicts, and the changes.
fn gate_report(
    args: &CompareArgs,
    comparison: &Comparison,
    judgements: &[ToleranceJudgement],
    code: ExitCode,
) -> GateReport {
    // What the noise between runs or the client's audit leaves open is told by the exit code.
    let is_open = !comparison.is_judged || code == ExitCode::Undecided;
    let unless_open = |verdict| match verdict {
        SloVerdict::Holds if is_open => SloVerdict::Undecided,
        verdict => verdict,
    };
    let mut gates: Vec<Gate> = Vec::new();
    for condition in &args.conditions {
        let condition = std::slice::from_ref(condition);
        let broken = comparison
            .broken(condition)
            .find(|broken| !(args.beyond_noise && broken.is_noise()))
            .filter(|_| comparison.is_judged);
        let verdict = if broken.is_some() { SloVerdict::Fails } else { SloVerdict::Holds };
        let reason = broken.map_or_else(|| "it did not happen".to_owned(), |it| it.to_string());
        let name = format!("--fail-if {}", condition[0]);
        gates.push(Gate::new(name, unless_open(verdict), reason));
    }
    for judgement in judgements {
        let name = format!("--no-worse-than {}={}%", judgement.figure.path(), judgement.percent);
        gates.push(Gate::new(name, unless_open(judgement.verdict), judgement.to_string()));
    }
    let rows = comparison.changes.iter().map(|change| {
        let interval = change.interval.map_or_else(String::new, |interval| {
            format!("{:+.1} to {:+.1} %", interval.low_percent, interval.high_percent)
        });
        let percent = (change.after / change.before - 1.0) * 100.0;
        let percent = if percent.is_finite() { format!("{percent:+.1} %") } else { String::new() };
        let value = |value: f64| format!("{value:.2}");
        let figure = change.figure.to_string();
        vec![figure, value(change.before), value(change.after), percent, interval]
    });
    let [before, after] = args.sides().map(|side| side.len());
    GateReport {
        title: format!("servemark compare: {before} before, {after} after"),
        gates,
        columns: ["figure", "before", "after", "change", "99 % interval"].map(str::to_owned).into(),
        rows: rows.collect(),
    }
}

/// Refuses to judge because a run's numbers may reflect the client rather than the server.
fn refuse(args: &CompareArgs, comparison: &Comparison) -> ExitCode {
    let why: Vec<String> = comparison.doubts.iter().map(ToString::to_string).collect();
    let why = why.join("; ");
    for condition in &args.conditions {
        screen::eprint_line(&format!(
            "error: --fail-if {condition} is not judged: {why} (--force)"
        ));
    }
    if !args.no_worse_than.is_empty() {
        screen::eprint_line(&format!("error: --no-worse-than is not judged: {why} (--force)"));
    }
    let has_gate = !args.conditions.is_empty() || !args.no_worse_than.is_empty();
    if has_gate { ExitCode::Undecided } else { ExitCode::Ok }
}
