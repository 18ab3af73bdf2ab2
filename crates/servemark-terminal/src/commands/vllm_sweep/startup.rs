//! `startup`: a command that measures one start of a server, in several settings.
//!
//! The command is the user's, vLLM's by default, because only an engine can measure its own load
//! time. This module passes the settings, starts the command and collects its results.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::Value;
use servemark::core::JsonObject;
use servemark::{ChildStdout, ExitCode, RunContext};
use servemark_cli::vllm::sweep::{Combination, StartupSweep, folder_name, with_output};

use super::bench;
use super::experiment::{self, print_line, python_list, run_file, summary_file};
use crate::context;
use crate::run_screen::Bars;
use crate::screen::eprint_line;

/// Measures starts in all settings.
pub(super) fn run(sweep: &StartupSweep) -> anyhow::Result<ExitCode> {
    let mut serve = experiment::parameters(sweep.serve_parameters.as_deref())?;
    let mut startup = experiment::parameters(sweep.startup_parameters.as_deref())?;
    if serve.iter().chain(&startup).any(|combination| !combination.parameters().is_empty()) {
        match AcceptedParameters::of(&sweep.command) {
            Ok(known) => {
                serve = known.only(serve, sweep.is_strict)?;
                startup = known.only(startup, sweep.is_strict)?;
            }
            Err(error) if sweep.experiment.dry_run => {
                eprint_line(&format!("warning: {error:#}; all parameters are shown"));
            }
            Err(error) => return Err(error),
        }
    }
    let context = context::context(Bars::Shown)?;
    let study = Study { sweep, context: &context };
    experiment::keep(&sweep.experiment, &context, || study.measure(&serve, &startup))
}

/// The parameters that the command accepts, according to its help text.
struct AcceptedParameters {
    names: BTreeSet<String>,
}

impl AcceptedParameters {
    fn of(command: &[String]) -> anyhow::Result<Self> {
        let (program, arguments) = command.split_first().context("--startup-cmd is empty")?;
        let requested = Command::new(program).args(arguments).arg("--help=all").output();
        let requested = requested.with_context(|| format!("cannot run {}", command.join(" ")))?;
        if !requested.status.success() {
            let why = String::from_utf8_lossy(&requested.stderr).trim().to_owned();
            bail!("{} --help=all, which is to say what it knows, failed: {why}", command.join(" "));
        }
        let help = String::from_utf8_lossy(&requested.stdout).into_owned();
        let words = help.split(|sign: char| !sign.is_ascii_alphanumeric() && !"-_".contains(sign));
        let flags = words.filter_map(|word| word.strip_prefix("--"));
        let names = flags.map(|flag| flag.replace('-', "_"));
        Ok(Self { names: names.chain(["config".to_owned()]).collect() })
    }

    /// Removes the parameters that the command does not accept.
    fn only(
        &self,
        combinations: Vec<Combination>,
        is_strict: bool,
    ) -> anyhow::Result<Vec<Combination>> {
        combinations.into_iter().map(|combination| self.only_of(combination, is_strict)).collect()
    }

    fn only_of(&self, combination: Combination, is_strict: bool) -> anyhow::Result<Combination> {
        let (known, mut unknown): (Vec<&String>, Vec<&String>) =
            combination.parameters().keys().partition(|key| self.has(key));
        if unknown.is_empty() {
            return Ok(combination);
        }
        unknown.sort();
        let names = unknown.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let of = Some(combination.name()).filter(|name| !name.is_empty());
        let of = of.map(|name| format!(" for {name}")).unwrap_or_default();
        let message = format!("Ignoring unsupported startup params{of}: {names}");
        if is_strict {
            bail!(message);
        }
        print_line(&message);
        let kept = known.into_iter().map(|key| (key, combination.parameters()[key].clone()));
        Ok(kept
            .fold(Combination::default(), |kept, (key, value): (_, Value)| kept.with(key, value)))
    }

    fn has(&self, key: &str) -> bool {
        let front = key.split('.').next().unwrap_or_default();
        key == "_benchmark_name" || self.names.contains(&front.replace('-', "_"))
    }
}

struct Study<'a> {
    sweep: &'a StartupSweep,
    context: &'a RunContext,
}

impl Study<'_> {
    fn measure(
        &self,
        serve: &[Combination],
        startup: &[Combination],
    ) -> anyhow::Result<Vec<JsonObject>> {
        let mut rows = Vec::new();
        for serve in serve {
            for startup in startup {
                rows.extend(self.combination(serve, startup)?);
            }
        }
        Ok(rows)
    }

    fn combination(
        &self,
        serve: &Combination,
        startup: &Combination,
    ) -> anyhow::Result<Vec<JsonObject>> {
        let name = folder_name(&[("SERVE", serve), ("STARTUP", startup)], None);
        let folder = self.sweep.experiment.folder.join(name);
        let mut rows = Vec::new();
        for run in 0..self.sweep.experiment.runs {
            let result = run_file(&folder, run);
            let command = startup.apply(&serve.apply(&self.sweep.command));
            let command = with_output(&command, &result.to_string_lossy());
            print_line("[BEGIN BENCHMARK]");
            print_line(&format!("Serve overrides: {}", serve.python_text()));
            print_line(&format!("Startup overrides: {}", startup.python_text()));
            print_line(&format!("Run Number: {run}"));
            print_line(&format!("Benchmark command: {}", python_list(&command)));
            print_line(&format!("Output file: {}", result.display()));
            let is_there = result.exists();
            if is_there {
                print_line("Found existing results.\n[SKIPPED BENCHMARK]");
            } else if self.sweep.experiment.dry_run {
                print_line("[END BENCHMARK]");
                continue;
            } else {
                std::fs::create_dir_all(&folder)?;
                bench::run_started(&command, self.child_stdout(), self.context)?;
            }
            let row = experiment::read_result(&result, i64::from(run), &[serve, startup])?;
            if !is_there {
                experiment::write_json(&result, &row, 4)?;
                print_line("[END BENCHMARK]");
            }
            rows.push(row);
        }
        if !self.sweep.experiment.dry_run {
            experiment::write_json(&summary_file(&folder), &rows, 4)?;
        }
        Ok(rows)
    }

    fn child_stdout(&self) -> ChildStdout {
        if self.sweep.experiment.shows_output { ChildStdout::Yes } else { ChildStdout::No }
    }
}
