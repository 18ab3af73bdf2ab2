//! Series of metrics of servers and their machines during the measurement.

use servemark_core::RunLog;
use servemark_metrics::{CountedTwice, HistogramSummary, RunSeries, SeriesGap, SeriesSummary};

use super::style::{number, percent, unit};
use crate::table::Table;

/// Writes the series of each source as means and extremes, the server's own histograms, and the
/// gaps; writes nothing if no metrics were read.
pub(super) fn series(table: &mut Table, log: &RunLog) {
    let series = RunSeries::of(log);
    if series.is_empty() {
        return;
    }
    let (summaries, histograms) = (SeriesSummary::of(log, &series), HistogramSummary::of(log));
    let mut sources: Vec<&str> =
        log.telemetry().sources.iter().map(|it| it.name.as_str()).collect();
    sources.dedup();
    for source in sources {
        let mut of_source: Vec<_> = summaries.iter().filter(|it| it.source == source).collect();
        // A server that counts whole prompts says more by them than by their computed part.
        if of_source.iter().any(|it| it.name == "prompt_tokens") {
            of_source.retain(|it| it.name != "computed_prompt_tokens");
        }
        if !of_source.is_empty() {
            table.grid(&format!("Seen at {source}"), ["mean", "min", "max"]);
            for summary in of_source {
                table.cells(&label(&summary.name), cells(summary));
            }
        }
        let of_source: Vec<_> = histograms.iter().filter(|it| it.source == source).collect();
        if !of_source.is_empty() {
            let title = format!("By the histograms of {source} (ms)");
            table.grid(&title, ["count", "mean", "p50", "p99"]);
            for histogram in of_source.into_iter().filter(|it| it.unit == "s") {
                table.cells(&histogram.name, of_histogram(histogram));
            }
        }
    }
    for gap in &series.gaps {
        table.paragraph("gap", &words(gap));
    }
}

/// Writes the rows of the client audit about what a server counted.
pub(super) fn write_counts(table: &mut Table, log: &RunLog) {
    for counted in CountedTwice::of(log) {
        table.paragraph("counted twice", &against(&counted));
    }
}

fn against(counted: &CountedTwice) -> String {
    let CountedTwice { source, name, server, ours, .. } = counted;
    let name = name.replace('_', " ");
    if counted.agrees() {
        return format!("{ours} {name}, by us and by {source}");
    }
    let more = if server > ours { "more" } else { "fewer" };
    let difference = (server - ours).abs();
    format!("{ours} {name} by us, {server} by {source}: {difference} {more}")
}

/// Returns a label that fits its column.
fn label(name: &str) -> String {
    let label = match name {
        "accept_length" => "accept length",
        "batch_size" => "batch size",
        "computed_prompt_tokens" => "computed tok/s",
        "generated_tokens" => "output tokens/s",
        "generation_rate" => "generated tok/s",
        "gpu_energy" => "GPU energy W",
        "gpu_memory_clock" => "GPU mem. MHz",
        "gpu_memory_used" => "GPU memory",
        "gpu_power" => "GPU power W",
        "gpu_sm_clock" => "GPU SM MHz",
        "gpu_temperature" => "GPU temp. C",
        "gpu_throttle" => "GPU throttle",
        "gpu_use" => "GPU use",
        "kv_use" => "KV cache use",
        "preemptions" => "preemptions/s",
        "prefix_hit_rate" => "prefix hits",
        "prompt_tokens" => "prompt tokens/s",
        "requests" => "requests/s",
        name => name,
    };
    label.to_owned()
}

fn cells(summary: &SeriesSummary) -> Vec<String> {
    let values = [summary.mean, summary.min, summary.max];
    let is_share = ["kv_use", "prefix_hit_rate", "gpu_use"].contains(&summary.name.as_str());
    let cell = |value: f64| match summary.unit.as_str() {
        "bytes" => unit(Some(value / GIB), "GiB"),
        _ if is_share => percent(value),
        _ => number(Some(value)),
    };
    values.map(cell).to_vec()
}

fn of_histogram(histogram: &HistogramSummary) -> Vec<String> {
    let HistogramSummary { count, mean, p50, p99, .. } = histogram;
    let times = [*mean, *p50, *p99].map(|seconds| number(Some(seconds * 1e3)));
    [format!("{count:.0}")].into_iter().chain(times).collect()
}

fn words(gap: &SeriesGap) -> String {
    let until = gap.to_s.map_or_else(|| "on".to_owned(), |to| format!("to {to:.1} s"));
    format!("{} could not be read from {:.1} s {until}: {}", gap.source, gap.from_s, gap.reason)
}

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;
