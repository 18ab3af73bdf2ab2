//! System prompts and questions from which shared-prefix prompts are composed.

use std::num::NonZero;

use servemark_core::{DatasetError, DrawContext, Tokenizer, TokenizerError, parallel};
use servemark_rng::PythonRandom;

use super::{Counting, SharedPrefixSpec};
use crate::PromptForm;

/// A system prompt or a question.
pub(super) struct Piece {
    /// Token ids; empty if text is sent.
    pub(super) ids: Vec<u32>,
    pub(super) text: String,
    /// Number of tokens of what is sent.
    pub(super) tokens: u32,
}

/// System prompts, questions and output lengths of a draw.
pub(super) struct Pool {
    /// One system prompt per group.
    pub(super) systems: Vec<Piece>,
    /// Questions of all sessions, one per turn, with a session's turns together.
    pub(super) questions: Vec<Piece>,
    /// One output length per session, in tokens.
    pub(super) output_tokens: Vec<u32>,
}

impl Pool {
    /// Draws all lengths, then all system prompts, then all questions, which is SGLang's order.
    pub(super) fn draw(
        spec: &SharedPrefixSpec,
        context: &mut DrawContext<'_>,
    ) -> Result<Self, DatasetError> {
        let sessions = spec.sessions();
        let (groups, turns) = (spec.groups.get() as usize, spec.turns.get() as usize);
        let numpy = &mut context.random.numpy;
        let system_tokens = spec.range_ratio.draw(spec.system_tokens, groups, numpy);
        let question_tokens = spec.range_ratio.draw(spec.question_tokens, sessions * turns, numpy);
        let output_tokens = spec.range_ratio.draw(spec.output_tokens, sessions, numpy);
        let systems = pieces(spec, &system_tokens, context)?;
        let questions = pieces(spec, &question_tokens, context)?;
        Ok(Self { systems, questions, output_tokens })
    }

    /// Returns the questions of a session.
    pub(super) fn questions_of(&self, session: usize, turns: NonZero<u32>) -> &[Piece] {
        let turns = turns.get() as usize;
        &self.questions[session * turns..][..turns]
    }
}

/// Draws pieces of the given lengths from the whole vocabulary.
fn pieces(
    spec: &SharedPrefixSpec,
    lengths: &[u32],
    context: &mut DrawContext<'_>,
) -> Result<Vec<Piece>, DatasetError> {
    let tokenizer = context.tokenizer;
    let python = &mut context.random.python;
    let drawn: Option<Vec<Vec<u32>>> =
        lengths.iter().map(|length| ids(tokenizer.token_ids(), *length, python)).collect();
    let Some(drawn) = drawn else {
        return Err(DatasetError::Settings("the tokenizer's vocabulary is empty".into()));
    };
    if spec.form == PromptForm::TokenIds {
        return Ok(drawn.into_iter().map(Piece::of_ids).collect());
    }
    let piece = |ids: &Vec<u32>| Piece::of_text(tokenizer.decode(ids)?, spec.counting, tokenizer);
    let pieces = parallel::map("making prompts", &drawn, context.progress, piece);
    Ok(pieces.into_iter().collect::<Result<_, TokenizerError>>()?)
}

fn ids(vocabulary: &[u32], length: u32, python: &mut PythonRandom) -> Option<Vec<u32>> {
    let places = python.choices_indices(vocabulary.len(), length as usize)?;
    Some(places.into_iter().map(|place| vocabulary[place]).collect())
}

impl Piece {
    fn of_ids(ids: Vec<u32>) -> Self {
        Self { text: String::new(), tokens: ids.len() as u32, ids }
    }

    fn of_text(
        text: String,
        counting: Counting,
        tokenizer: &dyn Tokenizer,
    ) -> Result<Self, TokenizerError> {
        let tokens = counting.count(&text, tokenizer)?;
        Ok(Self { ids: Vec::new(), text, tokens })
    }
}
