//! Conversations of random turns.

use std::num::NonZero;

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Sample, SpecialTokens, Tokenizer, parallel};
use servemark_rng::Pcg64;

use crate::alphabet::Alphabet;
use crate::fitting::{Fitted, Fitter, ids_of};

/// Conversations of random turns.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct RandomTurnsSpec {
    /// Minimum number of turns.
    pub fewest: NonZero<u32>,
    /// Maximum number of turns.
    pub most: NonZero<u32>,
    /// Length of the first turn, in tokens.
    pub first_tokens: u32,
    /// Length of each later turn, in tokens.
    pub later_tokens: u32,
    /// Output length, in tokens.
    pub output_tokens: u32,
    /// Length of the prefix common to all turns of all conversations, as a share of the first
    /// turn's length.
    pub shared_by_all: f64,
    /// Length of the following prefix common to all turns of a conversation, as a share of the
    /// first turn's length.
    pub shared_within: f64,
}

impl Default for RandomTurnsSpec {
    fn default() -> Self {
        const THREE: NonZero<u32> = NonZero::new(3).expect("it is not zero");
        Self {
            fewest: THREE,
            most: THREE,
            first_tokens: 1024,
            later_tokens: 1024,
            output_tokens: 128,
            shared_by_all: 0.0,
            shared_within: 0.0,
        }
    }
}

/// The draws for one turn.
struct Plan {
    conversation: usize,
    offset: u64,
    /// Number of tokens of the turn's own, after the common prefixes.
    own: usize,
}

impl RandomTurnsSpec {
    pub(super) fn draw(
        &self,
        count: usize,
        seed: u32,
        context: &DrawContext<'_>,
    ) -> Result<Vec<Vec<Sample>>, DatasetError> {
        let tokenizer = context.tokenizer;
        let (by_all, within) = self.shared(tokenizer)?;
        let alphabet = Alphabet::of(tokenizer)?;
        let mut random = Pcg64::seeded(seed.into());
        let plans = self.plans(count, by_all + within, tokenizer, &mut random)?;
        let vocabulary = tokenizer.vocab_size();
        let starts = ids_of(&mut random, vocabulary, count + 1);
        let draw = |count| ids_of(&mut random, vocabulary, count);
        let mut fitter = Fitter { tokenizer, draw };
        let mut shared = |start: u32, tokens| -> Result<String, DatasetError> {
            let ids = alphabet.count_up(start.into(), tokens);
            Ok(if ids.is_empty() { String::new() } else { fitter.fit(ids, tokens)?.text })
        };
        let all = shared(starts[count], by_all)?;
        let each = starts[..count].iter().map(|&start| shared(start, within));
        let each = each.collect::<Result<Vec<String>, _>>()?;
        let made = fitter.fit_all(&plans, context.progress, |plan| {
            (alphabet.count_up(plan.offset, plan.own), plan.own)
        })?;
        let prefix = |plan: &Plan| format!("{all}{}", each[plan.conversation]);
        let turns: Vec<_> = plans.iter().zip(made).collect();
        let samples = parallel::map("counting turns", &turns, context.progress, |(plan, own)| {
            self.sample(prefix(plan), own, tokenizer)
        });
        let mut conversations = vec![Vec::new(); count];
        for (plan, sample) in plans.iter().zip(samples) {
            conversations[plan.conversation].push(sample?);
        }
        Ok(conversations)
    }

    /// Returns the token counts of the prefix of all turns and of the prefix of each conversation.
    fn shared(&self, tokenizer: &dyn Tokenizer) -> Result<(usize, usize), DatasetError> {
        let [first, later] = [self.first_tokens, self.later_tokens]
            .map(|tokens| tokens.saturating_sub(tokenizer.special_tokens_added()));
        let part = |share: f64| ((f64::from(first) * share) as i64).unsigned_abs() as usize;
        let (by_all, within) = (part(self.shared_by_all), part(self.shared_within));
        if first.min(later) as usize <= by_all + within {
            return Err(DatasetError::Settings(TOO_SHORT.to_owned()));
        }
        Ok((by_all, within))
    }

    /// Draws all turns of all conversations, in order.
    fn plans(
        &self,
        count: usize,
        shared: usize,
        tokenizer: &dyn Tokenizer,
        random: &mut Pcg64,
    ) -> Result<Vec<Plan>, DatasetError> {
        let (fewest, most) = (self.fewest.get(), self.most.get());
        let turns = random.integers_vec(fewest.into(), i64::from(most) + 1, count);
        let turns = turns.ok_or_else(|| DatasetError::Settings(NO_TURNS.to_owned()))?;
        let turns = turns.into_iter().enumerate();
        let pairs = turns.flat_map(|(conversation, turns)| {
            (0..turns.unsigned_abs()).map(move |turn| (conversation, turn))
        });
        let pairs: Vec<(usize, u64)> = pairs.collect();
        let offsets = ids_of(random, tokenizer.vocab_size(), pairs.len());
        let bare = |turn| if turn == 0 { self.first_tokens } else { self.later_tokens };
        let plan = |((conversation, turn), offset): ((usize, u64), u32)| Plan {
            conversation,
            // Offsets are made distinct, so that turns with equal draws begin differently.
            offset: u64::from(offset) + conversation as u64 * u64::from(most) + turn,
            own: bare(turn).saturating_sub(tokenizer.special_tokens_added()) as usize - shared,
        };
        Ok(pairs.into_iter().zip(offsets).map(plan).collect())
    }

    fn sample(
        &self,
        prefix: String,
        own: &Fitted,
        tokenizer: &dyn Tokenizer,
    ) -> Result<Sample, DatasetError> {
        if prefix.is_empty() {
            return Ok(Sample::new(own.text.as_str(), own.tokens(), self.output_tokens));
        }
        let text = prefix + &own.text;
        let tokens = tokenizer.count(&text, SpecialTokens::Omit)?;
        Ok(Sample::new(text, tokens, self.output_tokens))
    }
}

const TOO_SHORT: &str = "a turn could have no token of its own: raise `workload.dataset.source.random.first_tokens` or \
    `workload.dataset.source.random.later_tokens`, or lower `workload.dataset.source.random.shared_by_all` and \
    `workload.dataset.source.random.shared_within`";
const NO_TURNS: &str = "the maximum number of turns is below the minimum";
