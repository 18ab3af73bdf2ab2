//! The fields of a run's summary: their names and formats.

use super::EvalscopeStyle;
use super::number_format::short;

/// A field of a run's summary.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Field {
    Duration,
    Concurrency,
    Rate,
    Total,
    Success,
    Failed,
    Stream,
    NonStream,
    Requests,
    Latency,
    InputTokens,
    OutputRate,
    TotalRate,
    Ttft,
    Tpot,
    Itl,
    SteadyItl,
    Handoff,
    HandoffOverhead,
    OutputTokens,
    InputRate,
    Turns,
    Cached,
    FirstTtft,
    LaterTtft,
    TokensPerStep,
    Accepted,
}

impl Field {
    /// Returns the field's name as a JSON key and in tables.
    pub(super) fn name(self, style: EvalscopeStyle) -> &'static str {
        match style {
            EvalscopeStyle::Newest => self.newest_name(),
            EvalscopeStyle::V1_7 => self.bare_name().unwrap_or(self.newest_name()),
            EvalscopeStyle::V1_0 => self.first_name(),
        }
    }

    fn newest_name(self) -> &'static str {
        match self {
            Self::Duration => "Test Duration (s)",
            Self::Concurrency => "Concurrency",
            Self::Rate => "Request Rate (req/s)",
            Self::Total => "Total Requests",
            Self::Success => "Success Requests",
            Self::Failed => "Failed Requests",
            Self::Stream => "Stream Requests",
            Self::NonStream => "Non-Stream Requests",
            Self::Requests => "Req Throughput (req/s)",
            Self::Latency => "Avg Latency (s)",
            Self::InputTokens => "Avg Input Tokens",
            Self::OutputRate => "Output Throughput (tok/s)",
            Self::TotalRate => "Total Throughput (tok/s)",
            Self::Ttft => "Avg TTFT (ms)",
            Self::Tpot => "Avg TPOT (ms)",
            Self::Itl => "Avg ITL (ms)",
            Self::SteadyItl => "Avg Steady ITL (ms)",
            Self::Handoff => "Avg PD Handoff Latency (ms)",
            Self::HandoffOverhead => "Avg PD Handoff Overhead (ms)",
            Self::OutputTokens => "Avg Output Tokens",
            Self::InputRate => "Input Throughput (tok/s)",
            Self::Turns => "Avg Turns/Request",
            Self::Cached => "KV Cache Hit Rate (%)",
            Self::FirstTtft => "Avg First-Turn TTFT (ms)",
            Self::LaterTtft => "Avg Subsequent-Turn TTFT (ms)",
            Self::TokensPerStep => "Avg Decoded Tok/Iter",
            Self::Accepted => "Spec. Accept Rate",
        }
    }

    /// Returns the name in 1.7, where it lacks the prefix `Avg `.
    fn bare_name(self) -> Option<&'static str> {
        match self {
            Self::Ttft | Self::Tpot | Self::Itl | Self::TokensPerStep => {
                self.newest_name().strip_prefix("Avg ")
            }
            _ => None,
        }
    }

    fn first_name(self) -> &'static str {
        match self {
            Self::Duration => "Time taken for tests (s)",
            Self::Concurrency => "Number of concurrency",
            Self::Total => "Total requests",
            Self::Success => "Succeed requests",
            Self::Failed => "Failed requests",
            Self::OutputRate => "Output token throughput (tok/s)",
            Self::TotalRate => "Total token throughput (tok/s)",
            Self::Requests => "Request throughput (req/s)",
            Self::Latency => "Average latency (s)",
            Self::Ttft => "Average time to first token (s)",
            Self::Tpot => "Average time per output token (s)",
            Self::Itl => "Average inter-token latency (s)",
            Self::InputTokens => "Average input tokens per request",
            Self::OutputTokens => "Average output tokens per request",
            _ => self.newest_name(),
        }
    }

    /// Returns whether the field is an integer in the JSON file.
    pub(super) fn is_count(self) -> bool {
        matches!(
            self,
            Self::Concurrency
                | Self::Total
                | Self::Success
                | Self::Failed
                | Self::Stream
                | Self::NonStream
        )
    }

    /// Returns whether the field is in milliseconds; in 1.0 it is in seconds.
    pub(super) fn is_milliseconds(self) -> bool {
        self.newest_name().ends_with("(ms)")
    }

    /// Formats a value as the newest tables show it, without its unit.
    pub(super) fn format(self, value: f64) -> String {
        match self {
            Self::Accepted => short(value * 100.0, 1),
            _ => short(value, self.decimals()),
        }
    }

    fn decimals(self) -> usize {
        match self {
            _ if self.is_count() => 0,
            Self::InputTokens | Self::OutputTokens | Self::Turns | Self::Cached => 1,
            Self::Latency => 3,
            _ => 2,
        }
    }
}
