//! Writes the study as tables.

use std::io::{self, Write};

use servemark::metrics::{Verdict, statistics};

use super::experiment::Experiment;
use super::figures::is_all;
use super::{
    Case, ExchangeFigures, ExchangeLoad, Installed, Noise, OpenFigures, OpenLoad, Options, Run,
    StartUp, StartUpFigures, StreamFigures, StreamLoad, Study,
};

/// Style of a table. The enum is closed: for a terminal or for a document.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Style {
    /// Aligned columns.
    #[default]
    Text,
    /// A Markdown table.
    Markdown,
}

/// Writes the machine and a table of each kind of load, with a line per case. A figure is the
/// median of all runs with the smallest and the largest value.
pub fn write_report(study: &Study, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let machine = &study.machine;
    write!(out, "{}, {} cores, {}", machine.cpu, machine.cores, machine.kernel)?;
    writeln!(out, ", servemark {}", study.version)?;
    for Installed { program, version } in &study.programs {
        writeln!(out, "{} {version}", program.name())?;
    }
    if let Some(cores) = study.cores {
        writeln!(out, "server on core {}, clients on core {}", cores.server, cores.reader)?;
    }
    if let Some(mask) = &machine.loopback_mask {
        writeln!(out, "loopback passes received packets to the cores of mask {mask}: {HANDED_ON}")?;
    }
    writeln!(out, "\nEach figure: median (smallest..largest) of all runs. Errors are reported")?;
    writeln!(out, "minus truth, in ms; waits and stolen time in ms.")?;
    write_table(&study.streams, style, out)?;
    write_table(&study.exchanges, style, out)?;
    write_table(&study.open_loops, style, out)?;
    write_table(&study.start_ups, style, out)?;
    write_list("Skipped", &study.skipped, out)?;
    write_list("Failed", &study.failed, out)
}

/// Writes what would be run, the duration of a run of each, and the total duration.
pub fn write_plan(options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let study = Study::planned(options);
    write_list("Skipped", &study.skipped, out)?;
    for (name, lasts) in study.steps() {
        writeln!(out, "{:6.1} s  {name}", lasts.as_secs_f64())?;
    }
    let minutes = study.lasts(options.runs).as_secs_f64() / 60.0;
    writeln!(out, "{} runs of that take about {minutes:.1} minutes", options.runs)
}

fn write_list(title: &str, lines: &[String], out: &mut dyn Write) -> io::Result<()> {
    if !lines.is_empty() {
        writeln!(out, "\n{title}:\n")?;
    }
    lines.iter().try_for_each(|line| writeln!(out, "- {line}"))
}

/// A load whose cases fill a table.
trait Tabular: Experiment<Figures: 'static> {
    const COLUMNS: &'static [Column<Self::Figures>];

    /// Returns the name in the table's rows.
    fn title(&self) -> String;

    /// Returns the cost of a reader, for comparison with the bare reader; absent if the load has
    /// none.
    fn cost(_figures: &Self::Figures) -> Option<f64> {
        None
    }

    /// Returns remarks on a run: the client's own verdict, and whether the server was the limit.
    fn remarks(&self, figures: &Self::Figures) -> Vec<&'static str>;
}

/// A column of figures.
struct Column<F> {
    title: &'static str,
    decimals: usize,
    of: fn(&F) -> Option<f64>,
}

impl<F> Column<F> {
    const fn new(title: &'static str, decimals: usize, of: fn(&F) -> Option<f64>) -> Self {
        Self { title, decimals, of }
    }
}

impl Tabular for StreamLoad {
    const COLUMNS: &'static [Column<StreamFigures>] = &[
        Column::new("mean TTFT error", 3, |figures| Some(figures.mean_ttft.error())),
        Column::new("p99 TTFT error", 3, |figures| Some(figures.p99_ttft.error())),
        Column::new("p99 ITL error", 3, |figures| Some(figures.p99_itl.error())),
        Column::new("p99 gap error", 3, |figures| figures.p99_gap_error_ms),
        Column::new("chunks/read", 2, |figures| figures.chunks_per_read),
        Column::new("server late", 2, |figures| figures.server_late_ms),
        Column::new("server busy, %", 0, |figures| Some(figures.server_busy? * 100.0)),
        Column::new("CPU us/chunk", 2, |figures| Some(figures.cpu_us_per_chunk)),
    ];

    fn title(&self) -> String {
        self.title()
    }

    fn cost(figures: &StreamFigures) -> Option<f64> {
        Some(figures.cpu_us_per_chunk)
    }

    fn remarks(&self, figures: &StreamFigures) -> Vec<&'static str> {
        let limited = figures.is_server_limited(self).then_some(SERVER_LIMITED);
        figures.verdict.map(Verdict::name).into_iter().chain(limited).collect()
    }
}

impl Tabular for ExchangeLoad {
    const COLUMNS: &'static [Column<ExchangeFigures>] = &[
        Column::new("requests/s", 0, |figures| Some(figures.requests_per_second)),
        Column::new("server us/request", 2, |figures| Some(figures.server_cpu_us_per_request)),
        Column::new("server busy, %", 0, |figures| Some(figures.server_busy * 100.0)),
        Column::new("CPU us/request", 2, |figures| Some(figures.cpu_us_per_request)),
    ];

    fn title(&self) -> String {
        self.title()
    }

    fn cost(figures: &ExchangeFigures) -> Option<f64> {
        Some(figures.cpu_us_per_request)
    }

    fn remarks(&self, figures: &ExchangeFigures) -> Vec<&'static str> {
        is_all(figures.server_busy).then_some(SERVER_LIMITED).into_iter().collect()
    }
}

impl Tabular for OpenLoad {
    const COLUMNS: &'static [Column<OpenFigures>] = &[
        Column::new("achieved rate, %", 2, |figures| Some(figures.achieved * 100.0)),
        Column::new("latest send, % of span", 3, |figures| Some(figures.worst_lag? * 100.0)),
        Column::new("median late, us", 0, |figures| figures.median_late_us),
        Column::new("p99 late, us", 0, |figures| figures.p99_late_us),
        Column::new("KS distance", 4, |figures| Some(figures.gaps.distance)),
        Column::new("KS p", 3, |figures| Some(figures.gaps.p_value)),
        Column::new("KS p of schedule", 3, |figures| Some(figures.drawn_gaps?.p_value)),
    ];

    fn title(&self) -> String {
        self.title()
    }

    fn remarks(&self, figures: &OpenFigures) -> Vec<&'static str> {
        figures.verdict.map(Verdict::name).into_iter().collect()
    }
}

impl Tabular for StartUp {
    const COLUMNS: &'static [Column<StartUpFigures>] = &[
        Column::new("first request, ms", 0, |figures| Some(figures.first_request_ms)),
        Column::new("--help, ms", 0, |figures| Some(figures.help_ms)),
    ];

    fn title(&self) -> String {
        self.title()
    }

    fn remarks(&self, _figures: &StartUpFigures) -> Vec<&'static str> {
        Vec::new()
    }
}

/// Effect of the loopback mask on the figures.
const HANDED_ON: &str = "a reader on one of them also pays for the server's sends, and data that \
                         arrives faster than it is read is lost; write 0 to lo's rps_cpus";

const SERVER_LIMITED: &str = "server-limited";

const NOISE: [Column<Noise>; 5] = [
    Column::new("waited", 0, |noise| Some(noise.waited_ms)),
    Column::new("server waited", 0, |noise| Some(noise.server_waited_ms)),
    Column::new("switches", 0, |noise| Some(noise.switches as f64)),
    Column::new("stolen", 0, |noise| Some(noise.stolen_ms)),
    Column::new("resent", 0, |noise| Some(noise.resent as f64)),
];

fn write_table<L: Tabular + PartialEq>(
    cases: &[Case<L, L::Figures>],
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    if cases.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let rows: Vec<_> =
        [titles::<L>()].into_iter().chain(cases.iter().map(|case| cells(case, cases))).collect();
    let widths = widths(&rows);
    for (number, row) in rows.iter().enumerate() {
        write_row(row, &widths, style, out)?;
        if number == 0 && style == Style::Markdown {
            writeln!(out, "|{}", "---|".repeat(row.len()))?;
        }
    }
    Ok(())
}

fn titles<L: Tabular>() -> Vec<String> {
    let figures = L::COLUMNS.iter().map(|column| column.title);
    let noise = NOISE.iter().map(|column| column.title);
    let titles = ["load", "reader"].into_iter().chain(figures).chain(["x floor"]).chain(noise);
    titles.chain(["remarks"]).map(str::to_owned).collect()
}

fn cells<L: Tabular + PartialEq>(
    case: &Case<L, L::Figures>,
    cases: &[Case<L, L::Figures>],
) -> Vec<String> {
    let runs = &case.runs;
    let figure = |column: &Column<L::Figures>| {
        spread(runs.iter().filter_map(|run| (column.of)(&run.figures)), column.decimals)
    };
    let noise = |column: &Column<Noise>| {
        spread(runs.iter().filter_map(|run| (column.of)(&run.noise)), column.decimals)
    };
    let floor = case.floor(cases).map_or_else(String::new, |floor| ratio(case, floor));
    let names = [case.load.title(), case.reader.name().to_owned()];
    let figures = L::COLUMNS.iter().map(figure).chain([floor]);
    let cells = names.into_iter().chain(figures).chain(NOISE.iter().map(noise));
    cells.chain([remarks(case)]).collect()
}

/// Returns the ratio of a reader's cost to the bare reader's, run by run.
fn ratio<L: Tabular>(case: &Case<L, L::Figures>, floor: &Case<L, L::Figures>) -> String {
    let costs = |run: &Run<L::Figures>| L::cost(&run.figures);
    let pairs = case.runs.iter().zip(&floor.runs);
    spread(pairs.filter_map(|(one, floor)| Some(costs(one)? / costs(floor)?)), 2)
}

/// Returns the remarks on the runs, with the number of runs that each applies to.
fn remarks<L: Tabular>(case: &Case<L, L::Figures>) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for remark in case.runs.iter().flat_map(|run| case.load.remarks(&run.figures)) {
        match counts.iter_mut().find(|(known, _)| *known == remark) {
            Some((_, count)) => *count += 1,
            None => counts.push((remark, 1)),
        }
    }
    let runs = case.runs.len();
    let in_words = |(remark, count): (&str, usize)| {
        if count == runs { remark.to_owned() } else { format!("{remark} in {count} of {runs}") }
    };
    counts.into_iter().map(in_words).collect::<Vec<_>>().join(", ")
}

/// Returns the median of a few values and, in brackets, the smallest and the largest.
fn spread(values: impl Iterator<Item = f64>, decimals: usize) -> String {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    match (statistics::median(&sorted), &sorted[..]) {
        (Some(median), [low, .., high]) => {
            format!("{median:.decimals$} ({low:.decimals$}..{high:.decimals$})")
        }
        (Some(only), _) => format!("{only:.decimals$}"),
        (None, _) => String::new(),
    }
}

fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let longest = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    (0..rows[0].len()).map(longest).collect()
}

fn write_row(
    row: &[String],
    widths: &[usize],
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let cells: Vec<_> = match style {
        Style::Text => {
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect()
        }
        Style::Markdown => row.to_vec(),
    };
    match style {
        Style::Text => writeln!(out, "{}", cells.join("  ").trim_end()),
        Style::Markdown => writeln!(out, "| {} |", cells.join(" | ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn spread_is(values: &[f64], expected: &str) {
        assert_eq!(spread(values.iter().copied(), 1), expected);
    }

    #[test]
    fn a_figure_is_a_median_between_its_extremes() {
        spread_is(&[3.0, 1.0, 2.0], "2.0 (1.0..3.0)");
        spread_is(&[1.0, 2.0], "1.5 (1.0..2.0)");
        spread_is(&[7.25], "7.2");
        spread_is(&[], "");
    }

    #[test]
    fn rows_are_aligned_or_marked_down() {
        let row = ["a".to_owned(), "b".to_owned()];
        let written = |style| {
            let mut out = Vec::new();
            write_row(&row, &[3, 1], style, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(Style::Text), "a    b\n");
        assert_eq!(written(Style::Markdown), "| a | b |\n");
    }
}
