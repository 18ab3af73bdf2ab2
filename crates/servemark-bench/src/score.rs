//! Scores of a run log: tables, result files and exit codes.

mod gates;
mod offline;

use std::cell::OnceCell;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use servemark_core::{Header, RunLog};
use servemark_metrics::{
    Audit, Contamination, FailOn, Judgement, KnownEnough, MetricPolicy, Metrics, MlperfResult,
    OwnLatency, Planning, PlateauSpec, RequestPart, RunVerdict, RunVerdictKind, ServerCounts,
    SloVerdict, Verdict,
};
use servemark_page::{GridFormat, RunPage, Served, write_sweep};
use servemark_plan::{BenchPlan, Layout, RunProfile, ScoringSpec, SloSpec, UntilSpec};
use servemark_report::ResultDetails;
use servemark_report::{
    Layout as Format, NativeTable, PlateauTable, Report, ReportFormat, RequestLines, ScoreJson,
    SglangOptions, SteadyStateLine, SweepReport, SweepRow, ThroughputPlots, TurnsTable,
    grid_settings, write_grid,
};

pub use self::offline::{offline_latency, offline_throughput};
use crate::peer_files::append_vllm;
use crate::{Engine, ExitCode, Run};

/// A run log and its scores. Each score is computed when a report first needs it.
///
/// The scores depend only on the log: the same log gives the same bytes during its run and at any
/// later time.
#[derive(Debug)]
pub struct Scores<'a> {
    pub(crate) log: &'a RunLog,
    pub(crate) scoring: &'a ScoringSpec,
    aisbench: OnceCell<Metrics>,
    evalscope: OnceCell<Metrics>,
    sglang: OnceCell<Metrics>,
    native: OnceCell<Metrics>,
    vllm: OnceCell<Metrics>,
    audit: OnceCell<Audit>,
}

impl<'a> Scores<'a> {
    /// Creates the scores of a log by the rules of `scoring`.
    pub fn of(log: &'a RunLog, scoring: &'a ScoringSpec) -> Self {
        Self {
            log,
            scoring,
            aisbench: OnceCell::new(),
            evalscope: OnceCell::new(),
            sglang: OnceCell::new(),
            native: OnceCell::new(),
            vllm: OnceCell::new(),
            audit: OnceCell::new(),
        }
    }

    /// Creates the scores of a run by the rules of `scoring`, with the run's existing audit.
    pub fn of_run(run: &'a Run, scoring: &'a ScoringSpec) -> Self {
        Self { audit: run.audit.clone().into(), ..Self::of(&run.log, scoring) }
    }

    /// Writes the requested tables in order, after the lines for each request and the plots, if
    /// they are requested. Servemark's own table is whole, in 100 columns.
    pub fn write_tables(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_tables_with(&NativeTable::default(), out)
    }

    /// Writes the requested tables like [`write_tables`](Self::write_tables), with `own` in place of
    /// Servemark's own table.
    pub fn write_tables_with(&self, own: &dyn ReportFormat, out: &mut dyn Write) -> io::Result<()> {
        if let Some(first) = self.scoring.layouts.first().copied() {
            if self.scoring.print_requests {
                self.write(first, &RequestLines, out)?;
            }
            if self.scoring.plots {
                self.write(first, &ThroughputPlots, out)?;
            }
        }
        for layout in &self.scoring.layouts {
            if *layout == Layout::Native {
                self.write(*layout, own, out)?;
                continue;
            }
            self.write(*layout, self.format(*layout).table().as_ref(), out)?;
            if *layout == Layout::Vllm {
                self.write(*layout, &TurnsTable, out)?;
                self.write(*layout, &PlateauTable, out)?;
            }
        }
        Ok(())
    }

    /// Returns warnings about the run, one line each, that apply to all tables: the server's
    /// token counts are not JSON integers, or no answer has the server's own times although the run
    /// asked for them.
    pub fn warnings(&self) -> Vec<String> {
        ServerCounts::of(self.log).warning().into_iter().chain(self.untold_times()).collect()
    }

    /// Returns how answers get the server's own times, if the run asked for them and none has any.
    fn untold_times(&self) -> Option<String> {
        let is_asked = self.log.header().plan.pointer("/control/server_times")? == true;
        let mut answered = self.log.measured().filter(|record| record.is_success()).peekable();
        let is_answered = answered.peek().is_some();
        let is_told = answered.any(|record| record.server_times.is_some());
        (is_asked && is_answered && !is_told).then(|| {
            let [sglang, vllm] = [Engine::Sglang, Engine::Vllm].map(Engine::way_to_its_times);
            let ways = sglang.into_iter().chain(vllm).collect::<Vec<_>>().join("; ");
            format!("no answer has the server's own times, which `control.server_times` asks for; {ways}")
        })
    }

    /// Returns metrics to compare the run with others of a series, by vLLM's definitions, with
    /// `percentiles`, the 90th and the 99th percentile, and the plateau of the run at its full
    /// load.
    pub fn headline(&self, percentiles: &[f64]) -> Metrics {
        let mut policy = self.policy(MetricPolicy::vllm());
        policy.plateau = policy.plateau.or_else(|| Some(PlateauSpec::default()));
        policy.percentiles = [percentiles, &[90.0, 99.0]].concat();
        Metrics::score(self.log, &policy)
    }

    /// Writes the results as one JSON document: estimates with confidence intervals, verdicts on
    /// the run and on the client, objectives, and every number of the native table.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let (slo, until, mlperf) = (self.judgements(), self.known_enough(), self.mlperf());
        let document = ScoreJson { slo: &slo, until: &until, mlperf: mlperf.as_ref() };
        self.write(Layout::Native, &document, out)
    }

    /// Appends the result as a line to a file, in the format of vLLM's client or of the offline
    /// benchmark if its layout is the first, otherwise of SGLang's client.
    pub fn append_result(&self, details: ResultDetails, path: &Path) -> io::Result<()> {
        let line = self.result_line(details)?;
        match self.scoring.layouts.first() {
            Some(Layout::Vllm) => append_vllm(&line, path),
            _ => append(&line, path),
        }
    }

    /// Returns the line that [`append_result`](Self::append_result) appends: a JSON object.
    pub fn result_line(&self, details: ResultDetails) -> io::Result<Vec<u8>> {
        let format = match self.scoring.layouts.first() {
            Some(Layout::Vllm) => {
                return self.vllm_line(&self.vllm_result(details, self.utc_offset_s()));
            }
            Some(Layout::Offline) => Format::Offline,
            _ => Format::Sglang(match details {
                ResultDetails::Brief => self.options(),
                ResultDetails::Full => self.options().with_output_details(),
            }),
        };
        let mut line = Vec::new();
        self.write(Layout::Sglang, format.document().as_ref(), &mut line)?;
        Ok(line)
    }

    /// Appends the line of SGLang's steady-state file. Returns whether the run has a steady
    /// state.
    pub fn append_steady_state(&self, path: &Path) -> io::Result<bool> {
        let is_found = self.metrics(Layout::Sglang).steady_state.is_some();
        let mut line = Vec::new();
        self.write(Layout::Sglang, &SteadyStateLine, &mut line)?;
        append(&line, path).map(|()| is_found)
    }

    /// Writes the page of the run, by Servemark's own definitions. `source` is where the run log is,
    /// as the page shows it.
    pub fn write_page(&self, source: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
        self.write_page_as(source, None, out)
    }

    /// Writes the page of the run for a server of the page, which asks it for the next page until
    /// the run is over. `source` is where the run log is, as the page shows it.
    pub fn write_served_page(
        &self,
        source: Option<&str>,
        served: Served,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        self.write_page_as(source, Some(served), out)
    }

    fn write_page_as(
        &self,
        source: Option<&str>,
        served: Option<Served>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let judgements = self.judgements();
        let page = RunPage::default().with_judgements(&judgements);
        let page = if let Some(source) = source { page.with_source(source) } else { page };
        let page = if let Some(served) = served { page.served(served) } else { page };
        self.write_report(&page, out)
    }

    /// Writes a report of the program's own, with the numbers of Servemark's own definitions.
    pub fn write_report(&self, format: &dyn ReportFormat, out: &mut dyn Write) -> io::Result<()> {
        self.write(Layout::Native, format, out)
    }

    /// Returns the audit of the client's effect on the measurement.
    pub fn audit(&self) -> &Audit {
        self.audit.get_or_init(|| Audit::of(self.log))
    }

    /// Returns whether a table of this layout is printed.
    pub fn has_table(&self, layout: Layout) -> bool {
        self.scoring.layouts.contains(&layout)
    }

    /// Returns the verdict stored in the log if the log's audit differs from this one: it was
    /// made by other rules, or the log was changed.
    pub fn other_verdict(&self) -> Option<&str> {
        let kept = self.log.footer()?.audit.as_ref()?;
        let is_other = serde_json::to_value(self.audit()).ok().as_ref() != Some(kept);
        is_other.then(|| kept["verdict"].as_str().unwrap_or("nothing"))
    }

    /// Returns the verdicts on the run by Servemark's own definitions.
    pub fn verdicts(&self) -> &[RunVerdict] {
        &self.metrics(Layout::Native).verdicts
    }

    /// Returns the verdicts that fail the run by the scoring rules and that the run has, with
    /// their reasons.
    pub fn unwanted(&self) -> Vec<(FailOn, String)> {
        let named = self.scoring.unwanted.iter();
        named.filter_map(|kind| Some((*kind, self.reason(*kind)?))).collect()
    }

    /// Returns the reason of a verdict if the run has that verdict.
    fn reason(&self, kind: FailOn) -> Option<String> {
        match kind {
            FailOn::Run(kind) => {
                let found = self.verdicts().iter().find(|verdict| verdict.kind == kind);
                found.map(|verdict| verdict.reason.clone())
            }
            FailOn::Client(verdict) => {
                (self.audit().verdict == verdict).then(|| self.audit().to_string())
            }
        }
    }

    /// Returns the verdicts that fail the run by the scoring rules and that the run does not show to
    /// be there or not, each with what is missing.
    pub fn unjudged(&self) -> Vec<(FailOn, String)> {
        let named = self.scoring.unwanted.iter();
        named.filter_map(|kind| Some((*kind, self.missing(*kind)?))).collect()
    }

    /// Returns what is missing to judge a verdict.
    fn missing(&self, kind: FailOn) -> Option<String> {
        let is_of_cache = kind == RunVerdictKind::Contaminated.into();
        let missing = is_of_cache.then(|| Contamination::missing(self.log)).flatten()?;
        Some(format!("cannot be judged: {missing}"))
    }

    /// Returns the audit verdict at which the scoring rules fail the run, if this run's verdict
    /// is at least as bad.
    pub fn broken_gate(&self) -> Option<Verdict> {
        self.scoring.fail_on.filter(|&limit| self.audit().verdict >= limit)
    }

    /// Judges each objective of the run by Servemark's own definitions.
    pub fn judgements(&self) -> Vec<Judgement> {
        let judge =
            |slo: &SloSpec| slo.judge(self.log, self.audit(), &self.policy(MetricPolicy::native()));
        self.scoring.slo.as_ref().map_or_else(Vec::new, judge)
    }

    /// Returns the effort needed to know each headline figure to 2 %, if the native table is
    /// printed and the run is complete.
    pub fn planning(&self) -> Vec<Planning> {
        let is_requested = self.scoring.layouts.contains(&Layout::Native) && self.log.is_complete();
        if is_requested { Planning::of(self.metrics(Layout::Native)) } else { Vec::new() }
    }

    /// Returns the precision of the figures that were to end the run, by Servemark's own
    /// definitions.
    pub fn known_enough(&self) -> Vec<KnownEnough> {
        let of =
            |until: &UntilSpec| KnownEnough::of_log(self.log, &until.targets, until.confidence);
        self.scoring.until.as_ref().map_or_else(Vec::new, of)
    }

    /// Returns the result by the rules of `LoadGen` of `MLPerf`, if the scoring profile is
    /// `MLPerf`.
    pub fn mlperf(&self) -> Option<MlperfResult> {
        let is_requested = self.scoring.profile == Some(RunProfile::Mlperf);
        let objectives = self.scoring.slo.as_ref().map_or(&[][..], |slo| &slo.objectives);
        is_requested.then(|| MlperfResult::of(self.log, objectives))
    }

    /// Exit code for objectives and targeted figures: a missed objective takes precedence over an
    /// undecided one or a figure that is not known precisely enough.
    fn gate_code(&self) -> ExitCode {
        let is_open = || self.known_enough().iter().any(|known| !known.is_known);
        match self.judgements().iter().map(|judgement| judgement.verdict).max() {
            None | Some(SloVerdict::Holds) if is_open() => ExitCode::Undecided,
            None | Some(SloVerdict::Holds) => ExitCode::Ok,
            Some(SloVerdict::Undecided) => ExitCode::Undecided,
            Some(SloVerdict::Fails) => ExitCode::GateFailed,
        }
    }

    /// Returns the exit code of the gates on a completed run.
    pub fn gates(&self) -> ExitCode {
        let is_invalid = self.mlperf().is_some_and(|result| !result.is_valid);
        let is_broken = self.broken_gate().is_some() || !self.unwanted().is_empty();
        if is_broken || is_invalid {
            return ExitCode::GateFailed;
        }
        match self.gate_code() {
            ExitCode::Ok if !self.unjudged().is_empty() => ExitCode::Undecided,
            code => code,
        }
    }

    /// Returns the exit code of the run.
    pub fn exit_code(&self) -> ExitCode {
        match outcome(self.log, self.scoring) {
            ExitCode::Ok => self.gates(),
            code => code,
        }
    }

    fn format(&self, layout: Layout) -> Format {
        match layout {
            Layout::Aisbench => Format::Aisbench(self.scoring.aisbench.clone()),
            Layout::Embedding => Format::Embedding,
            Layout::Evalscope => Format::Evalscope(self.scoring.evalscope),
            Layout::Offline => Format::Offline,
            Layout::Sglang => Format::Sglang(self.options()),
            Layout::Vllm => Format::Vllm(self.scoring.vllm.clone()),
            Layout::Native => Format::Native,
        }
    }

    fn write(
        &self,
        layout: Layout,
        format: &dyn ReportFormat,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        format.write(&self.report(layout), out)
    }

    pub(crate) fn report(&self, layout: Layout) -> Report<'_> {
        Report::new(self.log, self.metrics(layout), self.audit())
    }

    pub(crate) fn metrics(&self, layout: Layout) -> &Metrics {
        let cell = match layout {
            Layout::Aisbench => &self.aisbench,
            Layout::Evalscope => &self.evalscope,
            Layout::Offline | Layout::Sglang => &self.sglang,
            Layout::Vllm => &self.vllm,
            _ => &self.native,
        };
        cell.get_or_init(|| Metrics::score(self.log, &self.policy(self.definitions(layout))))
    }

    /// Returns the definitions for the numbers of a layout.
    fn definitions(&self, layout: Layout) -> MetricPolicy {
        match layout {
            Layout::Aisbench => self.scoring.aisbench.prefill.policy(),
            Layout::Evalscope => self.scoring.evalscope.style.policy(),
            Layout::Offline | Layout::Sglang => self.scoring.sglang_style.policy(),
            Layout::Vllm => {
                MetricPolicy::vllm().with_percentiles(self.scoring.vllm.percentiles.clone())
            }
            _ => {
                let own = self.scoring.own_latencies.iter();
                let own = own.filter_map(|name| OwnLatency::from_name(name));
                let has_parts = self.log.measured().any(|record| record.server_times.is_some());
                let parts = [RequestPart::ServerQueue, RequestPart::Prefill];
                let parts = parts.into_iter().filter(|_| has_parts);
                MetricPolicy::native().with_own_latencies(own).with_parts(parts)
            }
        }
    }

    /// Returns a policy with the additional analyses that the scoring rules ask for.
    fn policy(&self, policy: MetricPolicy) -> MetricPolicy {
        let slos = self.scoring.slos.iter().copied();
        let policy = policy.with_slos(slos).with_steady_state(self.scoring.steady_state);
        let policy = policy.with_plateau(self.scoring.plateau);
        policy.with_sample_budget(self.scoring.sample_budget)
    }

    fn options(&self) -> SglangOptions {
        let options = SglangOptions::of(self.scoring.sglang_style);
        if self.scoring.cache_report { options.with_cache_report() } else { options }
    }
}

/// Appends with a single write, so that lines of concurrent programs are not mixed.
fn append(line: &[u8], path: &Path) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(path)?.write_all(line)
}

/// Writes a grid of runs, one row for each run.
pub fn write_runs(runs: &[Run], format: GridFormat, out: &mut dyn Write) -> io::Result<()> {
    let score = |run: &Run| Metrics::score(&run.log, &MetricPolicy::native());
    let scores: Vec<Metrics> = runs.iter().map(score).collect();
    let pairs = runs.iter().zip(&scores);
    let reports: Vec<_> =
        pairs.map(|(run, metrics)| Report::new(&run.log, metrics, &run.audit)).collect();
    if let Some(format) = format.text() {
        return write_grid(&reports, format, out);
    }
    let settings: Vec<_> = reports.iter().map(grid_settings).collect();
    let rows = reports.iter().zip(&settings);
    let rows =
        rows.map(|(report, settings)| SweepRow::new("", settings, report.metrics, report.audit));
    write_sweep(&SweepReport::of(rows), env!("CARGO_PKG_VERSION"), out)
}

/// Returns the scoring rules in a log's header.
pub fn scoring_of(header: &Header) -> Option<ScoringSpec> {
    BenchPlan::from_json(header.plan.clone()).ok().map(|plan| plan.scoring)
}

/// Exit code for interruptions and failed requests of a run.
fn outcome(log: &RunLog, scoring: &ScoringSpec) -> ExitCode {
    if log.footer().is_some_and(|footer| footer.engine_ended.is_some()) {
        return ExitCode::TooManyFailed;
    }
    if log.footer().is_some_and(|footer| footer.interrupted) {
        return ExitCode::Interrupted;
    }
    if Failed::of(log).is_tolerated(scoring) { ExitCode::Ok } else { ExitCode::TooManyFailed }
}

/// Number of requests of the measurement, and how many of them failed.
struct Failed {
    failed: usize,
    all: usize,
}

impl Failed {
    fn of(log: &RunLog) -> Self {
        let failed = log.measured().filter(|record| !record.is_success()).count();
        Self { failed, all: log.measured().count() }
    }

    fn is_tolerated(&self, scoring: &ScoringSpec) -> bool {
        self.failed as f64 / self.all.max(1) as f64 <= scoring.tolerated_failures
    }
}
