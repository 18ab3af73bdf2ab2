//! As much of a tokenizer as is loaded.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use servemark_core::TokenizerError;
use tokenizers::pipeline::{EncodeOptions, Override, PipelineToken, PipelineTokenizer};

use crate::byte_tokens::ByteTokens;
use crate::document;
use crate::files::unusable;
use crate::special::Wrapping;

/// A tokenizer, or as much of it as decodes. Most of the time that it takes to make the library's
/// goes into what only encoding needs.
pub(crate) enum Pipeline {
    /// All of it.
    Whole(PipelineTokenizer),
    /// The library's without its merges. It decodes, finds added tokens in a text, and knows what
    /// goes around one.
    Unmerged(PipelineTokenizer, Later),
    /// None of the library's.
    Bytes(ByteTokens, Later),
}

/// A part of a tokenizer that decodes.
pub(crate) enum Part {
    Unmerged(PipelineTokenizer),
    Bytes(ByteTokens),
}

impl Part {
    /// With what is made when something is to be encoded.
    pub(crate) fn and(self, later: Later) -> Pipeline {
        match self {
            Self::Unmerged(library) => Pipeline::Unmerged(library, later),
            Self::Bytes(tokens) => Pipeline::Bytes(tokens, later),
        }
    }
}

/// A tokenizer that is made when it is needed.
pub(crate) struct Later {
    file: PathBuf,
    text: String,
    made: OnceLock<Result<PipelineTokenizer, String>>,
}

impl Pipeline {
    /// The one that encodes. It may have to be made first.
    pub(crate) fn encoding(&self) -> Result<&PipelineTokenizer, TokenizerError> {
        match self {
            Self::Whole(whole) => Ok(whole),
            Self::Unmerged(_, later) | Self::Bytes(_, later) => later.made(),
        }
    }

    /// The text of `ids`.
    pub(crate) fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        let library = match self {
            Self::Whole(library) | Self::Unmerged(library, _) => library,
            Self::Bytes(tokens, _) => return Ok(tokens.decode(ids)),
        };
        library
            .decode(ids, false)
            .map_err(|error| TokenizerError::Decode { count: ids.len(), reason: error.to_string() })
    }

    /// The ids of what is most likely a single token. An added token is found in a text before it
    /// is encoded, so it takes nothing that encodes.
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

    /// What the file itself puts around a text.
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
    /// The tokenizer of a document, which is the text of a file.
    pub(crate) fn of(file: &Path, text: String) -> Self {
        Self { file: file.to_owned(), text, made: OnceLock::new() }
    }

    fn made(&self) -> Result<&PipelineTokenizer, TokenizerError> {
        let Self { file, text, made } = self;
        let make = || match document::whole(file, text) {
            Ok(whole) => Ok(whole),
            Err(TokenizerError::Load { reason, .. }) => Err(reason),
            Err(error) => Err(error.to_string()),
        };
        made.get_or_init(make).as_ref().map_err(|reason| unusable(file)(reason))
    }
}

/// The ids of a text with nothing around it. A file may ask for truncation or padding, with which
/// every text would count as equally long.
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
