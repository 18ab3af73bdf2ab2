//! What can go wrong with the server itself.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

/// What can go wrong with the server itself.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MockError {
    /// The address cannot be listened on.
    #[error("cannot listen on {addr}; is the port taken by another server?")]
    Listen {
        /// The address.
        addr: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The machine gives no thread, event queue or timer.
    #[error("cannot start the server's thread")]
    Start {
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A fault's text is not one of the grammar.
    #[error("{given:?} is not a fault: expected {expected}")]
    Fault {
        /// What was given.
        given: String,
        /// What would do.
        expected: String,
    },
    /// A duration's text is not one.
    #[error("{given:?} is not a duration: expected milliseconds, or a number with us, ms or s")]
    Duration {
        /// What was given.
        given: String,
    },
}
