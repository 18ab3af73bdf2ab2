//! Two results side by side, and conditions on what changed.

use servemark::metrics::{Broken, Comparison};
use servemark::report::{comparison_json, write_comparison};
use servemark::{ComparedResults, ExitCode, compare as compare_results};
use servemark_cli::CompareArgs;

use crate::{score, screen};

/// Compares two results. Its exit code is 3 if a condition holds, or cannot be judged.
pub(crate) fn compare(args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let paths = [args.before.as_path(), args.after.as_path()];
    let mut compared = compare_results(
        paths,
        &args.figures(),
        &args.policy(),
        score::if_damaged(args.skip_damaged),
    )?;
    for (path, left_out) in paths.into_iter().zip(&compared.left_out) {
        score::say_left_out(path, left_out);
    }
    if args.force {
        compared.comparison = compared.comparison.judged_anyway();
    }
    screen::print(&shown(args, &compared)?);
    Ok(judge(args, &compared.comparison))
}

fn shown(args: &CompareArgs, compared: &ComparedResults) -> anyhow::Result<String> {
    let ComparedResults { sides, comparison, .. } = compared;
    if args.json {
        return Ok(format!("{:#}\n", comparison_json(comparison, sides)));
    }
    let mut table = Vec::new();
    write_comparison(comparison, sides, &mut table)?;
    Ok(String::from_utf8(table)?)
}

fn judge(args: &CompareArgs, comparison: &Comparison) -> ExitCode {
    if !comparison.is_judged {
        return refuse(args, comparison);
    }
    let counts = |broken: &Broken<'_>| !(args.beyond_noise && broken.is_noise());
    let broken: Vec<_> = comparison.broken(&args.conditions).filter(counts).collect();
    for broken in &broken {
        screen::complain(&format!("error: --fail-if {broken}"));
    }
    if broken.is_empty() { ExitCode::Ok } else { ExitCode::GateFailed }
}

/// Judges no condition where a run's numbers may be its client's.
fn refuse(args: &CompareArgs, comparison: &Comparison) -> ExitCode {
    let why: Vec<String> = comparison.doubts.iter().map(ToString::to_string).collect();
    let why = why.join("; ");
    for condition in &args.conditions {
        screen::complain(&format!("error: --fail-if {condition} is not judged: {why} (--force)"));
    }
    if args.conditions.is_empty() { ExitCode::Ok } else { ExitCode::GateFailed }
}
