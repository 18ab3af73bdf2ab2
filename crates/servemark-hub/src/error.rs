//! Errors of finding or downloading a file by name, with advice for the user.

use std::io;
use std::path::PathBuf;

use servemark_client::{ClientError, ClientErrorKind};
use thiserror::Error;

/// Why a name could not be turned into a file. No error shows a token or a signed address.
#[derive(Debug, Error)]
pub enum HubError {
    /// The name is not a valid name on a hub.
    #[error("{name:?} is not a name on a hub, expected NAME or OWNER/NAME; {cure}")]
    Name {
        /// The requested name.
        name: String,
        /// Advice for the user.
        cure: &'static str,
    },
    /// The hub's address or a redirect is invalid, or the token cannot be sent.
    #[error("cannot send requests to the hub at {endpoint}")]
    Endpoint {
        /// The hub's address.
        endpoint: String,
        /// The underlying error.
        #[source]
        source: ClientError,
    },
    /// The file is not in the cache, and the settings forbid downloads.
    #[error(
        "{what} is not in the cache {cache} and {variable} forbids requests to {place}; {cure}, or \
         fill that cache on a machine with network access", cache = cache.display()
    )]
    Offline {
        /// The requested model or data set.
        what: Box<str>,
        /// The cache that was searched.
        cache: PathBuf,
        /// The environment variable that forbids downloads.
        variable: &'static str,
        /// The name of the hub or host.
        place: Box<str>,
        /// Advice for the user.
        cure: &'static str,
    },
    /// The server cannot be reached, and the file is not in the cache.
    #[error("{what} cannot be downloaded from {from}; {cure}, or copy it into the cache {cache}",
        cache = cache.display())]
    Unreachable {
        /// The requested model or data set.
        what: String,
        /// The server.
        from: String,
        /// The cache that was searched.
        cache: PathBuf,
        /// Advice for the user.
        cure: &'static str,
        /// The underlying error.
        #[source]
        source: Box<ClientError>,
    },
    /// The hub refused access: a token is missing, or the given one does not suffice.
    #[error(
        "{place} answered {status} for {what}: the name is wrong, or it is private, or its terms \
         have to be accepted on its page; {token}, or {cure}"
    )]
    Denied {
        /// The requested model or data set.
        what: String,
        /// The name of the hub or host.
        place: Box<str>,
        /// The HTTP status, 401 or 403.
        status: u16,
        /// How to give the hub a token.
        token: &'static str,
        /// Advice for the user.
        cure: &'static str,
    },
    /// The data set has no such subset, split or file, or it has several subsets and none was
    /// named.
    #[error("{what} has no {part}; it has {known}")]
    NoPart {
        /// The requested data set.
        what: String,
        /// The missing part.
        part: String,
        /// The parts that exist.
        known: String,
    },
    /// The model, data set or file does not exist.
    #[error("{place} does not know {what}; is the name right? {cure}")]
    NotFound {
        /// The requested model or data set.
        what: String,
        /// The name of the hub or host.
        place: Box<str>,
        /// Advice for the user.
        cure: &'static str,
    },
    /// The model lacks the required files.
    #[error("{what} has no {part} among its files; {cure}")]
    NoModelPart {
        /// The requested model.
        what: String,
        /// The required part.
        part: &'static str,
        /// Advice for the user.
        cure: &'static str,
    },
    /// The server answered with an unexpected status.
    #[error("the answer to {url} was {status}; try again later, or {cure}")]
    Status {
        /// The URL, without its query.
        url: String,
        /// The HTTP status.
        status: u16,
        /// Advice for the user.
        cure: &'static str,
    },
    /// The answer is not that of a hub.
    #[error("the answer to {url} {why}; is the endpoint that of a hub?")]
    BadAnswer {
        /// The URL.
        url: String,
        /// What is wrong with the answer.
        why: String,
    },
    /// The downloaded file differs from the hub's.
    #[error(
        "the download of {url} is damaged: found {found}, expected {expected}; it was deleted, \
         try again"
    )]
    Checksum {
        /// The URL, without its query.
        url: String,
        /// The hub's checksum or size.
        expected: String,
        /// The checksum or size of the downloaded file.
        found: String,
    },
    /// A file exceeds the size limit.
    #[error(
        "{url} has {size}, and a file of {what} may have {most} bytes; if that size is right, set \
         SERVEMARK_HUB_MAX_BYTES to a larger number"
    )]
    TooLarge {
        /// The URL, without its query.
        url: String,
        /// The size, as far as it is known.
        size: String,
        /// The requested model or data set.
        what: String,
        /// The limit in bytes.
        most: u64,
    },
    /// The configured size limit is not a number.
    #[error("SERVEMARK_HUB_MAX_BYTES is {given:?}; give a number of bytes, such as 1000000000")]
    NoLimit {
        /// The configured value.
        given: String,
    },
    /// The cache cannot be written or read.
    #[error("cannot read or write the cache at {path}; set HF_HOME to use another folder", path = path.display())]
    Disk {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
}

impl HubError {
    /// Whether the error is temporary, so that a cached copy may serve instead: the hub is
    /// unreachable or overloaded.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Status { status, .. } => *status == 429 || *status >= 500,
            _ => false,
        }
    }

    /// Whether the connection was lost in the middle of a file.
    pub(crate) fn is_cut(&self) -> bool {
        let kind = match self {
            Self::Unreachable { source, .. } => source.kind(),
            _ => return false,
        };
        matches!(kind, ClientErrorKind::Truncated | ClientErrorKind::Timeout)
    }
}

/// Wraps an error about the file at `path`.
pub(crate) fn disk(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> HubError {
    |source| HubError::Disk { path: path.into(), source }
}
