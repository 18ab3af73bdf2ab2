//! Servers that are started by a command and end with this program.

use std::io;
use std::process::{Command, Stdio};
use std::time::Duration;

use servemark_client::{BaseUrl, ClientError, Credentials, ServerControl, Target, TargetSpec};
use servemark_core::{Clock, MonotonicClock};
use thiserror::Error;
use tokio::time::{Instant, sleep_until};

use self::group::ProcessGroup;
use crate::observer::RunEvent;
use crate::runtime::{block_on, of_a_thread};
use crate::{ExecuteError, ExitCode, RunContext};

#[cfg_attr(not(unix), path = "process/no_group.rs")]
mod group;

/// A running server and all processes started by it.
///
/// The processes are killed on drop, and if this program is killed. Windows cannot start a server.
#[derive(Debug)]
pub struct ServerProcess {
    group: ProcessGroup,
}

/// What happens to a command's standard output.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ChildStdout {
    /// Standard output is discarded.
    No,
    /// Standard output is inherited from this program.
    Yes,
}

/// Why a command or the server that it starts failed.
#[derive(Debug, Error)]
pub enum ProcessError {
    /// The command cannot be started.
    #[error("cannot run {command}")]
    Start {
        /// The command line.
        command: String,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The server ended before it was ready.
    #[error("the server ended before it was ready: {how}")]
    Crashed {
        /// Exit code or signal of the server, in words.
        how: String,
    },
    /// The server is unreachable or refuses a request.
    #[error(transparent)]
    Server(#[from] ClientError),
    /// The operating system refused a runtime.
    #[error("the operating system refused what a run needs")]
    Machine(#[source] io::Error),
    /// The user stopped the run.
    #[error("stopped before the server was ready")]
    Interrupted,
}

impl ProcessError {
    /// Returns the program's exit code.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Start { .. } => ExitCode::Usage,
            Self::Crashed { .. } | Self::Server(_) => ExitCode::NotReady,
            Self::Machine(_) => ExitCode::Internal,
            Self::Interrupted => ExitCode::Interrupted,
        }
    }
}

impl ChildStdout {
    /// Returns the destination of standard output.
    pub fn stdio(self) -> Stdio {
        match self {
            Self::No => Stdio::null(),
            Self::Yes => Stdio::inherit(),
        }
    }
}

impl ServerProcess {
    /// Starts a command with additional environment variables; its first word is the program.
    pub fn start(
        command: &[String],
        output: ChildStdout,
        variables: &[(&str, &str)],
    ) -> Result<Self, ProcessError> {
        let failed = |source| ProcessError::Start { command: command.join(" "), source };
        let nothing = || io::Error::new(io::ErrorKind::InvalidInput, "the command is empty");
        let (program, arguments) = command.split_first().ok_or_else(nothing).map_err(failed)?;
        let mut command = Command::new(program);
        command.args(arguments).envs(variables.iter().copied()).stdout(output.stdio());
        let group = ProcessGroup::start(&mut command).map_err(failed)?;
        Ok(Self { group })
    }

    /// Polls `route` until the answer is 200 or the server ends. Returns the time that it took.
    pub fn wait_ready(
        &self,
        url: &BaseUrl,
        route: &str,
        patience: Duration,
        context: &RunContext,
    ) -> Result<Duration, ProcessError> {
        context.emit(&RunEvent::WaitingForServer { url: &url.to_string(), patience });
        let clock = MonotonicClock::start();
        let control = control(url, clock)?;
        let waiting = async {
            tokio::select! {
                biased;
                how = self.end(clock) => Err(ProcessError::Crashed { how }),
                ready = control.wait_ready(route, patience) => Ok(ready?),
            }
        };
        let waiting = context.unless_stopped(async { Ok(waiting.await) });
        let after = match block_on(&runtime()?, waiting) {
            Ok(ready) => ready?,
            Err(ExecuteError::Interrupted) => return Err(ProcessError::Interrupted),
            Err(_) => unreachable!("waiting alone cannot fail"),
        };
        context.emit(&RunEvent::ServerReady { after });
        Ok(after)
    }

    /// Waits for the server's end and describes it.
    async fn end(&self, clock: MonotonicClock) -> String {
        loop {
            if let Some(how) = self.group.end() {
                return how;
            }
            sleep_until(Instant::from_std(clock.instant(clock.now() + LOOK))).await;
        }
    }
}

/// Returns whether the server at `url` answers `route` with 200 now.
pub fn is_ready(url: &BaseUrl, route: &str) -> Result<bool, ProcessError> {
    let control = control(url, MonotonicClock::start())?;
    Ok(block_on(&runtime()?, control.wait_ready(route, Duration::ZERO)).is_ok())
}

/// Sends a POST request to each of `routes` at `url`.
pub fn post_to_server(url: &BaseUrl, routes: &[&str]) -> Result<(), ProcessError> {
    let control = control(url, MonotonicClock::start())?;
    block_on(&runtime()?, async {
        for route in routes {
            control.flush_cache(route).await?;
        }
        Ok(())
    })
}

fn control(url: &BaseUrl, clock: MonotonicClock) -> Result<ServerControl, ClientError> {
    Ok(ServerControl::new(Target::new(&TargetSpec::new(url.clone()), Credentials::new())?, clock))
}

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, ProcessError> {
    of_a_thread().map_err(ProcessError::Machine)
}

const LOOK: Duration = Duration::from_millis(200);
