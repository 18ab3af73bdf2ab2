//! Prompts of a required length.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use servemark_core::{
    DatasetError, DrawContext, JsonObject, SpecialTokens, Tokenizer, TokenizerError,
};

use super::measure::{Measure, message, user};
use super::{EvalscopeSpec, RequestDraft};
use crate::fitting::Fitter;
use crate::text_file;

/// Required prompt length, in tokens.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct TargetLength {
    /// The length (`target_input_len`).
    pub tokens: u32,
    /// Handling of shorter prompts (`input_len_mode`).
    #[serde(default)]
    pub short: ShortTexts,
    /// Path of a text that fills up shorter prompts (`prefix_file`).
    #[serde(default)]
    pub prefix_file: Option<PathBuf>,
    /// Role of the filling text (`prefix_role`).
    #[serde(default)]
    pub prefix_role: PrefixRole,
}

impl TargetLength {
    /// Creates a target that cuts prompts to `tokens` tokens and sends shorter ones unchanged.
    pub fn new(tokens: u32) -> Self {
        let (short, prefix_role) = (ShortTexts::default(), PrefixRole::default());
        Self { tokens, short, prefix_file: None, prefix_role }
    }
}

/// Handling of prompts below the required length. Exhaustive: they are sent or not.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShortTexts {
    /// They are sent unchanged.
    #[default]
    Cap,
    /// They are left out.
    Drop,
}

/// Role of the text that fills up a prompt. Exhaustive: the prompt is the user's, and only a system
/// message precedes it.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PrefixRole {
    /// A system message if the prompt is sent as messages; otherwise text before the prompt.
    #[default]
    System,
    /// Text at the beginning of the first message.
    User,
}

/// Converts prompts to requests if they have, or can be given, the required length.
pub(super) struct Shaper<'a> {
    measure: Measure<'a>,
    goal: Option<Goal<'a>>,
}

/// A required length with what is needed to reach it.
struct Goal<'a> {
    target: &'a TargetLength,
    tokenizer: &'a dyn Tokenizer,
    /// Ids of special tokens, which are removed from texts.
    special: Vec<u32>,
    /// Tokens of the filling text.
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

    /// Returns whether a length is required, which only texts can be given.
    pub(super) fn has_goal(&self) -> bool {
        self.goal.is_some()
    }

    /// Converts a prompt to a request, or returns `None` if its length is unsuitable.
    pub(super) fn ask(&self, prompt: &str) -> Result<Option<RequestDraft>, DatasetError> {
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

    /// Converts a conversation to a request. With a filling text, the length of the whole
    /// conversation counts and one that is too long is left out; otherwise only the last message's
    /// length counts.
    pub(super) fn ask_last(
        &self,
        mut messages: Vec<JsonObject>,
    ) -> Result<Option<RequestDraft>, DatasetError> {
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

    /// Cuts a prompt to the required length. Returns `None` if it is shorter and must be dropped.
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

    /// Returns the number of tokens missing from the required length; negative if there are too
    /// many.
    fn missing(&self, texts: &[&str]) -> Result<i64, TokenizerError> {
        let counts = texts.iter().map(|text| self.tokenizer.count(text, SpecialTokens::Omit));
        let counts = counts.collect::<Result<Vec<_>, _>>()?;
        Ok(i64::from(self.target.tokens) - counts.into_iter().map(i64::from).sum::<i64>())
    }

    /// Adds the filling text to a conversation.
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

    /// Returns a text of `tokens` tokens from the beginning of the filling text, repeated as
    /// needed.
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

const NOTHING_TO_FILL: &str = "prefix_file fills short prompts, which input_len_mode \"drop\" \
    leaves out: use \"cap\", or leave prefix_file out";

/// Returns the texts of all messages.
fn contents(messages: &[JsonObject]) -> Vec<&str> {
    messages.iter().map(content).collect()
}

/// Returns a message's text, or the empty string if its content is not a text.
fn content(message: &JsonObject) -> &str {
    message.get("content").and_then(serde_json::Value::as_str).unwrap_or_default()
}
