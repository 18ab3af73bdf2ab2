//! The page of repeated runs of one plan: how much each figure varies between them.

use std::io;

use serde_json::{Value, json};
use servemark_metrics::{
    Estimand, Estimated, Figure, FigureScope, Metrics, Quantity, RunSpread, Statistic,
};
use servemark_report::{SweepReport, SweepRow};

use super::{audits, points, render};
use crate::frame::{Frame, Section};
use crate::glossary::{REPEATS_WORDS, glossary};
use crate::html::Html;
use crate::number::{count, number, percent};
use crate::plot::{Axis, Marker, Plot};
use crate::series::Scales;

/// Repeated runs of one plan against one server, and the spread between them.
#[derive(Clone, Copy, Debug)]
pub struct RepeatsPage<'a> {
    /// What was measured, such as the server and its model.
    pub title: &'a str,
    /// The runs, in order.
    pub runs: &'a SweepReport<'a>,
    /// Spread of each figure between the runs.
    pub spreads: &'a [RunSpread],
    /// Version of the program.
    pub version: &'a str,
}

impl RepeatsPage<'_> {
    /// Writes the page.
    pub fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let plots = self.plots();
        let shown: Vec<Value> = plots.iter().map(Plot::json).collect();
        let data = json!({"panels": [], "plots": shown});
        let section = |id, name, html| Section { id, name, html };
        let mut sections = vec![
            section("summary", "Summary", self.head()),
            section("spread", "Spread", self.spread()),
        ];
        if !plots.is_empty() {
            let html = render("Figures of each run", FIGURES, &plots);
            sections.push(section("figures", "Figures of each run", html));
        }
        sections.push(section("points", "Runs", points("Runs", self.runs.table())));
        sections.push(section("words", "Words", glossary(&REPEATS_WORDS)));
        let (title, kind) = ("Spread between runs · Servemark", "Report of repeated runs");
        let frame = Frame { title, kind, data: &data, version: self.version, live: None };
        frame.write(&sections, out)
    }

    fn head(&self) -> String {
        let mut html = Html::default();
        let runs = self.runs.rows().len();
        html.element("p class=\"when\"", &format!("Spread between {} runs", count(runs)));
        html.element("h1", self.title);
        html.raw("<ul class=\"verdicts\">\n");
        audits(&mut html, self.runs);
        html.raw("</ul>\n<div class=\"figures\">\n");
        for spread in HEADLINE.iter().filter_map(|figure| self.spread_of(*figure)) {
            html.raw("<div>").element("h3", &spread.figure.to_string());
            html.raw("<p class=\"value\">").text(&number(spread.percent));
            html.element("small", "%").raw("</p>");
            html.element("p class=\"range\"", &format!("of the mean, {}", number(spread.mean)));
            html.raw("</div>\n");
        }
        html.raw("</div>\n");
        html.finish()
    }

    fn spread_of(&self, figure: Figure) -> Option<&RunSpread> {
        self.spreads.iter().find(|spread| spread.figure == figure)
    }

    fn spread(&self) -> String {
        let mut html = Html::default();
        html.element("h2", "Spread between runs").element("p class=\"lead\"", SPREAD);
        let runs = self.runs.rows().len();
        let heads = ["figure", "mean", "spread", "chance, 1 run each"].map(str::to_owned);
        let heads: Vec<String> =
            heads.into_iter().chain([format!("chance, {} runs each", count(runs))]).collect();
        let row = |spread: &RunSpread| {
            let chance =
                |runs| percent(RunSpread::chance_percent(spread.percent, [runs, runs]) / 100.0);
            let of_mean = percent(spread.percent / 100.0);
            let figure = spread.figure.to_string();
            vec![figure, number(spread.mean), of_mean, chance(1), chance(spread.runs)]
        };
        let rows: Vec<Vec<String>> = self.spreads.iter().map(row).collect();
        html.table("", &heads, &rows);
        html.finish()
    }

    /// Returns a plot of each figure of the whole run that varies.
    fn plots(&self) -> Vec<Plot> {
        let varies =
            |spread: &&RunSpread| spread.figure.of == FigureScope::Run && spread.percent > 0.0;
        self.spreads.iter().filter(varies).map(|spread| self.plot(spread)).collect()
    }

    fn plot(&self, spread: &RunSpread) -> Plot {
        let rows = self.runs.rows().iter().zip(1..);
        let marker = |(row, run): (&SweepRow<'_>, u32)| {
            let y = spread.figure.read(row.metrics())?;
            let interval = estimate(spread.figure, row.metrics());
            let y_range = interval.and_then(|interval| interval.low.zip(interval.high));
            Some(Marker { name: run.to_string(), x: f64::from(run), y, x_range: None, y_range })
        };
        let markers: Vec<Marker> = rows.filter_map(marker).collect();
        let axis = Axis::from_zero("run", "run", "", markers.iter().map(|marker| marker.x));
        let ends = [(axis.low, spread.mean), (axis.high, spread.mean)];
        let mut plot = Plot {
            id: spread.figure.path().replace('.', "-"),
            title: spread.figure.to_string(),
            unit: "",
            note: format!("spread {}, over the runs", percent(spread.percent / 100.0)),
            axis,
            scales: Scales::Near,
            span: None,
            layers: Vec::new(),
        };
        plot.dashed("mean", 1, &ends);
        plot.markers("runs", 0, &markers);
        plot
    }
}

/// Returns the estimate of a latency in one run, from which its interval is known.
fn estimate(figure: Figure, metrics: &Metrics) -> Option<Estimated> {
    let Quantity::Latency(latency, statistic) = figure.quantity else { return None };
    Estimand::Latency(latency, statistic).read(metrics)
}

/// Figures at the head of the page.
const HEADLINE: [Figure; 5] = {
    use servemark_metrics::Latency::{E2el, Itl, Ttft};
    use servemark_metrics::Quantity::{Latency, OutputTokens, Requests};
    [
        Figure::new(Latency(Ttft, Statistic::Median)),
        Figure::new(Latency(Itl, Statistic::Median)),
        Figure::new(Latency(E2el, Statistic::Median)),
        Figure::new(OutputTokens),
        Figure::new(Requests),
    ]
};

const SPREAD: &str = "The sample standard deviation between the runs, in percent of their mean, and the change that \
                      chance alone makes in one of twenty comparisons of runs of this plan: a gate below it \
                      would fail without a cause.";
const FIGURES: &str = "Each run with the 95 % interval that it knows from its own requests, as far as it has one, and the \
                       mean of all runs as a dashed line. Runs that lie apart by more than their intervals differ \
                       for a reason outside them. The vertical axes span the runs and do not begin at zero.";
