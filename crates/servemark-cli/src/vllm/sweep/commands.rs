//! Converts the flags of each sweep command.

use std::path::{Path, PathBuf};
use std::time::Duration;

use servemark_report::chart::Scale;
use servemark_report::{Binner, Filter, ParetoSpec, RelationSpec};

use super::args::{ExperimentArgs, ParetoArgs, PlotArgs, ServeFlags, StartupArgs, WorkloadArgs};
use super::{
    Experiment, ParetoSweep, PlotSweep, ServeSweep, StartupSweep, Workload, WorkloadVariable, shell,
};
use crate::argparse::{Flag, refuse_missing};
use crate::environment::Environment;
use crate::error::CliError;

impl ServeFlags {
    pub(super) fn command(
        self,
        workload: Option<Workload>,
        environment: &Environment,
    ) -> Result<ServeSweep, CliError> {
        let missing = [(Self::SERVE_CMD, &self.serve_cmd), (Self::BENCH_CMD, &self.bench_cmd)];
        refuse_missing(missing.map(|(flag, given)| (flag, given.is_some())))?;
        let words = |flag, line: &Option<String>| split(flag, line.as_deref().unwrap_or_default());
        let after_bench = words(Self::AFTER_BENCH_CMD, &self.after_bench_cmd)?;
        Ok(ServeSweep {
            serve: words(Self::SERVE_CMD, &self.serve_cmd)?,
            bench: words(Self::BENCH_CMD, &self.bench_cmd)?,
            after_bench: (!after_bench.is_empty()).then_some(after_bench),
            patience: Duration::from_secs(self.server_ready_timeout.try_into().unwrap_or(0)),
            links: links(&self.link_vars)?,
            warmup_prompts: warmup(self.warmup_num_prompts)?,
            continues: self.continue_on_error,
            workload,
            experiment: self.experiment.experiment(self.num_runs, environment)?,
            serve_parameters: file(self.serve_params),
            bench_parameters: file(self.bench_params),
        })
    }
}

impl ExperimentArgs {
    fn experiment(self, num_runs: i64, environment: &Environment) -> Result<Experiment, CliError> {
        let unprintable = [(Self::DRY_RUN, self.dry_run), (Self::SHOW_STDOUT, self.show_stdout)];
        let text = unprintable.into_iter().find(|(_, is_given)| *is_given && self.json);
        if let Some((flag, _)) = text {
            let why = format!("has no document: {flag} prints commands or their output as text");
            return Err(CliError::setting(Self::JSON, why));
        }
        Ok(Experiment {
            folder: folder(&self.output_dir, self.experiment_name.as_deref(), environment),
            dry_run: self.dry_run,
            resume: self.resume,
            runs: runs(num_runs)?,
            shows_output: self.show_stdout,
            json: self.json,
        })
    }
}

impl WorkloadArgs {
    pub(super) fn command(self, environment: &Environment) -> Result<ServeSweep, CliError> {
        let variable = match self.workload_var.as_str() {
            "max_concurrency" => WorkloadVariable::MaxConcurrency,
            _ => WorkloadVariable::RequestRate,
        };
        let few = || CliError::Together("`workload_iters` should be at least 2");
        let levels = usize::try_from(self.workload_iters).ok().filter(|levels| *levels >= 2);
        let levels = levels.ok_or_else(few)?;
        self.serve.command(Some(Workload { variable, levels }), environment)
    }
}

impl StartupArgs {
    pub(super) fn command(self, environment: &Environment) -> Result<StartupSweep, CliError> {
        Ok(StartupSweep {
            command: split(Self::STARTUP_CMD, &self.startup_cmd)?,
            experiment: self.experiment.experiment(self.num_runs, environment)?,
            serve_parameters: file(self.serve_params),
            startup_parameters: file(self.startup_params),
            is_strict: self.strict_params,
        })
    }
}

impl PlotArgs {
    pub(super) fn command(self, folder: Option<PathBuf>) -> Result<PlotSweep, CliError> {
        let folder = folder.ok_or(CliError::Together(NO_FOLDER))?;
        let scale = |flag, name: Option<&str>| match name.filter(|name| !name.is_empty()) {
            None => Ok(Scale::Linear),
            // vLLM detects an unknown scale only when it draws.
            Some(name) if self.dry_run => Ok(name.parse().unwrap_or(Scale::Linear)),
            Some(name) => name.parse::<Scale>().map_err(|why| CliError::setting(flag, why)),
        };
        let mut spec = RelationSpec {
            figure_by: names(&self.fig_by),
            row_by: names(&self.row_by),
            column_by: names(&self.col_by),
            curve_by: names(self.curve_by.as_deref().unwrap_or_default()),
            filters: Filter::list(&self.filter_by).map_err(peer)?,
            bins: Binner::list(&self.bin_by).map_err(peer)?,
            x_scale: scale(Self::SCALE_X, self.scale_x.as_deref())?,
            y_scale: scale(Self::SCALE_Y, self.scale_y.as_deref())?,
            error_bars: !self.no_error_bars,
            panel: hundredths(self.fig_height)?,
            ..RelationSpec::default()
        };
        (spec.x, spec.y) = (self.var_x, self.var_y);
        Ok(PlotSweep {
            figures: folder.join(&self.fig_dir),
            folder,
            name: self.fig_name,
            spec,
            dots_per_inch: dots(self.fig_dpi)?,
            dry_run: self.dry_run,
            json: self.json,
        })
    }
}

impl ParetoArgs {
    pub(super) fn command(self, folder: Option<PathBuf>) -> Result<ParetoSweep, CliError> {
        let spec = ParetoSpec {
            users: Some(self.user_count_var).filter(|name| !name.is_empty()),
            gpus: self.gpu_count_var.filter(|name| !name.is_empty()),
            label_by: names(&self.label_by),
        };
        let folder = folder.ok_or(CliError::Together(NO_FOLDER))?;
        Ok(ParetoSweep { folder, spec, dry_run: self.dry_run, json: self.json })
    }
}

fn split(flag: Flag, line: &str) -> Result<Vec<String>, CliError> {
    shell::split(line).map_err(|why| CliError::setting(flag, format!("is no command: {why}")))
}

fn folder(output_dir: &str, name: Option<&str>, environment: &Environment) -> PathBuf {
    let now = || environment.now().digits().join("_");
    let name = name.filter(|name| !name.is_empty()).map_or_else(now, str::to_owned);
    Path::new(output_dir).join(name)
}

/// Returns the path unless its name is empty, which means none, as with vLLM.
fn file(name: Option<String>) -> Option<PathBuf> {
    name.filter(|name| !name.is_empty()).map(PathBuf::from)
}

fn runs(number: i64) -> Result<u32, CliError> {
    let runs = u32::try_from(number).ok().filter(|runs| *runs > 0);
    runs.ok_or(CliError::Together("`num_runs` should be at least 1."))
}

fn warmup(prompts: i64) -> Result<Option<u64>, CliError> {
    let prompts = u64::try_from(prompts)
        .map_err(|_| CliError::Together("`warmup_num_prompts` should be at least 0."))?;
    Ok((prompts > 0).then_some(prompts))
}

fn links(text: &str) -> Result<Vec<(String, String)>, CliError> {
    let pair = |item: &str| match item.split('=').collect::<Vec<_>>().as_slice() {
        [key, other] => Ok((key.trim().to_owned(), other.trim().to_owned())),
        _ => {
            Err(CliError::setting(ServeFlags::LINK_VARS, format!("expected a=b,c=d, got {item:?}")))
        }
    };
    text.split(',').filter(|_| !text.is_empty()).map(pair).collect()
}

fn names(list: &str) -> Vec<String> {
    list.split(',').filter(|_| !list.is_empty()).map(str::to_owned).collect()
}

#[expect(clippy::cast_sign_loss, reason = "it is positive")]
fn hundredths(inches: f64) -> Result<u32, CliError> {
    let is_drawable = (1.0..=1000.0).contains(&inches);
    let wrong = || CliError::setting(PlotArgs::FIG_HEIGHT, "must be from 1 to 1000 inches");
    if is_drawable { Ok((inches * 100.0).round() as u32) } else { Err(wrong()) }
}

fn dots(number: i64) -> Result<u32, CliError> {
    let wrong = || CliError::setting(PlotArgs::FIG_DPI, "must be from 1 to 2400 dots");
    u32::try_from(number).ok().filter(|dots| (1..=2400).contains(dots)).ok_or_else(wrong)
}

fn peer(error: impl std::fmt::Display) -> CliError {
    CliError::Peer(error.to_string())
}

const NO_FOLDER: &str = "the following arguments are required: EXPERIMENT_DIR";
