//! Offered load, goodput and steady state.

use servemark_core::EngineFacts;
use servemark_metrics::{Goodput, Metrics, Rates, SteadyState};

use super::style::{number, unit};
use crate::table::Table;

/// Writes the offered load. The connections row is left out for an in-process engine.
pub(super) fn load(table: &mut Table, metrics: &Metrics, engine: Option<&EngineFacts>) {
    let Rates { asked_per_s, scheduled_per_s, sent_per_s, .. } = metrics.rates;
    let concurrency = &metrics.concurrency;
    table.section("Load as offered");
    table.row("asked for", unit(asked_per_s, "/s"));
    table.row("scheduled", unit(scheduled_per_s, "/s"));
    table.row("sent", unit(sent_per_s, "/s"));
    table.row("in flight, mean", number(concurrency.mean));
    table.row("in flight, peak", concurrency.peak);
    if engine.is_none() {
        table.row("connections", connections(metrics));
    }
}

fn connections(metrics: &Metrics) -> String {
    let waits = &metrics.waits;
    let (opened, reused) = (waits.connect.samples, waits.reused_connections);
    match waits.ahead_connections {
        0 => format!("{opened} opened, {reused} reused"),
        ahead => format!("{ahead} opened ahead, {opened} opened, {reused} reused"),
    }
}

pub(super) fn goodput(table: &mut Table, goodput: &Goodput) {
    let percent = |share: Option<f64>| unit(share.map(|share| share * 100.0), "% of all requests");
    table.section("Goodput");
    table.row("good requests", unit(goodput.requests_per_s, "/s"));
    table.row("all objectives", percent(goodput.attainment));
    for result in &goodput.by_slo {
        let label = format!("{} <= {} ms", result.slo.metric.name(), result.slo.limit_ms);
        table.row(&label, percent(result.attainment));
    }
}

pub(super) fn steady(table: &mut Table, steady: &SteadyState) {
    table.section("Steady state");
    table.row("in flight, least", least_in_flight(steady));
    table.row("from, to", format!("{:.3} s, {:.3} s", steady.window_start, steady.window_end));
    table.row("duration", unit(Some(steady.duration), "s"));
    table.row("completed", steady.completed);
    table.row("in flight, mean", number(Some(steady.average_concurrency)));
    table.row("input tokens", unit(steady.input_throughput, "/s"));
    table.row("output tokens", unit(Some(steady.output_throughput), "/s"));
    table.row("  retokenized", unit(steady.output_throughput_retokenized, "/s"));
    let peak = unit(Some(steady.peak_output_throughput), "output tokens");
    table.row("fullest second", peak);
}

fn least_in_flight(steady: &SteadyState) -> String {
    let percent = steady.concurrency_ratio.get() * 100.0;
    let (least, peak) = (steady.concurrency_threshold, steady.peak_concurrency);
    format!("{least}, {percent} % of the peak of {peak}")
}
