//! The final report of 1.0 to 1.7: one row per run, the best runs, and recommendations.

use super::field::Field;
use super::heading::{POOLED, TITLE, TITLE_OF_EMBEDDINGS, WIDTH, pairs, token_names, token_text};
use super::number_format::fixed;
use super::percentiles::Sample;
use super::{EvalscopeRun, EvalscopeStyle, EvalscopeSweep};
use crate::boxes::{Column, RichTable, panel};

pub(super) fn report(sweep: &EvalscopeSweep<'_>, style: EvalscopeStyle) -> String {
    let is_first = style == EvalscopeStyle::V1_0;
    let runs = if is_first { sweep.runs.iter().collect() } else { sweep.by_load() };
    let rows = Rows::of(&runs, sweep, style);
    let title = if sweep.generates() { TITLE } else { TITLE_OF_EMBEDDINGS };
    let mut text = panel(title, if is_first { NARROW } else { WIDTH });
    text.push_str("\nBasic Information:\n");
    text.push_str(&if is_first { first_basics(sweep) } else { basics(sweep) }.text());
    for table in [Some(rows.table()), requests(sweep, style), rows.best()].into_iter().flatten() {
        text.push_str("\n\n");
        text.push_str(&table.text());
    }
    text.push_str("\nPerformance Recommendations:\n");
    text.extend(rows.advice().into_iter().map(|advice| format!("• {advice}\n")));
    text
}

const NARROW: usize = 60;

fn basics(sweep: &EvalscopeSweep<'_>) -> RichTable {
    let subject = sweep.subject;
    let [tokens, speed] = token_names(sweep);
    let rows = vec![
        ("Model", subject.model.clone()),
        ("Test Dataset", subject.dataset.clone()),
        ("API Type", subject.api.clone()),
        (tokens, token_text(sweep)),
        (speed, speed_text(sweep)),
        ("Total Test Time", seconds_text(sweep)),
        ("Output Path", subject.outputs.clone()),
    ];
    pairs(RichTable::pairs([25, 55], WIDTH), rows)
}

fn first_basics(sweep: &EvalscopeSweep<'_>) -> RichTable {
    // 1.0 prints the integer 0 if there are no tokens at all.
    let nothing = sweep.tokens() == 0.0;
    let tokens = if nothing { "0 tokens".to_owned() } else { token_text(sweep) };
    let rows = vec![
        ("Model", sweep.subject.model.clone()),
        ("Total Generated", tokens),
        ("Total Test Time", seconds_text(sweep)),
        ("Avg Output Rate", speed_text(sweep)),
    ];
    pairs(RichTable::pairs([25, 35], NARROW), rows)
}

fn seconds_text(sweep: &EvalscopeSweep<'_>) -> String {
    format!("{:.2} seconds", sweep.duration_s())
}

fn speed_text(sweep: &EvalscopeSweep<'_>) -> String {
    let seconds = sweep.duration_s();
    let rate = (seconds > 0.0).then(|| (sweep.tokens() + 0.0) / seconds);
    rate.map_or_else(|| "N/A".to_owned(), |rate| format!("{rate:.2} tokens/sec"))
}

/// A column: its heading and the function that formats its cells.
type Cell = (&'static str, fn(&EvalscopeRun) -> String);

/// The rows of the main table, from which the best runs and the recommendations follow.
struct Rows<'a> {
    runs: Vec<&'a EvalscopeRun>,
    columns: &'static [Cell],
    width: Option<usize>,
}

impl<'a> Rows<'a> {
    /// Returns the rows of the runs. Versions after 1.0 leave out runs without a latency.
    fn of(runs: &[&'a EvalscopeRun], sweep: &EvalscopeSweep<'_>, style: EvalscopeStyle) -> Self {
        let is_first = style == EvalscopeStyle::V1_0;
        let has_latency = |run: &&EvalscopeRun| p99(run, Sample::Latency) != Some(0.0);
        let columns: &[Cell] = match () {
            () if is_first => &FIRST,
            () if sweep.generates() => &SEVENTH,
            () => &OF_EMBEDDINGS,
        };
        let runs = runs.iter().copied().filter(|run| is_first || has_latency(run)).collect();
        Self { runs, columns, width: is_first.then_some(100) }
    }

    fn table(&self) -> RichTable {
        let row = |run: &&EvalscopeRun| self.columns.iter().map(|(_, cell)| cell(run)).collect();
        let heads = self.columns.iter().map(|(head, _)| Column::right(head)).collect();
        let table = RichTable::headed("Detailed Performance Metrics", heads)
            .with_rows(self.runs.iter().map(row).collect());
        match self.width {
            Some(width) => table.sized(width),
            None => table,
        }
    }

    /// Returns the index of the first run with the highest request rate, compared as displayed.
    fn fastest(&self) -> Option<usize> {
        let rate = |run: &EvalscopeRun| -requests_per_s(run);
        self.first_smallest(rate)
    }

    fn first_smallest(&self, value: impl Fn(&EvalscopeRun) -> f64) -> Option<usize> {
        let values = self.runs.iter().enumerate().map(|(place, run)| (place, value(run)));
        let smallest = values.reduce(|best, next| if next.1 < best.1 { next } else { best })?;
        Some(smallest.0)
    }

    fn best(&self) -> Option<RichTable> {
        let fastest = self.runs[self.fastest()?];
        let shortest = self.runs[self.first_smallest(latency_s)?];
        let of = |run: &EvalscopeRun, value: String| {
            format!("Concurrency {} ({value})", concurrency(run))
        };
        let rows = vec![
            ("Highest RPS", of(fastest, format!("{} req/sec", two(fastest, Field::Requests)))),
            (
                "Lowest Latency",
                of(shortest, format!("{} seconds", three(shortest, Field::Latency))),
            ),
        ];
        let table = RichTable::bare_pairs("Best Performance Configuration", [20, 40], NARROW);
        Some(pairs(table, rows))
    }

    fn advice(&self) -> Vec<String> {
        let (Some(fastest), Some(last)) = (self.fastest(), self.runs.last()) else {
            return Vec::new();
        };
        let mut advice = vec![match fastest {
            place if place + 1 == self.runs.len() => NOT_REACHED.to_owned(),
            0 => TOO_HIGH.to_owned(),
            place => {
                format!("Optimal concurrency range is around {}", concurrency(self.runs[place]))
            }
        }];
        if last.numbers.success_rate() < 95.0 {
            advice.push(FAILING.to_owned());
        }
        advice
    }
}

const NOT_REACHED: &str =
    "The system seems not to have reached its performance bottleneck, try higher concurrency";
const TOO_HIGH: &str = "Consider lowering concurrency, current load may be too high";
const FAILING: &str =
    "Success rate is low at high concurrency, check system resources or reduce concurrency";

/// Returns the request rate as displayed, so that runs with equal text compare equal.
fn requests_per_s(run: &EvalscopeRun) -> f64 {
    two(run, Field::Requests).parse().unwrap_or_default()
}

fn latency_s(run: &EvalscopeRun) -> f64 {
    three(run, Field::Latency).parse().unwrap_or_default()
}

fn concurrency(run: &EvalscopeRun) -> String {
    let limit = run.numbers.at(Field::Concurrency);
    if limit < 0.0 { "INF".to_owned() } else { limit.to_string() }
}

fn rate(run: &EvalscopeRun) -> String {
    let rate = run.numbers.rate();
    if rate < 0.0 { "INF".to_owned() } else { format!("{rate:.2}") }
}

fn one(run: &EvalscopeRun, field: Field) -> String {
    fixed(Some(run.numbers.at(field)), 1)
}

fn two(run: &EvalscopeRun, field: Field) -> String {
    fixed(Some(run.numbers.at(field)), 2)
}

fn three(run: &EvalscopeRun, field: Field) -> String {
    fixed(Some(run.numbers.at(field)), 3)
}

fn p99(run: &EvalscopeRun, sample: Sample) -> Option<f64> {
    run.percentiles.get("99%", sample)
}

/// Formats the 99th percentile; zero is shown as `N/A`.
fn p99_shown(run: &EvalscopeRun, sample: Sample) -> String {
    match p99(run, sample) {
        Some(0.0) => "N/A".to_owned(),
        value => fixed(value, 1),
    }
}

fn success(run: &EvalscopeRun) -> String {
    format!("{:.1}%", run.numbers.success_rate())
}

fn total(run: &EvalscopeRun) -> String {
    run.numbers.at(Field::Total).to_string()
}

const FIRST: [Cell; 10] = [
    ("Conc.", concurrency),
    ("RPS", |run| two(run, Field::Requests)),
    ("Avg Lat.(s)", |run| three(run, Field::Latency)),
    ("P99 Lat.(s)", |run| fixed(p99(run, Sample::Latency), 3)),
    ("Gen. toks/s", |run| two(run, Field::OutputRate)),
    ("Avg TTFT(s)", |run| three(run, Field::Ttft)),
    ("P99 TTFT(s)", |run| fixed(p99(run, Sample::Ttft), 3)),
    ("Avg TPOT(s)", |run| three(run, Field::Tpot)),
    ("P99 TPOT(s)", |run| fixed(p99(run, Sample::Tpot), 3)),
    ("Success Rate", success),
];

const SEVENTH: [Cell; 12] = [
    ("Conc.", concurrency),
    ("Rate", rate),
    ("Num", total),
    ("RPS", |run| two(run, Field::Requests)),
    ("Avg\nLat.(s)", |run| three(run, Field::Latency)),
    ("P99\nLat.(s)", |run| fixed(p99(run, Sample::Latency), 3)),
    ("Avg\nTTFT(ms)", |run| one(run, Field::Ttft)),
    ("P99\nTTFT(ms)", |run| p99_shown(run, Sample::Ttft)),
    ("Avg\nTPOT(ms)", |run| one(run, Field::Tpot)),
    ("P99\nTPOT(ms)", |run| p99_shown(run, Sample::Tpot)),
    ("Gen.\ntoks/s", |run| two(run, Field::OutputRate)),
    ("Success\nRate", success),
];

const OF_EMBEDDINGS: [Cell; 9] = [
    (POOLED[0], concurrency),
    (POOLED[1], rate),
    (POOLED[2], |run| two(run, Field::Requests)),
    (POOLED[3], |run| three(run, Field::Latency)),
    (POOLED[4], |run| fixed(p99(run, Sample::Latency), 3)),
    (POOLED[5], |run| two(run, Field::InputRate)),
    (POOLED[6], |run| fixed(Some(p99(run, Sample::InputRate).unwrap_or_default()), 2)),
    (POOLED[7], |run| one(run, Field::InputTokens)),
    (POOLED[8], success),
];

/// Returns 1.7's table of request sizes, with the columns for which any run has a value.
fn requests(sweep: &EvalscopeSweep<'_>, style: EvalscopeStyle) -> Option<RichTable> {
    if style == EvalscopeStyle::V1_0 || !sweep.generates() {
        return None;
    }
    let has = |cell: &&Size| sweep.runs.iter().any(|run| (cell.1)(run).is_some());
    let shown: Vec<&Size> = SIZES.iter().filter(has).collect();
    let row = |run: &EvalscopeRun| {
        let cells = shown.iter().map(|(_, cell)| cell(run).unwrap_or_else(|| "N/A".to_owned()));
        cells.collect()
    };
    let heads = shown.iter().map(|(head, _)| Column::right(head)).collect();
    let table = RichTable::headed("Request Metrics", heads);
    Some(table.with_rows(sweep.runs.iter().map(row).collect()))
}

/// A column: its heading and the function that formats its cells, if the run has a value.
type Size = (&'static str, fn(&EvalscopeRun) -> Option<String>);

const SIZES: [Size; 11] = [
    ("Conc.", |run| Some(concurrency(run))),
    ("Num", |run| Some(total(run))),
    ("Avg In\nToks", |run| Some(one(run, Field::InputTokens))),
    ("P99 In\nToks", |run| Some(p99_shown(run, Sample::InputTokens))),
    ("Avg Out\nToks", |run| Some(one(run, Field::OutputTokens))),
    ("P99 Out\nToks", |run| Some(p99_shown(run, Sample::OutputTokens))),
    ("Avg\nTurns/Req", |run| Some(format!("{:.2}", run.numbers.get(Field::Turns)?))),
    ("Approx\nCache Hit", |run| Some(format!("{:.1}%", run.numbers.get(Field::Cached)?))),
    ("Decode\ntoks/s", |run| {
        let tpot_ms = run.numbers.get(Field::Tpot).filter(|tpot| *tpot > 0.0)?;
        Some(format!("{:.2}", 1000.0 / tpot_ms))
    }),
    ("Decoded\nTok/Iter", |run| Some(format!("{:.2}", run.numbers.get(Field::TokensPerStep)?))),
    ("Spec.\nAccept Rate", |run| {
        Some(format!("{:.1}%", run.numbers.get(Field::Accepted)? * 100.0))
    }),
];
