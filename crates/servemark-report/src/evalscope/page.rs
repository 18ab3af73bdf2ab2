//! `perf_report.html`: the runs of a command line as a self-contained page.

use std::io;

use serde_json::Value;
use servemark_core::JsonObject;
use servemark_pyjson::{general, literal, repr};

use super::field::Field;
use super::number_format::{commas, short};
use super::percentiles::Sample;
use super::{EvalscopeRun, EvalscopeStyle, EvalscopeSweep, drawings};
use crate::page;

impl EvalscopeSweep<'_> {
    /// Writes the page. `args` are the command line's arguments; some of them are shown.
    pub fn write_page(&self, args: &JsonObject, out: &mut dyn io::Write) -> io::Result<()> {
        let runs = self.by_load();
        let title = format!("{} – performance", self.subject.model);
        page::head(&title, "Performance Test Summary Report", out)?;
        page::pairs(self.about(), out)?;
        writeln!(out, "<h2>Overview</h2>")?;
        page::pairs(self.cards(), out)?;
        let (heads, rows) = summary(&runs, self.generates());
        page::table(&heads, &rows, out)?;
        writeln!(out, "<h3>Run Configuration</h3>")?;
        page::pairs(configuration(&runs, args), out)?;
        writeln!(out, "<h3>Best Performance Configuration</h3>")?;
        page::pairs(best(self.runs), out)?;
        list("Performance Recommendations", &advice(&runs), out)?;
        page::section("Latency Analysis", &drawings::latencies(&runs, self.generates()), out)?;
        page::section("Throughput Analysis", &drawings::throughputs(&runs), out)?;
        writeln!(out, "<h2>Per-Run Details</h2>")?;
        runs.iter().try_for_each(|run| details(run, out))?;
        page::end(out)
    }

    fn about(&self) -> Vec<(String, String)> {
        let subject = self.subject;
        let model = ("Model", Some(subject.model.clone()));
        let known = [
            model,
            ("Alias", subject.alias.clone()),
            ("API Type", Some(subject.api.clone())),
            ("Dataset", Some(subject.dataset.clone())),
            ("Endpoint", subject.endpoint()),
        ];
        known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }

    fn cards(&self) -> Vec<(String, String)> {
        let total = |field: Field| {
            let sum: f64 = self.runs.iter().map(|run| run.numbers.at(field)).sum();
            commas(&sum.to_string())
        };
        let tokens = if self.generates() { "Total Output Tokens" } else { "Total Input Tokens" };
        owned_pairs([
            ("Total Requests", total(Field::Total)),
            ("Succeed Requests", total(Field::Success)),
            ("Total Test Time", format!("{} s", short(self.duration_s(), 2))),
            (tokens, commas(&format!("{:.0}", self.tokens() + 0.0))),
        ])
    }
}

fn owned_pairs<const N: usize>(pairs: [(&str, String); N]) -> Vec<(String, String)> {
    pairs.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

/// Returns the headings and rows of the table of all runs.
fn summary(runs: &[&EvalscopeRun], generates: bool) -> (Vec<String>, Vec<Vec<String>>) {
    let columns: &[Column] = if generates { &COLUMNS } else { &POOLED };
    let is_known = |column: &&Column| match column.shown {
        ColumnContent::Mean(field) => runs.iter().all(|run| run.numbers.get(field).is_some()),
        ColumnContent::P99(_, field) => runs.iter().all(|run| run.numbers.get(field).is_some()),
        ColumnContent::Other(_) => true,
    };
    let columns: Vec<&Column> = columns.iter().filter(is_known).collect();
    let row = |run: &&EvalscopeRun| columns.iter().map(|column| column.cell(run)).collect();
    let heads = columns.iter().map(|column| column.head.to_owned()).collect();
    (heads, runs.iter().map(row).collect())
}

/// A column of the table of all runs.
struct Column {
    head: &'static str,
    shown: ColumnContent,
}

/// Content of a column.
enum ColumnContent {
    Mean(Field),
    /// The 99th percentile of a sample; shown if all runs have the mean in the given field.
    P99(Sample, Field),
    Other(fn(&EvalscopeRun) -> String),
}

impl Column {
    fn cell(&self, run: &EvalscopeRun) -> String {
        match self.shown {
            ColumnContent::Mean(field) => field.format(run.numbers.at(field)),
            ColumnContent::P99(sample, _) => sample.format(run.percentiles.get("99%", sample)),
            ColumnContent::Other(show) => show(run),
        }
    }
}

const fn mean(head: &'static str, field: Field) -> Column {
    Column { head, shown: ColumnContent::Mean(field) }
}

const fn p99(head: &'static str, sample: Sample, field: Field) -> Column {
    Column { head, shown: ColumnContent::P99(sample, field) }
}

const fn other(head: &'static str, show: fn(&EvalscopeRun) -> String) -> Column {
    Column { head, shown: ColumnContent::Other(show) }
}

const COLUMNS: [Column; 17] = [
    other("Conc.", concurrency),
    other("Rate", rate),
    mean("RPS", Field::Requests),
    mean("Avg Lat.(s)", Field::Latency),
    p99("P99 Lat.(s)", Sample::Latency, Field::Latency),
    mean("Avg TTFT(ms)", Field::Ttft),
    p99("P99 TTFT(ms)", Sample::Ttft, Field::Ttft),
    mean("Avg TPOT(ms)", Field::Tpot),
    p99("P99 TPOT(ms)", Sample::Tpot, Field::Tpot),
    mean("Avg Steady ITL(ms)", Field::SteadyItl),
    p99("P99 Steady ITL(ms)", Sample::SteadyItl, Field::SteadyItl),
    mean("Avg PD Handoff(ms)", Field::Handoff),
    p99("P99 PD Handoff(ms)", Sample::Handoff, Field::Handoff),
    mean("Avg PD Overhead(ms)", Field::HandoffOverhead),
    p99("P99 PD Overhead(ms)", Sample::HandoffOverhead, Field::HandoffOverhead),
    mean("Gen. tok/s", Field::OutputRate),
    other("Success Rate", success),
];

const POOLED: [Column; 8] = [
    other("Conc.", concurrency),
    other("Rate", rate),
    mean("RPS", Field::Requests),
    mean("Avg Lat.(s)", Field::Latency),
    p99("P99 Lat.(s)", Sample::Latency, Field::Latency),
    mean("Avg Inp.TPS", Field::InputRate),
    mean("Avg Inp.Tok", Field::InputTokens),
    other("Success Rate", success),
];

fn concurrency(run: &EvalscopeRun) -> String {
    let limit = run.numbers.at(Field::Concurrency);
    if limit < 0.0 { "INF".to_owned() } else { limit.to_string() }
}

fn rate(run: &EvalscopeRun) -> String {
    let rate = run.numbers.rate();
    if rate < 0.0 { "INF".to_owned() } else { general(rate) }
}

fn success(run: &EvalscopeRun) -> String {
    format!("{}%", short(run.numbers.success_rate(), 1))
}

/// Returns the title of a run.
pub(super) fn name(run: &EvalscopeRun) -> String {
    let (limit, rate, number) =
        (run.numbers.at(Field::Concurrency), run.numbers.rate(), run.number);
    match () {
        () if limit >= 0.0 => format!("Parallel {limit} / Number {number}"),
        () if rate >= 0.0 => format!("Rate {} rps / Number {number}", repr(rate)),
        () => format!("Open-loop / Number {number}"),
    }
}

/// Returns the arguments that the page shows. Parallelism, number and rate are listed for each run
/// if there are several.
fn configuration(runs: &[&EvalscopeRun], args: &JsonObject) -> Vec<(String, String)> {
    let shown = |key: &&str| match args.get(*key) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(value) => Some(literal(value)),
    };
    let each = |value: fn(&EvalscopeRun) -> String| {
        runs.iter().map(|run| value(run)).collect::<Vec<_>>().join(", ")
    };
    let of_each = |key: &&str| match *key {
        "parallel" => Some(each(|run| run.numbers.at(Field::Concurrency).to_string())),
        "number" => Some(each(|run| run.number.to_string())),
        "rate" => Some(each(|run| repr(run.numbers.rate()))),
        _ => None,
    };
    let value = |key: &&str| of_each(key).filter(|_| runs.len() > 1).or_else(|| shown(key));
    CONFIGURATION.iter().filter_map(|key| Some(((*key).to_owned(), value(key)?))).collect()
}

const CONFIGURATION: [&str; 9] = [
    "api",
    "dataset",
    "parallel",
    "number",
    "rate",
    "max_tokens",
    "min_tokens",
    "max_prompt_length",
    "min_prompt_length",
];

/// Returns the first run with the highest request rate and the first with the lowest latency.
fn best(runs: &[EvalscopeRun]) -> Vec<(String, String)> {
    let rate = |run: &EvalscopeRun| run.numbers.at(Field::Requests);
    let latency = |run: &EvalscopeRun| match run.numbers.at(Field::Latency) {
        none if none < 0.0 => f64::INFINITY,
        latency => latency,
    };
    let fastest =
        runs.iter().reduce(|best, next| if rate(next) > rate(best) { next } else { best });
    let shortest =
        runs.iter().reduce(|best, next| if latency(next) < latency(best) { next } else { best });
    let (Some(fastest), Some(shortest)) = (fastest, shortest) else { return Vec::new() };
    let of = |run: &EvalscopeRun, field: Field, unit: &str| {
        format!("{} ({} {unit})", name(run), field.format(run.numbers.at(field)))
    };
    owned_pairs([
        ("Highest RPS", of(fastest, Field::Requests, "req/s")),
        ("Lowest Latency", of(shortest, Field::Latency, "s")),
    ])
}

fn advice(runs: &[&EvalscopeRun]) -> Vec<String> {
    let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return Vec::new() };
    let mut advice = Vec::new();
    let rate = |place: usize| runs[place].numbers.at(Field::Requests);
    let fastest =
        (1..runs.len()).fold(0, |best, next| if rate(next) > rate(best) { next } else { best });
    match fastest {
        _ if runs.len() < 2 => {}
        place if place + 1 == runs.len() => advice.push(NOT_REACHED.to_owned()),
        0 => advice.push(TOO_HIGH.to_owned()),
        place => {
            advice
                .push(format!("Optimal configuration appears to be around {}.", name(runs[place])));
        }
    }
    if last.numbers.success_rate() < 95.0 {
        advice.push(format!(
            "Success rate at highest load ({}) is {}. Check system resources or reduce the load.",
            name(last),
            success(last),
        ));
    }
    let growth = last.numbers.at(Field::Latency) / first.numbers.at(Field::Latency);
    if runs.len() > 1 && first.numbers.at(Field::Latency) > 0.0 && growth > 3.0 {
        advice.push(format!(
            "Latency grew {growth:.1}× from lowest to highest load. The system may be under \
             significant stress.",
        ));
    }
    advice
}

const NOT_REACHED: &str = "The system has not reached its performance bottleneck. Consider testing \
                           with higher load levels.";
const TOO_HIGH: &str = "Consider lowering the load; it may be too high for the system.";

fn list(title: &str, sentences: &[String], out: &mut dyn io::Write) -> io::Result<()> {
    if sentences.is_empty() {
        return Ok(());
    }
    let items = sentences.iter().map(|sentence| format!("<li>{sentence}</li>\n"));
    writeln!(out, "<h3>{title}</h3>\n<ul>\n{}</ul>", items.collect::<String>())
}

/// Writes the section of one run: its numbers, percentiles and requests.
fn details(run: &EvalscopeRun, out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "<h3>{}</h3>", name(run))?;
    page::pairs(items(run), out)?;
    let labels = run.percentiles.labels.iter().cloned();
    let heads: Vec<String> = ["Metric".to_owned()].into_iter().chain(labels).collect();
    let row = |row: &super::percentiles::PercentileRow| {
        let value = |value: &Option<f64>| value.map_or_else(|| "—".to_owned(), repr);
        let name = row.sample.name(run.options.style).to_owned();
        [vec![name], row.values.iter().map(value).collect()].concat()
    };
    let rows: Vec<Vec<String>> = run.percentiles.rows.iter().map(row).collect();
    page::table(&heads, &rows, out)?;
    let drawings = [drawings::percentiles(run), drawings::requests(run)];
    drawings
        .iter()
        .filter(|figure| !figure.rows.is_empty())
        .try_for_each(|of| page::figure(of, out))
}

fn items(run: &EvalscopeRun) -> Vec<(String, String)> {
    let item = |(name, field): &(&str, Field)| {
        let value = match field {
            Field::Concurrency => concurrency(run),
            Field::Rate if run.numbers.rate() < 0.0 => "INF".to_owned(),
            field => field.format(run.numbers.get(*field)?),
        };
        Some(((*name).to_owned(), value))
    };
    let means = MEAN_FIELDS.map(|field| (field.name(EvalscopeStyle::Newest), field));
    let own = if run.generates { [&OF_TOKENS[..], &means].concat() } else { OF_PROMPTS.to_vec() };
    let tokens = if run.generates { &TOKENS[..] } else { &[] };
    let all = [&ITEMS, own.as_slice(), tokens].concat();
    all.iter().filter_map(item).collect()
}

const ITEMS: [(&str, Field); 8] = [
    ("Total Requests", Field::Total),
    ("Succeed Requests", Field::Success),
    ("Failed Requests", Field::Failed),
    ("Concurrency", Field::Concurrency),
    ("Time Taken (s)", Field::Duration),
    ("Request Rate (req/s)", Field::Rate),
    ("Request Throughput (req/s)", Field::Requests),
    ("Avg Latency (s)", Field::Latency),
];

const OF_TOKENS: [(&str, Field); 2] = [
    ("Output Tok Throughput (tok/s)", Field::OutputRate),
    ("Total Tok Throughput (tok/s)", Field::TotalRate),
];

const OF_PROMPTS: [(&str, Field); 2] =
    [("Input Tok Throughput (tok/s)", Field::InputRate), ("Avg Input Tokens", Field::InputTokens)];

const MEAN_FIELDS: [Field; 6] = [
    Field::Ttft,
    Field::Tpot,
    Field::Itl,
    Field::SteadyItl,
    Field::Handoff,
    Field::HandoffOverhead,
];

const TOKENS: [(&str, Field); 2] =
    [("Avg Input Tokens", Field::InputTokens), ("Avg Output Tokens", Field::OutputTokens)];
