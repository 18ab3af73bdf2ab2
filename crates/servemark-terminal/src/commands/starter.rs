//! The command that starts this program once more.

use std::env::current_exe;
use std::ffi::OsString;
use std::io;
use std::process::Command;
use std::sync::OnceLock;

/// Sets the command: a program and its first arguments. Without it, the command is the executable
/// file of this process. Only the first call has an effect.
pub(crate) fn set(words: Vec<OsString>) {
    let _ = WORDS.set(words);
}

/// Returns the command, to which the arguments are to be added.
pub(crate) fn command() -> io::Result<Command> {
    match WORDS.get().map(Vec::as_slice) {
        Some([program, first @ ..]) => {
            let mut command = Command::new(program);
            command.args(first);
            Ok(command)
        }
        _ => current_exe().map(Command::new),
    }
}

/// The words of the command, which are set once for the process.
static WORDS: OnceLock<Vec<OsString>> = OnceLock::new();
