//! Sections of a run's page that are tables: latencies, failures, figures, client audit, plan.

use servemark_core::{Phase, RequestRecord, RunLog};
use servemark_metrics::statistics::percentile;
use servemark_metrics::{Estimated, Metrics, Percentile, Summary};
use servemark_report::{Report, TableLine, TablePart, TableSection};

use super::head::joined;
use crate::html::Html;
use crate::number::{ABSENT, count, interval, maybe, number, percent};

/// Writes the latencies with the interval of each figure.
pub(super) fn latencies(html: &mut Html, metrics: &Metrics) {
    let latencies = &metrics.latencies;
    let all = [
        ("TTFT", &latencies.ttft),
        ("TPOT per request", &latencies.tpot),
        ("ITL per gap", &latencies.itl),
        ("E2E", &latencies.e2el),
    ];
    let visible: Vec<(&str, &Summary)> =
        all.into_iter().filter(|(_, summary)| summary.samples > 0).collect();
    let Some((_, first)) = visible.first() else { return };
    let percents: Vec<f64> = first.percentiles.iter().map(Percentile::percent).collect();
    let heads = ["", "values", "mean"].map(str::to_owned);
    let heads = heads.into_iter().chain(percents.iter().map(|percent| format!("p{percent}")));
    html.raw("<div class=\"scroll\" tabindex=\"0\"><table class=\"full\">\n");
    html.element("caption", "Service times, from sent (ms)").raw("<thead><tr>");
    for (place, head) in heads.chain(["largest".to_owned()]).enumerate() {
        html.element(
            if place == 0 { "th scope=\"col\" class=\"text\"" } else { "th scope=\"col\"" },
            &head,
        );
    }
    html.raw("</tr></thead>\n<tbody>\n");
    for (name, summary) in visible {
        html.raw("<tr>").element("th scope=\"row\"", name);
        html.element("td", &count(summary.samples));
        let estimates = summary.estimates.as_ref();
        cell(html, summary.mean_ms, estimates.map(|estimates| &estimates.mean));
        for percent in &percents {
            let estimate = estimates.and_then(|estimates| estimates.percentile(*percent));
            cell(html, summary.bounded_percentile_ms(*percent), estimate);
        }
        html.element("td", &maybe(summary.max_ms)).raw("</tr>\n");
    }
    html.raw("</tbody></table></div>\n");
    html.element(
        "p class=\"soft\"",
        "Below each value: its 95 % interval, or by how much longer the run should be to have one. A percentile without a bound is left out.",
    );
}

fn cell(html: &mut Html, value: Option<f64>, estimate: Option<&Estimated>) {
    html.raw("<td>").text(&maybe(value));
    let known = estimate.and_then(|estimate| estimate.low.zip(estimate.high));
    if let Some((low, high)) = known.filter(|_| value.is_some()) {
        html.element("small", &interval(low, high));
    } else if let Some(times) = estimate.and_then(|estimate| estimate.times_longer) {
        html.element("small", &format!("{times:.1} × longer"));
    }
    html.raw("</td>");
}

/// Returns the section about failed requests, with the server's own words.
pub(super) fn failures(report: &Report<'_>, outcome: &[TableSection]) -> String {
    let metrics = report.metrics;
    let mut html = Html::default();
    html.element("h2", "Failures");
    let all = metrics.requests.completed + metrics.requests.failed;
    if metrics.failures.is_empty() {
        html.element("p class=\"lead\"", &format!("None of {} requests failed.", count(all)));
    } else {
        html.raw(
            "<div class=\"scroll stacked\" tabindex=\"0\"><table class=\"full\">\n<thead><tr>",
        );
        html.element("th scope=\"col\" class=\"text\"", "kind");
        html.element("th scope=\"col\"", "requests").element("th scope=\"col\"", "share");
        html.element("th scope=\"col\" class=\"text\"", "the most common messages");
        html.raw("</tr></thead>\n<tbody>\n");
        for group in &metrics.failures {
            html.raw("<tr>").element("th scope=\"row\"", &group.kind.to_string());
            html.element("td", &count(group.count));
            html.element("td", &percent(group.count as f64 / all.max(1) as f64));
            html.raw("<td class=\"words\">");
            let statuses: Vec<String> = group
                .statuses
                .iter()
                .map(|(status, count)| format!("HTTP {status}: {count}"))
                .collect();
            if !statuses.is_empty() {
                html.element("div", &statuses.join(", "));
            }
            for message in &group.messages {
                html.raw("<div>").text(&format!("{} × ", count(message.count)));
                html.element("code", &message.message).raw("</div>");
            }
            html.raw("</td></tr>\n");
        }
        html.raw("</tbody></table></div>\n");
    }
    let rest = outcome.iter().flat_map(|section| joined(&section.lines));
    let rest: Vec<_> = rest.filter(|(name, _)| OTHER_OUTCOMES.contains(name)).collect();
    if !rest.is_empty() {
        html.raw("<dl class=\"facts\">\n");
        for (name, value) in rest {
            html.pair(name, &value);
        }
        html.raw("</dl>\n");
    }
    notes(&mut html, outcome.iter().flat_map(|section| &section.lines), is_absence);
    html.finish()
}

/// Rows of the outcome that are neither successes nor failures.
const OTHER_OUTCOMES: [&str; 3] = ["unfinished", "tries made again", "sent once more"];

/// Returns whether a note is about the server's absence; the other notes are messages of failures.
fn is_absence(note: &str) -> bool {
    note.starts_with("the server was away")
}

/// Writes sections of the report's table, each as a table of its own.
pub(super) fn sheets<'a>(html: &mut Html, sections: impl Iterator<Item = &'a TableSection>) {
    html.raw("<div class=\"sheets\">\n");
    for section in sections {
        let is_grid = !section.heads.is_empty();
        html.raw(if is_grid { "<div class=\"grid\">" } else { "<div>" });
        if is_grid {
            let heads = [String::new()].into_iter().chain(section.heads.iter().cloned());
            let heads: Vec<String> = heads.collect();
            html.table(&section.title, &heads, &cells(section));
        } else {
            let rows = joined(&section.lines).into_iter();
            html.raw("<div class=\"scroll\" tabindex=\"0\"><table>\n")
                .element("caption", &section.title);
            html.raw("<tbody>\n");
            for (name, value) in rows {
                html.raw("<tr>").element("th scope=\"row\"", name.trim());
                html.element("td class=\"text\"", &value).raw("</tr>\n");
            }
            html.raw("</tbody></table></div>\n");
        }
        notes(html, section.lines.iter(), |_| true);
        html.raw("</div>\n");
    }
    html.raw("</div>\n");
}

fn cells(section: &TableSection) -> Vec<Vec<String>> {
    let cells = section.lines.iter().filter_map(|line| match line {
        TableLine::Cells(name, cells) => {
            let mut cells: Vec<String> =
                [name.trim().to_owned()].into_iter().chain(cells.iter().cloned()).collect();
            cells.resize(section.heads.len() + 1, ABSENT.to_owned());
            Some(cells)
        }
        _ => None,
    });
    cells.collect()
}

fn notes<'a>(
    html: &mut Html,
    lines: impl Iterator<Item = &'a TableLine>,
    is_visible: impl Fn(&str) -> bool,
) {
    let notes: Vec<&str> = lines
        .filter_map(|line| match line {
            TableLine::Note(note) if is_visible(note) => Some(note.as_str()),
            _ => None,
        })
        .collect();
    if !notes.is_empty() {
        html.raw("<ul class=\"notes\">");
        for note in notes {
            html.element("li", note);
        }
        html.raw("</ul>\n");
    }
}

/// Returns the rows of the parts of a run: warm-up, measurement and probes, and data sets that
/// were sent as one. Empty if there is only the measurement of one data set.
pub(super) fn groups(log: &RunLog) -> Vec<(&'static str, Vec<Vec<String>>)> {
    let mut groups = Vec::new();
    let phases = [
        (Phase::Warmup, "warm-up"),
        (Phase::Measure, "measurement"),
        (Phase::Retried, "failed tries, made again"),
        (Phase::Probe, "probes"),
        (Phase::CacheCold, "cache audit, new prompts"),
        (Phase::CacheWarm, "cache audit, repeated"),
    ];
    let of_phase =
        |phase| log.records().iter().filter(move |record: &&RequestRecord| record.phase == phase);
    if phases.iter().any(|(phase, _)| *phase != Phase::Measure && of_phase(*phase).next().is_some())
    {
        let rows = phases.iter().filter_map(|(phase, name)| {
            let records: Vec<&RequestRecord> = of_phase(*phase).collect();
            (!records.is_empty()).then(|| row(name, &records))
        });
        groups.push(("By phase (ms)", rows.collect()));
    }
    let parts = &log.header().facts.parts;
    if parts.len() > 1 {
        let mut from = 0;
        let rows = parts.iter().map(|part| {
            let until = from + part.sessions;
            let records: Vec<&RequestRecord> =
                log.measured().filter(|record| (from..until).contains(&record.index)).collect();
            from = until;
            row(&part.name, &records)
        });
        groups.push(("By data set (ms)", rows.collect()));
    }
    groups
}

/// Headings of the rows of [`groups`].
pub(super) const GROUP_HEADS: [&str; 9] = [
    "",
    "requests",
    "failed",
    "TTFT p50",
    "TTFT p99",
    "E2E p50",
    "E2E p99",
    "tokens in",
    "tokens out",
];

fn row(name: &str, records: &[&RequestRecord]) -> Vec<String> {
    let successes = || records.iter().filter(|record| record.is_success());
    let ms = |record: &RequestRecord, end| {
        record.started().as_nanos().abs_diff(servemark_core::Stamp::as_nanos(end)) as f64 / 1e6
    };
    let sorted = |mut values: Vec<f64>| {
        servemark_statistics::sort(&mut values);
        values
    };
    let ttft = sorted(
        successes().filter_map(|record| Some(ms(record, record.deltas.first_at()?))).collect(),
    );
    let e2el = sorted(successes().map(|record| ms(record, record.ended)).collect());
    let at = |values: &[f64], percent: f64| maybe(percentile(values, percent));
    let input: u64 = records.iter().map(|record| u64::from(record.planned.prompt_tokens)).sum();
    let output: Option<u64> =
        successes().map(|record| record.usage?.completion_tokens.map(u64::from)).sum();
    vec![
        name.to_owned(),
        count(records.len()),
        count(records.len() - successes().count()),
        at(&ttft, 50.0),
        at(&ttft, 99.0),
        at(&e2el, 50.0),
        at(&e2el, 99.0),
        number(input as f64),
        output.map_or_else(|| ABSENT.to_owned(), |tokens| number(tokens as f64)),
    ]
}

/// Returns the sections of a part of the report.
pub(super) fn of_part(
    sections: &[TableSection],
    part: TablePart,
) -> impl Iterator<Item = &TableSection> {
    sections.iter().filter(move |section| section.part == part)
}
