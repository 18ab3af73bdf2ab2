//! A system without process groups, on which no server can be started.

use std::io;
use std::process::Command;

/// A process group, of which there is none.
#[derive(Debug)]
pub(super) enum ProcessGroup {}

impl ProcessGroup {
    /// Always fails: processes that the server starts could not be ended with it.
    pub(super) fn start(_command: &mut Command) -> io::Result<Self> {
        let message = "this program starts servers on Linux and macOS only; start the server yourself \
                       and give its URL";
        Err(io::Error::new(io::ErrorKind::Unsupported, message))
    }

    pub(super) fn end(&self) -> Option<String> {
        match *self {}
    }
}
