//! A server in one setting, and the runs against it.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use servemark::client::BaseUrl;
use servemark::core::JsonObject;
use servemark::runner::Stop;
use servemark::{ChildStdout, RunContext, ServerProcess, post_to_server};
use servemark_cli::vllm::sweep::{Combination, ServeSweep, folder_name};

use super::bench;
use super::experiment::{self, print_line, python_list, run_file, summary_file};

/// Kind of server that a program starts, by the end of the program's name.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum Family {
    Infinity,
    Other,
    Vllm,
}

impl Family {
    pub(super) fn of(program: &str) -> Self {
        if program.ends_with("vllm") {
            Self::Vllm
        } else if program.ends_with("infinity_emb") {
            Self::Infinity
        } else {
            Self::Other
        }
    }
}

/// A server in one setting; it is running, or was measured before.
pub(super) struct Server<'a> {
    sweep: &'a ServeSweep,
    context: &'a RunContext,
    parameters: &'a Combination,
    url: BaseUrl,
    process: Option<ServerProcess>,
}

impl<'a> Server<'a> {
    /// Prepares the server of a sweep with these parameters, and starts it if it is needed.
    pub(super) fn start(
        sweep: &'a ServeSweep,
        context: &'a RunContext,
        parameters: &'a Combination,
        is_needed: bool,
    ) -> anyhow::Result<Self> {
        let command = parameters.apply(&sweep.serve);
        let url = url(&command)?;
        let mut server = Self { sweep, context, parameters, url, process: None };
        if !is_needed {
            return Ok(server);
        }
        print_line("[BEGIN SERVER]");
        print_line(&format!("Server overrides: {}", parameters.python_text()));
        print_line(&format!("Server command: {}", python_list(&command)));
        if !sweep.experiment.dry_run {
            let process = ServerProcess::start(&command, server.child_stdout(), &VARIABLES)?;
            process.wait_ready(&server.url, "/health", sweep.patience, context)?;
            server.process = Some(process);
        }
        Ok(server)
    }

    pub(super) fn sweep(&self) -> &ServeSweep {
        self.sweep
    }

    pub(super) fn parameters(&self) -> &Combination {
        self.parameters
    }

    fn child_stdout(&self) -> ChildStdout {
        if self.sweep.experiment.shows_output { ChildStdout::Yes } else { ChildStdout::No }
    }

    /// Returns the results of all runs of a combination. There are none if links exclude it, in a
    /// dry run, or if all of them failed.
    pub(super) fn combination(
        &self,
        bench: &Combination,
        level: Option<(&str, i64)>,
    ) -> anyhow::Result<Vec<JsonObject>> {
        let is_linked = |link| self.parameters.is_linked(bench, link);
        if !self.sweep.links.iter().all(is_linked) {
            return Ok(Vec::new());
        }
        let name = folder_name(&[("SERVE", self.parameters), ("BENCH", bench)], level);
        let folder = self.sweep.experiment.folder.join(name);
        let bench = level.map_or_else(|| bench.clone(), |(key, value)| bench.with(key, value));
        if let Some(prompts) = self.sweep.warmup_prompts {
            let warmup = bench.with("num_prompts", prompts);
            self.tried(&warmup, -1, &folder.join("warmup.json"))?;
        }
        let mut rows = Vec::new();
        for run in 0..self.sweep.experiment.runs {
            rows.extend(self.tried(&bench, i64::from(run), &run_file(&folder, run))?);
        }
        if !self.sweep.experiment.dry_run {
            summarize(&folder, &rows)?;
        }
        Ok(rows)
    }

    /// Returns the result of a run; `None` if it failed and the sweep continues.
    fn tried(
        &self,
        bench: &Combination,
        run: i64,
        result: &Path,
    ) -> anyhow::Result<Option<JsonObject>> {
        let is_stopped = || self.context.stop.signal().is(Stop::Drain);
        match self.run(bench, run, result) {
            Err(error) if self.sweep.continues && !is_stopped() => {
                experiment::write_failure(result, run, &error, [self.parameters, bench])?;
                // The next run empties the caches again; this one has failed already.
                let _ = self.after_bench();
                Ok(None)
            }
            done => done,
        }
    }

    fn run(
        &self,
        bench: &Combination,
        run: i64,
        result: &Path,
    ) -> anyhow::Result<Option<JsonObject>> {
        let command = with_result(bench.apply(&self.sweep.bench), result);
        print_line("[BEGIN BENCHMARK]");
        print_line(&format!("Benchmark overrides: {}", bench.python_text()));
        print_line(&format!("Run Number: {run}"));
        print_line(&format!("Benchmark command: {}", python_list(&command)));
        print_line(&format!("Output file: {}", result.display()));
        let of = [self.parameters, bench];
        if result.exists() {
            print_line("Found existing results.");
            print_line("[SKIPPED BENCHMARK]");
            return experiment::read_result(result, run, &of).map(Some);
        }
        if self.sweep.experiment.dry_run {
            print_line("[END BENCHMARK]");
            return Ok(None);
        }
        if self.process.is_none() {
            bail!("Cannot find results at {}", result.display());
        }
        if let Some(folder) = result.parent() {
            std::fs::create_dir_all(folder)?;
        }
        bench::run(&command, self.child_stdout(), self.context)?;
        self.after_bench()?;
        let row = experiment::read_result(result, run, &of)?;
        experiment::write_json(result, &row, 4)?;
        print_line("[END BENCHMARK]");
        Ok(Some(row))
    }

    /// Empties the server's caches for the next run.
    fn after_bench(&self) -> anyhow::Result<()> {
        if let Some(command) = &self.sweep.after_bench {
            return bench::run_started(command, self.child_stdout(), self.context);
        }
        let program = self.sweep.serve.first().map_or("", String::as_str);
        if Family::of(program) == Family::Vllm {
            print_line(&format!("Resetting caches at {}", self.url));
            post_to_server(&self.url, &CACHES)?;
        }
        Ok(())
    }
}

fn summarize(folder: &Path, rows: &[JsonObject]) -> anyhow::Result<()> {
    if rows.is_empty() {
        print_line("[NO SUCCESSFUL MEASURED RUNS] leaving combination retryable");
        return Ok(());
    }
    experiment::write_json(&summary_file(folder), &rows, 4)
}

/// Returns the command with the path of its result.
fn with_result(mut command: Vec<String>, result: &Path) -> Vec<String> {
    let folder = result.parent().map(PathBuf::from).unwrap_or_default();
    let name = result.file_name().unwrap_or_default();
    let words = [
        "--percentile-metrics",
        "ttft,tpot,itl,e2el",
        "--save-result",
        "--result-dir",
        &folder.to_string_lossy(),
        "--result-filename",
        &name.to_string_lossy(),
    ];
    command.extend(words.map(str::to_owned));
    command
}

/// Returns the address of the server that a command starts.
fn url(command: &[String]) -> anyhow::Result<BaseUrl> {
    let value = |flags: &[&str]| {
        let of = |(index, word): (usize, &String)| match word.split_once('=') {
            Some((flag, value)) if flags.contains(&flag) => Some(value.to_owned()),
            _ if flags.contains(&word.as_str()) => command.get(index + 1).cloned(),
            _ => None,
        };
        command.iter().enumerate().find_map(of)
    };
    let host = value(&["--host"]).unwrap_or_else(|| "localhost".to_owned());
    let port = value(&["-p", "--port"]).unwrap_or_else(|| "8000".to_owned());
    let no_address = || format!("the server's command gives it no address: {host}, port {port}");
    let port = port.parse().with_context(no_address)?;
    BaseUrl::at_host(&host, port).with_context(no_address)
}

/// vLLM offers the routes that empty its caches only in development mode.
const VARIABLES: [(&str, &str); 1] = [("VLLM_SERVER_DEV_MODE", "1")];
const CACHES: [&str; 3] = ["/reset_prefix_cache", "/reset_mm_cache", "/reset_encoder_cache"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_says_where_its_server_is() {
        for (line, expected) in [
            ("vllm serve m", "http://localhost:8000"),
            ("vllm serve m --port 9 --host ::1", "http://[::1]:9"),
            ("vllm serve m --host=10.0.0.1 -p 81", "http://10.0.0.1:81"),
        ] {
            let command: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(url(&command).unwrap().to_string(), expected, "{line}");
        }
    }
}
