//! The runs of a sweep side by side.

use std::io;

use servemark_core::printable;
use servemark_metrics::{Figure, Latency, Metrics, Quantity, Statistic};

/// A run of a sweep.
#[derive(Clone, Copy, Debug)]
pub struct SweptRun<'a> {
    /// Setting that distinguishes the run, such as `concurrency=4`.
    pub label: &'a str,
    /// Metrics of the run.
    pub metrics: &'a Metrics,
}

impl<'a> SweptRun<'a> {
    /// Returns a run with its label and metrics.
    pub fn new(label: &'a str, metrics: &'a Metrics) -> Self {
        Self { label, metrics }
    }
}

/// Writes one row per run under the name of the swept setting, with the given percentiles in
/// addition to the 50th and 90th, and a line that names the fastest run.
pub fn write_swept(
    name: &str,
    runs: &[SweptRun<'_>],
    percentiles: &[f64],
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let columns = columns(percentiles);
    let first = name.len().max(20);
    let width = columns.iter().map(|column| column.width + 1).sum::<usize>() + first;
    writeln!(out, "{:=^width$}", " Sweep Summary ")?;
    let heads = columns.iter().map(|column| format!(" {:>1$}", column.head, column.width));
    writeln!(out, "{:<first$}{}", printable(name), heads.collect::<String>())?;
    let rules = columns.iter().map(|column| format!(" {}", "-".repeat(column.width)));
    writeln!(out, "{:-<first$}{}", "", rules.collect::<String>())?;
    for run in runs {
        let cells = columns.iter().map(|column| column.cell(run.metrics));
        writeln!(out, "{:<first$}{}", printable(run.label), cells.collect::<String>())?;
    }
    writeln!(out, "{:=<width$}", "")?;
    let rate = |run: &&SweptRun<'_>| run.metrics.throughput.requests_per_s.unwrap_or_default();
    match runs.iter().max_by(|one, other| rate(one).total_cmp(&rate(other))) {
        Some(best) => {
            let label = printable(best.label);
            writeln!(out, "Best throughput: {:.2} req/s at {label}", rate(&best))
        }
        None => Ok(()),
    }
}

struct Column {
    head: String,
    width: usize,
    read: Read,
}

type Read = Box<dyn Fn(&Metrics) -> Option<f64>>;

impl Column {
    fn of(head: &str, width: usize, figure: Figure) -> Self {
        let read = Box::new(move |metrics: &Metrics| figure.read(metrics));
        Self { head: head.to_owned(), width: width.max(head.len()), read }
    }

    fn cell(&self, metrics: &Metrics) -> String {
        let value =
            (self.read)(metrics).map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
        format!(" {:>1$}", value, self.width)
    }
}

fn columns(percentiles: &[f64]) -> Vec<Column> {
    let inputs =
        |metrics: &Metrics| metrics.items.items_per_s.filter(|_| metrics.tokens.output.is_none());
    let inputs = Column { head: "Inputs/s".to_owned(), width: 10, read: Box::new(inputs) };
    let mut columns = vec![
        Column::of("Req/s", 10, Figure::new(Quantity::Requests)),
        inputs,
        Column::of("Tok/s", 10, Figure::new(Quantity::OutputTokens)),
        Column::of("Total tok/s", 12, Figure::new(Quantity::TotalTokens)),
        Column::of("SS req/s", 10, Figure::of_plateau(Quantity::Requests)),
        Column::of("SS out tok/s", 12, Figure::of_plateau(Quantity::OutputTokens)),
        median(Latency::Ttft),
        median(Latency::Tpot),
        latency(90.0, Latency::Ttft),
        latency(90.0, Latency::Tpot),
    ];
    for &percent in percentiles.iter().filter(|percent| ![50.0, 90.0].contains(*percent)) {
        columns.extend([Latency::Ttft, Latency::Tpot].map(|of| latency(percent, of)));
    }
    columns
}

fn median(latency: Latency) -> Column {
    let head = format!("P50 {}(ms)", latency.name().to_uppercase());
    Column::of(&head, 12, Figure::new(Quantity::Latency(latency, Statistic::Median)))
}

fn latency(percent: f64, latency: Latency) -> Column {
    let head = format!("P{percent} {}(ms)", latency.name().to_uppercase());
    let figure = Figure::new(Quantity::Latency(latency, Statistic::Percentile(percent)));
    Column::of(&head, 12, figure)
}
