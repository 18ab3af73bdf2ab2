//! The special tokens that are put around a text.

use servemark_core::TokenizerError;
use tokenizers::pipeline::{PipelineToken, Template};

use crate::files::Config;

/// The ids that go before and after a text.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Wrapping {
    pub(crate) before: Vec<u32>,
    pub(crate) after: Vec<u32>,
}

impl Wrapping {
    /// What a template of `tokenizer.json` puts there.
    pub(crate) fn of(template: &Template) -> Self {
        let ids = |run: &[(PipelineToken, u8)]| run.iter().map(|(token, _)| token.id()).collect();
        Self { before: ids(&template.prefix), after: ids(&template.suffix) }
    }

    /// What `tokenizer_config.json` asks for, if it does. transformers 5 then goes by it and not
    /// by `tokenizer.json`, even where it switches tokens off.
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

    /// How many tokens that is.
    pub(crate) fn len(&self) -> usize {
        self.before.len() + self.after.len()
    }
}
