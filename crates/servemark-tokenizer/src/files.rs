//! The files of a tokenizer's folder and what is read from each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use servemark_core::{JsonObject, TokenizerError};

use crate::layout::{self, Read};
use crate::limits;

/// Where a tokenizer's files are.
pub(crate) struct Folder {
    tokenizer: PathBuf,
}

impl Folder {
    /// The folder at `path`, or that of the tokenizer's file at `path`.
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

    /// The tokenizer itself: its file and what is in it.
    pub(crate) fn tokenizer(&self, config: &Config) -> Result<(&Path, Read), TokenizerError> {
        Ok((&self.tokenizer, layout::read(&self.tokenizer, config)?))
    }

    /// `tokenizer_config.json`; a folder without one has the defaults.
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

    /// What a JSON file of the folder says, if there is one.
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

    /// The chat template: `chat_template.jinja`, else the one in the configuration.
    pub(crate) fn chat_template(&self, config: &Config) -> Result<Option<String>, TokenizerError> {
        if self.is_mistrals() {
            return Ok(None);
        }
        let path = self.tokenizer.with_file_name("chat_template.jinja");
        let file = read_optional(&path)?;
        Ok(file.or_else(|| config.chat_template.as_ref()?.default().map(str::to_owned)))
    }
}

/// Only whoever asks for Mistral's own file hears of it.
const NO_TEKKEN: &str =
    "it is not there; what else the folder holds is taken without --tokenizer-mode mistral";

impl Folder {
    /// Whether the tokenizer is in Mistral's own layout. What lies beside it belongs to another.
    fn is_mistrals(&self) -> bool {
        self.tokenizer.file_name().is_some_and(|name| name == layout::TEKKEN)
    }
}

/// What `tokenizer_config.json` says that matters here.
#[derive(Default, Deserialize)]
pub(crate) struct Config {
    chat_template: Option<Templates>,
    #[serde(flatten)]
    keys: JsonObject,
}

/// One chat template or several with names.
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
    /// The text of a special token such as `bos_token`.
    pub(crate) fn token(&self, role: &str) -> Option<&str> {
        token_text(self.keys.get(role)?)
    }

    /// The texts of all special tokens: those with a role and those without.
    pub(crate) fn special_texts(&self) -> Vec<&str> {
        let roles = SPECIAL_TOKENS.iter().filter_map(|role| self.token(role));
        let lists = ["additional_special_tokens", "extra_special_tokens"];
        let listed = lists.iter().filter_map(|list| self.keys.get(*list)).flat_map(values);
        roles.chain(listed.filter_map(token_text)).collect()
    }

    /// The texts of all special tokens, by their roles.
    pub(crate) fn special_tokens(&self) -> BTreeMap<String, String> {
        let token = |role: &str| Some((role.to_owned(), self.token(role)?.to_owned()));
        SPECIAL_TOKENS.into_iter().filter_map(token).collect()
    }

    /// Any other text.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.keys.get(name)?.as_str()
    }

    /// The tokens that are added to the vocabulary, by their ids.
    pub(crate) fn added_tokens(&self) -> impl Iterator<Item = (u32, String)> {
        let tokens = self.keys.get("added_tokens_decoder").and_then(Value::as_object);
        let token = |(id, token): (&String, &Value)| {
            Some((id.parse().ok()?, token.get("content")?.as_str()?.to_owned()))
        };
        tokens.into_iter().flatten().filter_map(token)
    }

    /// A switch such as `add_bos_token`, if it is there at all.
    pub(crate) fn switch(&self, name: &str) -> Option<bool> {
        self.keys.get(name).map(|value| value.as_bool().unwrap_or(false))
    }
}

/// A token's text, which may stand alone or among its properties.
fn token_text(token: &Value) -> Option<&str> {
    match token {
        Value::Object(token) => token.get("content")?.as_str(),
        text => text.as_str(),
    }
}

/// The values of a list, or of an object that gives each a name.
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

/// An error of the file at `path`.
pub(crate) fn unusable<E: ToString>(path: &Path) -> impl FnOnce(E) -> TokenizerError + '_ {
    |error| TokenizerError::Load { path: path.to_owned(), reason: error.to_string() }
}

fn read_optional(path: &Path) -> Result<Option<String>, TokenizerError> {
    if path.exists() { limits::read_text(path).map(Some) } else { Ok(None) }
}

/// The roles whose tokens a template may name.
const SPECIAL_TOKENS: [&str; 7] =
    ["bos_token", "cls_token", "eos_token", "mask_token", "pad_token", "sep_token", "unk_token"];
