//! The files of a tokenizer's folder and what is read from each.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use servemark_core::{JsonObject, TokenizerError};

/// Where a tokenizer's files are.
pub(crate) struct Folder {
    tokenizer: PathBuf,
}

impl Folder {
    /// The folder at `path`, or that of the `tokenizer.json` at `path`.
    pub(crate) fn at(path: &Path) -> Result<Self, TokenizerError> {
        let tokenizer = if path.is_dir() { path.join("tokenizer.json") } else { path.to_owned() };
        if tokenizer.is_file() {
            Ok(Self { tokenizer })
        } else {
            Err(TokenizerError::Missing { path: tokenizer })
        }
    }

    /// The tokenizer itself: its file and what is in it.
    pub(crate) fn tokenizer(&self) -> Result<(&Path, Value), TokenizerError> {
        let text = fs::read_to_string(&self.tokenizer).map_err(unusable(&self.tokenizer))?;
        let value = serde_json::from_str(&text).map_err(unusable(&self.tokenizer))?;
        Ok((&self.tokenizer, value))
    }

    /// `tokenizer_config.json`; a folder without one has the defaults.
    pub(crate) fn config(&self) -> Result<Config, TokenizerError> {
        let path = self.tokenizer.with_file_name("tokenizer_config.json");
        match read_optional(&path)? {
            Some(text) => serde_json::from_str(&text).map_err(unusable(&path)),
            None => Ok(Config::default()),
        }
    }

    /// The chat template: `chat_template.jinja`, else the one in the configuration.
    pub(crate) fn chat_template(&self, config: &Config) -> Result<Option<String>, TokenizerError> {
        let path = self.tokenizer.with_file_name("chat_template.jinja");
        let file = read_optional(&path)?;
        Ok(file.or_else(|| config.chat_template.as_ref()?.default().map(str::to_owned)))
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
        match self.keys.get(role)? {
            Value::Object(token) => token.get("content")?.as_str(),
            text => text.as_str(),
        }
    }

    /// A switch such as `add_bos_token`, if it is there at all.
    pub(crate) fn switch(&self, name: &str) -> Option<bool> {
        self.keys.get(name).map(|value| value.as_bool().unwrap_or(false))
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
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unusable(path)(error)),
    }
}
