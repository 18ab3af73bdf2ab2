//! Prompts of drawn lengths, with consecutive token ids from a drawn one on.

mod drawing;
mod prefixes;
mod raster;
mod turns;
mod vl;

use std::num::NonZero;

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Tokenizer, TokenizerError, parallel};
use servemark_rng::NumpyRandom;

pub use self::drawing::EvalscopePictureMode;
use self::prefixes::Prefixes;
pub use self::turns::EvalscopeRandomTurnsSpec;
pub use self::vl::EvalscopeRandomVlSpec;
use super::measure::{in_chat, in_chat_or_plain, user};
use super::{EvalscopeSpec, RequestDraft};
use crate::alphabet::Alphabet;
use crate::fitting::{Fitted, Fitter};

/// Prompts of drawn lengths, with consecutive token ids from a drawn one on.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct EvalscopeRandomSpec {
    /// Number of tokens in the common prefix, in addition to each prompt's own tokens
    /// (`--prefix-length`).
    pub prefix_tokens: u32,
    /// Number of different prefixes, used in turn (`--prefix-count`).
    pub prefixes: NonZero<u32>,
}

impl Default for EvalscopeRandomSpec {
    fn default() -> Self {
        Self { prefix_tokens: 0, prefixes: NonZero::<u32>::MIN }
    }
}

impl EvalscopeRandomSpec {
    /// Makes all draws first, then the texts. Each text draws from a generator of its own.
    pub(super) fn ask(
        &self,
        of: &EvalscopeSpec,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<RequestDraft>, DatasetError> {
        let source = DrawSource::begin(of, self.prefix_tokens, self.prefixes, context)?;
        let rows = source.plan(of, count, &mut context.random.numpy)?;
        let drafts = parallel::map("making prompts", &rows, context.progress, |row| {
            let ids = source.ids(row);
            if of.tokenize {
                let tokens = ids.len() as u32;
                return Ok(RequestDraft::new(ids, tokens));
            }
            let mut own = NumpyRandom::seeded(row.seed);
            let target = source.prefixes.tokens() + row.tokens;
            let text = source.alphabet.fit(ids, target, &mut own, source.tokenizer)?;
            Ok(source.request_draft(text, of))
        });
        drafts.into_iter().collect()
    }
}

impl EvalscopeRandomSpec {
    /// Makes all draws without building texts.
    pub(super) fn advance(
        &self,
        of: &EvalscopeSpec,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<(), DatasetError> {
        let source = DrawSource::begin(of, self.prefix_tokens, self.prefixes, context)?;
        source.plan(of, count, &mut context.random.numpy).map(drop)
    }
}

/// The tokens from which prompts are made.
pub(super) struct DrawSource<'a> {
    tokenizer: &'a dyn Tokenizer,
    alphabet: Alphabet,
    prefixes: Prefixes,
    /// Token count of an empty chat message; 0 without a chat template.
    template: u32,
}

/// The draws for one prompt.
struct Row {
    number: u64,
    tokens: usize,
    offset: u64,
    seed: u32,
}

impl<'a> DrawSource<'a> {
    /// Draws the prefixes and collects the vocabulary.
    pub(super) fn begin(
        of: &EvalscopeSpec,
        prefix_tokens: u32,
        prefixes: NonZero<u32>,
        context: &mut DrawContext<'a>,
    ) -> Result<Self, DatasetError> {
        let tokenizer = of.tokenizer(context)?;
        let alphabet = Alphabet::of_all(tokenizer)?;
        let numpy = &mut context.random.numpy;
        let prefixes = Prefixes::draw(prefixes, prefix_tokens, &alphabet, numpy)?;
        let is_chat = of.chat && !of.tokenize;
        let template = if is_chat { in_chat_or_plain(tokenizer, &[user("")])? as u32 } else { 0 };
        Ok(Self { tokenizer, alphabet, prefixes, template })
    }

    /// Draws all lengths, then all start offsets, then all seeds unless token ids are sent.
    fn plan(
        &self,
        of: &EvalscopeSpec,
        count: usize,
        numpy: &mut NumpyRandom,
    ) -> Result<Vec<Row>, DatasetError> {
        if of.chat && !of.tokenize {
            // evalscope refuses a tokenizer without a chat template here.
            in_chat(self.tokenizer, &[user("")])?;
        }
        let template = i64::from(self.template);
        let least = (i64::from(of.shortest) - template).max(0);
        let most = i64::from(of.longest) - template;
        let lengths =
            numpy.randint_vec(least, most + 1, count).ok_or_else(|| self.too_short(of))?;
        let offsets = self.offsets(of, count, numpy);
        let seeds = if of.tokenize { None } else { numpy.randint_vec(0, u32::MAX.into(), count) };
        let seeds = seeds.unwrap_or_else(|| vec![0; count]);
        let drawn = lengths.into_iter().zip(offsets).zip(seeds);
        let row = |(number, ((tokens, offset), seed)): (u64, ((i64, u64), i64))| Row {
            number,
            tokens: tokens.unsigned_abs() as usize,
            offset,
            seed: seed.unsigned_abs() as u32,
        };
        Ok((0..).zip(drawn).map(row).collect())
    }

    /// Draws the vocabulary positions at which prompts begin.
    fn offsets(&self, of: &EvalscopeSpec, count: usize, numpy: &mut NumpyRandom) -> Vec<u64> {
        let size = u64::from(self.alphabet.len());
        let drawn = numpy.randint_vec(0, i64::from(self.alphabet.len()), count).unwrap_or_default();
        drawn.into_iter().map(|place| (place.unsigned_abs() + of.offset) % size).collect()
    }

    fn too_short(&self, of: &EvalscopeSpec) -> DatasetError {
        DatasetError::Settings(format!(
            "no prompt has {} to {} tokens, {} of which are the chat template's: raise \
             `workload.dataset.longest`, or lower `workload.dataset.shortest`",
            of.shortest, of.longest, self.template
        ))
    }

    /// Returns the prefix followed by consecutive ids.
    fn ids(&self, row: &Row) -> Vec<u32> {
        let own = self.alphabet.count_up(row.offset + row.number, row.tokens);
        [self.prefixes.of(row.number), &own].concat()
    }

    /// Returns a text with the length of a prefix plus `tokens` tokens. Missing ids are drawn from
    /// `numpy`.
    pub(super) fn text(
        &self,
        place: (u64, u64),
        tokens: usize,
        numpy: &mut NumpyRandom,
    ) -> Result<Fitted, TokenizerError> {
        let (offset, number) = place;
        let ids = self.ids(&Row { number, tokens, offset, seed: 0 });
        let target = self.prefixes.tokens() + tokens;
        self.alphabet.fit(ids, target, numpy, self.tokenizer)
    }

    /// Converts a text to a request.
    pub(super) fn request_draft(&self, text: Fitted, of: &EvalscopeSpec) -> RequestDraft {
        if of.chat {
            return self.turn_draft(&text);
        }
        let tokens = text.tokens() + self.template;
        RequestDraft::new(text.text, tokens)
    }

    /// A text as a turn of a conversation, which is a message on any route.
    pub(super) fn turn_draft(&self, text: &Fitted) -> RequestDraft {
        let tokens = text.tokens() + self.template;
        RequestDraft::new(vec![user(&text.text)], tokens)
    }

    /// Returns the number of ids from which a prompt can start.
    pub(super) fn places(&self) -> u32 {
        self.alphabet.len()
    }
}

impl Alphabet {
    /// Returns the vocabulary without special tokens and byte tokens. Text made of byte tokens
    /// encodes to other and more ids.
    fn of_all(tokenizer: &dyn Tokenizer) -> Result<Self, DatasetError> {
        let mut special = [tokenizer.special_ids(), tokenizer.byte_ids()].concat();
        special.sort_unstable();
        Self::without(tokenizer.token_ids().len() as u32, &special)
    }

    /// Draws `count` ids uniformly.
    pub(super) fn draw(&self, count: usize, numpy: &mut NumpyRandom) -> Vec<u32> {
        let places = numpy.randint_vec(0, self.len().into(), count).unwrap_or_default();
        self.pick(places.into_iter().map(|place| place.unsigned_abs() as u32))
    }

    /// Returns a text of `target` tokens that begins with `ids`.
    pub(super) fn fit(
        &self,
        ids: Vec<u32>,
        target: usize,
        numpy: &mut NumpyRandom,
        tokenizer: &dyn Tokenizer,
    ) -> Result<Fitted, TokenizerError> {
        Fitter { tokenizer, draw: |count| self.draw(count, numpy) }.fit(ids, target)
    }
}
