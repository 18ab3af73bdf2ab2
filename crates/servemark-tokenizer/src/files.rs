//! The files of a tokenizer's folder, and the values that are read from each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use servemark_core::{JsonObject, TokenizerError};

use crate::layout::{self, Read};
use crate::limits;

/// The location of a tokenizer's files.
pub(crate) struct Folder {
    tokenizer: PathBuf,
}

impl Folder {
    /// Finds the files in the folder `path`, or beside the tokenizer's file `path`.
    pub(crate) fn at(path: &Path) -> Result<Self, TokenizerError> {
        let in_folder =
            || layout::vocabulary_of(path).unwrap_or_else(|| path.join("tokenizer.json"));
        let tokenizer = if path.is_dir() { in_folder() } else { path.to_owned() };
        let folder = Self { tokenizer };
        match &folder.tokenizer {
            file if file.is_file() => Ok(folder),
            file if folder.is_mistrals() => Err(unusable(file)(NO_TEKKEN)),
            file => Err(TokenizerError::Missing { path: file.clone() }),
        }
    }

    /// Reads the tokenizer itself. Returns the path and contents of its file.
    pub(crate) fn tokenizer(&self, config: &Config) -> Result<(&Path, Read), TokenizerError> {
        Ok((&self.tokenizer, layout::read(&self.tokenizer, config)?))
    }

    /// Reads `tokenizer_config.json`; without one, the defaults apply.
    pub(crate) fn config(&self) -> Result<Config, TokenizerError> {
        if self.is_mistrals() {
            return Ok(Config::default());
        }
        let path = self.tokenizer.with_file_name("tokenizer_config.json");
        match read_optional(&path)? {
            Some(text) => serde_json::from_str(&text).map_err(unusable(&path)),
            None => Ok(Config::default()),
        }
    }

    /// Reads a JSON file of the folder, if it exists.
    pub(crate) fn json<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<T>, TokenizerError> {
        if self.is_mistrals() {
            return Ok(None);
        }
        let path = self.tokenizer.with_file_name(name);
        let text = read_optional(&path)?;
        text.map(|text| serde_json::from_str(&text).map_err(unusable(&path))).transpose()
    }

    /// Reads the chat template: `chat_template.jinja`, else the one in the configuration.
    pub(crate) fn chat_template(&self, config: &Config) -> Result<Option<String>, TokenizerError> {
        if self.is_mistrals() {
            return Ok(None);
        }
        let path = self.tokenizer.with_file_name("chat_template.jinja");
        let file = read_optional(&path)?;
        Ok(file.or_else(|| config.chat_template.as_ref()?.default().map(str::to_owned)))
    }
}

/// The error for a missing `tekken.json`, which only `--tokenizer-mode mistral` asks for.
const NO_TEKKEN: &str =
    "the file does not exist; without --tokenizer-mode mistral the folder's other files are used";

impl Folder {
    /// Whether the tokenizer is in Mistral's own layout. The files beside it then belong to another
    /// tokenizer.
    fn is_mistrals(&self) -> bool {
        self.tokenizer.file_name().is_some_and(|name| name == layout::TEKKEN)
    }
}

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

/// Wraps an error about the file at `path`.
pub(crate) fn unusable<E: ToString>(path: &Path) -> impl FnOnce(E) -> TokenizerError + '_ {
    |error| TokenizerError::Load { path: path.to_owned(), reason: error.to_string() }
}

fn read_optional(path: &Path) -> Result<Option<String>, TokenizerError> {
    if path.exists() { limits::read_text(path).map(Some) } else { Ok(None) }
}

/// The roles of special tokens that a template may use.
const SPECIAL_TOKENS: [&str; 7] =
    ["bos_token", "cls_token", "eos_token", "mask_token", "pad_token", "sep_token", "unk_token"];
