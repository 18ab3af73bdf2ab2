//! `serve` and `serve_workload`: every combination of a server and a benchmark.

use anyhow::{Context, bail};
use servemark::core::JsonObject;
use servemark::runner::Stop;
use servemark::{ExitCode, RunContext};
use servemark_cli::vllm::sweep::{Combination, ServeSweep, Workload, folder_name};

use super::experiment::{self, print_line, summary_file};
use super::levels;
use super::server::{Family, Server};
use crate::context;
use crate::run_screen::Bars;

/// Measures every server with every benchmark.
pub(super) fn run(sweep: &ServeSweep) -> anyhow::Result<ExitCode> {
    let serve = experiment::parameters(sweep.serve_parameters.as_deref())?;
    let bench = experiment::parameters(sweep.bench_parameters.as_deref())?;
    refuse_explored(sweep.workload.as_ref(), &bench)?;
    if !sweep.experiment.dry_run {
        refuse_caches(sweep)?;
    }
    let context = context::context(Bars::Shown)?;
    let study = Study { sweep, bench: &bench, context: &context };
    experiment::keep(&sweep.experiment, &context, || study.measure(&serve))
}

fn refuse_explored(workload: Option<&Workload>, bench: &[Combination]) -> anyhow::Result<()> {
    match workload.map(|workload| workload.variable.as_str()) {
        Some(variable) if bench.iter().any(|combination| combination.has(variable)) => bail!(
            "You should not override `{variable}` in `bench_params` since it is supposed to be \
             explored automatically."
        ),
        _ => Ok(()),
    }
}

/// Refuses, before anything is started, a server for which no command to empty its caches is known.
fn refuse_caches(sweep: &ServeSweep) -> anyhow::Result<()> {
    let program = sweep.serve.first().context("--serve-cmd is empty")?;
    let keeps = sweep.serve.iter().any(|word| word == "--vector-disk-cache");
    match (&sweep.after_bench, Family::of(program)) {
        (Some(_), _) | (None, Family::Vllm) => Ok(()),
        (None, Family::Infinity) if !keeps => Ok(()),
        (None, Family::Infinity) => {
            bail!("Infinity server uses caching but does not expose a method to reset the cache")
        }
        (None, Family::Other) => bail!(
            "No implementation of `reset_caches` for `{program}` server. Please specify a custom \
             command via `--after-bench-cmd`."
        ),
    }
}

/// Shared state of a sweep over servers.
struct Study<'a> {
    sweep: &'a ServeSweep,
    bench: &'a [Combination],
    context: &'a RunContext,
}

impl Study<'_> {
    fn measure(&self, serve: &[Combination]) -> anyhow::Result<Vec<JsonObject>> {
        let mut rows = Vec::new();
        for parameters in serve {
            match self.of_server(parameters) {
                Ok(found) => rows.extend(found),
                Err(error) if !self.goes_on() => return Err(error),
                Err(error) => experiment::write_server_failure(
                    &self.sweep.experiment.folder,
                    &error,
                    parameters,
                )?,
            }
        }
        Ok(rows)
    }

    fn goes_on(&self) -> bool {
        self.sweep.continues && !self.context.stop.signal().is(Stop::Drain)
    }

    fn of_server(&self, parameters: &Combination) -> anyhow::Result<Vec<JsonObject>> {
        let needs_server = self.bench.iter().any(|bench| self.lacks(parameters, bench));
        let server = Server::start(self.sweep, self.context, parameters, needs_server)?;
        let mut rows = Vec::new();
        for bench in self.bench {
            rows.extend(match &self.sweep.workload {
                Some(workload) => levels::explore(&server, bench, workload)?,
                None => server.combination(bench, None)?,
            });
        }
        drop(server);
        if needs_server {
            print_line("[END SERVER]");
        }
        Ok(rows)
    }

    fn lacks(&self, serve: &Combination, bench: &Combination) -> bool {
        let folder = folder_name(&[("SERVE", serve), ("BENCH", bench)], None);
        let summary = summary_file(&self.sweep.experiment.folder.join(folder));
        self.sweep.workload.is_some() || !summary.exists()
    }
}
