//! The requested model or data set, and advice for the user if it cannot be found.

use std::fmt;
use std::path::PathBuf;

use servemark_client::ClientError;

use crate::{HubError, ModelPart};

/// The requested model or data set, which every error names.
#[derive(Clone, Debug)]
pub(crate) struct HubRequest {
    pub(crate) kind: Kind,
    /// The repository, `owner/name`, or the URL of a file that is in no repository.
    pub(crate) name: String,
    /// The cache folder.
    pub(crate) cache: PathBuf,
    /// Where it is published: `the hub`, `ModelScope`, or the host of a URL.
    pub(crate) place: String,
    /// Advice to the user: how to give the hub an access token.
    pub(crate) token: &'static str,
    /// The size limit of a file in bytes, as the user gave it.
    pub(crate) most_bytes: Option<String>,
}

/// The kinds of repository.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Dataset,
    Model(ModelPart),
}

impl HubRequest {
    /// Fails if the name would lead out of the cache's folder.
    pub(crate) fn check_name(&self) -> Result<(), HubError> {
        let parts: Vec<&str> = self.name.split('/').collect();
        if parts.len() <= 2 && parts.iter().all(|part| is_plain(part)) {
            return Ok(());
        }
        Err(HubError::Name { name: self.name.clone(), cure: self.cure() })
    }

    /// Returns the size limit of a file in bytes.
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

    /// Returns the error for a status that is not a success.
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

    /// Returns the error for a part that the data set does not have.
    pub(crate) fn no_part(&self, part: String, known: String) -> HubError {
        HubError::NoPart { what: self.to_string(), part, known }
    }

    fn cure(&self) -> &'static str {
        match self.kind {
            Kind::Dataset => "give its file (`workload.dataset.path`)",
            Kind::Model(part) => part.cure(),
        }
    }
}

impl fmt::Display for HubRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Dataset => write!(f, "the data set {}", self.name),
            Kind::Model(_) => write!(f, "the model {}", self.name),
        }
    }
}

/// The default size limit of a tokenizer's file in bytes; the largest ones are below 100 MB.
const MOST_OF_A_TOKENIZER: u64 = 1 << 30;
/// The default size limit of a file of weights or of a data set in bytes; the largest files fit.
const MOST_OF_DATA: u64 = 100 << 30;

/// Checks a file's path in a repository. It must stay below the folder that it is joined to: no
/// part may be empty or lead upwards, or have a special meaning on another operating system.
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
    let why = format!("names a file {path:?}, which is not a path below a folder");
    Err(HubError::BadAnswer { url: url.to_owned(), why })
}

/// The longest file name in bytes that file systems support.
const MOST_OF_A_NAME: usize = 255;

/// Whether a name from a hub can be one part of a path in the cache.
pub(crate) fn is_plain(part: &str) -> bool {
    !part.is_empty()
        && !part.starts_with('.')
        && part.chars().all(|sign| sign.is_alphanumeric() || "-_.".contains(sign))
}
