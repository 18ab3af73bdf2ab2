//! The study as a table.

use std::io::{self, Write};

use super::{Case, Figures, Reader, Study};

/// How a table is written. Closed: for a terminal or for a document.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Style {
    /// Aligned columns.
    #[default]
    Text,
    /// A Markdown table.
    Markdown,
}

/// Writes the machine and two tables with a line per case: of each figure the median of all runs
/// with the smallest and the largest, and the figures of the least disturbed run.
pub fn write_report(study: &Study, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let machine = &study.machine;
    writeln!(out, "{}, {} cores, {}", machine.cpu, machine.cores, machine.kernel)?;
    if let Some(cores) = study.cores {
        writeln!(out, "server on core {}, reader on core {}", cores.server, cores.reader)?;
    }
    writeln!(out, "\nAll runs, in ms unless it says otherwise: median (smallest..largest)\n")?;
    write_table(study, style, out)?;
    writeln!(out, "\nOf each case the run in which the reader waited least for its core\n")?;
    write_table(&study.quietest(), style, out)
}

fn write_table(study: &Study, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let mut rows = vec![titles()];
    rows.extend(study.cases.iter().map(|case| cells(study, case)));
    let widths = widths(&rows);
    for (number, row) in rows.iter().enumerate() {
        write_row(row, &widths, style, out)?;
        if number == 0 && style == Style::Markdown {
            writeln!(out, "|{}", "---|".repeat(row.len()))?;
        }
    }
    Ok(())
}

/// A column of figures.
struct Column {
    title: &'static str,
    decimals: usize,
    of: fn(&Figures) -> f64,
}

const COLUMNS: [Column; 9] = [
    Column { title: "mean TTFT", decimals: 2, of: |figures| figures.mean_ttft.reported },
    Column { title: "error", decimals: 2, of: |figures| figures.mean_ttft.error() },
    Column { title: "p99 TTFT", decimals: 2, of: |figures| figures.p99_ttft.reported },
    Column { title: "error", decimals: 2, of: |figures| figures.p99_ttft.error() },
    Column { title: "mean ITL error", decimals: 3, of: |figures| figures.mean_itl.error() },
    Column { title: "p99 ITL error", decimals: 2, of: |figures| figures.p99_itl.error() },
    Column { title: "p99 gap error", decimals: 2, of: |figures| figures.p99_gap_error_ms },
    Column { title: "chunks/read", decimals: 2, of: |figures| figures.chunks_per_read },
    Column { title: "CPU us/chunk", decimals: 2, of: |figures| figures.cpu_us_per_chunk },
];

const LAST: [Column; 2] = [
    Column { title: "server us/chunk", decimals: 2, of: |figures| figures.server_cpu_us_per_chunk },
    Column { title: "waited", decimals: 0, of: |figures| figures.waited_ms },
];

fn titles() -> Vec<String> {
    let figures = COLUMNS.iter().map(|column| column.title);
    let last = LAST.iter().map(|column| column.title);
    let titles = ["streams", "start", "reader"].into_iter().chain(figures);
    titles.chain(["x floor"]).chain(last).map(str::to_owned).collect()
}

fn cells(study: &Study, case: &Case) -> Vec<String> {
    let load = &case.load;
    let start = if load.is_flood() { "flood".into() } else { format!("{:?}", load.start) };
    let names = [load.streams.to_string(), start.to_lowercase(), name(case.reader).to_owned()];
    let value = |column: &Column| spread(case.runs.iter().map(column.of), column.decimals);
    let floor = study.floor_of(case).map_or_else(String::new, |floor| ratio(case, floor));
    let figures = COLUMNS.iter().map(value).chain([floor]).chain(LAST.iter().map(value));
    names.into_iter().chain(figures).collect()
}

/// How much dearer than the floor a reader was, run by run.
fn ratio(case: &Case, floor: &Case) -> String {
    let pairs = case.runs.iter().zip(&floor.runs);
    spread(pairs.map(|(one, floor)| one.cpu_us_per_chunk / floor.cpu_us_per_chunk), 2)
}

fn name(reader: Reader) -> &'static str {
    match reader {
        Reader::Floor => "floor",
        Reader::Chat => "chat",
        Reader::ChatByHyper => "chat, hyper",
        Reader::Generate => "/generate",
    }
}

/// The median of a few values and, in brackets, the smallest and the largest.
fn spread(values: impl Iterator<Item = f64>, decimals: usize) -> String {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    match (servemark::metrics::statistics::median(&sorted), &sorted[..]) {
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
    fn shows(values: &[f64], expected: &str) {
        assert_eq!(spread(values.iter().copied(), 1), expected);
    }

    #[test]
    fn a_figure_is_a_median_between_its_extremes() {
        shows(&[3.0, 1.0, 2.0], "2.0 (1.0..3.0)");
        shows(&[1.0, 2.0], "1.5 (1.0..2.0)");
        shows(&[7.25], "7.2");
        shows(&[], "");
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
