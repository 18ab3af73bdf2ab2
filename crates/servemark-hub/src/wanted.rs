//! What is asked for, and what its user can do if it cannot be had.

use std::fmt;
use std::path::PathBuf;

use servemark_client::ClientError;

use crate::{HubError, ModelPart};

/// What is asked for. Every error names it.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) kind: Kind,
    /// `owner/name`, or the address of a file that is in no repository.
    pub(crate) name: String,
    /// Where it is kept.
    pub(crate) cache: PathBuf,
    /// Where it is published: `the hub`, `ModelScope`, or the host of an address.
    pub(crate) place: String,
    /// How the hub is told who asks.
    pub(crate) token: &'static str,
    /// The most bytes of a file, as the user gave it.
    pub(crate) most_bytes: Option<String>,
}

/// The sorts of repository.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Dataset,
    Model(ModelPart),
}

impl Wanted {
    /// Refuses what would lead out of a cache's folder.
    pub(crate) fn check_name(&self) -> Result<(), HubError> {
        let parts: Vec<&str> = self.name.split('/').collect();
        if parts.len() <= 2 && parts.iter().all(|part| is_plain(part)) {
            return Ok(());
        }
        Err(HubError::Name { name: self.name.clone(), cure: self.cure() })
    }

    /// The most bytes that a file may have.
    pub(crate) fn most_bytes(&self) -> Result<u64, HubError> {
        match &self.most_bytes {
            Some(given) => {
                given.trim().parse().map_err(|_| HubError::NoLimit { given: given.clone() })
            }
            None => Ok(match self.kind {
                Kind::Model(ModelPart::Tokenizer | ModelPart::Shape) => MOST_OF_A_TOKENIZER,
                Kind::Model(ModelPart::Weights) | Kind::Dataset => MOST_OF_DATA,
            }),
        }
    }

    pub(crate) fn offline(&self, variable: &'static str) -> HubError {
        let (cache, place, cure) = (self.cache.clone(), self.place.as_str().into(), self.cure());
        HubError::Offline { what: self.to_string().into(), cache, variable, place, cure }
    }

    pub(crate) fn unreachable(&self, from: String, source: ClientError) -> HubError {
        let (cache, cure) = (self.cache.clone(), self.cure());
        let source = Box::new(source);
        HubError::Unreachable { what: self.to_string(), from, cache, cure, source }
    }

    /// What a status that is no success means.
    pub(crate) fn refused(&self, status: u16, url: impl fmt::Display) -> HubError {
        let (what, place, cure) = (self.to_string(), self.place.as_str().into(), self.cure());
        match status {
            401 | 403 => HubError::Denied { what, place, status, token: self.token, cure },
            404 => HubError::NotFound { what: format!("{what} ({url})"), place, cure },
            _ => HubError::Status { url: url.to_string(), status, cure },
        }
    }

    pub(crate) fn no_model(&self, part: ModelPart) -> HubError {
        HubError::NoModelPart { what: self.to_string(), part: part.name(), cure: self.cure() }
    }

    /// A part that it does not have.
    pub(crate) fn no_part(&self, part: String, known: String) -> HubError {
        HubError::NoPart { what: self.to_string(), part, known }
    }

    fn cure(&self) -> &'static str {
        match self.kind {
            Kind::Dataset => "give its file (--dataset-path FILE)",
            Kind::Model(part) => part.cure(),
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Dataset => write!(f, "the data set {}", self.name),
            Kind::Model(_) => write!(f, "the model {}", self.name),
        }
    }
}

/// Files of tokenizers of today end below 100 MB.
const MOST_OF_A_TOKENIZER: u64 = 1 << 30;
/// The largest files of weights and of data sets.
const MOST_OF_DATA: u64 = 100 << 30;

/// A file's path in a repository, if it stays below the folder that it is joined to: no part of it
/// is empty or leads upwards, and none means anything to another system.
pub(crate) fn checked_path<'a>(path: &'a str, url: &str) -> Result<&'a str, HubError> {
    let is_name = |part: &str| {
        !part.is_empty()
            && part.trim_end_matches(['.', ' ']) == part
            && part.len() <= MOST_OF_A_NAME
            && !part.contains(|sign: char| sign.is_control() || "\\:".contains(sign))
    };
    if path.split('/').all(is_name) {
        return Ok(path);
    }
    let why = format!("names a file {path:?}, which is no path below a folder");
    Err(HubError::BadAnswer { url: url.to_owned(), why })
}

/// What file systems have room for.
const MOST_OF_A_NAME: usize = 255;

/// Whether a hub's word can be one part of a path in a cache.
pub(crate) fn is_plain(part: &str) -> bool {
    !part.is_empty()
        && !part.starts_with('.')
        && part.chars().all(|sign| sign.is_alphanumeric() || "-_.".contains(sign))
}
