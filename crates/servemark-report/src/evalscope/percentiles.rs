//! The table of percentiles: one row per kind of sample, with the same percentiles for all.

use servemark_metrics::{Distribution, Handoff, Latencies, PerRequest, Summary};

use super::EvalscopeStyle;
use super::number_format::{round, short};

/// The percentiles of each kind of sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Percentiles {
    /// Labels of the columns, such as `min`, `50%` and `max`.
    pub(super) labels: Vec<String>,
    pub(super) rows: Vec<PercentileRow>,
}

/// Percentiles of one kind of sample; `None` if the sample is empty.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PercentileRow {
    pub(super) sample: Sample,
    pub(super) values: Vec<Option<f64>>,
}

/// A kind of sample.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Sample {
    Latency,
    Ttft,
    Itl,
    SteadyItl,
    Handoff,
    HandoffOverhead,
    Tpot,
    InputTokens,
    OutputTokens,
    OutputRate,
    InputRate,
    TotalRate,
    DecodeRate,
}

impl Sample {
    /// Returns the name as a JSON key and in tables.
    pub(super) fn name(self, style: EvalscopeStyle) -> &'static str {
        match self {
            Self::Ttft if style == EvalscopeStyle::V1_0 => "TTFT (s)",
            Self::Itl if style == EvalscopeStyle::V1_0 => "ITL (s)",
            Self::Tpot if style == EvalscopeStyle::V1_0 => "TPOT (s)",
            Self::Latency => "Latency (s)",
            Self::Ttft => "TTFT (ms)",
            Self::Itl => "ITL (ms)",
            Self::SteadyItl => "Steady ITL (ms)",
            Self::Handoff => "PD Handoff Latency (ms)",
            Self::HandoffOverhead => "PD Handoff Overhead (ms)",
            Self::Tpot => "TPOT (ms)",
            Self::InputTokens => "Input tokens",
            Self::OutputTokens => "Output tokens",
            Self::OutputRate => "Output (tok/s)",
            Self::InputRate => "Input (tok/s)",
            Self::TotalRate => "Total (tok/s)",
            Self::DecodeRate => "Decode (tok/s)",
        }
    }

    pub(super) fn is_count(self) -> bool {
        matches!(self, Self::InputTokens | Self::OutputTokens)
    }

    /// Formats a value as the newest tables show it.
    pub(super) fn format(self, value: Option<f64>) -> String {
        let decimals = match self {
            Self::Latency => 3,
            _ if self.is_count() => 0,
            _ => 2,
        };
        short(value.unwrap_or(f64::NAN), decimals)
    }
}

/// Sources of the samples.
pub(super) struct Samples<'a> {
    pub(super) latencies: &'a Latencies,
    pub(super) per_request: &'a PerRequest,
    pub(super) handoff: Option<&'a Handoff>,
    pub(super) generates: bool,
}

/// A column of the table: an extreme or a percentile.
#[derive(Clone, Copy, Debug)]
enum PercentileColumn {
    Min,
    Percent(f64),
    Max,
}

impl Percentiles {
    /// Returns the percentiles of a run in the rounding of the version.
    pub(super) fn of(samples: &Samples<'_>, style: EvalscopeStyle) -> Self {
        let places = places(style);
        let row = |sample: &Sample| {
            let values = places.iter().map(|place| samples.read(*sample, *place, style));
            PercentileRow { sample: *sample, values: values.collect() }
        };
        let rows = samples.kinds(style).iter().map(row);
        let has_data = |row: &PercentileRow| row.values.iter().any(Option::is_some);
        let rows = rows.filter(|row| has_data(row) || !row.sample.is_of_handoff());
        Self { labels: places.iter().map(PercentileColumn::label).collect(), rows: rows.collect() }
    }

    /// Returns a percentile by the label of its column.
    pub(super) fn get(&self, label: &str, sample: Sample) -> Option<f64> {
        let column = self.labels.iter().position(|known| known == label)?;
        self.rows.iter().find(|row| row.sample == sample)?.values[column]
    }
}

impl Sample {
    fn is_of_handoff(self) -> bool {
        matches!(self, Self::SteadyItl | Self::Handoff | Self::HandoffOverhead)
    }
}

impl Samples<'_> {
    fn kinds(&self, style: EvalscopeStyle) -> &'static [Sample] {
        match style {
            EvalscopeStyle::V1_0 => &FIRST,
            _ if !self.generates => &POOLED,
            _ if self.handoff.is_some() => &WITH_HANDOFF,
            _ => &NEWEST,
        }
    }

    fn read(&self, sample: Sample, place: PercentileColumn, style: EvalscopeStyle) -> Option<f64> {
        let (latencies, each) = (self.latencies, self.per_request);
        let of_latency = |summary: &Summary| {
            let value_ms = place.of_summary(summary);
            value_ms.map(|ms| if style == EvalscopeStyle::V1_0 { ms / 1000.0 } else { ms })
        };
        let value = match sample {
            Sample::Ttft => of_latency(&latencies.ttft),
            Sample::Itl => of_latency(&latencies.itl),
            Sample::Tpot => of_latency(&latencies.tpot),
            Sample::SteadyItl => place.of(&self.handoff?.steady_itl_ms),
            Sample::Handoff => place.of(&self.handoff?.latency_ms),
            Sample::HandoffOverhead => place.of(&self.handoff?.overhead_ms),
            Sample::Latency => place.of(&each.latency_s),
            Sample::InputTokens => place.of(&each.input_tokens),
            Sample::OutputTokens => place.of(&each.output_tokens),
            Sample::OutputRate => place.of(&each.output_per_s),
            Sample::InputRate => place.of(&each.input_per_s),
            Sample::TotalRate => place.of(&each.total_per_s),
            Sample::DecodeRate => place.of(&each.decode_per_s),
        };
        value.map(|value| round(value, if style == EvalscopeStyle::V1_7 { 2 } else { 4 }))
    }
}

impl PercentileColumn {
    fn label(&self) -> String {
        match self {
            Self::Min => "min".to_owned(),
            Self::Percent(percent) => format!("{percent}%"),
            Self::Max => "max".to_owned(),
        }
    }

    fn of(self, sample: &Distribution) -> Option<f64> {
        match self {
            Self::Min => sample.min,
            Self::Percent(percent) => sample.percentile(percent),
            Self::Max => sample.max,
        }
    }

    /// Returns the value of a summary in milliseconds.
    fn of_summary(self, sample: &Summary) -> Option<f64> {
        match self {
            Self::Min => sample.min_ms,
            Self::Percent(percent) => sample.percentile_ms(percent),
            Self::Max => sample.max_ms,
        }
    }
}

fn places(style: EvalscopeStyle) -> Vec<PercentileColumn> {
    let between = style.policy().percentiles.into_iter().map(PercentileColumn::Percent);
    match style {
        EvalscopeStyle::Newest => [PercentileColumn::Min]
            .into_iter()
            .chain(between)
            .chain([PercentileColumn::Max])
            .collect(),
        _ => between.collect(),
    }
}

const NEWEST: [Sample; 9] = [
    Sample::Latency,
    Sample::Ttft,
    Sample::Itl,
    Sample::Tpot,
    Sample::InputTokens,
    Sample::OutputTokens,
    Sample::OutputRate,
    Sample::TotalRate,
    Sample::DecodeRate,
];

const WITH_HANDOFF: [Sample; 12] = [
    Sample::Latency,
    Sample::Ttft,
    Sample::Itl,
    Sample::SteadyItl,
    Sample::Handoff,
    Sample::HandoffOverhead,
    Sample::Tpot,
    Sample::InputTokens,
    Sample::OutputTokens,
    Sample::OutputRate,
    Sample::TotalRate,
    Sample::DecodeRate,
];

const POOLED: [Sample; 3] = [Sample::Latency, Sample::InputTokens, Sample::InputRate];

const FIRST: [Sample; 8] = [
    Sample::Ttft,
    Sample::Itl,
    Sample::Tpot,
    Sample::Latency,
    Sample::InputTokens,
    Sample::OutputTokens,
    Sample::OutputRate,
    Sample::TotalRate,
];
