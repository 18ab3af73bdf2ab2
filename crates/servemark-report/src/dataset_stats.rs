//! A picture of the distribution of prompt and output lengths.

use std::io;

use servemark_metrics::RequestScore;

use crate::chart::{Axis, Bar, Bars, Figure, Panel};
use crate::{Report, ReportFormat};

/// A PNG picture of four panels: histograms of prompt tokens, output tokens and their sum, and the
/// tokens of each request. Panels and titles match vLLM's picture.
#[derive(Clone, Copy, Debug, Default)]
pub struct DatasetStatsPlot;

impl DatasetStatsPlot {
    /// Returns the figure that the picture shows.
    pub fn figure(report: &Report<'_>) -> Figure {
        let scores = report.scores();
        let prompts = lengths(&scores, |score| f64::from(score.prompt_tokens));
        let outputs = lengths(&scores, |score| score.output_token_count() as f64);
        let totals: Vec<f64> =
            prompts.iter().zip(&outputs).map(|(one, other)| one + other).collect();
        let rows = vec![
            vec![
                histogram("Prompt Tokens Distribution", "Prompt Tokens", 0, &prompts),
                histogram("Output Tokens Distribution", "Output Tokens", 1, &outputs),
            ],
            vec![
                histogram(
                    "Total Tokens Distribution",
                    "Total Tokens (Prompt + Output)",
                    2,
                    &totals,
                ),
                columns(&prompts, &outputs),
            ],
        ];
        Figure::new(rows).sized(700, 500)
    }
}

impl ReportFormat for DatasetStatsPlot {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        out.write_all(&Self::figure(report).png(DOTS_PER_INCH)?)
    }
}

fn lengths(scores: &[RequestScore<'_>], tokens: fn(&RequestScore<'_>) -> f64) -> Vec<f64> {
    scores.iter().map(tokens).collect()
}

fn histogram(title: &str, what: &str, hue: usize, lengths: &[f64]) -> Panel {
    let bars = Bars::histogram("", hue, lengths, PARTS);
    Panel::new(title, Axis::even(what), Axis::even("Frequency"), Vec::new()).with_bars(vec![bars])
}

/// Draws one stacked bar per request: prompt tokens with output tokens on top.
fn columns(prompts: &[f64], outputs: &[f64]) -> Panel {
    let column = |place: u32, low: f64, high: f64| {
        let middle = f64::from(place);
        Bar { x: (middle - HALF, middle + HALF), y: (low, low + high) }
    };
    let below = (0..).zip(prompts).map(|(place, prompt)| column(place, 0.0, *prompt));
    let above = (0..).zip(prompts.iter().zip(outputs));
    let above = above.map(|(place, (prompt, output))| column(place, *prompt, *output));
    let bars = vec![
        Bars::new("Prompt Tokens", 0, below.collect()),
        Bars::new("Output Tokens", 1, above.collect()),
    ];
    let (x, y) = (Axis::even("Request ID"), Axis::even("Tokens"));
    Panel::new("Tokens per Request (Stacked)", x, y, Vec::new()).with_bars(bars)
}

const PARTS: usize = 30;
/// Half the width of a request's bar; requests are 1 apart.
const HALF: f64 = 0.4;
const DOTS_PER_INCH: u32 = 150;
