//! Prompts of a length that was asked for.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use servemark_core::{
    DatasetError, DrawContext, JsonObject, SpecialTokens, Tokenizer, TokenizerError,
};

use super::measure::{Measure, message, user};
use super::{Asked, EvalscopeSpec};
use crate::fitting::Fitter;
use crate::text_file;

/// A length in tokens that prompts are made to have.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TargetLength {
    /// The length (`target_input_len`).
    pub tokens: u32,
    /// What becomes of prompts that are shorter (`input_len_mode`).
    #[serde(default)]
    pub short: ShortTexts,
    /// A text that fills what is missing (`prefix_file`).
    #[serde(default)]
    pub prefix_file: Option<PathBuf>,
    /// Who says it (`prefix_role`).
    #[serde(default)]
    pub prefix_role: PrefixRole,
}

impl TargetLength {
    /// At most so many tokens.
    pub fn new(tokens: u32) -> Self {
        let (short, prefix_role) = (ShortTexts::default(), PrefixRole::default());
        Self { tokens, short, prefix_file: None, prefix_role }
    }
}

/// What becomes of prompts that are shorter than they should be. Closed: they are sent or not.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShortTexts {
    /// They are sent as they are.
    #[default]
    Cap,
    /// They are left out.
    Drop,
}

/// Who says what fills a prompt. Closed: the prompt is a user's, and there is no other role before it.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PrefixRole {
    /// The system, where there are roles; else it stands before the prompt.
    #[default]
    System,
    /// The user, before anything else.
    User,
}

/// Makes requests of prompts: of those that are as long as they should be, or can be made so.
pub(super) struct Shaper<'a> {
    measure: Measure<'a>,
    goal: Option<Goal<'a>>,
}

/// A length to be had.
struct Goal<'a> {
    target: &'a TargetLength,
    tokenizer: &'a dyn Tokenizer,
    /// Ids that texts are written without.
    special: Vec<u32>,
    /// What fills prompts.
    prefix: Option<Vec<u32>>,
}

impl<'a> Shaper<'a> {
    pub(super) fn new(
        of: &'a EvalscopeSpec,
        target: Option<&'a TargetLength>,
        context: &DrawContext<'a>,
    ) -> Result<Self, DatasetError> {
        let measure = Measure::of(of, context);
        let goal = target.map(|target| Goal::new(target, measure.tokenizer("target_input_len")?));
        Ok(Self { measure, goal: goal.transpose()? })
    }

    /// Whether a length is to be had, which only texts can be made to have.
    pub(super) fn has_goal(&self) -> bool {
        self.goal.is_some()
    }

    /// A prompt as a request, or nothing if its length is not the one asked for.
    pub(super) fn ask(&self, prompt: &str) -> Result<Option<Asked>, DatasetError> {
        let Some(fitted) = self.fitted(prompt)? else { return Ok(None) };
        let Some(goal) = self.goal.as_ref().filter(|goal| goal.prefix.is_some()) else {
            return self.measure.ask(&fitted).map(Some);
        };
        if self.measure.is_chat() {
            let messages = goal.filled(vec![user(&fitted)], true)?;
            return self.measure.ask_in_chat(messages).map(Some);
        }
        let filling = goal.filling(goal.missing(&[&fitted])?)?;
        self.measure.ask(&(filling + &fitted)).map(Some)
    }

    /// A conversation as a request. Where something fills it, all of it counts, and one that is too
    /// long is left out; else its last turn alone.
    pub(super) fn ask_last(
        &self,
        mut messages: Vec<JsonObject>,
    ) -> Result<Option<Asked>, DatasetError> {
        if let Some(goal) = self.goal.as_ref().filter(|goal| goal.prefix.is_some()) {
            if goal.missing(&contents(&messages))? < 0 {
                return Ok(None);
            }
            let messages = goal.filled(messages, self.measure.is_chat())?;
            return self.measure.ask_in_chat(messages).map(Some);
        }
        let Some(last) = messages.pop() else { return Ok(None) };
        let Some(fitted) = self.fitted(content(&last))? else { return Ok(None) };
        messages.push(user(&fitted));
        self.measure.ask_in_chat(messages).map(Some)
    }

    fn fitted(&self, prompt: &str) -> Result<Option<String>, TokenizerError> {
        match &self.goal {
            Some(goal) => goal.cut(prompt),
            None => Ok(self.measure.fits(prompt)?.then(|| prompt.to_owned())),
        }
    }
}

impl<'a> Goal<'a> {
    fn new(target: &'a TargetLength, tokenizer: &'a dyn Tokenizer) -> Result<Self, DatasetError> {
        if target.prefix_file.is_some() && target.short == ShortTexts::Drop {
            return Err(DatasetError::Settings(NOTHING_TO_FILL.to_owned()));
        }
        let special = tokenizer.added_special_ids()?;
        let mut goal = Self { target, tokenizer, special, prefix: None };
        if let Some(file) = &target.prefix_file {
            goal.prefix = Some(goal.read_prefix(file)?);
        }
        Ok(goal)
    }

    fn read_prefix(&self, file: &Path) -> Result<Vec<u32>, DatasetError> {
        let mut ids = self.tokenizer.encode(&text_file::read(file)?, SpecialTokens::Omit)?;
        ids.retain(|id| self.is_plain(*id));
        if ids.is_empty() {
            return Err(text_file::malformed(file, 1, "the file holds no text".to_owned()));
        }
        Ok(ids)
    }

    fn is_plain(&self, id: u32) -> bool {
        self.special.binary_search(&id).is_err()
    }

    /// A prompt of the length at most; nothing if it is shorter and must not be.
    fn cut(&self, prompt: &str) -> Result<Option<String>, TokenizerError> {
        let target = self.target.tokens as usize;
        let mut ids = self.tokenizer.encode(prompt, SpecialTokens::Omit)?;
        if ids.len() > target {
            ids.truncate(target);
            ids.retain(|id| self.is_plain(*id));
            return self.tokenizer.decode(&ids).map(Some);
        }
        let is_sent = self.target.short == ShortTexts::Cap || ids.len() == target;
        Ok(is_sent.then(|| prompt.to_owned()))
    }

    /// How many tokens texts lack; a negative number if they have too many.
    fn missing(&self, texts: &[&str]) -> Result<i64, TokenizerError> {
        let counts = texts.iter().map(|text| self.tokenizer.count(text, SpecialTokens::Omit));
        let counts = counts.collect::<Result<Vec<_>, _>>()?;
        Ok(i64::from(self.target.tokens) - counts.into_iter().map(i64::from).sum::<i64>())
    }

    /// A conversation with what it lacks.
    fn filled(
        &self,
        mut messages: Vec<JsonObject>,
        has_roles: bool,
    ) -> Result<Vec<JsonObject>, TokenizerError> {
        let filling = self.filling(self.missing(&contents(&messages))?)?;
        if filling.is_empty() {
            return Ok(messages);
        }
        if has_roles && self.target.prefix_role == PrefixRole::System {
            messages.insert(0, message("system", &filling));
        } else if let Some(first) = messages.first_mut() {
            let text = filling + content(first);
            first.insert("content".to_owned(), text.into());
        }
        Ok(messages)
    }

    /// A text of so many tokens, from the file's beginning on, round and round.
    fn filling(&self, tokens: i64) -> Result<String, TokenizerError> {
        let target = usize::try_from(tokens).unwrap_or_default();
        let Some(prefix) = self.prefix.as_ref().filter(|_| target > 0) else {
            return Ok(String::new());
        };
        let mut ids = prefix.iter().copied().cycle();
        let first: Vec<u32> = ids.by_ref().take(target).collect();
        let further = |count| ids.by_ref().take(count).collect();
        let mut fitter = Fitter { tokenizer: self.tokenizer, draw: further };
        Ok(fitter.fit(first, target)?.text)
    }
}

const NOTHING_TO_FILL: &str = "prefix_file fills short prompts, which input_len_mode \"drop\" leaves \
    out: take \"cap\", or leave prefix_file out";

/// What everybody says.
fn contents(messages: &[JsonObject]) -> Vec<&str> {
    messages.iter().map(content).collect()
}

/// What somebody says, if it is a text.
fn content(message: &JsonObject) -> &str {
    message.get("content").and_then(serde_json::Value::as_str).unwrap_or_default()
}
