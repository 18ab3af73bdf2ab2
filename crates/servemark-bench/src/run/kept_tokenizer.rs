//! The tokenizer of a run, kept for the next run.

use std::sync::{Arc, Mutex, PoisonError};

use servemark_core::{NoTokenizer, Tokenizer, TokenizerError};
use servemark_datasets::DatasetSpec;
use servemark_tokenizer::HfTokenizer;

use super::discover::TokenizerSource;

/// The last tokenizer that a context and its clones loaded. The runs of a sweep, of a search or of a
/// comparison mostly use one tokenizer, which is then loaded once; files that change meanwhile are not
/// read again.
#[derive(Clone, Default)]
pub struct KeptTokenizer {
    last: Arc<Mutex<Option<Loaded>>>,
}

struct Loaded {
    source: TokenizerSource,
    only_decodes: bool,
    tokenizer: Arc<dyn Tokenizer>,
}

impl KeptTokenizer {
    /// Returns a tokenizer with the parts that a data set needs. Answers are counted after the run,
    /// and any remaining part is loaded then.
    pub(crate) fn get(
        &self,
        source: &TokenizerSource,
        dataset: &DatasetSpec,
    ) -> Result<Arc<dyn Tokenizer>, TokenizerError> {
        let only_decodes = dataset.only_decodes();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = &*last
            && (&kept.source, kept.only_decodes) == (source, only_decodes)
        {
            return Ok(Arc::clone(&kept.tokenizer));
        }
        let tokenizer = load(source, only_decodes)?;
        let source = source.clone();
        *last = Some(Loaded { source, only_decodes, tokenizer: Arc::clone(&tokenizer) });
        Ok(tokenizer)
    }
}

impl std::fmt::Debug for KeptTokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptTokenizer").finish_non_exhaustive()
    }
}

fn load(
    source: &TokenizerSource,
    only_decodes: bool,
) -> Result<Arc<dyn Tokenizer>, TokenizerError> {
    Ok(match source {
        TokenizerSource::Bundled => Arc::new(HfTokenizer::from_json(BUNDLED)?),
        TokenizerSource::At(spec) if only_decodes => Arc::new(spec.load_to_decode()?),
        TokenizerSource::At(spec) => Arc::new(spec.load()?),
        TokenizerSource::Nowhere => Arc::new(NoTokenizer),
    })
}

/// A small real tokenizer, which is sufficient for the simulator's words: a Unigram model of 1,000
/// entries from the tests of sentencepiece, under Apache-2.0.
const BUNDLED: &str = include_str!("bundled/tokenizer.json");

#[cfg(test)]
mod tests {
    use servemark_datasets::{DatasetSpec, RandomSpec};

    use super::{Arc, KeptTokenizer, TokenizerSource};

    #[test]
    fn the_next_run_takes_the_tokenizer_of_the_last_one_unless_it_needs_another() {
        let dataset = DatasetSpec::Random(RandomSpec::default());
        let kept = KeptTokenizer::default();
        let first = kept.clone().get(&TokenizerSource::Bundled, &dataset).unwrap();
        let second = kept.get(&TokenizerSource::Bundled, &dataset).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        let none = kept.get(&TokenizerSource::Nowhere, &dataset).unwrap();
        assert!(!Arc::ptr_eq(&none, &first));
        let third = kept.get(&TokenizerSource::Bundled, &dataset).unwrap();
        assert!(!Arc::ptr_eq(&third, &first));
    }
}
