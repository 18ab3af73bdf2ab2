//! SGLang's one-batch benchmark: runs every batch and reports the results of all.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use servemark::core::{RequestRecord, printable};
#[cfg(feature = "engine")]
use servemark::engines::{EngineRunSpec, EngineSpec, WorkerEngine, WorkerSpec};
use servemark::plan::{BatchCase, ServerSpec};
use servemark::report::OneBatchResult;
use servemark::{
    BatchLimits, BatchRun, BatchRunner, BatchServer, ChildStdout, ExitCode, RunContext, Scores,
    ServerProcess, is_ready,
};
use servemark_cli::one_batch::{Batch, Launch, OneBatch};
use servemark_pyjson as pyjson;

use crate::documents::RunsDocument;
use crate::run_screen::{Bars, Screen};
use crate::screen;
use crate::sglang::BenchMessages;
use crate::{context, report, rewrite};

/// Sends all batches and reports them.
pub(crate) fn bench(bench: &OneBatch) -> anyhow::Result<ExitCode> {
    for warning in &bench.common.warnings {
        screen::eprint_line(&format!("warning: {warning}"));
    }
    if bench.common.plan_only.is_some() {
        let cases: Vec<&BatchCase> = bench.batches.iter().map(|batch| &batch.case).collect();
        screen::print(&format!("{:#}\n", json!(cases)));
        return Ok(ExitCode::Ok);
    }
    bench.notes.iter().for_each(|note| print_line(note));
    let mut context = context::with_settings(&context::context(Bars::Hidden)?, &bench.common);
    let screen =
        Screen::new(Bars::Hidden, Arc::clone(&context.live)).in_words_of(BenchMessages::OneBatch);
    context.observer = Arc::new(screen);
    let is_documented = bench.common.prints_document();
    let launched = |launch| launched(launch, is_documented, &context);
    let _server = bench.launch.as_ref().map(launched).transpose()?;
    let is_vllm = !bench.common.plan.server_kind().has_info();
    if let (true, ServerSpec::At(target)) = (is_vllm, &bench.common.plan.server) {
        print_line(&format!("Connecting to vLLM server at {}...", target.base_url));
    }
    let runner = BatchRunner::open(&bench.common.plan, &context)?;
    if is_vllm {
        print_line("Tokenizer loaded.");
    }
    say_limits(bench, runner.server());
    let (results, logs) = (Vec::new(), Vec::new());
    let document = RunsDocument::new(is_documented);
    let (appended, code) = (Ok(()), ExitCode::Ok);
    let mut turn = BatchTurn { bench, runner, results, logs, document, appended, code };
    turn.warm_up()?;
    // The batches before one that fails are still reported.
    let measured = turn.measure();
    if measured.is_ok() && turn.code != ExitCode::Interrupted {
        turn.profile();
    }
    let message = turn.report();
    turn.document.print();
    let appended = turn.appended;
    let written = rewrite::both(&appended, message).and(appended);
    let (logs, code) = (turn.logs, turn.code);
    let logs = logs.iter().map(Option::as_deref);
    rewrite::both(&measured, rewrite::with_logs(written, logs, "--json"))?;
    measured.map(|()| code)
}

/// Starts a server, unless one is running already. Its output is hidden if this command prints a
/// document.
fn launched(
    launch: &Launch,
    is_documented: bool,
    context: &RunContext,
) -> anyhow::Result<Option<ServerProcess>> {
    if is_ready(&launch.url, READY)? {
        screen::eprint_line(&format!(
            "warning: reusing the server already running at {} (--model and server-launch args \
             ignored). Pass --base-url to silence.",
            launch.url
        ));
        return Ok(None);
    }
    #[cfg(feature = "engine")]
    check_presence(launch, context)?;
    screen::eprint_line(&format!("Starting {}", launch.command.join(" ")));
    let output = if is_documented { ChildStdout::No } else { ChildStdout::Yes };
    let server = ServerProcess::start(&launch.command, output, &[])?;
    server.wait_ready(&launch.url, READY, PATIENCE, context)?;
    Ok(Some(server))
}

/// Checks that the Python of a server has SGLang, before the server is started.
#[cfg(feature = "engine")]
fn check_presence(launch: &Launch, context: &RunContext) -> anyhow::Result<()> {
    let Some(python) = launch.command.first() else { return Ok(()) };
    let worker = Box::new(WorkerSpec::new(WorkerEngine::Sglang, python));
    let spec = EngineRunSpec::new(EngineSpec::Worker(worker));
    servemark::check_presence(&spec, context)
        .context("no server is to be asked (--base-url), and none can be started")
}

/// Prints the message of SGLang's client while the server writes its traces.
fn say_flushing(batch: &Batch) {
    let Some(profile) = &batch.case.profile else { return };
    let steps = profile.start.get("num_steps").and_then(Value::as_str).unwrap_or_default();
    let by_stage = profile.start.get("profile_by_stage").map(pyjson::literal).unwrap_or_default();
    print_line(&format!(
        "Waiting for {steps} steps and the trace to be flushed.... (profile_by_stage={by_stage})"
    ));
}

/// Prints the server's limits, as SGLang's client does.
fn say_limits(bench: &OneBatch, server: &BatchServer) {
    if !bench.common.plan.server_kind().has_info() {
        return;
    }
    if server.is_router() {
        print_line(ROUTER);
    }
    let message =
        |limit: Option<u64>| limit.map_or_else(|| "inf".to_owned(), |most| most.to_string());
    let per_rank = server.running_per_dp().map_or_else(|| "-1".to_owned(), |most| most.to_string());
    let capacity = server.token_capacity().filter(|_| !bench.exceeds_capacity);
    print_line(&format!("max_running_requests_per_dp={per_rank}"));
    print_line(&format!("num_dp_ranks={}", server.dp_ranks()));
    print_line(&format!("skip_max_running_requests_threshold={}", message(server.most_running())));
    print_line(&format!("skip_token_capacity_threshold={}", message(capacity)));
    if let Some(most) = server.most_running().filter(|_| bench.exceeds_running) {
        say_single_waves(bench, most);
    }
}

/// Prints the batches that are not larger than what the server processes at once.
fn say_single_waves(bench: &OneBatch, most: u64) {
    let mut small: Vec<u32> =
        bench.sizes.iter().copied().filter(|size| u64::from(*size) <= most).collect();
    small.sort_unstable();
    small.dedup();
    if !small.is_empty() {
        print_line(&format!(
            "WARNING: --enable-multi-batch is set but batch size(s) {small:?} are <= running cap \
             ({most}); those cases will run as a single wave and the flag is a no-op for them. \
             Use batch_size > {most} to actually exercise multi-batch."
        ));
    }
}

/// The state of a benchmark while its batches are sent.
struct BatchTurn<'a> {
    bench: &'a OneBatch,
    runner: BatchRunner,
    results: Vec<OneBatchResult>,
    /// Run logs of the measured batches.
    logs: Vec<Option<PathBuf>>,
    document: RunsDocument,
    /// First error of appending a result.
    appended: anyhow::Result<()>,
    code: ExitCode,
}

impl BatchTurn<'_> {
    fn warm_up(&mut self) -> anyhow::Result<()> {
        if self.bench.warm_up.is_empty() {
            return Ok(());
        }
        let sizes: Vec<u32> =
            self.bench.warm_up.iter().map(|batch| batch.case.batch_size).collect();
        print_line("======== Warmup Begin ========");
        print_line(&format!("Warmup with batch_size={sizes:?}"));
        for batch in &self.bench.warm_up {
            let BatchRun { run, .. } = self.runner.run(&batch.case)?;
            screen::print(&result(batch, &run)?.to_string());
        }
        print_lines("======== Warmup End   ========\n");
        Ok(())
    }

    fn measure(&mut self) -> anyhow::Result<()> {
        for batch in &self.bench.batches {
            if self.is_refused(&batch.case) {
                continue;
            }
            let BatchRun { run, .. } = self.runner.run(&batch.case)?;
            let scoring = &batch.case.plan.scoring;
            let scores = Scores::of_run(&run, scoring);
            let result = OneBatchResult::of(batch.requested.clone(), &run.log);
            if let Some(result) = &result {
                screen::print(&result.to_string());
            }
            report::show(&scores, self.bench.common.full)?;
            self.document.add_with(&name(&batch.case), &scores, result.as_ref().map(line))?;
            self.logs.push(run.run_log.clone());
            self.code = self.code.max(report::keep(&run, &scores, &batch.case.plan.output)?);
            if let Some(result) = &result {
                self.append(result);
            }
            let Some(result) = result else {
                screen::eprint_line(&format!("error: {}", failure(batch, &run)));
                self.code = self.code.max(ExitCode::TooManyFailed);
                return Ok(());
            };
            self.results.push(result);
            if self.code == ExitCode::Interrupted {
                break;
            }
        }
        Ok(())
    }

    /// Sends the batches again with the profiler on; only the traces are kept.
    fn profile(&mut self) {
        let mut traces = Vec::new();
        for batch in &self.bench.profiled {
            if self.is_refused(&batch.case) {
                continue;
            }
            match self.profiled(batch) {
                Ok(link) => traces.push(link),
                Err(error) => {
                    print_line(&format!(
                        "Error profiling, some profile traces may not be dumped: {error:#}"
                    ));
                    break;
                }
            }
        }
        for (result, link) in self.results.iter_mut().zip(traces) {
            result.wanted.profile_link = link;
        }
    }

    fn profiled(&mut self, batch: &Batch) -> anyhow::Result<Option<String>> {
        let BatchRun { run, traces, .. } = self.runner.run(&batch.case)?;
        let link = traces.map(|folder| folder.display().to_string());
        if let Some(link) = &link {
            print_line(&format!("Dump profiling traces to {link}"));
            say_flushing(batch);
        }
        let result = result(batch, &run)?;
        screen::print(&result.to_string());
        self.append(&result);
        Ok(link)
    }

    fn is_refused(&self, case: &BatchCase) -> bool {
        let limits = BatchLimits {
            requests: !self.bench.exceeds_running,
            tokens: !self.bench.exceeds_capacity,
        };
        let why = self.runner.server().refuses(case, limits);
        if let Some(why) = &why {
            print_line(why);
        }
        why.is_some()
    }

    /// Appends a result to the file of results. After an error the batches go on, and nothing more
    /// is appended.
    fn append(&mut self, result: &OneBatchResult) {
        if let Some(path) = self.bench.files.lines.as_ref().filter(|_| self.appended.is_ok()) {
            self.appended = append(path, &result.json_line());
        }
    }

    /// Reports the results of all batches.
    fn report(&mut self) -> anyhow::Result<()> {
        let files = &self.bench.files;
        if self.appended.is_ok() {
            let message = files.lines.as_deref().unwrap_or(Path::new("")).display().to_string();
            print_lines(&format!("\nResults are saved to {}", printable(&message)));
        }
        let mut summary = Ok(());
        if let Some(report) = &self.bench.report {
            let text = report.text(&self.results);
            print_lines(&text);
            // SGLang's list is in the order of the report, if there is one.
            self.results.sort_by_key(|result| result.input_len);
            summary = files.github_summary.as_ref().map_or(Ok(()), |path| append(path, &text));
        }
        let list = self.list();
        rewrite::both(&summary, list).and(summary)
    }

    /// Writes the list of all results, if one is wanted.
    fn list(&self) -> anyhow::Result<()> {
        let files = &self.bench.files;
        let Some(path) = &files.list else { return Ok(()) };
        let entry = |result: &OneBatchResult| -> Value {
            let traces = result.wanted.profile_link.as_deref().map(traces).unwrap_or_default();
            result.entry(&files.model, files.server_args.as_deref(), &traces)
        };
        let entries: Vec<Value> = self.results.iter().map(entry).collect();
        fs::write(path, pyjson::to_string(&entries, list_style())?)
            .with_context(|| format!("cannot write the results to {}", path.display()))
    }
}

/// Returns the name of a batch in the document.
fn name(case: &BatchCase) -> String {
    let BatchCase { batch_size, input_len, output_len, .. } = case;
    format!("batch_size={batch_size},input_len={input_len},output_len={output_len}")
}

/// Returns the line of a result in SGLang's file of results, as a value.
fn line(result: &OneBatchResult) -> Value {
    serde_json::from_str(&pyjson::standard(&result.json_line())).unwrap_or_default()
}

fn list_style() -> pyjson::Style<'static> {
    pyjson::Style::new(pyjson::Text::Unicode, Some(2))
}

fn result(batch: &Batch, run: &servemark::Run) -> anyhow::Result<OneBatchResult> {
    let result = OneBatchResult::of(batch.requested.clone(), &run.log);
    result.with_context(|| failure(batch, run))
}

/// Returns the reason why a batch has no result.
fn failure(batch: &Batch, run: &servemark::Run) -> String {
    let BatchCase { batch_size, input_len, output_len, .. } = &batch.case;
    let failed = run.log.measured().filter(|record| !record.is_success());
    let first = failed.clone().find_map(|record: &RequestRecord| record.outcome.as_ref().err());
    let why = first.map_or_else(|| "it was stopped".to_owned(), ToString::to_string);
    format!(
        "the batch of {batch_size} prompts of {input_len} tokens with {output_len} of output has \
         no result: {} of its prompts failed: {why}",
        failed.count()
    )
}

/// Returns the names of the traces in a folder.
fn traces(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_trace =
        |name: &String| [".trace.json.gz", ".trace.json"].iter().any(|end| name.ends_with(end));
    names.filter(is_trace).collect()
}

fn append(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut open = OpenOptions::new();
    let file = open.create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot append to {}", path.display()))
}

fn print_line(line: &str) {
    screen::print_line(line);
}

/// Prints several lines, in which every value from outside is printable already.
fn print_lines(text: &str) {
    screen::print(&format!("{text}\n"));
}

const READY: &str = "/v1/models";
/// Time for which SGLang's client waits for the server that it starts.
const PATIENCE: Duration = Duration::from_secs(600);

const ROUTER: &str = "WARNING: base_url points at a PD router; worker internal states are \
                      unavailable, so the max-running-requests and token-capacity skip guards are \
                      disabled.";
