//! A tokenizer that is loaded entirely or in part.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use servemark_core::TokenizerError;
use tokenizers::pipeline::{EncodeOptions, Override, PipelineToken, PipelineTokenizer};

use crate::byte_tokens::ByteTokens;
use crate::error::unusable;
use crate::special::Wrapping;

/// A tokenizer, or the part of one that decodes. Most of the time to build the library's tokenizer
/// goes into parts that only encoding needs.
pub(crate) enum Pipeline {
    /// The library's tokenizer.
    Whole(PipelineTokenizer),
    /// The library's tokenizer without merges. It can decode, match added tokens in a text, and
    /// return the special tokens around a text.
    Unmerged(PipelineTokenizer, Later),
    /// A table of bytes in place of the library's tokenizer.
    Bytes(ByteTokens, Later),
}

/// The part of a tokenizer that decodes.
pub(crate) enum DecodingPart {
    Unmerged(PipelineTokenizer),
    Bytes(ByteTokens),
}

impl DecodingPart {
    /// Adds the tokenizer that is loaded when something is encoded.
    pub(crate) fn and(self, later: Later) -> Pipeline {
        match self {
            Self::Unmerged(library) => Pipeline::Unmerged(library, later),
            Self::Bytes(tokens) => Pipeline::Bytes(tokens, later),
        }
    }
}

/// Loads a tokenizer from a file's path, which errors name, and the file's text.
type Load = fn(&Path, &str) -> Result<PipelineTokenizer, TokenizerError>;

/// A tokenizer that is loaded on first use.
pub(crate) struct Later {
    file: PathBuf,
    text: String,
    load: Load,
    made: OnceLock<Result<PipelineTokenizer, String>>,
}

impl Pipeline {
    /// Returns the tokenizer that can encode, after loading it if necessary.
    pub(crate) fn encoding(&self) -> Result<&PipelineTokenizer, TokenizerError> {
        match self {
            Self::Whole(whole) => Ok(whole),
            Self::Unmerged(_, later) | Self::Bytes(_, later) => later.tokenizer(),
        }
    }

    /// Returns the text of `ids`.
    pub(crate) fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        let library = match self {
            Self::Whole(library) | Self::Unmerged(library, _) => library,
            Self::Bytes(tokens, _) => return Ok(tokens.decode(ids)),
        };
        library
            .decode(ids, false)
            .map_err(|error| TokenizerError::Decode { count: ids.len(), reason: error.to_string() })
    }

    /// Returns the ids of a text that is usually a single token. An added token is matched before a
    /// text is encoded, so it does not need a tokenizer that can encode.
    pub(crate) fn token_ids(&self, token: &str) -> Result<Vec<u32>, TokenizerError> {
        match self.single(token)? {
            Some(id) => Ok(vec![id]),
            None => bare_ids(self.encoding()?, token),
        }
    }

    fn single(&self, token: &str) -> Result<Option<u32>, TokenizerError> {
        let library = match self {
            Self::Whole(library) | Self::Unmerged(library, _) => library,
            Self::Bytes(tokens, _) => return Ok(tokens.single(token)),
        };
        let added = library.get_added_vocabulary().token_to_id(token);
        let ids = bare_ids(library, token)?;
        Ok(added.filter(|added| ids == [*added]))
    }

    /// Returns the special tokens that the file puts around a text.
    pub(crate) fn wrapping(&self) -> Wrapping {
        match self {
            Self::Whole(library) | Self::Unmerged(library, _) => {
                Wrapping::of(&library.get_post_processor().single)
            }
            Self::Bytes(tokens, _) => tokens.wrapping.clone(),
        }
    }
}

impl Later {
    /// Returns a tokenizer that `load` loads on first use from `text`, the contents of `file`.
    pub(crate) fn of(file: &Path, text: String, load: Load) -> Self {
        Self { file: file.to_owned(), text, load, made: OnceLock::new() }
    }

    fn tokenizer(&self) -> Result<&PipelineTokenizer, TokenizerError> {
        let Self { file, text, load, made } = self;
        let make = || match load(file, text) {
            Ok(whole) => Ok(whole),
            Err(TokenizerError::Load { reason, .. }) => Err(reason),
            Err(error) => Err(error.to_string()),
        };
        made.get_or_init(make).as_ref().map_err(|reason| unusable(file)(reason))
    }
}

/// Returns the ids of a text without special tokens around it. Truncation and padding are off even
/// if the file asks for them: with them, all texts would have equal lengths.
pub(crate) fn bare_ids(
    library: &PipelineTokenizer,
    text: &str,
) -> Result<Vec<u32>, TokenizerError> {
    let options = EncodeOptions {
        add_special_tokens: false,
        encode_special_tokens: false,
        padding: Override::Off,
        truncation: Override::Off,
    };
    let mut tokens = Vec::new();
    library
        .encode_into(text, &options, &mut tokens)
        .map_err(|error| TokenizerError::Encode { bytes: text.len(), reason: error.to_string() })?;
    Ok(tokens.into_iter().map(PipelineToken::id).collect())
}
