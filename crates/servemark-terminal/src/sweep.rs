//! A grid of runs, one after the other, and the table of them all.

use std::fs;

use anyhow::Context;
use servemark::core::RunLog;
use servemark::plan::BenchPlan;
use servemark::report::GridFormat;
use servemark::runner::Stop;
use servemark::{ExitCode, Scores, execute, write_runs};
use servemark_cli::{Parsed, Sweep};

use crate::{screen, serve};

/// Does the runs of a sweep. Its exit code is that of the run that went worst.
pub(crate) fn sweep(sweep: Sweep) -> anyhow::Result<ExitCode> {
    let Sweep { points, is_grid, file, .. } = sweep;
    if !is_grid || points[0].plan_only {
        return serve::bench(&points[0]);
    }
    let (logs, code) = runs(&points)?;
    screen::print(&grid(&logs, GridFormat::Markdown)?);
    if let Some((path, format)) = file {
        fs::write(&path, grid(&logs, format)?)
            .with_context(|| format!("cannot write the grid to {}", path.display()))?;
    }
    Ok(code)
}

/// The logs of the runs that there were: Ctrl-C ends the run and the sweep. All of them share what
/// a run is given, so that Ctrl-C counts once.
fn runs(points: &[Parsed]) -> anyhow::Result<(Vec<RunLog>, ExitCode)> {
    let (mut logs, mut worst) = (Vec::new(), ExitCode::Ok);
    let Some(context) = serve::prepare(&points[0])? else { return Ok((logs, worst)) };
    for (number, Parsed { plan, .. }) in (1..).zip(points) {
        screen::complain(&format!("Point {number} of {}: {}", points.len(), load(plan)));
        let run = execute(plan, &context)?;
        let code = serve::keep(&run, &Scores::of(&run.log, &plan.scoring), &plan.output)?;
        worst = if code as u8 > worst as u8 { code } else { worst };
        logs.push(run.log);
        if context.stop.signal().is(Stop::Drain) {
            break;
        }
    }
    Ok((logs, worst))
}

fn load(plan: &BenchPlan) -> String {
    let items = plan.workload.grouping.items();
    match plan.load.max_concurrency {
        Some(limit) => format!("{items} per request, at most {limit} in flight"),
        None => format!("{items} per request, no limit in flight"),
    }
}

fn grid(logs: &[RunLog], format: GridFormat) -> anyhow::Result<String> {
    let mut out = Vec::new();
    write_runs(logs, format, &mut out)?;
    Ok(String::from_utf8(out)?)
}
