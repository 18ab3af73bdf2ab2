//! Groups of prompts that begin alike: SGLang's `generated-shared-prefix`.

use std::num::NonZero;

use serde::{Deserialize, Serialize};
use servemark_core::{
    DatasetError, DrawContext, FollowUp, Prompt, Sample, Session, SpecialTokens, Tokenizer,
    TokenizerError, parallel,
};

use crate::shared_prefix::pool::{Piece, Pool};
use crate::{Draw, Popularity, PromptForm, RangeRatio};

mod pool;
mod statistics;

/// Groups of prompts that share a system prompt; behind it, each has a question of its own.
///
/// All of it is made of tokens drawn from the whole vocabulary. There are as many sessions as
/// groups times prompts, however many were asked for, as with SGLang.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SharedPrefixSpec {
    /// How many system prompts there are.
    pub groups: NonZero<u32>,
    /// How many prompts there are for each.
    pub prompts_per_group: NonZero<u32>,
    /// How many questions a session asks, one after the other.
    pub turns: NonZero<u32>,
    /// The longest system prompt, in tokens.
    pub system_tokens: u32,
    /// The longest question, in tokens.
    pub question_tokens: u32,
    /// The longest output, in tokens; all turns of a session have the same.
    pub output_tokens: u32,
    /// The shortest of each as a share of the longest.
    pub range_ratio: RangeRatio,
    /// How often each system prompt is met.
    pub popularity: Popularity,
    /// In which order sessions begin.
    pub order: GroupOrder,
    /// Whether text or ids are sent.
    pub form: PromptForm,
    /// Whether texts are tokenized to know their lengths.
    pub counting: Counting,
    /// What names the run in the header that routes a group's prompts to one server; without it
    /// there is no such header.
    pub routing_run: Option<String>,
}

/// In which order the sessions of all groups begin. Closed: it is random or it is not.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupOrder {
    /// Shuffled.
    #[default]
    Shuffled,
    /// As they were drawn: with groups of equal size, one group after the other.
    Drawn,
}

/// Whether texts are tokenized to know their lengths. Closed: they are or they are not.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Counting {
    /// They are.
    #[default]
    Exact,
    /// They are not, and every text counts as one token, as with SGLang.
    Skipped,
}

impl Default for SharedPrefixSpec {
    fn default() -> Self {
        let several = |count| NonZero::new(count).unwrap_or(NonZero::<u32>::MIN);
        Self {
            groups: several(64),
            prompts_per_group: several(16),
            turns: NonZero::<u32>::MIN,
            system_tokens: 2048,
            question_tokens: 128,
            output_tokens: 256,
            range_ratio: RangeRatio::FIXED,
            popularity: Popularity::Uniform,
            order: GroupOrder::Shuffled,
            form: PromptForm::Text,
            counting: Counting::Exact,
            routing_run: None,
        }
    }
}

impl SharedPrefixSpec {
    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        self.groups.get() as usize * self.prompts_per_group.get() as usize
    }

    pub(crate) fn draw(&self, context: &mut DrawContext<'_>) -> Result<Draw, DatasetError> {
        let pool = Pool::draw(self, context)?;
        let mut sessions = self.sessions_of(&pool, context)?;
        if self.order == GroupOrder::Shuffled {
            context.random.python.shuffle(&mut sessions);
        }
        let summary = self.summary(&pool, &sessions);
        Ok(Draw::of_sessions(sessions, summary))
    }

    /// The sessions in the order of their questions.
    fn sessions_of(
        &self,
        pool: &Pool,
        context: &DrawContext<'_>,
    ) -> Result<Vec<Session>, TokenizerError> {
        let groups = self
            .popularity
            .assign(self.groups.get() as usize, self.prompts_per_group.get() as usize);
        let slots: Vec<(usize, usize)> = groups.into_iter().enumerate().collect();
        let session =
            |&(slot, group): &(usize, usize)| self.session(pool, slot, group, context.tokenizer);
        let sessions = parallel::map("tokenizing prompts", &slots, context.progress, session);
        sessions.into_iter().collect()
    }

    /// The questions of one slot behind the system prompt of a group.
    fn session(
        &self,
        pool: &Pool,
        slot: usize,
        group: usize,
        tokenizer: &dyn Tokenizer,
    ) -> Result<Session, TokenizerError> {
        let questions = pool.questions_of(slot, self.turns);
        let (question, later) = questions.split_first().expect("a session has a turn");
        let output = pool.output_tokens[slot];
        let prompt = self.form.join(&pool.systems[group], question);
        let tokens = match &prompt {
            Prompt::Text(text) => self.counting.count(text, tokenizer)?,
            _ => question.tokens + pool.systems[group].tokens,
        };
        let first = self.routed(Sample::new(prompt, tokens, output), group);
        let follow_up = |question: &Piece| {
            let sample = Sample::new(question.text.clone(), question.tokens, output);
            FollowUp::new(self.routed(sample, group))
        };
        Ok(Session::from(first).followed_by(later.iter().map(follow_up).collect()))
    }

    fn routed(&self, mut sample: Sample, group: usize) -> Sample {
        if let Some(run) = &self.routing_run {
            sample.headers.push((ROUTING_KEY.to_owned(), format!("{run}_{group}")));
        }
        sample
    }
}

impl Counting {
    fn count(self, text: &str, tokenizer: &dyn Tokenizer) -> Result<u32, TokenizerError> {
        match self {
            Self::Exact => tokenizer.count(text, SpecialTokens::Add),
            Self::Skipped => Ok(1),
        }
    }
}

impl PromptForm {
    /// A system prompt and a question, as one prompt.
    fn join(self, system: &Piece, question: &Piece) -> Prompt {
        match self {
            Self::Text => [&system.text, "\n\n", &question.text].concat().into(),
            Self::TokenIds => [system.ids.as_slice(), &question.ids].concat().into(),
        }
    }
}

/// The header by which SGLang's gateway keeps a group on one server.
const ROUTING_KEY: &str = "X-SMG-Routing-Key";
