//! How long prompts are, and whether that is what was asked for.

use servemark_core::{
    DatasetError, DrawContext, JsonObject, SpecialTokens, Tokenizer, TokenizerError,
};

use super::{Asked, EvalscopeSpec};

/// Counts tokens where there is a tokenizer, characters where there is none.
#[derive(Clone, Copy)]
pub(super) struct Measure<'a> {
    of: &'a EvalscopeSpec,
    tokenizer: Option<&'a dyn Tokenizer>,
}

impl<'a> Measure<'a> {
    pub(super) fn of(of: &'a EvalscopeSpec, context: &DrawContext<'a>) -> Self {
        Self { of, tokenizer: of.tokenizer.then_some(context.tokenizer) }
    }

    /// The tokenizer, which whoever asks for it needs.
    pub(super) fn tokenizer(&self, what: &str) -> Result<&'a dyn Tokenizer, DatasetError> {
        self.tokenizer.ok_or_else(|| no_tokenizer(what))
    }

    /// Whether a text becomes a message.
    pub(super) fn is_chat(&self) -> bool {
        self.of.chat
    }

    /// Whether a prompt's length lies within the bounds that were asked for.
    pub(super) fn fits(&self, prompt: &str) -> Result<bool, TokenizerError> {
        let length = match self.tokenizer {
            None => prompt.chars().count(),
            Some(tokenizer) if self.of.chat => in_chat(tokenizer, &[user(prompt)])?,
            Some(tokenizer) => tokenizer.encode(prompt, SpecialTokens::Add)?.len(),
        };
        Ok((self.of.shortest as usize..=self.of.longest as usize).contains(&length))
    }

    /// A text as a request of its own.
    pub(super) fn ask(&self, text: &str) -> Result<Asked, DatasetError> {
        if self.of.chat {
            return self.ask_in_chat(vec![user(text)]);
        }
        self.ask_alone(text.to_owned())
    }

    /// A text as a request, whatever others become.
    pub(super) fn ask_alone(&self, text: String) -> Result<Asked, DatasetError> {
        let tokens = self.count([text.as_str()])?;
        Ok(Asked::new(text, tokens))
    }

    /// How many tokens texts have together; none where there is no tokenizer.
    pub(super) fn count<'t>(
        &self,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Result<u32, TokenizerError> {
        let Some(tokenizer) = self.tokenizer else { return Ok(0) };
        texts.into_iter().map(|text| tokenizer.count(text, SpecialTokens::Omit)).sum()
    }

    /// A conversation as a request. It is counted where the server is asked for a chat, too.
    pub(super) fn ask_in_chat(&self, messages: Vec<JsonObject>) -> Result<Asked, DatasetError> {
        let tokens = match self.tokenizer.filter(|_| self.of.chat) {
            Some(tokenizer) => in_chat(tokenizer, &messages)?,
            None => 0,
        };
        Ok(Asked::new(messages, tokens as u32))
    }
}

/// What cannot be had without a tokenizer.
pub(super) fn no_tokenizer(what: &str) -> DatasetError {
    DatasetError::Settings(format!("{what} needs a tokenizer: give it with --tokenizer-path"))
}

/// How many tokens a conversation has as the model reads it, or where nobody knows how it reads
/// conversations, what is said in it.
pub(super) fn in_chat(
    tokenizer: &dyn Tokenizer,
    messages: &[JsonObject],
) -> Result<usize, TokenizerError> {
    let rendered = match tokenizer.apply_chat_template(messages) {
        Err(TokenizerError::NoChatTemplate) => said(messages),
        rendered => rendered?,
    };
    Ok(tokenizer.encode(&rendered, SpecialTokens::Omit)?.len())
}

/// The texts of a conversation, one after the other.
fn said(messages: &[JsonObject]) -> String {
    messages.iter().filter_map(|message| message.get("content")?.as_str()).collect()
}

/// What a user says.
pub(super) fn user(text: &str) -> JsonObject {
    message("user", text)
}

/// What somebody says.
pub(super) fn message(role: &str, text: &str) -> JsonObject {
    let parts = [("role", role), ("content", text)];
    parts.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect()
}

#[cfg(test)]
mod tests {
    use servemark_testkit::ByteTokenizer;

    use super::*;

    #[test]
    fn without_a_template_what_is_said_is_counted() {
        let messages = [user("What?"), message("assistant", "That."), JsonObject::new()];
        assert_eq!(in_chat(&ByteTokenizer, &messages).unwrap(), 10);
        assert_eq!(in_chat(&ByteTokenizer, &[user("")]).unwrap(), 0);
    }
}
