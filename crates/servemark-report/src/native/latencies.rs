//! Latencies as grids.

use std::cmp::Ordering;

use servemark_core::Header;
use servemark_metrics::{Latency, Metrics, Percentile, PercentileSource, Summary};

use super::style::number;
use crate::table::Table;

pub(super) fn latencies(table: &mut Table, metrics: &Metrics, header: &Header) {
    let (service, response) = (&metrics.latencies, &metrics.response);
    // Answers that were not streamed have no TTFT and no ITL.
    let generates = header.facts.generates();
    let has_tokens = generates && (service.ttft.samples > 0 || service.e2el.samples == 0);
    let visible = Latency::SERVICE.into_iter().filter(|one| has_tokens || !one.needs_tokens());
    let row = |latency: Latency| Some((row_label(latency), metrics.latency(latency)?));
    let from_sent: Vec<_> = visible.filter_map(row).collect();
    let mut from_due = if has_tokens { vec![("TTFT", &response.ttft)] } else { Vec::new() };
    from_due.push(("E2E", &response.e2el));
    grid(table, "Service times, from sent (ms)", &from_sent);
    grid(table, "Response times, from due (ms)", &from_due);
    let own: Vec<_> = metrics.own.iter().map(|own| (own.label, &own.summary)).collect();
    if !own.is_empty() {
        grid(table, "Latencies that the program defines (ms)", &own);
    }
    let waits = &metrics.waits;
    let mut own = vec![("queue wait", &waits.queue), ("send lag", &waits.send_lag)];
    if header.engine.is_none() {
        own.push(("connect", &waits.connect));
    }
    grid(table, "The client's part (ms)", &own);
}

/// Returns the label of a latency, which says what one value stands for where it is not a request.
pub(super) const fn row_label(latency: Latency) -> &'static str {
    match latency {
        Latency::Itl => "ITL per gap",
        Latency::Tpot => "TPOT per request",
        other => other.label(),
    }
}

/// Writes a grid of latencies, one row each. A percentile without a confidence bound is left out; a
/// note below the grid says how many requests it needs.
pub(super) fn grid(table: &mut Table, title: &str, rows: &[(&str, &Summary)]) {
    let percentiles = rows.first().map_or(&[][..], |(_, summary)| &summary.percentiles);
    let percents: Vec<f64> = percentiles.iter().map(Percentile::percent).collect();
    let heads: Vec<_> = percents.iter().map(|percent| format!("p{percent}")).collect();
    let heads = heads.iter().map(String::as_str);
    table.grid(title, ["samples", "mean", "+/- 95 %"].into_iter().chain(heads).chain(["max"]));
    for (label, summary) in rows {
        table.cells(label, cells(summary, &percents));
    }
    too_few(table, rows);
    unbounded(table, rows);
    too_short(table, rows);
    effective(table, rows);
    approximate(table, rows);
}

/// Notes the means without a confidence interval and the reason. Latencies with the same reason
/// share a note.
fn too_short(table: &mut Table, rows: &[(&str, &Summary)]) {
    let mut notes: Vec<(String, Vec<&str>)> = Vec::new();
    for (label, summary) in rows {
        let mean = summary.estimates.as_ref().map(|estimates| &estimates.mean);
        let Some((reason, times)) = mean.and_then(|mean| mean.reason.zip(mean.times_longer)) else {
            continue;
        };
        let why = format!("{reason}; about {times:.1} times longer");
        match notes.iter_mut().find(|(known, _)| *known == why) {
            Some((_, labels)) => labels.push(label),
            None => notes.push((why, vec![label])),
        }
    }
    for (why, labels) in notes {
        table.long_note(format!("no +/- of {}: {why}", labels.join(", ")));
    }
}

/// Notes the effective sample size of each mean for which it is below 99 % of the sample count.
fn effective(table: &mut Table, rows: &[(&str, &Summary)]) {
    let effective = rows.iter().filter_map(|(label, summary)| {
        let mean = summary.estimates.as_ref()?.mean;
        let is_less = mean.effective < 0.99 * mean.samples as f64;
        is_less.then(|| format!("{label} {:.0} of {}", mean.effective, mean.samples))
    });
    let effective: Vec<String> = effective.collect();
    if !effective.is_empty() {
        table.note(format!("  effective samples of the means: {}", effective.join(", ")));
    }
}

/// Notes the percentiles that come from a histogram and are not exact.
fn approximate(table: &mut Table, rows: &[(&str, &Summary)]) {
    let is_of_histogram =
        |row: &&(&str, &Summary)| row.1.percentiles_of == PercentileSource::Histogram;
    let labels: Vec<&str> = rows.iter().filter(is_of_histogram).map(|(label, _)| *label).collect();
    if !labels.is_empty() {
        table.note(format!("  percentiles of {}: histogram (0.05 %)", labels.join(", ")));
    }
}

fn cells(summary: &Summary, percents: &[f64]) -> Vec<String> {
    let half = summary.estimates.as_ref().and_then(|estimates| estimates.mean.half_width());
    let mut cells = vec![summary.samples.to_string(), number(summary.mean_ms), number(half)];
    cells.extend(percents.iter().map(|&percent| number(summary.bounded_percentile_ms(percent))));
    cells.push(number(summary.max_ms));
    cells
}

/// Notes the percentiles that are left out because they have no confidence bound, and the number of
/// requests they need. Latencies with equal needs share a note.
fn unbounded(table: &mut Table, rows: &[(&str, &Summary)]) {
    let mut notes: Vec<(String, Vec<&str>)> = Vec::new();
    for (label, summary) in rows {
        let Some(needs) = requests_needed(summary) else { continue };
        match notes.iter_mut().find(|(known, _)| *known == needs) {
            Some((_, labels)) => labels.push(label),
            None => notes.push((needs, vec![label])),
        }
    }
    for (needs, labels) in notes {
        let note = format!("- of {}: no bound yet; {needs}", labels.join(", "));
        table.long_note(note);
    }
}

/// Returns the number of requests that each percentile without a bound needs, such as `p99 needs
/// about 370 requests, p99.9 about 3700`; `None` if all percentiles have bounds.
pub(crate) fn requests_needed(summary: &Summary) -> Option<String> {
    let unknown = summary
        .percentiles
        .iter()
        .filter_map(|percentile| Some((percentile.percent(), needed(summary, percentile)?)));
    let text = unknown.enumerate().map(|(place, (percent, needed))| match place {
        0 => format!("p{percent} needs about {needed:.0} requests"),
        _ => format!("p{percent} about {needed:.0}"),
    });
    let text: Vec<String> = text.collect();
    (!text.is_empty()).then(|| text.join(", "))
}

/// Returns the number of requests that would bound a percentile; `None` if it has a bound already.
fn needed(summary: &Summary, percentile: &Percentile) -> Option<f64> {
    let estimates = summary.estimates.as_ref()?;
    let percent = percentile.percent();
    let times = estimates.percentile(percent)?.times_longer.unwrap_or(1.0);
    let needed = (estimates.requests as f64 * times).max(percentile.fewest_requests() as f64);
    summary.bounded_percentile_ms(percent).is_none().then(|| two_digits(needed))
}

/// Rounds a number of requests up to two significant digits.
fn two_digits(needed: f64) -> f64 {
    let unit = 10_f64.powf((needed.max(1.0).log10().floor() - 1.0).max(0.0));
    (needed / unit).ceil() * unit
}

/// Notes the number of samples that each percentile without an estimate requires.
fn too_few(table: &mut Table, rows: &[(&str, &Summary)]) {
    let without = rows.iter().filter(|(_, summary)| summary.estimates.is_none());
    let needs = without.flat_map(|(_, summary)| {
        summary.percentiles.iter().filter_map(|percentile| match *percentile {
            Percentile::TooFew { percent, .. } => Some((percentile.fewest_requests(), percent)),
            Percentile::Known { .. } => None,
        })
    });
    let mut needs: Vec<_> = needs.collect();
    needs.sort_by(|left, right| left.partial_cmp(right).unwrap_or(Ordering::Equal));
    needs.dedup();
    let needs: Vec<_> =
        needs.iter().map(|(samples, percent)| format!("p{percent} takes {samples}")).collect();
    if !needs.is_empty() {
        table.note(format!("  -: too few samples; {}", needs.join(", ")));
    }
}
