//! Why a name did not become a file, and what to do instead.

use std::io;
use std::path::PathBuf;

use servemark_client::{ClientError, ClientErrorKind};
use thiserror::Error;

/// Why a name did not become a file. None of these shows a token or a signed address.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HubError {
    /// The name cannot be one of a hub.
    #[error("{name:?} is no name of a hub, which is NAME or OWNER/NAME; {cure}")]
    Name {
        /// What was asked for.
        name: String,
        /// What to do.
        cure: &'static str,
    },
    /// The hub's own address, or what it sends us to, is none; or the token cannot be sent.
    #[error("the hub cannot be asked at {endpoint}")]
    Endpoint {
        /// The address.
        endpoint: String,
        /// Why.
        #[source]
        source: ClientError,
    },
    /// It is not here, and nobody may be asked.
    #[error(
        "{what} is not in the cache {cache} and {variable} forbids to ask {place}; {cure}, or fill \
         that cache where there is a network", cache = cache.display()
    )]
    Offline {
        /// What was asked for.
        what: Box<str>,
        /// Where it would be.
        cache: PathBuf,
        /// Who forbids it.
        variable: &'static str,
        /// Where it is published.
        place: Box<str>,
        /// What to do.
        cure: &'static str,
    },
    /// The hub is not there, and neither is the file.
    #[error("{what} cannot be downloaded from {from}; {cure}, or copy it into the cache {cache}",
        cache = cache.display())]
    Unreachable {
        /// What was asked for.
        what: String,
        /// Who was asked.
        from: String,
        /// Where it would be.
        cache: PathBuf,
        /// What to do.
        cure: &'static str,
        /// Why.
        #[source]
        source: Box<ClientError>,
    },
    /// The hub shows it only to others.
    #[error(
        "{place} answered {status} for {what}: the name is wrong, or it is private, or its terms \
         have to be accepted on its page; {token}, or {cure}"
    )]
    Denied {
        /// What was asked for.
        what: String,
        /// Where it is published.
        place: Box<str>,
        /// 401 or 403.
        status: u16,
        /// How the hub is told who asks.
        token: &'static str,
        /// What to do.
        cure: &'static str,
    },
    /// The data set has no such subset or split, or it has several and none was named.
    #[error("{what} has no {part}; it has {known}")]
    NoPart {
        /// What was asked for.
        what: String,
        /// What it lacks.
        part: String,
        /// What it has.
        known: String,
    },
    /// There is no such thing.
    #[error("{place} does not know {what}; is the name right? {cure}")]
    NotFound {
        /// What was asked for.
        what: String,
        /// Where it should be published.
        place: Box<str>,
        /// What to do.
        cure: &'static str,
    },
    /// A model's files are not what was wanted.
    #[error("{what} has no {part} among its files; {cure}")]
    NoModelPart {
        /// The model.
        what: String,
        /// What was wanted of it.
        part: &'static str,
        /// What to do.
        cure: &'static str,
    },
    /// The hub answered with a status that nobody expects.
    #[error("the answer to {url} was {status}; try again later, or {cure}")]
    Status {
        /// The address.
        url: String,
        /// The status.
        status: u16,
        /// What to do.
        cure: &'static str,
    },
    /// The answer is not a hub's.
    #[error("the answer to {url} {why}; does the endpoint belong to a hub?")]
    BadAnswer {
        /// The address.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// What was downloaded is not what the hub has.
    #[error(
        "{url} was downloaded and is damaged: its checksum is {found}, the hub says {expected}; \
         it was thrown away, try again"
    )]
    Checksum {
        /// The address.
        url: String,
        /// What the hub says.
        expected: String,
        /// What it is.
        found: String,
    },
    /// A file is larger than a file may be.
    #[error(
        "{url} has {size}, and a file of {what} may have {most} bytes; if that is right, set \
         SERVEMARK_HUB_MAX_BYTES to more"
    )]
    TooLarge {
        /// The address.
        url: String,
        /// The number of bytes, as far as it is known.
        size: String,
        /// What was asked for.
        what: String,
        /// The limit.
        most: u64,
    },
    /// The limit of a file's size is no number.
    #[error("SERVEMARK_HUB_MAX_BYTES is {given:?}; give a number of bytes, such as 1000000000")]
    NoLimit {
        /// What it is.
        given: String,
    },
    /// The cache cannot be written or read.
    #[error("the cache does not work at {path}; HF_HOME names another folder", path = path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl HubError {
    /// Whether another time, or an older copy, may do: the hub is not there, or not well.
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

/// An error of the file at `path`.
pub(crate) fn disk(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> HubError {
    |source| HubError::Disk { path: path.into(), source }
}
