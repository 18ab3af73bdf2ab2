//! The page of one run.

mod anatomy;
pub(crate) mod bins;
pub(crate) mod distribution;
pub(crate) mod flow;
mod head;
mod server;
mod tables;
mod timeline;
pub(crate) mod times;

use std::io;

use serde_json::{Value, json};
use servemark_metrics::{Judgement, Latency};
use servemark_report::{NativeTable, Report, ReportFormat, TablePart, TableSection};

use self::distribution::Spread;
use self::flow::Flow;
pub(crate) use self::head::{joined, started};
use self::times::Times;
use crate::frame::{Frame, Section};
use crate::glossary::{RUN_WORDS, glossary};
use crate::html::Html;
use crate::live::{Live, Served, ended};
use crate::number::count;
use crate::series::{Panel, SeriesPanel};

/// The page of one run: a [`ReportFormat`] for metrics by Servemark's own definitions.
#[derive(Clone, Debug, Default)]
pub struct RunPage<'a> {
    judgements: &'a [Judgement],
    panels: Vec<SeriesPanel>,
    source: Option<String>,
    served: Option<Served>,
}

impl<'a> RunPage<'a> {
    /// Sets the verdicts on the run's objectives.
    #[must_use]
    pub fn with_judgements(self, judgements: &'a [Judgement]) -> Self {
        Self { judgements, ..self }
    }

    /// Sets panels that share the time axis of the run, for example those of the server's metrics.
    #[must_use]
    pub fn with_panels(self, panels: Vec<SeriesPanel>) -> Self {
        Self { panels, ..self }
    }

    /// Sets where the run log is, as the page shows it.
    #[must_use]
    pub fn with_source(self, source: impl Into<String>) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// Makes the page one that is served while the run goes on.
    #[must_use]
    pub fn served(self, served: Served) -> Self {
        Self { served: Some(served), ..self }
    }

    /// Returns whether the run goes on, so that requests without a record are not missing.
    fn is_running(&self) -> bool {
        self.served.is_some_and(|served| !served.is_over)
    }
}

impl ReportFormat for RunPage<'_> {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let page = Page::of(self, report);
        let header = report.log.header();
        let title = format!("{} · Servemark", head::title(header));
        let data = page.data();
        let progress = || format!("running, {}", page.progress());
        let live = self.served.map(|served| Live::new(served, &progress()));
        let frame = Frame {
            title: &title,
            kind: "Report of a run",
            data: &data,
            version: &header.servemark,
            live: live.as_ref(),
        };
        frame.write(&page.sections(), out)
    }
}

/// A run with everything that its page needs.
struct Page<'a> {
    options: &'a RunPage<'a>,
    report: &'a Report<'a>,
    tables: Vec<TableSection>,
    time: Option<OverTime>,
    distributions: Vec<Value>,
    groups: Vec<(&'static str, Vec<Vec<String>>)>,
}

/// What is drawn over the time of a run.
struct OverTime {
    times: Times,
    panels: Vec<Panel>,
    requests: Value,
    failures: Option<Value>,
}

impl<'a> Page<'a> {
    fn of(options: &'a RunPage<'a>, report: &'a Report<'a>) -> Self {
        let scores = report.scores();
        let metrics = report.metrics;
        let time = Times::of(report.log, &scores).map(|times| {
            let flow = Flow::of(&times, metrics, &scores);
            let latency = |latency, title| flow::latency(latency, title, &times, metrics, &scores);
            let mut panels: Vec<Panel> =
                latency(Latency::Ttft, "Time to first token").into_iter().collect();
            panels.extend(flow.gaps());
            panels.extend(latency(Latency::E2el, "End-to-end latency"));
            panels.extend(flow.tokens());
            panels.extend(anatomy::panel(&times, report.log));
            panels.push(flow::in_flight(&times, report.log, &scores));
            panels.push(flow::requests(&times, &scores));
            panels.extend(server::panels(&times, report.log));
            let more = options.panels.iter().enumerate();
            panels.extend(
                more.map(|(place, panel)| panel.panel(format!("series-{place}"), times.zero)),
            );
            OverTime {
                times,
                panels,
                requests: timeline::timeline(&times, report.log, &scores, &flow.longest),
                failures: flow::failures(&times, &scores),
            }
        });
        let distributions = LATENCIES.into_iter().filter_map(|(latency, name)| {
            let spread = Spread::of(latency, metrics, &scores)?;
            Some(distribution::distribution(name, &spread, metrics.latency(latency)?))
        });
        Self {
            options,
            report,
            tables: NativeTable::sections(report),
            distributions: distributions.collect(),
            groups: tables::groups(report.log),
            time,
        }
    }

    fn data(&self) -> Value {
        let mut data = json!({"panels": [], "distributions": self.distributions});
        if let Some(time) = &self.time {
            data["time"] = time.times.json(self.report.metrics);
            data["panels"] = time.panels.iter().map(Panel::json).collect();
            data["requests"] = time.requests.clone();
            if let Some(failures) = &time.failures {
                data["failures"] = failures.clone();
            }
        }
        data
    }

    /// Describes the progress of a run that goes on: the number of its requests that ended.
    fn progress(&self) -> String {
        let requests = self.report.metrics.requests;
        let is_timed = !self.report.log.header().plan["load"]["lasts"].is_null();
        let planned = (!is_timed).then_some(requests.planned);
        ended(requests.completed + requests.failed, planned)
    }

    fn sections(&self) -> Vec<Section> {
        let (report, options) = (self.report, self.options);
        let progress = options.is_running().then(|| self.progress());
        let head = head::Head {
            report,
            sections: &self.tables,
            judgements: options.judgements,
            source: options.source.as_deref(),
            progress: progress.as_deref(),
        };
        let summary = head.html();
        let outcome: Vec<TableSection> =
            tables::of_part(&self.tables, TablePart::Outcome).cloned().collect();
        let section = |id, name, html| Section { id, name, html };
        let mut sections = vec![section("summary", "Summary", summary)];
        sections.extend(
            self.time.as_ref().map(|time| section("time", "Over time", self.over_time(time))),
        );
        if !self.distributions.is_empty() {
            sections.push(section("latencies", "Latencies", self.latencies()));
        }
        sections.push(section("failures", "Failures", tables::failures(report, &outcome)));
        sections.push(section("figures", "Figures", self.figures()));
        sections.push(section("client", "Client audit", self.client()));
        sections.push(section("plan", "Plan", self.plan()));
        sections.push(section("words", "Words", glossary(&RUN_WORDS)));
        sections
    }

    fn over_time(&self, time: &OverTime) -> String {
        let mut html = Html::default();
        html.element("h2", "Over time");
        time.times.legend(self.report.metrics, &mut html);
        html.raw("<noscript><p class=\"lead\">The plots need a browser that runs scripts; all tables below do not.</p></noscript>\n");
        html.raw("<div class=\"tools\" id=\"time-tools\" role=\"toolbar\" aria-label=\"Time axis of all plots\"></div>\n");
        for id in time.panels.iter().map(|panel| panel.id.as_str()).chain(["requests"]) {
            html.raw(&format!("<div class=\"plot\" id=\"panel-{id}\"></div>\n"));
        }
        html.finish()
    }

    fn latencies(&self) -> String {
        let mut html = Html::default();
        html.element("h2", "Latencies");
        tables::latencies(&mut html, self.report.metrics);
        html.raw("<div id=\"distribution-plots\"></div>\n");
        // The first grid is the service times, which stand above with their intervals.
        tables::sheets(&mut html, tables::of_part(&self.tables, TablePart::Latencies).skip(1));
        html.finish()
    }

    fn figures(&self) -> String {
        let mut html = Html::default();
        html.element("h2", "Figures");
        let heads = tables::GROUP_HEADS.map(str::to_owned);
        for (title, rows) in &self.groups {
            html.table(title, &heads, rows);
        }
        let sessions = tables::of_part(&self.tables, TablePart::Sessions);
        let figures = tables::of_part(&self.tables, TablePart::Figures);
        tables::sheets(&mut html, sessions.chain(figures));
        html.finish()
    }

    fn client(&self) -> String {
        let mut html = Html::default();
        html.element("h2", "Client audit");
        html.element("p class=\"lead\"", "Whether the numbers are the server's or the client's, by the client's own stamps and counters.");
        tables::sheets(&mut html, tables::of_part(&self.tables, TablePart::Client));
        html.finish()
    }

    fn plan(&self) -> String {
        let header = self.report.log.header();
        let mut html = Html::default();
        html.element("h2", "Plan");
        let lead = match &self.options.source {
            Some(source) => format!("servemark rerun {source} runs this plan again."),
            None => format!(
                "What was run: {} requests with seed {}.",
                count(header.facts.requests),
                header.facts.seed
            ),
        };
        html.element("p class=\"lead\"", &lead);
        document(&mut html, "The plan as JSON", &header.plan);
        if let Some(info) = &header.server_info {
            document(&mut html, "What the server reported about itself before the run", info);
        }
        html.finish()
    }
}

/// Latencies in the order of the page, with their names.
pub(crate) const LATENCIES: [(Latency, &str); 4] = [
    (Latency::Ttft, "Time to first token"),
    (Latency::Itl, "Inter-token latency"),
    (Latency::Tpot, "Time per output token"),
    (Latency::E2el, "End-to-end latency"),
];

/// Writes a JSON document that can be folded out.
fn document(html: &mut Html, title: &str, document: &Value) {
    let text = format!("{document:#}");
    let cut = text.char_indices().nth(MOST_CHARACTERS).map_or(text.len(), |(at, _)| at);
    html.raw("<details class=\"more\">").element("summary", title);
    html.raw("<pre tabindex=\"0\">").text(&text[..cut]);
    if cut < text.len() {
        html.text("\n… (the run log has the rest)");
    }
    html.raw("</pre></details>\n");
}

/// Largest number of characters of a document on the page.
const MOST_CHARACTERS: usize = 20_000;
