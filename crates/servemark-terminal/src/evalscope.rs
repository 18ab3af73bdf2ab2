//! evalscope's runs, one after the other, and the report of them all.

use std::fs;
use std::path::Path;

use anyhow::Context;
use servemark::plan::{BenchPlan, PointsSpec, SweepSpec};
use servemark::{ExitCode, RunContext, Scores};
use servemark_cli::{CliError, EvalscopeRuns, EvalscopeTask};

use crate::serve;

/// Does what was asked for. Its exit code is that of the run that went worst.
pub(crate) fn run(asked: &EvalscopeRuns) -> anyhow::Result<ExitCode> {
    let Some(context) = serve::prepare(&asked.first)? else { return Ok(ExitCode::Ok) };
    match &asked.task {
        EvalscopeTask::Runs(spec) => runs(spec, &context),
        EvalscopeTask::Search(_) => unreachable!("searches are refused"),
    }
}

fn runs(spec: &SweepSpec, context: &RunContext) -> anyhow::Result<ExitCode> {
    let mut worst = ExitCode::Ok;
    make_folders(spec)?;
    for run in servemark::Sweep::open(spec, None, context)? {
        let done = run?;
        let plan = &done.point.plan;
        let scores = Scores::of_run(&done.run, &plan.scoring);
        serve::show(&scores)?;
        worst = worst.max(serve::keep(&done.run, &scores, &plan.output)?);
    }
    Ok(worst)
}

/// Makes the folder of every run; one that holds a run already stays as it is.
fn make_folders(spec: &SweepSpec) -> anyhow::Result<()> {
    let PointsSpec::Listed(plans) = &spec.points else { return Ok(()) };
    plans.iter().try_for_each(|named| make_folder(&named.plan))
}

fn make_folder(plan: &BenchPlan) -> anyhow::Result<()> {
    let Some(log) = &plan.output.run_log else { return Ok(()) };
    let folder = log.parent().unwrap_or(Path::new(""));
    if log.exists() {
        let why = format!(
            "{} holds a run already; choose another --outputs-dir or --name",
            folder.display()
        );
        return Err(CliError::Peer(why).into());
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}
