//! Commands of a sweep that are run to their end.

use std::io;
use std::process::ExitStatus;

use rustix::process::{Pid, Signal, kill_process};
use servemark_runner::Stop;
use tokio::process::{Child, Command};

use crate::process::runtime;
use crate::{ProcessError, RunContext, Shown, StopCause, stopped_by};

/// Runs a command, its first word the program, to its end.
///
/// When the run is stopped the command gets SIGTERM, unless the terminal has sent Ctrl-C to it as well
/// as to this program. When requests in flight are given up, the command is killed.
pub fn run_command(
    command: &[String],
    shown: Shown,
    context: &RunContext,
) -> Result<ExitStatus, ProcessError> {
    let failed = |source| ProcessError::Start { command: command.join(" "), source };
    let nothing = || io::Error::new(io::ErrorKind::InvalidInput, "the command is empty");
    let (program, arguments) = command.split_first().ok_or_else(nothing).map_err(failed)?;
    let work = async {
        let child = Command::new(program)
            .args(arguments)
            .stdout(shown.stdio())
            .kill_on_drop(true)
            .spawn()?;
        ended(child, context).await
    };
    runtime()?.block_on(work).map_err(failed)
}

async fn ended(mut child: Child, context: &RunContext) -> io::Result<ExitStatus> {
    let stop = context.stop.signal();
    tokio::select! {
        biased;
        status = child.wait() => return status,
        () = stop.reached(Stop::Drain) => {}
    }
    if stopped_by() != Some(StopCause::Interrupt) {
        terminate(&child);
    }
    tokio::select! {
        biased;
        status = child.wait() => return status,
        () = stop.reached(Stop::Now) => {}
    }
    child.start_kill()?;
    child.wait().await
}

/// Sends SIGTERM to a child that may have ended already.
fn terminate(child: &Child) {
    let number = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(pid) = number.and_then(Pid::from_raw) {
        // The child is not reaped yet, so the number is still its own.
        let _ = kill_process(pid, Signal::TERM);
    }
}
