//! What a data set asks, before it is known how long answers may be.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use servemark_core::{
    DatasetError, DrawContext, FollowUp, JsonObject, Medium, Prompt, Sample, Session,
    SpecialTokens, Tokenizer, TokenizerError, parallel,
};
use servemark_rng::PythonRandom;

use super::measure::Measure;

/// How many tokens a request asks for (`--max-tokens`).
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MaxTokens {
    /// So many.
    Fixed(u32),
    /// As many as are drawn for each request.
    Between {
        /// The fewest.
        least: u32,
        /// The most.
        most: u32,
        /// Whether the first is that of the request that tested the connection, which evalscope
        /// makes before it reads requests, but after it has read conversations.
        tested: bool,
    },
}

impl Default for MaxTokens {
    fn default() -> Self {
        Self::Fixed(2048)
    }
}

impl MaxTokens {
    /// Leaves the generator where it is when requests are read.
    pub(super) fn begin(self, python: &mut PythonRandom) {
        if matches!(self, Self::Between { tested: true, .. }) {
            self.draw(python);
        }
    }

    /// Those of the next request.
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

/// One request.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) prompt: Prompt,
    /// The pictures at the prompt's places for them.
    pub(super) media: Vec<Medium>,
    /// Its length in tokens; zero where nobody has counted them.
    pub(super) tokens: u32,
    /// How many tokens it asks for, where the data set says so.
    pub(super) max_tokens: Option<u32>,
    /// Keys that its body has besides, and headers.
    pub(super) extra_body: JsonObject,
    pub(super) headers: Vec<(String, String)>,
    /// Its name where it was recorded.
    pub(super) request_id: Option<Box<str>>,
}

impl Asked {
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

    /// The sample, whose output is as long as the data set says, else as drawn.
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

/// One or more requests, each sent some time after the answer to the one before it.
#[derive(Clone, Debug)]
pub(super) struct Conversation {
    pub(super) first: Asked,
    pub(super) follow_ups: Vec<(Duration, Asked)>,
    /// When a trace says it begins.
    pub(super) begins: Option<Duration>,
}

impl From<Asked> for Conversation {
    fn from(first: Asked) -> Self {
        Self { first, follow_ups: Vec::new(), begins: None }
    }
}

impl Conversation {
    /// Turns that follow each other at once; nothing if there are none. Each is counted alone.
    pub(super) fn of(
        turns: Vec<Vec<JsonObject>>,
        measure: &Measure<'_>,
    ) -> Result<Option<Self>, DatasetError> {
        let turns = turns.into_iter().map(|messages| measure.ask_in_chat(messages));
        Ok(Self::at_once(turns.collect::<Result<Vec<_>, _>>()?))
    }

    /// Requests that follow each other at once; nothing if there are none.
    pub(super) fn at_once(turns: Vec<Asked>) -> Option<Self> {
        let mut turns = turns.into_iter();
        let first = turns.next()?;
        let follow_ups = turns.map(|turn| (Duration::ZERO, turn)).collect();
        Some(Self { follow_ups, ..first.into() })
    }

    /// Every request, to be changed.
    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Asked> {
        let later = self.follow_ups.iter_mut().map(|(_, asked)| asked);
        std::iter::once(&mut self.first).chain(later)
    }

    /// The session; `draw` is asked for the length of every output, whoever has the last word.
    pub(super) fn session(&self, mut draw: impl FnMut() -> u32) -> Session {
        let first = self.first.sample(draw());
        let turn =
            |(pause, asked): &(Duration, Asked)| FollowUp::new(asked.sample(draw())).after(*pause);
        let follow_ups = self.follow_ups.iter().map(turn).collect();
        let mut session = Session::from(first).followed_by(follow_ups);
        session.begins = self.begins;
        session
    }
}

/// Turns texts and messages into the ids that a server would make of them.
pub(super) fn tokenize(
    asked: &mut [Conversation],
    context: &DrawContext<'_>,
) -> Result<(), DatasetError> {
    let ids = parallel::map("making token ids", asked, context.progress, |one| {
        ids_of(&one.first.prompt, context.tokenizer)
    });
    for (one, ids) in asked.iter_mut().zip(ids) {
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
