//! Errors of the server itself.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

/// An error of the server itself, as opposed to an injected fault.
#[derive(Debug, Error)]
pub enum MockError {
    /// The server cannot listen on the address.
    #[error("cannot listen on {addr}; is the port taken by another server?")]
    Listen {
        /// The address to listen on.
        addr: SocketAddr,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The operating system refuses a thread, an event queue or a timer.
    #[error("cannot start the server's thread")]
    Start {
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
}
