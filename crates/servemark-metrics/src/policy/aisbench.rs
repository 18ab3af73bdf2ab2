//! AISBench's definitions.

use super::{
    DurationRule, EmptySample, EndRule, FirstTokensOf, ItlRule, MetricPolicy, MissingTtft,
    OutputEvents, PeakRule, PromptTokenRule, StreamRules, TokenSource, TpotRule,
};

impl MetricPolicy {
    /// Returns the definitions of `AISBench` as of commit 29c363e of August 2026. Any event of a
    /// stream counts as one with a token.
    pub fn aisbench() -> Self {
        let per_event = StreamRules {
            events: OutputEvents::Every,
            itl: ItlRule::PerEvent,
            speculative_itl: None,
            output_tokens: vec![TokenSource::Usage, TokenSource::Retokenized],
        };
        Self {
            name: "aisbench".to_owned(),
            generate: per_event.clone(),
            others: per_event,
            missing_ttft: MissingTtft::Absent,
            first_tokens_of: FirstTokensOf::StreamedAlone,
            tpot: TpotRule::LatencyAfterFirstElseZero,
            end: EndRule::LastOutput,
            prompt_tokens: PromptTokenRule::Server,
            duration: DurationRule::OfSuccesses,
            peak: PeakRule::Exact,
            percentiles: vec![75.0, 90.0, 99.0],
            empty: EmptySample::Zero,
            ..Self::sglang()
        }
    }

    /// Returns the definitions of `AISBench` before August 2026, by which the first token of an
    /// answer that came whole is at its end.
    pub fn aisbench_2026_06() -> Self {
        Self {
            name: "aisbench-2026-06".to_owned(),
            first_tokens_of: FirstTokensOf::All,
            ..Self::aisbench()
        }
    }
}
