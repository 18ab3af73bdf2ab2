//! The rows of both tables in order, with their units.

use serde_json::{Value, json};
use servemark_metrics::{Latency, NoStage, Stage, StageQuantity, StageSpec, StageStatistic};
use servemark_pyjson::{repr, round};

use super::{AisbenchOptions, PrefillRow};
use crate::Report;

/// The contents of both tables.
pub(super) struct Rows {
    pub(super) stage: StageSpec,
    pub(super) statistics: Vec<StageStatistic>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) common: Vec<(&'static str, Value)>,
    pub(super) notes: Vec<String>,
}

/// A row of the first table: a quantity and its statistics.
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) cells: Vec<String>,
    pub(super) requests: usize,
}

impl Rows {
    pub(super) fn of(report: &Report<'_>, options: &AisbenchOptions) -> Result<Self, NoStage> {
        let scores = report.scores();
        let limit = options.limit(&report.log.header().facts);
        let stage = Stage::of(&scores, limit, options.stage)?;
        Ok(Self {
            stage: options.stage,
            statistics: options.statistics.clone(),
            parameters: parameters(&stage, report, options),
            common: common(&stage, limit, options.prefill),
            notes: notes(&stage, report.log.retried().count()),
        })
    }
}

fn parameters(
    stage: &Stage<'_, '_>,
    report: &Report<'_>,
    options: &AisbenchOptions,
) -> Vec<Parameter> {
    let budget = report.metrics.policy.sample_budget;
    let row = |&(name, quantity, unit): &(&'static str, StageQuantity, Unit)| {
        let values = stage.statistics(quantity, &options.statistics, budget);
        let is_of_gaps = [ITL, TPOT].contains(&quantity);
        Parameter {
            name,
            cells: values.into_iter().map(|value| unit.cell(value)).collect(),
            requests: if is_of_gaps { stage.requests_with_gaps() } else { stage.scores.len() },
        }
    };
    let shown = PARAMETERS.iter().filter(|(_, quantity, _)| has_row(stage, *quantity, options));
    shown.map(row).collect()
}

/// Returns whether a quantity has a row. Answers that were not streamed have no TTFT, no ITL and no
/// TPOT.
fn has_row(stage: &Stage<'_, '_>, quantity: StageQuantity, options: &AisbenchOptions) -> bool {
    match quantity {
        TTFT | TPOT | ITL => stage.has(quantity),
        StageQuantity::PrefillTokensPerS => {
            options.prefill == PrefillRow::OfRequests && stage.has(TTFT)
        }
        _ => true,
    }
}

fn common(
    stage: &Stage<'_, '_>,
    limit: Option<usize>,
    prefill: PrefillRow,
) -> Vec<(&'static str, Value)> {
    let (succeeded, rates) = (stage.scores.len(), &stage.rates);
    let per_second = |rate: f64| json!(Unit::TokensPerS.cell(rate));
    let prefill = stage.prefill_tokens_per_s().filter(|_| prefill == PrefillRow::OfRun);
    let rows = [
        ("Benchmark Duration", Some(json!(milliseconds(stage.duration_s() * 1e3)))),
        ("Total Requests", Some(json!(succeeded + stage.failed))),
        ("Failed Requests", Some(json!(stage.failed))),
        ("Success Requests", Some(json!(succeeded))),
        ("Concurrency", Some(concurrency(stage, limit))),
        ("Max Concurrency", Some(limit.map_or_else(|| json!("N/A"), Value::from))),
        ("Request Throughput", Some(json!(format!("{} req/s", decimals(rates.requests_per_s))))),
        ("Total Input Tokens", Some(json!(stage.input_tokens()))),
        ("Prefill Token Throughput", prefill.map(per_second)),
        ("Total Generated Tokens", Some(json!(stage.output_tokens()))),
        ("Input Token Throughput", Some(per_second(rates.input_tokens_per_s))),
        ("Output Token Throughput", Some(per_second(rates.output_tokens_per_s))),
        ("Total Token Throughput", Some(per_second(rates.total_tokens_per_s))),
    ];
    rows.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Returns the mean concurrency; in a stable stage it is capped at the limit.
fn concurrency(stage: &Stage<'_, '_>, limit: Option<usize>) -> Value {
    let mean = round(stage.rates.concurrency, 4);
    match (stage.spec, limit) {
        (StageSpec::Stable { .. }, Some(limit)) if mean > limit as f64 => json!(limit),
        _ => json!(mean),
    }
}

fn notes(stage: &Stage<'_, '_>, retried: usize) -> Vec<String> {
    let failed = (stage.failed > 0).then(|| SOME_FAILED.to_owned());
    let again = (retried > 0).then(|| {
        format!(
            "{retried} tries failed and were made again. As with AISBench, a request's times are \
             those of its last try, and the time that the tries before it took is in none of them."
        )
    });
    let counted = stage.peer_rates.map(|peer| {
        let [requests, input, output, total] = [
            peer.requests_per_s,
            peer.input_tokens_per_s,
            peer.output_tokens_per_s,
            peer.total_tokens_per_s,
        ]
        .map(decimals);
        format!(
            "Concurrency and throughput are of what was sent, came and ended within the stage. \
             AISBench divides all of the requests that began in it by its duration, which counts \
             what came later, too: {requests} req/s, {input} input, {output} output, {total} total \
             token/s."
        )
    });
    failed.into_iter().chain(again).chain(counted).collect()
}

/// Unit and format of a value.
#[derive(Clone, Copy)]
enum Unit {
    Milliseconds,
    Tokens,
    TokensPerS,
}

impl Unit {
    /// Formats a value with its unit. Seconds are rounded to four decimals first, so that
    /// milliseconds have one decimal.
    fn cell(self, value: f64) -> String {
        match self {
            Self::Milliseconds => milliseconds(round(value, 4) * 1e3),
            Self::Tokens => decimals(value),
            Self::TokensPerS => format!("{} token/s", decimals(value)),
        }
    }
}

fn milliseconds(value: f64) -> String {
    format!("{} ms", decimals(value))
}

fn decimals(value: f64) -> String {
    repr(round(value, 4))
}

const TTFT: StageQuantity = StageQuantity::Latency(Latency::Ttft);
const TPOT: StageQuantity = StageQuantity::Latency(Latency::Tpot);
const ITL: StageQuantity = StageQuantity::Latency(Latency::Itl);

const PARAMETERS: [(&str, StageQuantity, Unit); 8] = [
    ("E2EL", StageQuantity::Latency(Latency::E2el), Unit::Milliseconds),
    ("TTFT", TTFT, Unit::Milliseconds),
    ("TPOT", TPOT, Unit::Milliseconds),
    ("ITL", ITL, Unit::Milliseconds),
    ("InputTokens", StageQuantity::InputTokens, Unit::Tokens),
    ("OutputTokens", StageQuantity::OutputTokens, Unit::Tokens),
    ("OutputTokenThroughput", StageQuantity::OutputTokensPerS, Unit::TokensPerS),
    ("PrefillTokenThroughput", StageQuantity::PrefillTokensPerS, Unit::TokensPerS),
];
const SOME_FAILED: &str = "Some requests failed, please check the error logs from responses!";
