//! Plots in plain characters for a terminal.

use std::io;
use std::iter::repeat_n;

use servemark_metrics::{Second, timeline};

use crate::{Report, ReportFormat};

/// Output tokens and requests in flight per second of the run, with SGLang's titles. If a column
/// covers several seconds it shows their mean.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThroughputPlots;

impl ReportFormat for ThroughputPlots {
    fn write(&self, report: &Report<'_>, out: &mut dyn io::Write) -> io::Result<()> {
        let seconds = timeline(&report.scores());
        let plot = |title, value: fn(&Second) -> usize| Plot {
            title,
            seconds: seconds.len(),
            columns: columns(&seconds.iter().map(value).collect::<Vec<_>>()),
        };
        plot("Output tokens per second", |second| second.output_tokens).write(out)?;
        plot("Concurrent requests per second", |second| second.in_flight).write(out)
    }
}

/// A plot of values over the seconds of a run.
struct Plot {
    title: &'static str,
    seconds: usize,
    columns: Vec<f64>,
}

impl Plot {
    fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let most = self.columns.iter().copied().fold(0.0, f64::max);
        writeln!(out, "\n{MARGIN}{}", centred(self.title))?;
        for row in (1..=HEIGHT).rev() {
            let label = if row == HEIGHT { scale(most) } else { String::new() };
            writeln!(out, "{label:>8} |{}", self.row(most * (row as f64 - 0.5) / HEIGHT as f64))?;
        }
        writeln!(out, "{:>8} +{}", 0, "-".repeat(WIDTH))?;
        writeln!(out, "{MARGIN}0{:>width$}", self.seconds, width = WIDTH - 1)?;
        writeln!(out, "{MARGIN}{}", centred("Time (s)"))
    }

    /// Draws one row of the plot: a mark in each column whose value exceeds `level`.
    fn row(&self, level: f64) -> String {
        let mark = |value: &f64| if *value > level { '#' } else { ' ' };
        let row: String = self.columns.iter().map(mark).collect();
        row.trim_end().to_owned()
    }
}

/// Returns one value per column: the mean of several seconds, or each second repeated over several
/// columns.
fn columns(seconds: &[usize]) -> Vec<f64> {
    if seconds.len() <= WIDTH {
        let wide = |column| seconds[column * seconds.len() / WIDTH] as f64;
        let count = if seconds.is_empty() { 0 } else { WIDTH };
        return (0..count).map(wide).collect();
    }
    let bounds = |column: usize| column * seconds.len() / WIDTH;
    let mean = |column| {
        let seconds = &seconds[bounds(column)..bounds(column + 1)];
        seconds.iter().sum::<usize>() as f64 / seconds.len() as f64
    };
    (0..WIDTH).map(mean).collect()
}

fn scale(most: f64) -> String {
    if most < 10.0 { format!("{most:.1}") } else { format!("{most:.0}") }
}

fn centred(text: &str) -> String {
    repeat_n(' ', WIDTH.saturating_sub(text.len()) / 2).chain(text.chars()).collect()
}

const WIDTH: usize = 70;
const HEIGHT: usize = 10;
/// As wide as the scale beside the plot.
const MARGIN: &str = "          ";
