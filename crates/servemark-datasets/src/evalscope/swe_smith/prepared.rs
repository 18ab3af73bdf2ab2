//! Conversations prepared in a file.

use std::path::Path;

use serde::Deserialize;
use serde_json::json;
use servemark_core::{DatasetError, DrawContext, JsonObject, parallel};

use super::EvalscopeSweSmithSpec;
use crate::evalscope::measure::Measure;
use crate::evalscope::{Conversation, EvalscopeSpec};
use crate::{python_json, text_file};

/// The file of conversations.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    conversations: Vec<Vec<BuiltTurn>>,
}

/// The messages that a turn adds, and the conversation's id for routing.
#[derive(Deserialize)]
struct BuiltTurn {
    #[serde(default)]
    messages: Vec<JsonObject>,
    rid: Option<String>,
}

impl EvalscopeSweSmithSpec {
    pub(super) fn read(
        &self,
        path: &Path,
        of: &EvalscopeSpec,
        count: usize,
        context: &DrawContext<'_>,
    ) -> Result<Vec<Conversation>, DatasetError> {
        let text = text_file::read(path)?;
        let File { mut conversations } = serde_json::from_str(&python_json::standard(&text))
            .map_err(|error| text_file::malformed(path, error.line(), error.to_string()))?;
        let offset = usize::try_from(of.offset).unwrap_or(usize::MAX);
        if offset < conversations.len() {
            conversations.rotate_left(offset);
        }
        let measure = Measure::of(of, context);
        let name = "reading conversations";
        parallel::first(name, &conversations, count, context.progress, |turns| {
            self.conversation(turns, &measure)
        })
    }

    fn conversation(
        &self,
        turns: &[BuiltTurn],
        measure: &Measure<'_>,
    ) -> Result<Option<Conversation>, DatasetError> {
        let most = self.most_turns.map_or(usize::MAX, |most| most.get() as usize);
        let messages = turns.iter().take(most).map(|turn| turn.messages.clone()).collect();
        let mut conversation = Conversation::of(messages, measure)?;
        let name = turns.first().and_then(|turn| turn.rid.as_ref()).filter(|rid| !rid.is_empty());
        if let (Some(conversation), Some(name)) = (&mut conversation, name) {
            for (number, asked) in (1..).zip(conversation.all_mut()) {
                asked.extra_body.insert("rid".to_owned(), json!(format!("{name}_t{number}")));
            }
        }
        Ok(conversation)
    }
}
