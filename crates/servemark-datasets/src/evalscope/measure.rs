//! Prompt lengths and their bounds.

use servemark_core::{
    DatasetError, DrawContext, JsonObject, SpecialTokens, Tokenizer, TokenizerError,
};

use super::{EvalscopeSpec, RequestDraft};

/// Counts tokens with the tokenizer, or characters if there is none.
#[derive(Clone, Copy)]
pub(super) struct Measure<'a> {
    of: &'a EvalscopeSpec,
    tokenizer: Option<&'a dyn Tokenizer>,
}

impl<'a> Measure<'a> {
    pub(super) fn of(of: &'a EvalscopeSpec, context: &DrawContext<'a>) -> Self {
        Self { of, tokenizer: of.tokenizer.then_some(context.tokenizer) }
    }

    /// Returns the tokenizer, or an error with the name of what needs one.
    pub(super) fn tokenizer(&self, what: &str) -> Result<&'a dyn Tokenizer, DatasetError> {
        self.tokenizer.ok_or_else(|| no_tokenizer(what))
    }

    /// Returns whether texts are sent as chat messages.
    pub(super) fn is_chat(&self) -> bool {
        self.of.chat
    }

    /// Returns whether a prompt's length is within the requested bounds.
    pub(super) fn fits(&self, prompt: &str) -> Result<bool, TokenizerError> {
        let length = match self.tokenizer {
            None => prompt.chars().count(),
            Some(tokenizer) if self.of.chat => in_chat(tokenizer, &[user(prompt)])?,
            Some(tokenizer) => tokenizer.encode(prompt, SpecialTokens::Add)?.len(),
        };
        Ok((self.of.shortest as usize..=self.of.longest as usize).contains(&length))
    }

    /// Converts a text to a request: a chat message or a plain text, depending on the settings.
    pub(super) fn ask(&self, text: &str) -> Result<RequestDraft, DatasetError> {
        if self.of.chat {
            return self.ask_in_chat(vec![user(text)]);
        }
        self.ask_alone(text.to_owned())
    }

    /// Converts a text to a plain-text request, even if texts are otherwise sent as messages.
    pub(super) fn ask_alone(&self, text: String) -> Result<RequestDraft, DatasetError> {
        let tokens = self.count([text.as_str()])?;
        Ok(RequestDraft::new(text, tokens))
    }

    /// Returns the total token count of the texts, or 0 without a tokenizer.
    pub(super) fn count<'t>(
        &self,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Result<u32, TokenizerError> {
        let Some(tokenizer) = self.tokenizer else { return Ok(0) };
        texts.into_iter().map(|text| tokenizer.count(text, SpecialTokens::Omit)).sum()
    }

    /// Converts messages to a request. Tokens are counted only if the settings ask for a chat and
    /// there is a tokenizer.
    pub(super) fn ask_in_chat(
        &self,
        messages: Vec<JsonObject>,
    ) -> Result<RequestDraft, DatasetError> {
        let tokens = match self.tokenizer.filter(|_| self.of.chat) {
            Some(tokenizer) => in_chat_or_plain(tokenizer, &messages)?,
            None => 0,
        };
        Ok(RequestDraft::new(messages, tokens as u32))
    }
}

/// Returns the error for a data set or option that requires a tokenizer.
pub(super) fn no_tokenizer(what: &str) -> DatasetError {
    DatasetError::Settings(format!("{what} needs a tokenizer: give it with `model.tokenizer`"))
}

/// Returns the token count of messages rendered with the chat template. Without one it fails, as
/// evalscope does where it must know the length of a prompt.
pub(super) fn in_chat(
    tokenizer: &dyn Tokenizer,
    messages: &[JsonObject],
) -> Result<usize, TokenizerError> {
    let rendered = tokenizer.apply_chat_template(messages)?;
    Ok(tokenizer.encode(&rendered, SpecialTokens::Omit)?.len())
}

/// Returns the token count of messages rendered with the chat template, or of their texts if there
/// is no chat template.
pub(super) fn in_chat_or_plain(
    tokenizer: &dyn Tokenizer,
    messages: &[JsonObject],
) -> Result<usize, TokenizerError> {
    match in_chat(tokenizer, messages) {
        Err(TokenizerError::NoChatTemplate) => {
            let texts = messages.iter().filter_map(|message| message.get("content")?.as_str());
            Ok(tokenizer.encode(&texts.collect::<String>(), SpecialTokens::Omit)?.len())
        }
        count => count,
    }
}

/// Returns a chat message of the user.
pub(super) fn user(text: &str) -> JsonObject {
    message("user", text)
}

/// Returns a chat message of the given role.
pub(super) fn message(role: &str, text: &str) -> JsonObject {
    let parts = [("role", role), ("content", text)];
    parts.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect()
}

#[cfg(test)]
mod tests {
    use servemark_testkit::ByteTokenizer;

    use super::*;

    #[test]
    fn without_a_template_texts_are_counted_but_no_length_is_judged() {
        let messages = [user("What?"), message("assistant", "That."), JsonObject::new()];
        assert_eq!(in_chat_or_plain(&ByteTokenizer, &messages).unwrap(), 10);
        let error = in_chat(&ByteTokenizer, &messages).unwrap_err();
        assert!(matches!(error, TokenizerError::NoChatTemplate));
    }
}
