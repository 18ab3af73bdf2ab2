//! Conversations of prompts of drawn lengths.

use std::num::NonZero;

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext};

use super::DrawSource;
use crate::evalscope::{Conversation, EvalscopeSpec, RequestDraft};

/// Conversations of prompts of drawn lengths.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct EvalscopeRandomTurnsSpec {
    /// Number of tokens in the common prefix of every turn, in addition to the turn's own tokens
    /// (`--prefix-length`).
    pub prefix_tokens: u32,
    /// Minimum number of turns (`--min-turns`).
    pub least_turns: NonZero<u32>,
    /// Maximum number of turns (`--max-turns`).
    pub most_turns: NonZero<u32>,
    /// Minimum number of conversations for which lengths are drawn. evalscope draws four per unit
    /// of `--parallel`.
    pub pool: usize,
}

impl Default for EvalscopeRandomTurnsSpec {
    fn default() -> Self {
        let one = NonZero::<u32>::MIN;
        Self { prefix_tokens: 0, least_turns: one, most_turns: one, pool: 4 }
    }
}

impl EvalscopeRandomTurnsSpec {
    pub(in crate::evalscope) fn converse(
        &self,
        of: &EvalscopeSpec,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Conversation>, DatasetError> {
        let source = DrawSource::begin(of, self.prefix_tokens, NonZero::<u32>::MIN, context)?;
        let numpy = &mut context.random.numpy;
        let turns = |turns: NonZero<u32>| i64::from(turns.get());
        let counts = numpy
            .randint_vec(
                turns(self.least_turns),
                turns(self.most_turns) + 1,
                self.pool.max(count + 1),
            )
            .ok_or_else(|| {
                settings(
                    "`workload.dataset.most_turns` must be `workload.dataset.least_turns` or more",
                )
            })?;
        let all = counts.iter().sum::<i64>().unsigned_abs() as usize;
        let lengths = numpy
            .randint_vec(of.shortest.into(), i64::from(of.longest) + 1, all)
            .ok_or_else(|| {
                settings("`workload.dataset.longest` must be `workload.dataset.shortest` or more")
            })?;
        let offsets = source.offsets(of, all, numpy);
        let mut slots = (0..).zip(offsets).zip(lengths);
        let mut turn = |((number, offset), tokens): ((u64, u64), i64)| {
            let text = source.text((offset, number), tokens.unsigned_abs() as usize, numpy)?;
            Ok(source.turn_draft(&text))
        };
        let conversation = |turns: &i64| {
            let turns = slots.by_ref().take(turns.unsigned_abs() as usize).map(&mut turn);
            Ok(Conversation::at_once(turns.collect::<Result<Vec<RequestDraft>, DatasetError>>()?))
        };
        let made = counts.iter().take(count).map(conversation);
        Ok(made.collect::<Result<Vec<_>, DatasetError>>()?.into_iter().flatten().collect())
    }
}

fn settings(reason: &str) -> DatasetError {
    DatasetError::Settings(reason.to_owned())
}
