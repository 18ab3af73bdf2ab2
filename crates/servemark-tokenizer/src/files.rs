//! The files of a tokenizer's folder, and the values that are read from each.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use servemark_core::TokenizerError;

use crate::config::Config;
use crate::error::unusable;
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
        Ok(file.or_else(|| config.chat_template().map(str::to_owned)))
    }

    /// Returns whether there is a chat template, in a file of its own, in the configuration or as a
    /// part of the layout.
    pub(crate) fn has_chat_template(&self) -> Result<bool, TokenizerError> {
        let config = self.config()?;
        let is_beside = self.chat_template(&config)?.is_some();
        Ok(is_beside || self.tokenizer(&config)?.1.chat_template.is_some())
    }
}

/// The error for a missing `tekken.json`, which only `--tokenizer-mode mistral` asks for.
const NO_TEKKEN: &str =
    "the file does not exist; without `model.mistral_tokenizer` the folder's other files are used";

impl Folder {
    /// Whether the tokenizer is in Mistral's own layout. The files beside it then belong to another
    /// tokenizer.
    fn is_mistrals(&self) -> bool {
        self.tokenizer.file_name().is_some_and(|name| name == layout::TEKKEN)
    }
}

fn read_optional(path: &Path) -> Result<Option<String>, TokenizerError> {
    if path.exists() { limits::read_text(path).map(Some) } else { Ok(None) }
}
