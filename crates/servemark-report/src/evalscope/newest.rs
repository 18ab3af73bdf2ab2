//! The final report of 1.14: an overview, and tables with one line per metric of a run.

use super::field::Field;
use super::heading::{POOLED, TITLE, TITLE_OF_EMBEDDINGS, WIDTH, pairs, token_names, token_text};
use super::number_format::{load_text, short};
use super::percentiles::Sample;
use super::tables::{WORKLOAD_HEAD, WORKLOAD_PARTS, trace_decimals};
use super::{EvalscopeRun, EvalscopeSweep};
use crate::boxes::{Column, RichTable, panel};

/// Lines of a table in groups; each group belongs to one run.
type Groups = Vec<Vec<Vec<String>>>;

pub(super) fn report(sweep: &EvalscopeSweep<'_>) -> String {
    let runs = sweep.by_load();
    let title = if sweep.generates() { TITLE } else { TITLE_OF_EMBEDDINGS };
    let mut text = panel(title, WIDTH);
    text.push_str("\nBasic Information:\n");
    text.push_str(&basics(sweep).text());
    let tables = if sweep.generates() {
        vec![Some(overview(&runs)), Some(requests(&runs)), traces(&runs), workload(&runs)]
    } else {
        vec![pooled(&runs)]
    };
    for table in tables.into_iter().flatten() {
        text.push_str("\n\n");
        text.push_str(&table.text());
    }
    text
}

fn basics(sweep: &EvalscopeSweep<'_>) -> RichTable {
    let (subject, seconds) = (sweep.subject, sweep.duration_s());
    let mut rows = vec![("Model", subject.model.clone())];
    rows.extend(subject.alias.clone().map(|alias| ("Alias", alias)));
    rows.push(("Test Dataset", subject.dataset.clone()));
    rows.push(("API Type", subject.api.clone()));
    rows.push(("Endpoint", subject.endpoint().unwrap_or_else(|| "—".to_owned())));
    let rate = (seconds > 0.0).then(|| short(sweep.tokens() / seconds, 2));
    let rate = rate.map_or_else(|| "N/A".to_owned(), |rate| format!("{rate} tok/s"));
    let [tokens, speed] = token_names(sweep);
    rows.push((tokens, token_text(sweep)));
    rows.push((speed, rate));
    rows.push(("Total Test Time", format!("{} s", short(seconds, 2))));
    rows.push(("Output Path", subject.outputs.clone()));
    pairs(RichTable::pairs([25, 55], WIDTH), rows)
}

fn overview(runs: &[&EvalscopeRun]) -> RichTable {
    let has_traces = runs.iter().any(|run| run.traces.is_some());
    let heads = ["Conc.", "Rate", "Num", "RPS", "Gen/s", "Success", "Traces"];
    let heads = heads.into_iter().filter(|head| has_traces || *head != "Traces");
    let row = |run: &&EvalscopeRun| {
        let shown = |field: Field| field.format(run.numbers.at(field));
        let success = format!("{}%", short(run.numbers.success_rate(), 1));
        let own =
            vec![shown(Field::Total), shown(Field::Requests), shown(Field::OutputRate), success];
        let traces = run.traces.as_ref().map_or_else(|| "-".to_owned(), |of| of.traces.to_string());
        let traces = has_traces.then_some(traces);
        [load(run).to_vec(), own, traces.into_iter().collect()].concat()
    };
    RichTable::headed("Performance Overview", heads.map(Column::right).collect())
        .with_rows(runs.iter().map(row).collect())
}

/// Returns the concurrency and the request rate of a run.
fn load(run: &EvalscopeRun) -> [String; 2] {
    [run.numbers.at(Field::Concurrency), run.numbers.rate()].map(|value| load_text(value, "-"))
}

/// Returns the lines of each run as a group; only the first line of a group shows the load.
fn groups(runs: &[&EvalscopeRun], lines: impl Fn(&EvalscopeRun) -> Vec<Vec<String>>) -> Groups {
    let group = |run: &&EvalscopeRun| {
        let own = lines(run).into_iter().enumerate().map(|(number, line)| {
            let load = if number == 0 { load(run) } else { Default::default() };
            [load.to_vec(), line].concat()
        });
        own.collect()
    };
    runs.iter().map(group).collect()
}

fn columns(name: &str, numbers: &[&str]) -> Vec<Column> {
    let load = ["Conc.", "Rate"].map(Column::right);
    let numbers = numbers.iter().map(|head| Column::right(head));
    load.into_iter().chain([Column::left_aligned(name)]).chain(numbers).collect()
}

fn requests(runs: &[&EvalscopeRun]) -> RichTable {
    let shown: Vec<&Line> =
        LINES.iter().filter(|line| runs.iter().any(|run| line.is_of(run))).collect();
    let lines = |run: &EvalscopeRun| shown.iter().map(|line| line.cells(run)).collect();
    let columns = columns("Metric", &["avg", "p50", "p99", "max"]);
    RichTable::headed("Per-Request Metrics", columns).with_groups(groups(runs, lines))
}

fn traces(runs: &[&EvalscopeRun]) -> Option<RichTable> {
    let runs: Vec<&EvalscopeRun> =
        runs.iter().copied().filter(|run| run.traces.is_some()).collect();
    let lines = |run: &EvalscopeRun| {
        let row = |(name, values): (&str, &servemark_metrics::Distribution)| {
            let percentiles = [50.0, 90.0, 99.0].map(|percent| values.percentile(percent));
            let numbers = [values.mean].into_iter().chain(percentiles).chain([values.max]);
            let shown = numbers.map(|value| short(value.unwrap_or_default(), trace_decimals(name)));
            [vec![name.to_owned()], shown.collect()].concat()
        };
        run.trace_rows().into_iter().map(row).collect()
    };
    let columns = columns("Metric", &["mean", "p50", "p90", "p99", "max"]);
    let table = RichTable::headed("Per-Trace Metrics", columns).with_groups(groups(&runs, lines));
    (!runs.is_empty()).then_some(table)
}

fn workload(runs: &[&EvalscopeRun]) -> Option<RichTable> {
    let has_any = |run: &&&EvalscopeRun| !run.workload.points.is_empty();
    let runs: Vec<&EvalscopeRun> = runs.iter().filter(has_any).copied().collect();
    let lines = |run: &EvalscopeRun| {
        let row = |(name, rates): (&str, [f64; 3])| {
            [vec![name.to_owned()], rates.map(|rate| short(rate, 2)).to_vec()].concat()
        };
        run.workload_rows().into_iter().map(row).collect()
    };
    let columns = columns(WORKLOAD_HEAD, &WORKLOAD_PARTS);
    let table = RichTable::headed("Workload Throughput", columns).with_groups(groups(&runs, lines));
    (!runs.is_empty()).then_some(table)
}

/// Returns the table of embedding or rerank runs. A run with a latency of zero is left out.
fn pooled(runs: &[&EvalscopeRun]) -> Option<RichTable> {
    let heads = POOLED.map(Column::right).to_vec();
    let row = |run: &&EvalscopeRun| {
        let p99 = |sample: Sample| run.percentiles.get("99%", sample);
        let latency = p99(Sample::Latency);
        let shown = |field: Field| field.format(run.numbers.at(field));
        (latency != Some(0.0)).then(|| {
            vec![
                load_text(run.numbers.at(Field::Concurrency), "INF"),
                load_text(run.numbers.rate(), "INF"),
                shown(Field::Requests),
                shown(Field::Latency),
                Sample::Latency.format(latency),
                shown(Field::InputRate),
                Sample::InputRate.format(p99(Sample::InputRate)),
                shown(Field::InputTokens),
                format!("{}%", short(run.numbers.success_rate(), 1)),
            ]
        })
    };
    let rows: Vec<Vec<String>> = runs.iter().filter_map(row).collect();
    let table = RichTable::headed("Detailed Performance Metrics", heads);
    (!rows.is_empty()).then(|| table.with_rows(rows))
}

/// A line of the table of per-request metrics.
struct Line {
    name: &'static str,
    mean: Field,
    sample: Option<Sample>,
    /// Format of the mean.
    show: fn(f64) -> String,
}

impl Line {
    /// Returns whether a run has the metric. Latency and input tokens always count as present; a
    /// TTFT, a TPOT or an output length of zero counts as absent.
    fn is_of(&self, run: &EvalscopeRun) -> bool {
        match self.mean {
            Field::Latency | Field::InputTokens => true,
            Field::Ttft | Field::Tpot | Field::OutputTokens => run.numbers.at(self.mean) != 0.0,
            mean => run.numbers.get(mean).is_some(),
        }
    }

    fn cells(&self, run: &EvalscopeRun) -> Vec<String> {
        let mean = run.numbers.get(self.mean).map(self.show);
        let mean = mean.filter(|mean| !mean.is_empty()).unwrap_or_else(|| "-".to_owned());
        let percentile = |label: &str| match self.sample {
            None => "-".to_owned(),
            Some(sample) => match run.percentiles.get(label, sample) {
                Some(0.0) => "-".to_owned(),
                value => sample.format(value),
            },
        };
        let percentiles = ["50%", "99%", "max"].map(percentile);
        [vec![self.name.to_owned(), mean], percentiles.to_vec()].concat()
    }
}

const fn line(name: &'static str, mean: Field, sample: Sample, show: fn(f64) -> String) -> Line {
    Line { name, mean, sample: Some(sample), show }
}

const fn scalar(name: &'static str, mean: Field, show: fn(f64) -> String) -> Line {
    Line { name, mean, sample: None, show }
}

const LINES: [Line; 15] = [
    line("Latency (s)", Field::Latency, Sample::Latency, |value| short(value, 3)),
    line("TTFT (ms)", Field::Ttft, Sample::Ttft, |value| short(value, 2)),
    line("TPOT (ms)", Field::Tpot, Sample::Tpot, |value| short(value, 2)),
    line("Steady ITL (ms)", Field::SteadyItl, Sample::SteadyItl, |value| short(value, 2)),
    line("PD Handoff Latency (ms)", Field::Handoff, Sample::Handoff, |value| short(value, 2)),
    line("PD Handoff Overhead (ms)", Field::HandoffOverhead, Sample::HandoffOverhead, |value| {
        short(value, 2)
    }),
    line("Input Tokens", Field::InputTokens, Sample::InputTokens, |value| short(value, 0)),
    line("Output Tokens", Field::OutputTokens, Sample::OutputTokens, |value| short(value, 0)),
    scalar("Turns/Req", Field::Turns, |value| short(value, 1)),
    scalar("Cache Hit (%)", Field::Cached, |value| format!("{}%", short(value, 1))),
    scalar("1st-Turn TTFT (ms)", Field::FirstTtft, |value| short(value, 2)),
    scalar("Subseq. TTFT (ms)", Field::LaterTtft, |value| short(value, 2)),
    scalar("Decode toks/s", Field::Tpot, decode),
    scalar("Decoded Tok/Iter", Field::TokensPerStep, |value| short(value, 2)),
    scalar("Spec. Accept Rate", Field::Accepted, |value| format!("{}%", short(value * 100.0, 1))),
];

/// Returns the decoding rate in tokens per second for a time per output token in milliseconds;
/// empty if that is zero.
fn decode(tpot_ms: f64) -> String {
    if tpot_ms > 0.0 { short(1000.0 / tpot_ms, 2) } else { String::new() }
}
