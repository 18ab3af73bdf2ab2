//! The signals that ask a program to end: SIGINT, SIGTERM and SIGHUP.
//!
//! [`Signals`] replaces the default action of these signals, which ends the process at once. The
//! crate knows no benchmark: the program decides what to do about a signal.
//!
//! On Windows the events of the console take their place: Ctrl-C, Ctrl-Break and a shutdown, and the
//! end of the console.

use std::fmt;

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

/// A signal that asks the program to end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StopCause {
    /// SIGHUP: the terminal or the session is gone.
    HangUp,
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM: a supervisor, such as systemd, Kubernetes, Slurm or `timeout`, ends the program.
    Terminate,
}

impl StopCause {
    /// Returns the exit code that shells give a process killed by this signal: 128 plus its number.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::HangUp => 129,
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }

    /// Returns whether a person at the terminal sent the signal and can send a second one.
    pub const fn is_interactive(self) -> bool {
        matches!(self, Self::Interrupt)
    }
}

/// Writes the name of the signal.
impl fmt::Display for StopCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HangUp => "SIGHUP",
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
        })
    }
}

#[cfg(unix)]
pub use unix::Signals;
#[cfg(windows)]
pub use windows::Signals;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        let codes = [StopCause::HangUp, StopCause::Interrupt, StopCause::Terminate];
        assert_eq!(codes.map(StopCause::exit_code), [129, 130, 143]);
    }
}
