//! The head of a run's page: verdicts, five numbers with their intervals, and what was run.

use servemark_core::Header;
use servemark_metrics::{
    Completeness, Estimated, FailureTally, Judgement, Metrics, SettledStatus, SloVerdict, Summary,
    Verdict,
};
use servemark_report::{Report, TableLine, TablePart, TableSection};

use super::bins::whole;
use crate::html::Html;
use crate::number::{ABSENT, count, interval, maybe, number, percent};

/// What the head of a page shows.
pub(super) struct Head<'a> {
    pub(super) report: &'a Report<'a>,
    pub(super) sections: &'a [TableSection],
    pub(super) judgements: &'a [Judgement],
    /// Where the run log is.
    pub(super) source: Option<&'a str>,
    /// How many requests ended, if the run goes on.
    pub(super) progress: Option<&'a str>,
}

impl Head<'_> {
    pub(super) fn html(&self) -> String {
        let report = self.report;
        let header = report.log.header();
        let mut html = Html::default();
        let requests = report.metrics.requests;
        let all = count(requests.completed + requests.failed);
        let when = format!(
            "{} · {all} requests in {} s",
            started(header.clock_started_unix_ns),
            number(report.metrics.duration_s)
        );
        html.element("p class=\"when\"", &when);
        html.element("h1", &title(header));
        self.verdicts(&mut html);
        figures(&mut html, report);
        facts(&mut html, header, self.sections, self.source);
        html.finish()
    }

    fn verdicts(&self, html: &mut Html) {
        let (metrics, audit) = (self.report.metrics, self.report.audit);
        html.raw("<ul class=\"verdicts\">\n");
        completeness(html, metrics, self.progress);
        let class = match audit.verdict {
            Verdict::Clean | Verdict::Corrected => "good",
            Verdict::Suspect => "fair",
            Verdict::ClientLimited => "bad",
        };
        let reasons: Vec<&str> = audit.reasons.iter().map(|found| found.reason.as_str()).collect();
        verdict(html, class, &format!("client audit: {}", audit.verdict), &reasons.join("; "));
        for found in &metrics.verdicts {
            verdict(html, "fair", found.kind.name(), &found.reason);
        }
        if metrics.verdicts.is_empty() {
            verdict(html, "good", "run: no objection", &settled_text(metrics));
        }
        if metrics.requests.failed > 0 {
            let mut tally = FailureTally::default();
            tally.add_metrics(metrics);
            verdict(html, "fair", "failures", &tally.to_string());
        }
        for judgement in self.judgements {
            let class = match judgement.verdict {
                SloVerdict::Holds => "good",
                SloVerdict::Undecided => "fair",
                SloVerdict::Fails => "bad",
            };
            verdict(html, class, "objective", &judgement.to_string());
        }
        html.raw("</ul>\n");
    }
}

/// Writes the progress of a run that goes on, or how many requests a stopped run lacks.
fn completeness(html: &mut Html, metrics: &Metrics, progress: Option<&str>) {
    if let Some(progress) = progress {
        return verdict(html, "plain", "running", progress);
    }
    let how = match metrics.completeness {
        Completeness::Complete => return,
        Completeness::Interrupted => "interrupted",
        Completeness::Killed => "killed",
    };
    let (missing, planned) = (metrics.requests.unfinished(), metrics.requests.planned);
    let text = format!("{} of {} requests are missing", count(missing), count(planned));
    verdict(html, "bad", how, &text);
}

/// Returns what was measured: the model at its address.
pub(super) fn title(header: &Header) -> String {
    let facts = &header.facts;
    let model = facts.model_id.as_deref().unwrap_or(&facts.model);
    let place = match &header.engine {
        Some(engine) => format!("{} {}", engine.name, engine.version),
        None => facts.target.clone(),
    };
    match (model.is_empty(), place.is_empty()) {
        (false, false) => format!("{model} at {place}"),
        (false, true) => model.to_owned(),
        (true, _) => place,
    }
}

/// Returns a date and a time of day in UTC.
pub(crate) fn started(unix_ns: u64) -> String {
    let stamp = jiff::Timestamp::from_nanosecond(unix_ns.into());
    stamp.map_or_else(
        |_| ABSENT.to_owned(),
        |stamp| {
            stamp.to_zoned(jiff::tz::TimeZone::UTC).strftime("%-d %B %Y, %H:%M:%S UTC").to_string()
        },
    )
}

fn verdict(html: &mut Html, class: &str, name: &str, text: &str) {
    html.raw(&format!("<li class=\"{class}\">"));
    html.element("b", name).element("span", text).raw("</li>\n");
}

fn settled_text(metrics: &Metrics) -> String {
    let Some(resolved) = &metrics.settled else { return String::new() };
    match (resolved.status, &resolved.part) {
        (SettledStatus::Whole, _) => "settled from the start to the end".to_owned(),
        (SettledStatus::Part, Some(part)) => {
            format!("settled from {} s to {} s", number(part.from_s), number(part.to_s))
        }
        _ => format!("no part is settled: {}", resolved.reason.as_deref().unwrap_or_default()),
    }
}

fn figures(html: &mut Html, report: &Report<'_>) {
    let metrics = report.metrics;
    let (rates, latencies) = (metrics.rate_estimates.as_ref(), &metrics.latencies);
    let generates = report.log.header().facts.generates();
    html.raw("<div class=\"figures\">\n");
    if generates {
        let whole = metrics.throughput.output_tokens_per_s;
        let estimate = rates.map(|rates| rates.output_tokens_per_s);
        let speed = latencies.tpot.median_ms.filter(|tpot| *tpot > 0.0).map(|tpot| 1000.0 / tpot);
        let more = [
            More::of("whole run", maybe(whole)),
            More::of("input tokens", maybe(metrics.throughput.input_tokens_per_s)),
            More::of("one user, median", maybe(speed)),
        ];
        figure(html, ["Output tokens", "per second"], whole, estimate.as_ref(), &more);
    }
    let requests = metrics.requests;
    let estimate = rates.map(|rates| rates.requests_per_s);
    let succeeded =
        requests.completed as f64 / (requests.completed + requests.failed).max(1) as f64;
    let more = [
        More::of("whole run", maybe(metrics.throughput.requests_per_s)),
        More::of("succeeded", percent(succeeded)),
        More::of("in flight, mean", maybe(metrics.concurrency.mean)),
    ];
    let whole = metrics.throughput.requests_per_s;
    figure(html, ["Requests", "per second"], whole, estimate.as_ref(), &more);
    if !generates {
        let items = metrics.items.items_per_s;
        let more = [More::of("input tokens/s", maybe(metrics.throughput.input_tokens_per_s))];
        figure(html, ["Items", "per second"], items, None, &more);
    }
    let of_tokens =
        [("Time to first token", &latencies.ttft), ("Inter-token latency", &latencies.itl)];
    let visible = of_tokens.into_iter().filter(|(_, summary)| summary.samples > 0);
    for (name, summary) in visible.chain([("End to end", &latencies.e2el)]) {
        latency(html, name, summary);
    }
    html.raw("</div>\n");
}

fn latency(html: &mut Html, name: &str, summary: &Summary) {
    let estimates = summary.estimates.as_ref();
    let median = estimates.and_then(|estimates| estimates.percentile(50.0));
    let tail = estimates.and_then(|estimates| estimates.percentile(99.0));
    let bounds = tail.and_then(|tail| tail.low.zip(tail.high));
    let mut p99 = More::of("p99", maybe(summary.bounded_percentile_ms(99.0)));
    p99.range =
        Some(bounds.map_or_else(|| "no bound yet".to_owned(), |(low, high)| interval(low, high)));
    let more =
        [p99, More::of("mean", maybe(summary.mean_ms)), More::of("largest", maybe(summary.max_ms))];
    figure(html, [name, "ms, median"], summary.median_ms, median, &more);
}

/// A further number of a figure.
struct More {
    name: &'static str,
    value: String,
    range: Option<String>,
}

impl More {
    fn of(name: &'static str, value: String) -> Self {
        Self { name, value, range: None }
    }
}

fn figure(
    html: &mut Html,
    [name, unit]: [&str; 2],
    value: Option<f64>,
    estimate: Option<&Estimated>,
    more: &[More],
) {
    let value = estimate.and_then(|estimate| estimate.value).or(value);
    html.raw("<div>").element("h3", name);
    html.raw("<p class=\"value\">").text(&maybe(value));
    html.element("small", unit).raw("</p>");
    html.element("p class=\"range\"", &range(estimate));
    html.raw("<dl>");
    for more in more {
        html.raw("<div>").element("dt", more.name).raw("<dd>").text(&more.value);
        if let Some(range) = &more.range {
            html.element("small", range);
        }
        html.raw("</dd></div>");
    }
    html.raw("</dl></div>\n");
}

/// Describes the interval of an estimate, or why there is none.
fn range(estimate: Option<&Estimated>) -> String {
    let Some(estimate) = estimate else { return "too short for an interval".to_owned() };
    let samples = if estimate.effective < 0.99 * estimate.samples as f64 {
        format!(", effective {} of {}", count(whole(estimate.effective)), count(estimate.samples))
    } else {
        format!(", n {}", count(estimate.samples))
    };
    match (estimate.low.zip(estimate.high), estimate.reason.zip(estimate.times_longer)) {
        (Some((low, high)), _) => format!("{} (95 %){samples}", interval(low, high)),
        (None, Some((reason, times))) => {
            format!("too short: {reason}; about {times:.1} times longer")
        }
        _ => "too short for an interval".to_owned(),
    }
}

fn facts(html: &mut Html, header: &Header, sections: &[TableSection], source: Option<&str>) {
    html.raw("<dl class=\"facts\">\n");
    for section in sections.iter().filter(|section| section.part == TablePart::Run) {
        for (name, value) in joined(&section.lines) {
            html.pair(name, &value);
        }
    }
    html.pair("servemark", &header.servemark);
    if let Some(source) = source {
        html.pair("run log", source);
    }
    for (name, info) in server_versions(header) {
        html.pair(name, &info);
    }
    html.raw("</dl>\n");
}

/// Joins rows without a name with the row above them.
pub(crate) fn joined(lines: &[TableLine]) -> Vec<(&str, String)> {
    let mut rows: Vec<(&str, String)> = Vec::new();
    for line in lines {
        match (line, rows.last_mut()) {
            (TableLine::Row(name, text), Some((_, value))) if name.is_empty() => {
                value.push_str("; ");
                value.push_str(text);
            }
            (TableLine::Row(name, text), _) => rows.push((name, text.clone())),
            _ => {}
        }
    }
    rows
}

/// Returns the version that a server reports.
fn server_versions(header: &Header) -> Vec<(&'static str, String)> {
    let Some(info) = header.server_info.as_ref() else { return Vec::new() };
    let keys = ["version", "sglang_version", "vllm_version"];
    let rows = keys.iter().find_map(|key| info.get(*key)?.as_str());
    rows.map(|version| ("server version", version.to_owned())).into_iter().collect()
}
