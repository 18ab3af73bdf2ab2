//! evalscope's definitions in versions 1.0.2, 1.7.1 and 1.14.1.

use super::{
    DurationRule, EmptySample, FirstTokensOf, ItlRule, MetricPolicy, MissingTtft, OutputEvents,
    PercentileRule, PromptTokenRule, StreamRules, TokenSource, TpotRule,
};

impl MetricPolicy {
    /// Returns the definitions of evalscope 1.14.1: the first token is the first output,
    /// percentiles are nearest ranks, and answers that are not streamed are left out of the times
    /// to first token.
    pub fn evalscope() -> Self {
        let per_piece = StreamRules {
            events: OutputEvents::Any,
            itl: ItlRule::PerEvent,
            speculative_itl: None,
            output_tokens: vec![TokenSource::Usage, TokenSource::Retokenized, TokenSource::Deltas],
        };
        // Output tokens that a server reports are counted, though no table calls them output.
        let embeddings = StreamRules {
            output_tokens: vec![TokenSource::Usage],
            ..StreamRules::without_output()
        };
        Self {
            name: "evalscope".to_owned(),
            embeddings,
            generate: per_piece.clone(),
            others: per_piece,
            missing_ttft: MissingTtft::Zero,
            tpot: TpotRule::LatencyAfterFirst,
            prompt_tokens: PromptTokenRule::Server,
            first_tokens_of: FirstTokensOf::Streamed,
            duration: DurationRule::FirstSentToEnd,
            percentiles: vec![1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0],
            percentile_rule: PercentileRule::NearestRank,
            empty: EmptySample::Absent,
            ..Self::sglang()
        }
    }

    /// Returns the definitions of evalscope 1.7.1: the first token is the first event of the
    /// answer, even a role without text, requests of one token have a time per output token of
    /// zero, and percentiles are values at whole indices.
    pub fn evalscope_1_7() -> Self {
        let newest = Self::evalscope();
        let per_event = StreamRules { events: OutputEvents::Every, ..newest.others.clone() };
        Self {
            name: "evalscope-1.7".to_owned(),
            generate: per_event.clone(),
            others: per_event,
            tpot: TpotRule::LatencyAfterFirstElseZero,
            first_tokens_of: FirstTokensOf::All,
            percentile_rule: PercentileRule::FloorIndex,
            ..newest
        }
    }

    /// Returns the definitions of evalscope 1.0.2: those of 1.7.1 with other percentiles, and with
    /// a duration that begins when the request that ended first was sent.
    pub fn evalscope_1_0() -> Self {
        Self {
            name: "evalscope-1.0".to_owned(),
            duration: DurationRule::FirstDoneToEnd,
            percentiles: vec![10.0, 25.0, 50.0, 66.0, 75.0, 80.0, 90.0, 95.0, 98.0, 99.0],
            ..Self::evalscope_1_7()
        }
    }
}
