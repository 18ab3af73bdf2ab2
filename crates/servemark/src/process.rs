//! A server that is started by its command and never outlives whoever started it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid,
};
use servemark_client::{BaseUrl, ClientError, Credentials, ServerControl, Target, TargetSpec};
use servemark_core::{Clock, MonotonicClock};
use thiserror::Error;
use tokio::time::{Instant, sleep_until};

use crate::audience::News;
use crate::{ExecuteError, ExitCode, RunContext};

/// A running server with all the processes that it has started.
///
/// They are a process group of their own, which is killed when this is dropped. Should this program
/// be killed itself, so that nothing is dropped, a small watchman does it: a shell that waits for
/// the end of a pipe from here.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    watchman: Child,
}

/// What becomes of what a command writes to standard output. Closed: it is seen or it is not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shown {
    /// Nobody sees it.
    No,
    /// It goes where this program's own goes.
    Yes,
}

/// Why a command did not do what it was for.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProcessError {
    /// It cannot be started.
    #[error("cannot run {command}")]
    Start {
        /// The command.
        command: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The server ended before it was ready.
    #[error("the server ended before it was ready: {how}")]
    Crashed {
        /// How.
        how: String,
    },
    /// The server is not there, or does not do as it is told.
    #[error(transparent)]
    Server(#[from] ClientError),
    /// The operating system refused a runtime.
    #[error("the operating system refused what a run needs")]
    Machine(#[source] io::Error),
    /// The user stopped it.
    #[error("stopped before the server was ready")]
    Interrupted,
}

impl ProcessError {
    /// The program's exit code.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Start { .. } => ExitCode::Usage,
            Self::Crashed { .. } | Self::Server(_) => ExitCode::NotReady,
            Self::Machine(_) => ExitCode::Internal,
            Self::Interrupted => ExitCode::Interrupted,
        }
    }
}

impl Shown {
    /// Where standard output goes.
    pub fn stdio(self) -> Stdio {
        match self {
            Self::No => Stdio::null(),
            Self::Yes => Stdio::inherit(),
        }
    }
}

impl ServerProcess {
    /// Starts a command, its first word the program, with some more variables in its environment.
    pub fn start(
        command: &[String],
        shown: Shown,
        variables: &[(&str, &str)],
    ) -> Result<Self, ProcessError> {
        let failed = |source| ProcessError::Start { command: command.join(" "), source };
        let nothing = || io::Error::new(io::ErrorKind::InvalidInput, "the command is empty");
        let (program, arguments) = command.split_first().ok_or_else(nothing).map_err(failed)?;
        let child = Command::new(program)
            .args(arguments)
            .envs(variables.iter().copied())
            .stdout(shown.stdio())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let group = Pid::from_child(&child);
        match watch(group) {
            Ok(watchman) => Ok(Self { child, watchman }),
            Err(error) => {
                let _ = kill_process_group(group, Signal::KILL);
                Err(failed(error))
            }
        }
    }

    /// Asks `route` until the answer is 200, unless the server ends before. Says how long it took.
    pub fn wait_ready(
        &self,
        url: &BaseUrl,
        route: &str,
        patience: Duration,
        context: &RunContext,
    ) -> Result<Duration, ProcessError> {
        context.tell(&News::WaitingForServer { url: &url.to_string(), patience });
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
        let after = match runtime()?.block_on(waiting) {
            Ok(ready) => ready?,
            Err(ExecuteError::Interrupted) => return Err(ProcessError::Interrupted),
            Err(_) => unreachable!("waiting alone cannot fail"),
        };
        context.tell(&News::ServerReady { after });
        Ok(after)
    }

    /// How the server ended, when it has.
    async fn end(&self, clock: MonotonicClock) -> String {
        // Left unwaited for: its number must stay its own until its group is killed.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        loop {
            if let Ok(Some(status)) = waitid(WaitId::Pid(Pid::from_child(&self.child)), options) {
                return ended(&status);
            }
            sleep_until(Instant::from_std(clock.instant(clock.now() + LOOK))).await;
        }
    }
}

/// Whether a server at an address answers `route` with 200 now.
pub fn is_ready(url: &BaseUrl, route: &str) -> Result<bool, ProcessError> {
    let control = control(url, MonotonicClock::start())?;
    Ok(runtime()?.block_on(control.wait_ready(route, Duration::ZERO)).is_ok())
}

/// Tells a server at an address to do something, by a POST to each of some routes.
pub fn tell_server(url: &BaseUrl, routes: &[&str]) -> Result<(), ProcessError> {
    let control = control(url, MonotonicClock::start())?;
    runtime()?.block_on(async {
        for route in routes {
            control.flush_cache(route).await?;
        }
        Ok(())
    })
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The watchman first, so that it never kills a group that has the number after this one.
        let _ = self.watchman.kill();
        let _ = self.watchman.wait();
        // A group that is gone already is no matter.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Kills a group when the pipe from here ends, which it does with this program.
fn watch(group: Pid) -> io::Result<Child> {
    Command::new("sh")
        .args(["-c", "read -r end; kill -9 \"-$1\"", "watchman"])
        .arg(group.as_raw_nonzero().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
}

fn ended(status: &WaitIdStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (_, Some(signal)) => format!("signal {signal}"),
        _ => "nobody knows how".to_owned(),
    }
}

fn control(url: &BaseUrl, clock: MonotonicClock) -> Result<ServerControl, ClientError> {
    Ok(ServerControl::new(Target::new(&TargetSpec::new(url.clone()), Credentials::new())?, clock))
}

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, ProcessError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(ProcessError::Machine)
}

const LOOK: Duration = Duration::from_millis(200);
