//! Servemark's result document: the facts and metrics of a run as JSON.

use std::io;

use serde::Serialize;
use servemark_core::{EngineFacts, HostFacts, RunFacts};
use servemark_metrics::{
    Anatomy, Audit, CacheAudit, Contamination, Cost, Energy, Limit, Metrics, RunSeries, Series,
    SeriesGap,
};

use crate::{Report, ReportFormat};

/// Servemark's result document: the facts, audit and metrics of a run as JSON. Single requests are
/// only in the run log.
#[derive(Clone, Copy, Debug, Default)]
pub struct NativeJson;

impl ReportFormat for NativeJson {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let header = report.log.header();
        let RunSeries { series, gaps, .. } = RunSeries::of(report.log);
        let document = Document {
            servemark: &header.servemark,
            clock_started_unix_ns: header.clock_started_unix_ns,
            host: &header.host,
            run: &header.facts,
            engine: header.engine.as_ref(),
            audit: report.audit,
            anatomy: Anatomy::of(report.log),
            contamination: Contamination::of(report.log),
            cache_audit: CacheAudit::of(report.log),
            energy: report.metrics.energy.as_ref(),
            cost: report.metrics.cost.as_ref(),
            limits: Limit::of(report.log, report.audit),
            series,
            series_gaps: gaps,
            metrics: report.metrics,
        };
        serde_json::to_writer_pretty(&mut *out, &document)?;
        out.write_all(b"\n")
    }
}

#[derive(Serialize)]
struct Document<'a> {
    servemark: &'a str,
    clock_started_unix_ns: u64,
    host: &'a HostFacts,
    run: &'a RunFacts,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine: Option<&'a EngineFacts>,
    audit: &'a Audit,
    anatomy: Anatomy,
    #[serde(skip_serializing_if = "Option::is_none")]
    contamination: Option<Contamination>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_audit: Option<CacheAudit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    energy: Option<&'a Energy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<&'a Cost>,
    limits: Vec<Limit>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    series: Vec<Series>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    series_gaps: Vec<SeriesGap>,
    metrics: &'a Metrics,
}
