//! A process and all processes started by it: a process group of Unix.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid,
};

/// A process group, which is killed on drop. If this program is killed and nothing is dropped, a
/// watchdog process kills the group: a shell that waits for the end of a pipe from this program.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    child: Child,
    watchman: Child,
}

impl ProcessGroup {
    /// Starts a command in a group of its own.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        let group = Pid::from_child(&child);
        match watch(group) {
            Ok(watchman) => Ok(Self { child, watchman }),
            Err(error) => {
                let _ = kill_process_group(group, Signal::KILL);
                Err(error)
            }
        }
    }

    /// Describes how the process ended; `None` while it runs.
    pub(super) fn end(&self) -> Option<String> {
        // The process is not reaped, so that its id stays valid until its group is killed.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(Pid::from_child(&self.child)), options);
        status.ok().flatten().map(|status| exit_text(&status))
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // Stop the watchdog first: otherwise it might kill a later group that reuses the process
        // id.
        let _ = self.watchman.kill();
        let _ = self.watchman.wait();
        // An error means that the group has already ended.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}

/// Starts a watchdog that kills a process group when the pipe from this program closes, which
/// happens at the latest when this program ends.
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

fn exit_text(status: &WaitIdStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (_, Some(signal)) => format!("signal {signal}"),
        _ => "unknown exit status".to_owned(),
    }
}
