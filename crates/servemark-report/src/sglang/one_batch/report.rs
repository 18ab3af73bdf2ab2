//! SGLang's report of all batches: a Markdown table that includes the cost of tokens.

use servemark_pyjson::general;

use super::OneBatchResult;
use crate::boxes::{Align, Boxed};

/// Settings of the report of all batches.
#[derive(Clone, Debug, PartialEq)]
pub struct OneBatchReport {
    /// Requested prompt lengths, as Python prints the list.
    pub input_lens: String,
    /// Requested output lengths, as Python prints the list.
    pub output_lens: String,
    /// Share of each prompt that was put into the cache beforehand, from 0 to 1.
    pub cache_hit_rate: f64,
    /// Cost of the machine, in dollars per hour.
    pub dollars_per_hour: f64,
    /// Whether answers may have ended early.
    pub stops_at_eos: bool,
    /// Whether the profiler ran.
    pub profiles: bool,
}

impl OneBatchReport {
    /// Returns a report of batches with these lengths.
    pub fn new(input_lens: String, output_lens: String, dollars_per_hour: f64) -> Self {
        Self {
            input_lens,
            output_lens,
            cache_hit_rate: 0.0,
            dollars_per_hour,
            stops_at_eos: false,
            profiles: false,
        }
    }

    /// Returns the report's text; batches are sorted by prompt length.
    pub fn text(&self, results: &[OneBatchResult]) -> String {
        let mut results: Vec<&OneBatchResult> = results.iter().collect();
        results.sort_by_key(|result| result.input_len);
        let rows = results.iter().map(|result| self.row(result)).collect();
        let (inputs, outputs) = (&self.input_lens, &self.output_lens);
        let cached = (self.cache_hit_rate > 0.0)
            .then(|| format!(" Cache hit rate: {:.1}%.", self.cache_hit_rate * 100.0));
        let (cached, table) = (cached.unwrap_or_default(), table(&self.heads(), rows));
        format!("\nInput lens: {inputs}. Output lens: {outputs}.{cached}\n{table}\n")
    }

    fn heads(&self) -> Vec<&'static str> {
        let mut heads = HEADS.to_vec();
        if self.stops_at_eos {
            heads.extend(EARLY);
        }
        heads.extend(self.profiles.then_some("profile"));
        heads
    }

    fn row(&self, result: &OneBatchResult) -> Vec<String> {
        let cost = |tokens_per_s: f64| {
            format!("{:.2}", 1e6 / tokens_per_s / 3600.0 * self.dollars_per_hour)
        };
        let output = Some(result.output_throughput).filter(|rate| *rate > 0.0);
        let mut row = vec![
            result.batch_size.to_string(),
            result.input_len.to_string(),
            format!("{:.2}", result.latency),
            format!("{:.2}", result.input_throughput),
            format!("{:.2}", result.output_throughput),
            or_none((result.acc_length > 0.0).then(|| format!("{:.2}", result.acc_length))),
            or_none(output.map(|rate| gap(result, rate))),
            cost(result.input_throughput * INPUT_UTILIZATION),
            or_none(output.map(cost)),
            or_none(result.cache_hit_rate.map(|rate| format!("{rate:.4}"))),
        ];
        if self.stops_at_eos {
            row.extend(early_stops(result));
        }
        if self.profiles {
            let link = result.wanted.profile_link.as_ref();
            row.push(or_none(link.map(|link| format!("[Profile]({link})"))));
        }
        row
    }
}

fn early_stops(result: &OneBatchResult) -> [String; 3] {
    let steady = result.steady.map(|steady| steady.output_throughput);
    let stopped = result.num_early_stopped.unwrap_or_default();
    [
        or_none(steady.map(|rate| format!("{rate:.2}"))),
        or_none(steady.map(|rate| gap(result, rate))),
        format!("{stopped}/{}", result.batch_size),
    ]
}

/// Returns the time between two tokens of a prompt, in milliseconds, if all prompts together yield
/// this rate.
fn gap(result: &OneBatchResult, tokens_per_s: f64) -> String {
    format!("{:.2}", 1000.0 * result.batch_size as f64 / tokens_per_s)
}

fn or_none(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| NONE.to_owned())
}

/// Draws the table as tabulate does: numeric columns have six significant digits and aligned
/// decimal points.
fn table(heads: &[&str], mut rows: Vec<Vec<String>>) -> String {
    let is_number = |column: usize| {
        !rows.is_empty() && rows.iter().all(|row| row[column].parse::<f64>().is_ok())
    };
    let aligns: Vec<Align> = (0..heads.len())
        .map(|column| if is_number(column) { Align::Point } else { Align::Left })
        .collect();
    for row in &mut rows {
        for (cell, align) in row.iter_mut().zip(&aligns) {
            let number = cell.parse::<f64>().ok().filter(|_| *align == Align::Point);
            if let Some(number) = number.filter(|_| cell.contains('.')) {
                *cell = general(number);
            }
        }
    }
    Boxed::new(heads.iter().copied().zip(aligns)).with_rows(rows).github()
}

const HEADS: [&str; 10] = [
    "batch size",
    "input len",
    "latency (s)",
    "input throughput (tok/s)",
    "output throughput (tok/s)",
    "acc length",
    "ITL (ms)",
    "input cost ($/1M)",
    "output cost ($/1M)",
    "cache hit rate",
];

const EARLY: [&str; 3] = ["steady output throughput (tok/s)", "steady ITL (ms)", "early stops"];

const NONE: &str = "n/a";

/// Share of time that SGLang assumes a machine is busy with prompts.
const INPUT_UTILIZATION: f64 = 0.7;
