//! Comparison of results before and after a change, with conditions on the changes.

use std::path::Path;

use anyhow::Context as _;
use servemark::metrics::{Broken, Comparison, SloVerdict, ToleranceJudgement};
use servemark::report::{Gate, GateReport, comparison_json, write_changes, write_comparison};
use servemark::{
    ComparedResults, ExitCode, compare as compare_results, compare_for_page, replace_file,
};
use servemark_cli::CompareArgs;

use super::between_runs::BetweenRuns;
use super::{gates, score};
use crate::{documents, screen};

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
    let between = BetweenRuns::of(args.noise.as_deref(), &compared);
    let judgements: Vec<_> = (args.no_worse_than.iter())
        .flat_map(|tolerance| tolerance.judge(comparison))
        .map(|judgement| {
            let is_refused = between.refusal(judgement.figure, judgement.percent).is_some();
            let is_judged = comparison.is_judged && !is_refused;
            if is_judged { judgement } else { judgement.not_judged() }
        })
        .collect();
    if args.json {
        documents::print(&comparison_json(comparison, &compared.sides, &judgements));
    }
    screen::print(&table(args, &compared)?);
    if let Some(path) = &args.page {
        write_page(&compared, path)
            .with_context(|| format!("cannot write the page {}", path.display()))?;
    }
    between.print(comparison.changes.iter().map(|change| change.figure));
    let code = judge(args, comparison, &judgements, &between);
    gates::write(&gate_report(args, comparison, &judgements, &between), &args.gates)?;
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

fn table(args: &CompareArgs, compared: &ComparedResults) -> anyhow::Result<String> {
    let ComparedResults { sides, comparison, .. } = compared;
    let mut table = Vec::new();
    match sides.each_ref().map(Vec::as_slice) {
        [[before], [after]] if args.has_vllm_table => {
            write_comparison(comparison, &[before.clone(), after.clone()], &mut table)?;
        }
        _ => write_changes(comparison, sides, screen::columns(), &mut table)?,
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
    between: &BetweenRuns,
) -> GateReport {
    let doubts: Vec<String> = comparison.doubts.iter().map(ToString::to_string).collect();
    let in_doubt = || (!comparison.is_judged).then(|| format!("not judged: {}", doubts.join("; ")));
    let mut gates: Vec<Gate> = Vec::new();
    for condition in &args.conditions {
        let broken = comparison
            .broken(std::slice::from_ref(condition))
            .find(|broken| !(args.beyond_noise && broken.is_noise()));
        let (verdict, reason) = match (in_doubt().or_else(|| between.refusal_of(condition)), broken)
        {
            (Some(why), _) => (SloVerdict::Undecided, why),
            (None, Some(broken)) => (SloVerdict::Fails, broken.to_string()),
            (None, None) => (SloVerdict::Holds, "it did not happen".to_owned()),
        };
        gates.push(Gate::new(format!("--fail-if {condition}"), verdict, reason));
    }
    for judgement in judgements {
        let ToleranceJudgement { figure, percent, verdict, .. } = judgement;
        let refusal = in_doubt().or_else(|| between.refusal(*figure, *percent));
        let name = format!("--no-worse-than {}={percent}%", figure.path());
        gates.push(Gate::new(name, *verdict, refusal.unwrap_or_else(|| judgement.to_string())));
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
