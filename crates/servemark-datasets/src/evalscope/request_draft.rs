//! Requests of a data set, before output lengths are assigned.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use servemark_core::{
    DatasetError, DrawContext, FollowUp, JsonObject, Medium, Prompt, Sample, Session,
    SpecialTokens, Tokenizer, TokenizerError, parallel,
};
use servemark_rng::PythonRandom;

use super::measure::Measure;

/// Requested output length (`--max-tokens`).
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokens {
    /// A fixed number of tokens for every request.
    Fixed(u32),
    /// A number of tokens that is drawn for each request.
    Between {
        /// Minimum number of tokens.
        least: u32,
        /// Maximum number of tokens.
        most: u32,
        /// Whether a first draw goes to the request that tests the connection. evalscope sends it
        /// before it reads requests but after it reads conversations.
        tested: bool,
    },
}

impl Default for MaxTokens {
    fn default() -> Self {
        Self::Fixed(2048)
    }
}

impl MaxTokens {
    /// Returns `max_tokens` of the request that tests the connection. The generator advances only
    /// if `tested` is set.
    pub(super) fn begin(self, python: &mut PythonRandom) -> u32 {
        match self {
            Self::Between { least, tested: false, .. } => least,
            tokens => tokens.draw(python),
        }
    }

    /// Returns the output length of the next request.
    pub(super) fn draw(self, python: &mut PythonRandom) -> u32 {
        match self {
            Self::Fixed(tokens) => tokens,
            Self::Between { least, most, .. } => {
                let drawn = python.randint(least.into(), most.into());
                drawn.map_or(least, |tokens| tokens.unsigned_abs() as u32)
            }
        }
    }
}

/// A request without its output length.
#[derive(Clone, Debug)]
pub(super) struct RequestDraft {
    pub(super) prompt: Prompt,
    /// Images, in the order of their placeholders in the prompt.
    pub(super) media: Vec<Medium>,
    /// Prompt length in tokens; 0 if it is not counted.
    pub(super) tokens: u32,
    /// Output length set by the data set, if any.
    pub(super) max_tokens: Option<u32>,
    /// Additional keys of the request body.
    pub(super) extra_body: JsonObject,
    pub(super) headers: Vec<(String, String)>,
    /// Request id in a recorded trace.
    pub(super) request_id: Option<Box<str>>,
}

impl RequestDraft {
    pub(super) fn new(prompt: impl Into<Prompt>, tokens: u32) -> Self {
        Self {
            prompt: prompt.into(),
            media: Vec::new(),
            tokens,
            max_tokens: None,
            extra_body: JsonObject::new(),
            headers: Vec::new(),
            request_id: None,
        }
    }

    /// Builds the sample. The output length is the data set's own, or `drawn` if there is none.
    fn sample(&self, drawn: u32) -> Sample {
        let output_tokens = self.max_tokens.unwrap_or(drawn);
        let mut sample = Sample::new(self.prompt.clone(), self.tokens, output_tokens);
        sample.media.clone_from(&self.media);
        sample.extra_body.clone_from(&self.extra_body);
        sample.headers.clone_from(&self.headers);
        sample.request_id.clone_from(&self.request_id);
        sample
    }
}

/// One or more requests, each sent after the previous answer and a pause.
#[derive(Clone, Debug)]
pub(super) struct Conversation {
    pub(super) first: RequestDraft,
    pub(super) follow_ups: Vec<(Duration, RequestDraft)>,
    /// Start time in a trace, if known.
    pub(super) begins: Option<Duration>,
}

impl From<RequestDraft> for Conversation {
    fn from(first: RequestDraft) -> Self {
        Self { first, follow_ups: Vec::new(), begins: None }
    }
}

impl Conversation {
    /// Creates a conversation of turns without pauses, or `None` if there are no turns. The tokens
    /// of each turn are counted separately.
    pub(super) fn of(
        turns: Vec<Vec<JsonObject>>,
        measure: &Measure<'_>,
    ) -> Result<Option<Self>, DatasetError> {
        let turns = turns.into_iter().map(|messages| measure.ask_in_chat(messages));
        Ok(Self::at_once(turns.collect::<Result<Vec<_>, _>>()?))
    }

    /// Creates a conversation of requests without pauses, or `None` if there are none.
    pub(super) fn at_once(turns: Vec<RequestDraft>) -> Option<Self> {
        let mut turns = turns.into_iter();
        let first = turns.next()?;
        let follow_ups = turns.map(|turn| (Duration::ZERO, turn)).collect();
        Some(Self { follow_ups, ..first.into() })
    }

    /// Returns mutable references to all requests.
    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut RequestDraft> {
        let later = self.follow_ups.iter_mut().map(|(_, drafts)| drafts);
        std::iter::once(&mut self.first).chain(later)
    }

    /// Builds the session. `draw` is called for every request, even if the data set sets the output
    /// length.
    pub(super) fn session(&self, mut draw: impl FnMut() -> u32) -> Session {
        let first = self.first.sample(draw());
        let turn = |(pause, drafts): &(Duration, RequestDraft)| {
            FollowUp::new(drafts.sample(draw())).after(*pause)
        };
        let follow_ups = self.follow_ups.iter().map(turn).collect();
        let mut session = Session::from(first).followed_by(follow_ups);
        session.begins = self.begins;
        session
    }
}

/// Replaces texts and messages by the token ids that a server would encode them to.
pub(super) fn tokenize(
    drafts: &mut [Conversation],
    context: &DrawContext<'_>,
) -> Result<(), DatasetError> {
    let ids = parallel::map("making token ids", drafts, context.progress, |one| {
        ids_of(&one.first.prompt, context.tokenizer)
    });
    for (one, ids) in drafts.iter_mut().zip(ids) {
        if let Some(ids) = ids? {
            one.first.tokens = ids.len() as u32;
            one.first.prompt = ids.into();
        }
    }
    Ok(())
}

fn ids_of(prompt: &Prompt, tokenizer: &dyn Tokenizer) -> Result<Option<Vec<u32>>, TokenizerError> {
    let text = match prompt {
        Prompt::Messages(messages) => tokenizer.apply_chat_template(messages)?,
        prompt => match prompt.text() {
            Some(text) => text.into_owned(),
            None => return Ok(None),
        },
    };
    tokenizer.encode(&text, SpecialTokens::Omit).map(Some)
}
