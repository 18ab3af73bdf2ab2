//! Exit codes of the programs.

use servemark_signals::StopCause;

/// Exit codes of the programs. They are stable, so scripts may rely on them. For several runs,
/// the largest code is used.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum ExitCode {
    /// The run is complete.
    Ok = 0,
    /// The program or the machine failed.
    Internal = 1,
    /// The command line, the plan or its input is invalid.
    Usage = 2,
    /// An objective or a baseline was missed.
    GateFailed = 3,
    /// The server was not ready.
    NotReady = 4,
    /// More requests failed than are tolerated.
    TooManyFailed = 5,
    /// The run does not show whether an objective holds or a named verdict applies, or the objective
    /// was not judged.
    Undecided = 6,
    /// SIGHUP stopped the run; what was measured is reported.
    HungUp = 129,
    /// Ctrl-C stopped the run; what was measured is reported. Stopped runs have this code for
    /// every signal; [`ExitCode::of_process`] converts it to the code of the signal.
    Interrupted = 130,
    /// SIGTERM stopped the run; what was measured is reported.
    Terminated = 143,
}

impl ExitCode {
    /// Returns the exit code of the process for a run's code: if a signal stopped the run, the
    /// code of that signal. A run whose engine was ended by the same signal as this process
    /// counts as stopped, too.
    #[must_use]
    pub fn of_process(self, stopped_by: Option<StopCause>) -> Self {
        match (self, stopped_by) {
            (Self::Interrupted | Self::TooManyFailed, Some(StopCause::HangUp)) => Self::HungUp,
            (Self::Interrupted | Self::TooManyFailed, Some(StopCause::Terminate)) => {
                Self::Terminated
            }
            (code, _) => code,
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code as u8)
    }
}
