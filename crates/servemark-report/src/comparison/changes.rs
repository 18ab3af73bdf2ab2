//! Servemark's table of a comparison: each change with its interval and significance.

use std::io;

use servemark_core::printable;
use servemark_metrics::{
    Basis, Change, Comparison, FigureScope, Quantity, Significance, Statistic,
};

use super::{Side, number};
use crate::table::wrapped;

/// Writes the comparison as Servemark's table, in at most `columns` columns, or 80 if there are fewer.
/// Where the columns do not suffice, the interval and the spread of a change are a line below it.
pub fn write_changes(
    comparison: &Comparison,
    sides: &[Vec<Side>; 2],
    columns: usize,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let has_spread = comparison.runs.iter().any(|runs| *runs > 1);
    let is_wide = columns >= if has_spread { WIDE_WITH_SPREAD } else { WIDE };
    let table = Table { comparison, has_spread, is_wide };
    let width = table.width();
    writeln!(out, "{:=^width$}", " Comparison ")?;
    for (name, side) in ["A", "B"].into_iter().zip(sides) {
        table.write_side(name, side, out)?;
    }
    for (name, side) in ["A", "B"].into_iter().zip(sides) {
        table.write_verdicts(name, side, out)?;
    }
    writeln!(out)?;
    table.write_doubts(out)?;
    let of = |part: FigureScope| {
        comparison.changes.iter().filter(move |change| change.figure.of == part)
    };
    table.write_heads(out)?;
    of(FigureScope::Run).try_for_each(|change| table.write_row(change, out))?;
    if of(FigureScope::Plateau).next().is_some() {
        writeln!(out, "{:-^width$}", " Plateau ")?;
        of(FigureScope::Plateau).try_for_each(|change| table.write_row(change, out))?;
    }
    writeln!(out, "{:=<width$}", "")?;
    table.write_notes(out)
}

/// A comparison and how it is laid out.
#[derive(Clone, Copy, Debug)]
struct Table<'a> {
    comparison: &'a Comparison,
    has_spread: bool,
    is_wide: bool,
}

impl Table<'_> {
    fn width(&self) -> usize {
        match (self.is_wide, self.has_spread) {
            (true, true) => WIDE_WITH_SPREAD,
            (true, false) => WIDE,
            (false, _) => NARROW,
        }
    }

    /// Writes a sentence in lines of at most the table's width, `indent` columns in; lines after the
    /// first are two columns further in if the first is indented.
    fn write_sentence(
        &self,
        sentence: &str,
        indent: usize,
        out: &mut dyn io::Write,
    ) -> io::Result<()> {
        let hanging = if indent == 0 { 0 } else { indent + 2 };
        let lines = wrapped(&printable(sentence), self.width() - hanging);
        for (line, number) in lines.iter().zip(0..) {
            let room = if number == 0 { indent } else { hanging };
            writeln!(out, "{:room$}{line}", "")?;
        }
        Ok(())
    }

    fn write_side(&self, name: &str, side: &[Side], out: &mut dyn io::Write) -> io::Result<()> {
        let sources: Vec<&str> = side.iter().map(|of| of.source.as_str()).collect();
        let model =
            side.iter().find_map(|of| of.model.as_deref()).filter(|model| !model.is_empty());
        let model = model.map(|model| format!(" (model: {model})")).unwrap_or_default();
        let runs = if side.len() == 1 { String::new() } else { format!("{} runs: ", side.len()) };
        self.write_sentence(&format!("{name}: {runs}{}{model}", sources.join(", ")), 2, out)
    }

    /// Writes the verdicts on the runs of a side, such as `  A, run 2: saturated: asked 30.0 requests/s, …`.
    fn write_verdicts(&self, name: &str, side: &[Side], out: &mut dyn io::Write) -> io::Result<()> {
        for (number, run) in (1..).zip(side) {
            let run_name =
                if side.len() == 1 { name.to_owned() } else { format!("{name}, run {number}") };
            for verdict in &run.verdicts {
                let line = format!("{run_name}: {}: {}", verdict.kind.name(), verdict.reason);
                self.write_sentence(&line, 2, out)?;
            }
        }
        Ok(())
    }

    /// Writes, above the table, the runs whose numbers may reflect the client rather than the server.
    fn write_doubts(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let Comparison { doubts, is_judged, .. } = self.comparison;
        if doubts.is_empty() {
            return Ok(());
        }
        self.write_sentence(if *is_judged { FORCED } else { NOT_JUDGED }, 0, out)?;
        doubts.iter().try_for_each(|doubt| self.write_sentence(&doubt.to_string(), 2, out))?;
        writeln!(out)
    }

    fn write_heads(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let (names, spread) = (["Metric", "A", "B", "Change"], ["Between", "Within"]);
        writeln!(out, "{}", self.cells(names, "99 % interval", spread, "Significance"))?;
        let rule = "-".repeat(32);
        let lines = [32, 11, 11, 9].map(|width| &rule[..width]);
        writeln!(
            out,
            "{}",
            self.cells(lines, &rule[..16], [8, 7].map(|width| &rule[..width]), "-----")
        )
    }

    /// Returns a line of the table, in which a narrow one has neither interval nor spread.
    fn cells(
        &self,
        [label, before, after, percent]: [&str; 4],
        interval: &str,
        [between, within]: [&str; 2],
        significance: &str,
    ) -> String {
        let mut line = format!("{label:<32} {before:>11} {after:>11} {percent:>9}");
        if self.is_wide {
            line = format!("{line}  {interval:<16}");
        }
        if self.is_wide && self.has_spread {
            line = format!("{line} {between:>8} {within:>7}");
        }
        format!("{line}  {significance}")
    }

    fn write_row(&self, change: &Change, out: &mut dyn io::Write) -> io::Result<()> {
        let label = change.figure.to_string();
        let (before, after) = (number(change.before), number(change.after));
        let interval = change.interval.map(|interval| interval.to_string());
        let significance = match self.comparison.significance_of(change) {
            Significance::Better => "better",
            Significance::Worse => "worse",
            Significance::Same => "~",
            Significance::NotJudged => "not judged",
            Significance::Unknown => "?",
        };
        let part = |percent: Option<f64>| {
            percent.map_or_else(|| "-".to_owned(), |percent| format!("{percent:.1} %"))
        };
        let [between, within] = [change.between_runs_percent, change.within_run_percent].map(part);
        let percent = change.percent();
        let percent =
            if percent.is_finite() { format!("{percent:+.1} %") } else { "from zero".to_owned() };
        let cells = [&*label, &before, &after, &percent];
        let shown = interval.as_deref().unwrap_or_default();
        writeln!(out, "{}", self.cells(cells, shown, [&between, &within], significance))?;
        if self.is_wide {
            return Ok(());
        }
        let interval = interval.map(|interval| format!("99 % interval {interval} %"));
        let spreads = [
            ("between runs", change.between_runs_percent),
            ("within a run", change.within_run_percent),
        ];
        let known = spreads.into_iter().filter(|_| self.has_spread);
        let spreads = known.filter_map(|(name, percent)| Some(format!("{name} {:.1} %", percent?)));
        let spread = Some(spreads.collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty());
        let below: Vec<String> = interval.into_iter().chain(spread).collect();
        if below.is_empty() { Ok(()) } else { writeln!(out, "    {}", below.join("; ")) }
    }

    fn write_notes(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let changes = &self.comparison.changes;
        let has = |basis: Basis| changes.iter().any(|change| change.basis == Some(basis));
        if changes.iter().all(|change| change.basis.is_none()) {
            return self.write_sentence(VALUES_ALONE, 0, out);
        }
        self.write_sentence(LEGEND, 0, out)?;
        if let Some((figure, percent)) = detectable(self.comparison) {
            let seen = format!(
                "A change of {percent:.1} % of the {figure} would be seen in eight of ten such \
                 comparisons."
            );
            self.write_sentence(&seen, 0, out)?;
        }
        if has(Basis::PairedRequests) {
            self.write_sentence(PAIRED, 0, out)?;
        }
        let method = match self.has_spread {
            false => WITHIN,
            true if has(Basis::PairedRuns) => PAIRED_RUNS,
            true => RUNS,
        };
        self.write_sentence(method, 0, out)
    }
}

/// Returns the name of the first mean latency with a detectable change below 100 %, and that change
/// in percent.
fn detectable(comparison: &Comparison) -> Option<(String, f64)> {
    let is_mean = |change: &&Change| {
        matches!(change.figure.quantity, Quantity::Latency(_, Statistic::Mean))
            && change.figure.of == FigureScope::Run
    };
    let listed = comparison.changes.iter().filter(is_mean).find_map(|change| {
        let percent = change.detectable_percent.filter(|percent| *percent < 100.0)?;
        Some((change.figure.to_string(), percent))
    });
    listed.map(|(figure, percent)| (figure.replace("Mean ", "mean ").replace(" (ms)", ""), percent))
}

/// Columns of a wide table without the spread between runs.
const WIDE: usize = 100;

/// Columns of a wide table with the spread between runs.
const WIDE_WITH_SPREAD: usize = 115;

/// Columns of a table whose intervals are lines of their own.
const NARROW: usize = 80;

const NOT_JUDGED: &str = "\
NOT JUDGED: the numbers may be those of the client and not of the server, so no change is \
called better or worse (--force judges all the same).";

const FORCED: &str = "\
JUDGED BY FORCE: the numbers may be those of the client and not of the server.";

const LEGEND: &str = "\
Change: from A to B. Significance: better or worse by more than chance, with all figures tested at once at \
1 % (Holm); ~ where chance alone would make the change, ? where the runs cannot tell.";

const PAIRED: &str = "\
Both sides sent the same requests, so means are compared in pairs.";

const WITHIN: &str = "\
All this holds within these two runs: what differs between any two runs of the same server is not in \
it. Several runs a side tell that: servemark compare --before A1 A2 … --after B1 B2 …";

const RUNS: &str = "\
Runs are compared by their figures (Welch's t). Between: standard deviation between the runs of a \
side, apart from the chance within each. Within: standard error by the requests of one run.";

const PAIRED_RUNS: &str = "\
The n-th runs of both sides sent the same requests, so their figures are compared in pairs (Student's \
t). Between: standard deviation between the runs of a side, apart from the chance within each. Within: \
standard error by the requests of one run.";

const VALUES_ALONE: &str = "\
? where the effect of chance is unknown: it takes run logs, or several results a side.";
