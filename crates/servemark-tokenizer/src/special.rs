//! The special tokens around a text.

use servemark_core::TokenizerError;
use tokenizers::pipeline::{PipelineToken, Template};

use crate::config::Config;

/// The ids before and after a text.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Wrapping {
    pub(crate) before: Vec<u32>,
    pub(crate) after: Vec<u32>,
}

impl Wrapping {
    /// Returns the ids that a template of `tokenizer.json` adds.
    pub(crate) fn of(template: &Template) -> Self {
        let ids = |run: &[(PipelineToken, u8)]| run.iter().map(|(token, _)| token.id()).collect();
        Self { before: ids(&template.prefix), after: ids(&template.suffix) }
    }

    /// Returns the ids that `tokenizer_config.json` adds, if it sets them. transformers 5 then
    /// ignores `tokenizer.json`, even where the configuration switches tokens off.
    pub(crate) fn configured(
        config: &Config,
        id_of: impl Fn(&str) -> Result<u32, TokenizerError>,
    ) -> Result<Option<Self>, TokenizerError> {
        let (add_bos, add_eos) = (config.switch("add_bos_token"), config.switch("add_eos_token"));
        if add_bos.is_none() && add_eos.is_none() {
            return Ok(None);
        }
        let ids = |add: Option<bool>, role: &str| {
            let token = config.token(role).filter(|_| add == Some(true));
            token.map(&id_of).transpose().map(Vec::from_iter)
        };
        Ok(Some(Self { before: ids(add_bos, "bos_token")?, after: ids(add_eos, "eos_token")? }))
    }

    /// The number of ids.
    pub(crate) fn len(&self) -> usize {
        self.before.len() + self.after.len()
    }
}
