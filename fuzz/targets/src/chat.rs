//! Target for chat templates.

use std::collections::BTreeMap;
use std::time::Duration;

use servemark::core::JsonObject;
use servemark::tokenizer::{ChatTemplate, Conversation};

/// Renders any bytes as a chat template: rendering ends within its limits on steps and text.
pub fn chat_template(bytes: &[u8]) {
    let Ok(source) = std::str::from_utf8(bytes) else { return };
    let tokens = BTreeMap::from([("eos_token".to_owned(), "</s>".to_owned())]);
    let message = |role: &str, content: &str| -> JsonObject {
        let pair = [("role", role), ("content", content)];
        pair.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect()
    };
    let messages = [message("system", "Be brief."), message("user", "Why?\n<b>")];
    let mut conversation = Conversation::new(&messages);
    conversation.now = Some(Duration::from_secs(1_700_000_000));
    if let Err(error) = ChatTemplate::new(source, tokens).render(&conversation) {
        assert!(!error.to_string().contains("engine failed"), "{error}");
    }
}
