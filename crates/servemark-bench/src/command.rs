//! Runs the commands of a sweep.

use std::io;
use std::process::ExitStatus;

use servemark_runner::Stop;
use tokio::process::{Child, Command};

use crate::process::runtime;
use crate::runtime::block_on;
use crate::{ChildStdout, ProcessError, RunContext, StopCause, stopped_by};

/// Runs a command to its end; its first word is the program.
///
/// When the run is stopped, the command gets SIGTERM, unless Ctrl-C stopped the run, because the
/// terminal then sends SIGINT to the command as well. When requests in flight are aborted, the
/// command is killed. Windows has no SIGTERM: there the command is only killed.
pub fn run_command(
    command: &[String],
    output: ChildStdout,
    context: &RunContext,
) -> Result<ExitStatus, ProcessError> {
    let failed = |source| ProcessError::Start { command: command.join(" "), source };
    let nothing = || io::Error::new(io::ErrorKind::InvalidInput, "the command is empty");
    let (program, arguments) = command.split_first().ok_or_else(nothing).map_err(failed)?;
    let work = async {
        let child = Command::new(program)
            .args(arguments)
            .stdout(output.stdio())
            .kill_on_drop(true)
            .spawn()?;
        wait_for_exit(child, context).await
    };
    block_on(&runtime()?, work).map_err(failed)
}

async fn wait_for_exit(mut child: Child, context: &RunContext) -> io::Result<ExitStatus> {
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
#[cfg(unix)]
fn terminate(child: &Child) {
    use rustix::process::{Pid, Signal, kill_process};

    let number = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(pid) = number.and_then(Pid::from_raw) {
        // The child is not reaped yet, so its process id cannot belong to another process.
        let _ = kill_process(pid, Signal::TERM);
    }
}

#[cfg(not(unix))]
fn terminate(_child: &Child) {}
