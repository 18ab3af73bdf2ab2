//! Templates of thirteen models, compared with recordings of transformers.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use servemark_core::JsonObject;
use servemark_tokenizer::{ChatTemplate, Conversation};

#[derive(Deserialize)]
struct Goldens {
    now: u64,
    special_tokens: BTreeMap<String, String>,
    tools: Vec<JsonObject>,
    chats: BTreeMap<String, Vec<JsonObject>>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    template: String,
    chat: String,
    tools: bool,
    add_generation_prompt: bool,
    variables: JsonObject,
    text: Option<String>,
    /// The message with which the template refuses the conversation.
    error: Option<String>,
}

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../fixtures/chat_templates"].iter().collect()
}

fn goldens() -> Goldens {
    serde_json::from_str(&fs::read_to_string(folder().join("goldens.json")).unwrap()).unwrap()
}

/// Returns the conversation of a case as this crate renders it.
fn rendered(goldens: &Goldens, case: &Case) -> Result<String, String> {
    let source = fs::read_to_string(folder().join(format!("{}.jinja", case.template))).unwrap();
    let template = ChatTemplate::new(&source, goldens.special_tokens.clone());
    let mut conversation = Conversation::new(&goldens.chats[&case.chat]);
    conversation.tools = case.tools.then_some(&goldens.tools);
    conversation.add_generation_prompt = case.add_generation_prompt;
    conversation.variables = Some(&case.variables);
    conversation.now = Some(Duration::from_secs(goldens.now));
    template.render(&conversation).map_err(|error| error.to_string())
}

#[test]
fn every_template_renders_as_in_transformers() {
    let goldens = goldens();
    let mut compared = BTreeMap::<&str, usize>::new();
    for case in &goldens.cases {
        let Case { template, chat, tools, add_generation_prompt, variables, .. } = case;
        let name = format!("{template} {chat} {tools} {add_generation_prompt} {variables:?}");
        match (&case.text, &case.error) {
            (Some(text), _) => assert_eq!(rendered(&goldens, case).as_ref(), Ok(text), "{name}"),
            (None, Some(refusal)) => {
                let error = rendered(&goldens, case).unwrap_err();
                assert!(error.contains(refusal), "{name}: {error}");
            }
            // Python's engine refuses to concatenate text and other values, with a message of its
            // own.
            (None, None) => continue,
        }
        *compared.entry(template).or_default() += 1;
    }
    assert_eq!(compared.len(), 13);
    assert!(compared.values().all(|count| *count >= 15), "{compared:?}");
}
