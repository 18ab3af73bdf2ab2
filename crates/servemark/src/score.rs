//! A log, scored: tables for a person, lines for files, and an exit code for the shell.

use std::cell::OnceCell;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use servemark_core::{Header, RunLog};
use servemark_metrics::{
    Audit, FailOn, Judgement, KnownEnough, MetricPolicy, Metrics, MlperfResult, Planning,
    PlateauSpec, RunVerdict, ServerCounts, Standing, Verdict,
};
use servemark_plan::{BenchPlan, Layout, RunProfile, ScoringSpec, SloSpec, UntilSpec};
use servemark_report::{
    EvalscopeStyle, GridFormat, Layout as Format, PlateauTable, Report, ReportFormat, RequestLines,
    ScoreJson, SglangOptions, SteadyStateLine, ThroughputPlots, TurnsTable, write_grid,
};

use crate::{ExitCode, Run};

/// A log with its scores. Each is made when the first report needs it, and only once.
///
/// They are a function of the log and nothing else: the same log gives the same bytes, during its
/// run and years after.
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
    /// A log, to be scored as `scoring` says.
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

    /// A run, to be scored as `scoring` says. Its audit was made when it ended.
    pub fn of_run(run: &'a Run, scoring: &'a ScoringSpec) -> Self {
        Self { audit: run.audit.clone().into(), ..Self::of(&run.log, scoring) }
    }

    /// Writes the tables that are asked for, in their order, after the lines about each request
    /// and the plots if there are to be any.
    pub fn write_tables(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(first) = self.scoring.layouts.first().copied() {
            if self.scoring.print_requests {
                self.write(first, &RequestLines, out)?;
            }
            if self.scoring.plots {
                self.write(first, &ThroughputPlots, out)?;
            }
        }
        for layout in &self.scoring.layouts {
            self.write(*layout, self.format(*layout).table().as_ref(), out)?;
            if *layout == Layout::Vllm {
                self.write(*layout, &TurnsTable, out)?;
                self.write(*layout, &PlateauTable, out)?;
            }
        }
        Ok(())
    }

    /// What is to be said of the run on one line each, whatever the tables tell: that the server's
    /// token counts are no JSON integers.
    pub fn warnings(&self) -> Vec<String> {
        ServerCounts::of(self.log).warning().into_iter().collect()
    }

    /// The numbers by which a run is held against others of a series, by vLLM's definitions: with
    /// these percentiles and those that every such table has, and with the part of the run at its
    /// load.
    pub fn headline(&self, percentiles: &[f64]) -> Metrics {
        let mut policy = self.policy(MetricPolicy::vllm());
        policy.plateau = policy.plateau.or_else(|| Some(PlateauSpec::default()));
        policy.percentiles = [percentiles, &[90.0, 99.0]].concat();
        Metrics::score(self.log, &policy)
    }

    /// Writes what the run shows as one JSON document: estimates with their intervals, verdicts on the
    /// run and on the client, objectives, and every number of our own table.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let (slo, until, mlperf) = (self.judgements(), self.known_enough(), self.mlperf());
        let document = ScoreJson { slo: &slo, until: &until, mlperf: mlperf.as_ref() };
        self.write(Layout::Native, &document, out)
    }

    /// Appends a line to a file of results, with an entry for every request if `details` are
    /// wanted: SGLang's, or vLLM's where its table is the first.
    pub fn append_result(&self, details: bool, path: &Path) -> io::Result<()> {
        if self.scoring.layouts.first() == Some(&Layout::Vllm) {
            return self.append_vllm(&self.vllm_result(details, self.utc_offset_s()), path);
        }
        if self.scoring.layouts.first() == Some(&Layout::Offline) {
            return self.append(Format::Offline.document().as_ref(), path);
        }
        let options = self.options();
        let options = if details { options.with_output_details() } else { options };
        self.append(Format::Sglang(options).document().as_ref(), path)
    }

    /// Appends the line of SGLang's steady-state file. Says whether there was a steady state to
    /// write of.
    pub fn append_steady_state(&self, path: &Path) -> io::Result<bool> {
        let is_found = self.metrics(Layout::Sglang).steady_state.is_some();
        self.append(&SteadyStateLine, path).map(|()| is_found)
    }

    /// What the client did to the run.
    pub fn audit(&self) -> &Audit {
        self.audit.get_or_init(|| Audit::of(self.log))
    }

    /// Whether a table of this layout is among those that are printed.
    pub fn has_table(&self, layout: Layout) -> bool {
        self.scoring.layouts.contains(&layout)
    }

    /// The verdict that the log has of itself, if its audit is another than this one: whoever wrote
    /// it audited by other rules, or the log was changed.
    pub fn other_verdict(&self) -> Option<&str> {
        let kept = self.log.footer()?.audit.as_ref()?;
        let is_other = serde_json::to_value(self.audit()).ok().as_ref() != Some(kept);
        is_other.then(|| kept["verdict"].as_str().unwrap_or("nothing"))
    }

    /// Verdicts on the run, by our own definitions whatever the tables are.
    pub fn verdicts(&self) -> &[RunVerdict] {
        &self.metrics(Layout::Native).verdicts
    }

    /// The verdicts that were not to be there and are, with their reasons.
    pub fn unwanted(&self) -> Vec<(FailOn, String)> {
        let named = self.scoring.unwanted.iter();
        named.filter_map(|kind| Some((*kind, self.reason(*kind)?))).collect()
    }

    /// Why the run has a verdict, if it has.
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

    /// The verdict that was not to be reached, if this run's is that or a worse one.
    pub fn broken_gate(&self) -> Option<Verdict> {
        self.scoring.fail_on.filter(|&limit| self.audit().verdict >= limit)
    }

    /// What the run shows of each of its objectives, by our own definitions.
    pub fn judgements(&self) -> Vec<Judgement> {
        let judge =
            |slo: &SloSpec| slo.judge(self.log, self.audit(), &self.policy(MetricPolicy::native()));
        self.scoring.slo.as_ref().map_or_else(Vec::new, judge)
    }

    /// What it takes to know each headline figure to 2 %, where our own table is among those that are
    /// printed; of a run that did not come to its end nothing is said.
    pub fn planning(&self) -> Vec<Planning> {
        let is_asked = self.scoring.layouts.contains(&Layout::Native) && self.log.is_complete();
        if is_asked { Planning::of(self.metrics(Layout::Native)) } else { Vec::new() }
    }

    /// What the run shows of the figures that were to end it, by our own definitions.
    pub fn known_enough(&self) -> Vec<KnownEnough> {
        let of =
            |until: &UntilSpec| KnownEnough::of_log(self.log, &until.targets, until.confidence);
        self.scoring.until.as_ref().map_or_else(Vec::new, of)
    }

    /// What `LoadGen` of `MLPerf` would say of the run, if it is to be valid by its rules.
    pub fn mlperf(&self) -> Option<MlperfResult> {
        let is_asked = self.scoring.profile == Some(RunProfile::Mlperf);
        let objectives = self.scoring.slo.as_ref().map_or(&[][..], |slo| &slo.objectives);
        is_asked.then(|| MlperfResult::of(self.log, objectives))
    }

    /// What an objective that does not hold makes of the exit code, or a figure that was to be known and
    /// is not: an objective that is missed weighs more than what is undecided.
    fn gate_code(&self) -> ExitCode {
        let is_open = || self.known_enough().iter().any(|known| !known.is_known);
        match self.judgements().iter().map(|judgement| judgement.standing).max() {
            None | Some(Standing::Holds) if is_open() => ExitCode::Undecided,
            None | Some(Standing::Holds) => ExitCode::Ok,
            Some(Standing::Undecided) => ExitCode::Undecided,
            Some(Standing::Fails) => ExitCode::GateFailed,
        }
    }

    /// What the gates on a run that is over make of the exit code.
    pub fn gates(&self) -> ExitCode {
        let is_invalid = self.mlperf().is_some_and(|result| !result.is_valid);
        let is_broken = self.broken_gate().is_some() || !self.unwanted().is_empty();
        if is_broken || is_invalid { ExitCode::GateFailed } else { self.gate_code() }
    }

    /// What the exit code says of the run.
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
            _ => Format::Native,
        }
    }

    /// One write, so that programs which share the file do not share a line.
    fn append(&self, format: &dyn ReportFormat, path: &Path) -> io::Result<()> {
        let mut line = Vec::new();
        self.write(Layout::Sglang, format, &mut line)?;
        OpenOptions::new().create(true).append(true).open(path)?.write_all(&line)
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
        let (cell, policy): (_, fn() -> MetricPolicy) = match layout {
            Layout::Aisbench => (&self.aisbench, MetricPolicy::aisbench),
            Layout::Evalscope => (&self.evalscope, self.evalscope_policy()),
            Layout::Offline | Layout::Sglang => (&self.sglang, MetricPolicy::sglang),
            Layout::Vllm => (&self.vllm, MetricPolicy::vllm),
            _ => (&self.native, MetricPolicy::native),
        };
        let policy = match layout {
            Layout::Vllm => policy().with_percentiles(self.scoring.vllm.percentiles.clone()),
            _ => policy(),
        };
        cell.get_or_init(|| Metrics::score(self.log, &self.policy(policy)))
    }

    fn evalscope_policy(&self) -> fn() -> MetricPolicy {
        match self.scoring.evalscope.style {
            EvalscopeStyle::V1_0 => MetricPolicy::evalscope_1_0,
            EvalscopeStyle::V1_7 => MetricPolicy::evalscope_1_7,
            _ => MetricPolicy::evalscope,
        }
    }

    /// A policy with what is asked for besides.
    fn policy(&self, policy: MetricPolicy) -> MetricPolicy {
        let slos = self.scoring.slos.iter().copied();
        let policy = policy.with_slos(slos).with_steady_state(self.scoring.steady_state);
        let policy = policy.with_plateau(self.scoring.plateau);
        policy.with_sample_budget(self.scoring.sample_budget)
    }

    fn options(&self) -> SglangOptions {
        let options = SglangOptions::default();
        if self.scoring.cache_report { options.with_cache_report() } else { options }
    }
}

/// Writes a grid of runs, a row each.
pub fn write_runs(runs: &[Run], format: GridFormat, out: &mut dyn Write) -> io::Result<()> {
    let score = |run: &Run| Metrics::score(&run.log, &MetricPolicy::native());
    let scores: Vec<Metrics> = runs.iter().map(score).collect();
    let pairs = runs.iter().zip(&scores);
    let reports: Vec<_> =
        pairs.map(|(run, metrics)| Report::new(&run.log, metrics, &run.audit)).collect();
    write_grid(&reports, format, out)
}

/// How a log was to be scored when it was made.
pub fn scoring_of(header: &Header) -> Option<ScoringSpec> {
    serde_json::from_value::<BenchPlan>(header.plan.clone()).ok().map(|plan| plan.scoring)
}

/// What the exit code says of the ends of a run's requests.
fn outcome(log: &RunLog, scoring: &ScoringSpec) -> ExitCode {
    if log.footer().is_some_and(|footer| footer.engine_ended.is_some()) {
        return ExitCode::TooManyFailed;
    }
    if log.footer().is_some_and(|footer| footer.interrupted) {
        return ExitCode::Interrupted;
    }
    let all = log.measured().count();
    let failed = log.measured().filter(|record| !record.is_success()).count();
    let share = failed as f64 / all.max(1) as f64;
    if share > scoring.tolerated_failures { ExitCode::TooManyFailed } else { ExitCode::Ok }
}
