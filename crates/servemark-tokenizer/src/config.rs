//! The relevant contents of `tokenizer_config.json`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use servemark_core::JsonObject;

/// The relevant contents of `tokenizer_config.json`.
#[derive(Default, Deserialize)]
pub(crate) struct Config {
    chat_template: Option<Templates>,
    #[serde(flatten)]
    keys: JsonObject,
}

/// One chat template, or several with names.
#[derive(Deserialize)]
#[serde(untagged)]
enum Templates {
    One(String),
    Named(Vec<NamedTemplate>),
}

#[derive(Deserialize)]
struct NamedTemplate {
    name: String,
    template: String,
}

impl Config {
    /// Returns the chat template, or the default one if there are several.
    pub(crate) fn chat_template(&self) -> Option<&str> {
        self.chat_template.as_ref()?.default()
    }

    /// Returns the text of a special token such as `bos_token`.
    pub(crate) fn token(&self, role: &str) -> Option<&str> {
        token_text(self.keys.get(role)?)
    }

    /// Returns the texts of all special tokens, with or without a role.
    pub(crate) fn special_texts(&self) -> Vec<&str> {
        let roles = SPECIAL_TOKENS.iter().filter_map(|role| self.token(role));
        let lists = ["additional_special_tokens", "extra_special_tokens"];
        let listed = lists.iter().filter_map(|list| self.keys.get(*list)).flat_map(values);
        roles.chain(listed.filter_map(token_text)).collect()
    }

    /// Returns the texts of the special tokens that have a role, by role.
    pub(crate) fn special_tokens(&self) -> BTreeMap<String, String> {
        let token = |role: &str| Some((role.to_owned(), self.token(role)?.to_owned()));
        SPECIAL_TOKENS.into_iter().filter_map(token).collect()
    }

    /// Returns the value of a key that holds a string.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.keys.get(name)?.as_str()
    }

    /// Returns the tokens that are added to the vocabulary, with their ids.
    pub(crate) fn added_tokens(&self) -> impl Iterator<Item = (u32, String)> {
        let tokens = self.keys.get("added_tokens_decoder").and_then(Value::as_object);
        let token = |(id, token): (&String, &Value)| {
            Some((id.parse().ok()?, token.get("content")?.as_str()?.to_owned()))
        };
        tokens.into_iter().flatten().filter_map(token)
    }

    /// Returns the value of a switch such as `add_bos_token`, if the key exists.
    pub(crate) fn switch(&self, name: &str) -> Option<bool> {
        self.keys.get(name).map(|value| value.as_bool().unwrap_or(false))
    }
}

/// Returns a token's text from its JSON, a string or an object of properties.
fn token_text(token: &Value) -> Option<&str> {
    match token {
        Value::Object(token) => token.get("content")?.as_str(),
        text => text.as_str(),
    }
}

/// Returns the values of a list, or of an object that names each of them.
fn values(list: &Value) -> Vec<&Value> {
    match list {
        Value::Array(values) => values.iter().collect(),
        Value::Object(named) => named.values().collect(),
        _ => Vec::new(),
    }
}

impl Templates {
    fn default(&self) -> Option<&str> {
        match self {
            Self::One(template) => Some(template),
            Self::Named(templates) => {
                let default = templates.iter().find(|template| template.name == "default")?;
                Some(&default.template)
            }
        }
    }
}

/// The roles of special tokens that a template may use.
const SPECIAL_TOKENS: [&str; 7] =
    ["bos_token", "cls_token", "eos_token", "mask_token", "pad_token", "sep_token", "unk_token"];
