//! A request that the engine is processing.

use candle_core::{Result, Tensor};
use candle_nn::kv_cache::KvCache;
use servemark_core::Usage;

use super::model::BatchPart;
use super::sampler::Choice;
use crate::{Emission, RequestId};

/// A request that the engine is processing.
#[derive(Debug)]
pub(super) struct Running {
    id: RequestId,
    /// The tokens that are not processed yet: the rest of the prompt, or the last output token.
    unread: Vec<u32>,
    /// The number of those tokens that this step processes.
    reading: usize,
    cache: Vec<KvCache>,
    prompt_tokens: u32,
    made: u32,
    most: u32,
    choice: Choice,
    is_over: bool,
}

impl Running {
    pub(super) fn new(
        id: RequestId,
        ids: Vec<u32>,
        most: u32,
        choice: Choice,
        layers: usize,
    ) -> Self {
        let length = ids.len() + most as usize;
        let cache = (0..layers).map(|_| KvCache::new(1, length)).collect();
        let prompt_tokens = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        let (unread, reading, made, is_over) = (ids, 0, 0, false);
        Self { id, unread, reading, cache, prompt_tokens, made, most, choice, is_over }
    }

    pub(super) fn id(&self) -> RequestId {
        self.id
    }

    /// Claims at most `most` tokens of the next step and returns the number claimed.
    pub(super) fn take(&mut self, most: usize) -> usize {
        self.reading = self.unread.len().min(most);
        self.reading
    }

    /// Returns the tokens that this step processes, if any.
    pub(super) fn part(&mut self) -> Option<BatchPart<'_>> {
        let is_whole = self.reading == self.unread.len();
        let ids = &self.unread[..self.reading];
        (!ids.is_empty()).then_some(BatchPart { ids, is_whole, cache: &mut self.cache })
    }

    /// Removes the tokens that this step processed. Returns whether none are left, so that the next
    /// token can be chosen.
    pub(super) fn has_read(&mut self) -> bool {
        self.unread.drain(..self.reading);
        std::mem::take(&mut self.reading) > 0 && self.unread.is_empty()
    }

    /// Chooses and emits the next token, and the end of the answer if this token ends it.
    pub(super) fn choose(
        &mut self,
        logits: &Tensor,
        ends: &[u32],
        out: &mut dyn FnMut(Emission),
    ) -> Result<()> {
        let token = self.choice.token(logits)?;
        self.made += 1;
        out(Emission::Token { id: self.id, token });
        let is_end = ends.contains(&token) && !self.choice.ignores_ends();
        self.is_over = is_end || self.made == self.most;
        if self.is_over {
            let reason = if is_end { "stop" } else { "length" };
            let usage = Usage::new(Some(self.prompt_tokens), Some(self.made));
            out(Emission::Finished { id: self.id, reason, usage });
        }
        self.unread.push(token);
        Ok(())
    }

    pub(super) fn goes_on(&self) -> bool {
        !self.is_over
    }
}
