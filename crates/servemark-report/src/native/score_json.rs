//! Estimates with intervals, verdicts and objectives of a run as JSON for scripts.

use std::io;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use servemark_core::Ranks;
use servemark_metrics::{
    Anatomy, Audit, CacheAudit, Contamination, Cost, CountedTwice, Energy, Judgement, KnownEnough,
    Latency, Limit, Metrics, MlperfResult, Planning, RunSeries, RunVerdict, Series, SeriesGap,
    SettledRun, SloVerdict,
};

use crate::{Report, ReportFormat};

/// Document of `servemark score --json`. Latencies are in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct ScoreJson<'a> {
    /// Verdict on each objective.
    pub slo: &'a [Judgement],
    /// Result of the `MLPerf` rules, if they were asked for.
    pub mlperf: Option<&'a MlperfResult>,
    /// State of the figures whose precision was to end the run.
    pub until: &'a [KnownEnough],
}

impl ReportFormat for ScoreJson<'_> {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let metrics = report.metrics;
        let RunSeries { series, gaps, .. } = RunSeries::of(report.log);
        let document = Document {
            schema: "servemark/score/1",
            servemark: &report.log.header().servemark,
            metrics: Figures(metrics),
            verdicts: &metrics.verdicts,
            settled: metrics.settled.as_ref(),
            planning: Planning::of(metrics),
            until: self.until,
            mlperf: self.mlperf,
            slo: self.slo.iter().map(Judged::of).collect(),
            anatomy: Anatomy::of(report.log),
            contamination: Contamination::of(report.log),
            cache_audit: CacheAudit::of(report.log),
            energy: metrics.energy.as_ref(),
            cost: metrics.cost.as_ref(),
            limits: Limit::of(report.log, report.audit),
            series,
            series_gaps: gaps,
            counted_twice: CountedTwice::of(report.log),
            audit: report.audit,
            ranks: report.log.header().ranks.as_ref(),
            score: metrics,
        };
        serde_json::to_writer_pretty(&mut *out, &document)?;
        out.write_all(b"\n")
    }
}

#[derive(Serialize)]
struct Document<'a> {
    /// Name and version of the published schema.
    schema: &'static str,
    servemark: &'a str,
    metrics: Figures<'a>,
    verdicts: &'a [RunVerdict],
    settled: Option<&'a SettledRun>,
    planning: Vec<Planning>,
    until: &'a [KnownEnough],
    #[serde(skip_serializing_if = "Option::is_none")]
    mlperf: Option<&'a MlperfResult>,
    slo: Vec<Judged>,
    anatomy: Anatomy,
    contamination: Option<Contamination>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_audit: Option<CacheAudit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    energy: Option<&'a Energy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<&'a Cost>,
    limits: Vec<Limit>,
    series: Vec<Series>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    series_gaps: Vec<SeriesGap>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    counted_twice: Vec<CountedTwice>,
    audit: &'a Audit,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks: Option<&'a Ranks>,
    score: &'a Metrics,
}

/// Figures with confidence intervals; `null` if the run has no such value.
struct Figures<'a>(&'a Metrics);

impl Serialize for Figures<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (metrics, rates) = (self.0, self.0.rate_estimates);
        let mut map = to.serialize_map(None)?;
        let key = |latency: Latency| format!("{}_ms", latency.name());
        let estimates = |latency| metrics.latency(latency)?.estimates.as_ref();
        let response = [Latency::ResponseTtft, Latency::ResponseE2el];
        for latency in Latency::SERVICE.into_iter().chain(response) {
            map.serialize_entry(&key(latency), &estimates(latency))?;
        }
        map.serialize_entry("requests_per_s", &rates.map(|rates| rates.requests_per_s))?;
        map.serialize_entry("output_tokens_per_s", &rates.map(|rates| rates.output_tokens_per_s))?;
        let shares = metrics.share_estimates;
        map.serialize_entry("success", &shares.map(|shares| shares.success))?;
        map.serialize_entry("goodput", &shares.and_then(|shares| shares.goodput))?;
        let mut own: Vec<_> = metrics.own.iter().collect();
        own.sort_by_key(|own| own.name);
        for own in own {
            map.serialize_entry(&format!("{}_ms", own.name), &own.summary.estimates)?;
        }
        map.end()
    }
}

/// An objective with its verdict.
#[derive(Serialize)]
struct Judged {
    objective: String,
    verdict: SloVerdict,
    reason: String,
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    effective: f64,
}

impl Judged {
    fn of(judgement: &Judgement) -> Self {
        let finite = |value: f64| Some(value).filter(|value| value.is_finite());
        Self {
            objective: judgement.objective.to_string(),
            verdict: judgement.verdict,
            reason: judgement.to_string(),
            value: judgement.value,
            low: finite(judgement.low),
            high: finite(judgement.high),
            effective: judgement.effective,
        }
    }
}
