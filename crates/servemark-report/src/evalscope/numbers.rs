//! A run's numbers as evalscope stores them: rounded, with −1 for an absent value.

use serde_json::Value;
use servemark_core::RequestRecord;
use servemark_metrics::{Handoff, Metrics, PerRequest, TurnPlaces};

use super::field::Field;
use super::number_format::round;
use super::{EvalscopeOptions, EvalscopeStyle};
use crate::Report;

/// A run's numbers, in the order of its summary file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Numbers {
    pub(super) entries: Vec<(Field, f64)>,
}

/// Sources of a run's numbers.
pub(super) struct Figures<'a> {
    pub(super) report: &'a Report<'a>,
    pub(super) per_request: &'a PerRequest,
    pub(super) places: TurnPlaces,
    pub(super) handoff: Option<&'a Handoff>,
    pub(super) decides: bool,
}

impl Numbers {
    pub(super) fn of(figures: &Figures<'_>, options: EvalscopeOptions) -> Self {
        let style = options.style;
        let mut numbers = Self::default();
        for field in fields(style) {
            if let Some(value) = figures.read(*field, style) {
                numbers.entries.push((*field, stored(*field, value, style)));
            }
        }
        numbers
    }

    /// Returns a number, if the summary has it.
    pub(super) fn get(&self, wanted: Field) -> Option<f64> {
        let known = self.entries.iter().find(|(field, _)| *field == wanted);
        known.map(|&(_, value)| value)
    }

    /// Returns a number that the summary always has; zero otherwise.
    pub(super) fn at(&self, wanted: Field) -> f64 {
        self.get(wanted).unwrap_or_default()
    }

    /// Returns the request rate asked for, in requests per second; −1 if all requests are sent at
    /// once.
    pub(super) fn rate(&self) -> f64 {
        self.get(Field::Rate).unwrap_or(-1.0)
    }

    /// Returns the success rate in percent, rounded to one decimal.
    pub(super) fn success_rate(&self) -> f64 {
        let total = self.at(Field::Total);
        if total > 0.0 { round(self.at(Field::Success) / total * 100.0, 1) } else { 0.0 }
    }
}

fn fields(style: EvalscopeStyle) -> &'static [Field] {
    if style == EvalscopeStyle::V1_0 { &FIRST } else { &NEWEST }
}

fn stored(field: Field, value: f64, style: EvalscopeStyle) -> f64 {
    match style {
        EvalscopeStyle::V1_0 => round(value, 4),
        _ if field.is_milliseconds() => round(value * 1000.0, 2),
        _ => round(value, 4),
    }
}

impl Figures<'_> {
    /// Returns a number before rounding. Times are in seconds.
    fn read(&self, field: Field, style: EvalscopeStyle) -> Option<f64> {
        let metrics = self.report.metrics;
        let generates = self.report.log.header().facts.generates();
        let is_newest = style == EvalscopeStyle::Newest;
        match field {
            _ if style == EvalscopeStyle::V1_0 && self.is_unset(field) => Some(-1.0),
            Field::Stream | Field::NonStream | Field::FirstTtft | Field::LaterTtft
                if !is_newest =>
            {
                None
            }
            Field::Stream => Some(self.streams() as f64),
            Field::NonStream => Some((requests(metrics) - self.streams()) as f64),
            Field::SteadyItl | Field::Handoff | Field::HandoffOverhead => self.handoff(field),
            // Versions before 1.14 report the cache hit rate for multi-turn runs only.
            Field::Cached if !is_newest && self.places.mean_turn.is_none() => None,
            Field::Turns => self.places.mean_turn,
            Field::Cached => self.places.cached_percent,
            Field::FirstTtft => self.places.first_ttft_ms.map(seconds),
            Field::LaterTtft => self.places.later_ttft_ms.map(seconds),
            Field::TokensPerStep => self.per_request.tokens_per_step,
            Field::Accepted => self.per_request.tokens_per_step.map(accepted),
            Field::InputRate if generates => Some(0.0),
            Field::InputRate if self.decides => self.inputs_per_s(),
            _ if is_of_output(field) && !generates => Some(0.0),
            _ => Some(self.plain(field)),
        }
    }

    /// Returns the input token rate of decisions, which evalscope divides by the duration of the
    /// run and not by the busy time of the requests.
    fn inputs_per_s(&self) -> Option<f64> {
        let rate = self.report.metrics.throughput.requests_per_s?;
        Some(self.per_request.input_tokens.mean? * rate)
    }

    /// Returns a number that every run has; −1 if there is no request to compute it from.
    fn plain(&self, field: Field) -> f64 {
        let (metrics, per_request) = (self.report.metrics, self.per_request);
        let (facts, latencies) = (&self.report.log.header().facts, &metrics.latencies);
        let completed = metrics.requests.completed;
        let value = match field {
            Field::Duration => Some(metrics.duration_s),
            Field::Concurrency => {
                let limit = facts.max_concurrency.map(|limit| limit as f64);
                // A search that sends at a rate has a limit that it does not use.
                let unused = || facts.echo.get("parallel")?.as_f64().filter(|limit| *limit > 0.0);
                limit.or_else(unused)
            }
            Field::Rate => facts.request_rate.or_else(|| facts.echo.get("rate")?.as_f64()),
            Field::Total => Some(requests(metrics) as f64),
            Field::Success => Some(completed as f64),
            Field::Failed => Some(metrics.requests.failed as f64),
            Field::Requests => metrics.throughput.requests_per_s,
            Field::Latency => per_request.latency_s.mean,
            Field::InputTokens => per_request.input_tokens.mean,
            Field::OutputTokens => per_request.output_tokens.mean,
            Field::OutputRate => metrics.throughput.output_tokens_per_s.or(Some(0.0)),
            Field::TotalRate => metrics.throughput.total_tokens_per_s,
            Field::Ttft => latencies.ttft.mean_ms.map(seconds),
            Field::Tpot if completed > 0 => Some(latencies.tpot.mean_ms.map_or(0.0, seconds)),
            Field::Itl => Some(latencies.itl.mean_ms.map_or(0.0, seconds)),
            Field::InputRate => per_request.input_per_busy_s,
            _ => None,
        };
        value.unwrap_or(-1.0)
    }

    /// Returns whether 1.0 leaves the field at −1 because no request has succeeded.
    fn is_unset(&self, field: Field) -> bool {
        let always = field.is_count() || field == Field::Duration;
        !always && self.report.metrics.requests.completed == 0
    }

    fn handoff(&self, field: Field) -> Option<f64> {
        let handoff = self.handoff?;
        let of = match field {
            Field::SteadyItl => &handoff.steady_itl_ms,
            Field::Handoff => &handoff.latency_ms,
            _ => &handoff.overhead_ms,
        };
        of.mean.map(seconds)
    }

    /// Returns the number of streamed requests. A failed request counts as streamed if the run, or
    /// its own body, asks for streams.
    fn streams(&self) -> usize {
        let facts = &self.report.log.header().facts;
        let asks = facts.generates() && facts.echo.get("stream") != Some(&false.into());
        // The responses API replaces the body's own setting.
        let api = facts.echo.get("api").and_then(Value::as_str).unwrap_or_default();
        let keeps_body = !api.contains("response");
        let streams = |record: &&RequestRecord| {
            let asks = asks && !(keeps_body && record.planned.asks_for_document);
            !record.is_document && (asks || record.is_success())
        };
        self.report.log.measured().filter(streams).count()
    }
}

fn requests(metrics: &Metrics) -> usize {
    metrics.requests.completed + metrics.requests.failed
}

fn is_of_output(field: Field) -> bool {
    use Field::{Itl, OutputRate, OutputTokens, TotalRate, Tpot, Ttft};
    matches!(field, OutputRate | TotalRate | Ttft | Tpot | Itl | OutputTokens)
}

fn seconds(milliseconds: f64) -> f64 {
    milliseconds / 1000.0
}

/// Returns the acceptance rate of speculative decoding, from 0 to 1, given the mean number of
/// tokens per step.
fn accepted(tokens_per_step: f64) -> f64 {
    (1.0 - 1.0 / tokens_per_step).clamp(0.0, 1.0)
}

const NEWEST: [Field; 27] = [
    Field::Duration,
    Field::Concurrency,
    Field::Rate,
    Field::Total,
    Field::Success,
    Field::Failed,
    Field::Stream,
    Field::NonStream,
    Field::Requests,
    Field::Latency,
    Field::InputTokens,
    Field::OutputRate,
    Field::TotalRate,
    Field::Ttft,
    Field::Tpot,
    Field::Itl,
    Field::SteadyItl,
    Field::Handoff,
    Field::HandoffOverhead,
    Field::OutputTokens,
    Field::InputRate,
    Field::Turns,
    Field::Cached,
    Field::FirstTtft,
    Field::LaterTtft,
    Field::TokensPerStep,
    Field::Accepted,
];

const FIRST: [Field; 14] = [
    Field::Duration,
    Field::Concurrency,
    Field::Total,
    Field::Success,
    Field::Failed,
    Field::OutputRate,
    Field::TotalRate,
    Field::Requests,
    Field::Latency,
    Field::Ttft,
    Field::Tpot,
    Field::Itl,
    Field::InputTokens,
    Field::OutputTokens,
];
