//! The page of a comparison: two runs laid over each other.

mod changes;
mod differences;

use std::io;

use serde_json::{Value, json};
use servemark_metrics::{Comparison, Latency, Significance};
use servemark_report::Side;
use servemark_statistics::{ValueInterval, change_of_groups, change_of_two};

use crate::frame::{Frame, Section};
use crate::glossary::{COMPARISON_WORDS, glossary};
use crate::html::Html;
use crate::number::count;
use crate::plot::{Axis, Plot};
use crate::run::LATENCIES;
use crate::run::distribution::BOUNDED;
use crate::series::{Panel, Scales, layer};
use crate::trace::RunTrace;

/// The page of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct ComparisonPage<'a> {
    /// Changes of all figures.
    pub comparison: &'a Comparison,
    /// Names of the results on each side.
    pub sides: &'a [Vec<Side>; 2],
    /// Runs of each side; a result file has none.
    pub traces: &'a [Vec<RunTrace>; 2],
    /// Version of the program that compares.
    pub version: &'a str,
}

impl ComparisonPage<'_> {
    /// Writes the page.
    pub fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let plots = self.plots();
        let panels = self.panels();
        let data = self.data(&plots, &panels);
        let section = |id, name, html| Section { id, name, html };
        let mut sections = vec![
            section("summary", "Summary", self.head()),
            section("changes", "Changes", changes::changes(self.comparison)),
        ];
        if !plots.is_empty() {
            sections.push(section("latencies", "Latencies", distributions(&plots)));
        }
        if !panels.is_empty() {
            sections.push(section("time", "Over time", over_time(&panels)));
        }
        if let Some(differences) = differences::plans(self.traces) {
            sections.push(section("plan", "Plans", differences));
        }
        sections.push(section("words", "Words", glossary(&COMPARISON_WORDS)));
        let kind = "Comparison";
        let (title, version) = ("Comparison · Servemark", self.version);
        let frame = Frame { title, kind, data: &data, version, live: None };
        frame.write(&sections, out)
    }

    fn head(&self) -> String {
        let mut html = Html::default();
        let runs = self.comparison.runs.map(|runs| {
            if runs == 1 { "one run".to_owned() } else { format!("{} runs", count(runs)) }
        });
        html.element(
            "p class=\"when\"",
            &format!("Comparison: {} before, {} after", runs[0], runs[1]),
        );
        html.element("h1", &title(self.sides));
        html.raw("<ul class=\"verdicts\">\n");
        for doubt in &self.comparison.doubts {
            let name = if self.comparison.is_judged { "judged by force" } else { "not judged" };
            verdict(&mut html, "fair", name, &doubt.to_string());
        }
        let of = |wanted: Significance| {
            let found = self.comparison.changes.iter();
            let found = found.filter(|change| self.comparison.significance_of(change) == wanted);
            found
                .map(|change| format!("{} ({})", change.figure, changes::percent(change.percent())))
                .collect::<Vec<_>>()
        };
        let (better, worse) = (of(Significance::Better), of(Significance::Worse));
        if !worse.is_empty() {
            verdict(&mut html, "bad", "worse", &worse.join(", "));
        }
        if !better.is_empty() {
            verdict(&mut html, "good", "better", &better.join(", "));
        }
        if better.is_empty() && worse.is_empty() && self.comparison.is_judged {
            let has_basis = self.comparison.changes.iter().any(|change| change.basis.is_some());
            let text = if has_basis {
                "no figure changed by more than chance"
            } else {
                "the results are numbers alone, and what chance would do is not known"
            };
            verdict(&mut html, "plain", "no verdict", text);
        }
        html.raw("</ul>\n");
        differences::facts(&mut html, self.sides, self.traces);
        html.finish()
    }

    fn data(&self, plots: &[Plot], panels: &[Panel]) -> Value {
        let seconds = self.traces.iter().flatten().map(|trace| trace.seconds).fold(0.0, f64::max);
        let mut data = json!({
            "plots": plots.iter().map(Plot::json).collect::<Vec<_>>(),
            "panels": panels.iter().map(Panel::json).collect::<Vec<_>>(),
        });
        if !panels.is_empty() {
            data["time"] = json!({"from": 0, "to": seconds, "marks": []});
        }
        data
    }

    /// Returns the plots of each latency: cumulative shares, and the change of each percentile.
    fn plots(&self) -> Vec<Plot> {
        let of = |(latency, name): (Latency, &str)| {
            [self.shares(latency, name), self.shift(latency, name)]
        };
        let all = LATENCIES.into_iter().filter(|(latency, _)| self.has_both(*latency));
        all.flat_map(of).collect()
    }

    fn has_both(&self, latency: Latency) -> bool {
        self.traces.iter().all(|side| side.iter().any(|trace| trace.spread(latency).is_some()))
    }

    fn shares(&self, latency: Latency, name: &str) -> Plot {
        let mut layers = Plot {
            id: format!("shares-{}", latency.name()),
            title: format!("{name}: cumulative"),
            unit: "",
            note: "share of the values".to_owned(),
            axis: self.axis(latency, name),
            scales: Scales::LinearOrTail,
            span: Some([0.0, 1.0, 0.999]),
            layers: Vec::new(),
        };
        let mut largest_count = 0;
        for (hue, (side, letter)) in self.traces.iter().zip(SIDES).enumerate() {
            for (place, spread) in side.iter().filter_map(|trace| trace.spread(latency)).enumerate()
            {
                largest_count = largest_count.max(spread.len());
                layers.line(if place == 0 { letter } else { "" }, hue, &spread.curve());
            }
        }
        layers.span = Some([0.0, 1.0, 1.0 - 0.3 / largest_count.max(1) as f64]);
        layers
    }

    fn axis(&self, latency: Latency, name: &str) -> Axis {
        let spreads = || self.traces.iter().flatten().filter_map(|trace| trace.spread(latency));
        let high = spreads().map(|spread| spread.at(1.0)).fold(0.0, f64::max).max(1e-6);
        let low = spreads().map(|spread| spread.at(0.001)).fold(high, f64::min).max(high / 1e5);
        Axis {
            key: latency.name().to_owned(),
            name: name.to_owned(),
            unit: "ms",
            kind: "log",
            low: low / 1.02,
            high: (high * 1.02).max(low * 1.2),
        }
    }

    fn shift(&self, latency: Latency, name: &str) -> Plot {
        let axis = Axis {
            key: "percentile".to_owned(),
            name: "percentile".to_owned(),
            unit: "",
            kind: "linear",
            low: 0.0,
            high: 100.0,
        };
        let mut plot = Plot {
            id: format!("shift-{}", latency.name()),
            title: format!("{name}: change of each percentile"),
            unit: "%",
            note: "% from A to B".to_owned(),
            axis,
            scales: Scales::Linear,
            span: None,
            layers: Vec::new(),
        };
        let band: Vec<(f64, f64, f64)> = BOUNDED
            .into_iter()
            .filter_map(|share| {
                let (low, high) = self.interval(latency, share)?;
                let percent = |log: f64| log.exp_m1() * 100.0;
                Some((share * 100.0, percent(low), percent(high)))
            })
            .collect();
        if band.len() > 1 {
            plot.band("95 % interval", 3, &band);
        }
        let mean = |side: &[RunTrace], share: f64| {
            let values: Vec<f64> =
                side.iter().filter_map(|trace| Some(trace.spread(latency)?.at(share))).collect();
            values.iter().sum::<f64>() / values.len() as f64
        };
        let change = |share: f64| {
            let [before, after] = self.traces.each_ref().map(|side| mean(side, share));
            (before > 0.0).then(|| (share * 100.0, (after / before - 1.0) * 100.0))
        };
        let line: Vec<(f64, f64)> =
            (1..100).map(f64::from).filter_map(|percent| change(percent / 100.0)).collect();
        plot.dashed("", 5, &[(0.0, 0.0), (100.0, 0.0)]);
        plot.line("change", 3, &line);
        plot
    }

    /// Returns the interval of a percentile's change, on the logarithmic scale.
    fn interval(&self, latency: Latency, share: f64) -> Option<(f64, f64)> {
        let [before, after] = self.traces.each_ref().map(|side| -> Vec<&_> {
            side.iter().filter_map(|trace| trace.spread(latency)).collect()
        });
        if let ([before], [after]) = (&before[..], &after[..]) {
            let [before, after] = [before, after].map(|spread| {
                let bound = spread.bounds.iter().find(|bound| bound.0.total_cmp(&share).is_eq())?;
                Some(ValueInterval { value: spread.at(share), low: bound.1, high: bound.2 })
            });
            return change_of_two(before?, after?);
        }
        let values = [before, after]
            .map(|side| -> Vec<f64> { side.iter().map(|spread| spread.at(share)).collect() });
        change_of_groups(&values[0], &values[1], 0.95)
    }

    /// Returns the panels over time, with the first run of each side.
    fn panels(&self) -> Vec<Panel> {
        let [Some(before), Some(after)] = self.traces.each_ref().map(|side| side.first()) else {
            return Vec::new();
        };
        let panel = |(id, key, title, unit): (&str, &str, &str, &str)| {
            let pair = [before.series(id, key)?, after.series(id, key)?];
            let mut panel = Panel::new(id, title, unit, Scales::LinearOrLog);
            for (hue, (series, letter)) in pair.into_iter().zip(SIDES).enumerate() {
                panel.layers.push(layer("line", letter, hue, [("series", series.clone())]));
            }
            Some(panel)
        };
        OVER_TIME.into_iter().filter_map(panel).collect()
    }
}

/// Names of the two sides in the keys of plots.
const SIDES: [&str; 2] = ["A, before", "B, after"];

/// Lines that are laid over each other: panel, key, title and unit.
const OVER_TIME: [(&str, &str, &str, &str); 5] = [
    ("ttft", "median", "Time to first token, median", "ms"),
    ("itl", "median", "Inter-token latency, median", "ms"),
    ("e2el", "median", "End-to-end latency, median", "ms"),
    ("tokens", "output tokens/s", "Output tokens", "per second"),
    ("in-flight", "mean", "In flight", "requests"),
];

fn title(sides: &[Vec<Side>; 2]) -> String {
    let name = |side: &Vec<Side>| {
        let first = side.first().map_or("?", |side| side.source.as_str());
        let file = first.rsplit('/').next().unwrap_or(first);
        if side.len() > 1 { format!("{file} and {} more", side.len() - 1) } else { file.to_owned() }
    };
    format!("{} → {}", name(&sides[0]), name(&sides[1]))
}

fn verdict(html: &mut Html, class: &str, name: &str, text: &str) {
    html.raw(&format!("<li class=\"{class}\">"));
    html.element("b", name).element("span", text).raw("</li>\n");
}

fn distributions(plots: &[Plot]) -> String {
    let mut html = Html::default();
    html.element("h2", "Latencies");
    html.element("p class=\"lead\"", "Left: the share of values up to each latency. Right: by how much each percentile changed; above the dashed line it became slower. Where the band leaves out the line, the change of that percentile is more than chance at 95 %, each percentile taken alone.");
    for pair in plots.chunks(2) {
        html.raw("<div class=\"pair\">\n");
        for plot in pair {
            html.raw(&format!("<div class=\"plot\" id=\"plot-{}\"></div>\n", plot.id));
        }
        html.raw("</div>\n");
    }
    html.finish()
}

fn over_time(panels: &[Panel]) -> String {
    let mut html = Html::default();
    html.element("h2", "Over time");
    html.element(
        "p class=\"lead\"",
        "Each run from its own first request on; of several runs of a side, the first.",
    );
    html.raw("<div class=\"tools\" id=\"time-tools\" role=\"toolbar\" aria-label=\"Time axis of all plots\"></div>\n");
    for panel in panels {
        html.raw(&format!("<div class=\"plot\" id=\"panel-{}\"></div>\n", panel.id));
    }
    html.finish()
}
