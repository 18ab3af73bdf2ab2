//! Groups of prompts with a common prefix: SGLang's `generated-shared-prefix`.

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

/// Groups of prompts that share a system prompt, each followed by a question of its own.
///
/// All texts are made of tokens drawn from the whole vocabulary. The number of sessions is groups
/// times prompts per group, regardless of the requested count, as in SGLang.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct SharedPrefixSpec {
    /// Number of system prompts.
    pub groups: NonZero<u32>,
    /// Number of prompts per system prompt.
    pub prompts_per_group: NonZero<u32>,
    /// Number of questions that a session asks, one per turn.
    pub turns: NonZero<u32>,
    /// Maximum length of a system prompt, in tokens.
    pub system_tokens: u32,
    /// Maximum length of a question, in tokens.
    pub question_tokens: u32,
    /// Maximum output length in tokens; all turns of a session have the same length.
    pub output_tokens: u32,
    /// Minimum length as a share of the maximum, for system prompts, questions and outputs.
    pub range_ratio: RangeRatio,
    /// How often each system prompt is used.
    pub popularity: Popularity,
    /// Order in which sessions begin.
    pub order: GroupOrder,
    /// Whether prompts are sent as text or as token ids.
    pub form: PromptForm,
    /// Whether texts are tokenized to count their tokens.
    pub counting: Counting,
    /// Run name in the header that routes a group's prompts to one server; without it the header is
    /// not sent.
    pub routing_run: Option<String>,
}

/// Order in which the sessions of all groups begin. Exhaustive: it is random or it is not.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupOrder {
    /// Random order.
    #[default]
    Shuffled,
    /// Drawn order. With groups of equal size, one group follows the other.
    Drawn,
}

/// Whether texts are tokenized to count their tokens. Exhaustive: they are or they are not.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Counting {
    /// Texts are tokenized.
    #[default]
    Exact,
    /// Texts are not tokenized; every text counts as one token, as in SGLang.
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
    /// Returns the number of sessions.
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

    /// Builds the sessions in the order of their questions.
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

    /// Builds the session of one slot: the group's system prompt followed by the slot's questions.
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
    /// Joins a system prompt and a question into one prompt.
    fn join(self, system: &Piece, question: &Piece) -> Prompt {
        match self {
            Self::Text => [&system.text, "\n\n", &question.text].concat().into(),
            Self::TokenIds => [system.ids.as_slice(), &question.ids].concat().into(),
        }
    }
}

/// Header by which SGLang's gateway routes a group to one server.
const ROUTING_KEY: &str = "X-SMG-Routing-Key";
