//! Runs other programs to their end, or in a process group that ends with this program.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};

/// Runs a program to its end and returns its standard output.
pub(super) fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed: {}", errors.trim());
    String::from_utf8(output.stdout).with_context(|| format!("{command:?} printed no text"))
}

/// Returns the end of a program's log file.
pub(super) fn end_of(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    String::from_utf8_lossy(&text[text.len().saturating_sub(LONGEST_END)..]).trim().to_owned()
}

/// Calls `done` four times a second until it returns a value, for at most `limit`.
pub(super) fn poll<T>(
    limit: Duration,
    mut done: impl FnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    for _ in 0..limit.as_millis() / PAUSE.as_millis() {
        if let Some(answer) = done()? {
            return Ok(answer);
        }
        pause();
    }
    bail!("it was not done within {limit:?}")
}

#[expect(clippy::disallowed_methods, reason = "nothing tells us when another program is ready")]
fn pause() {
    std::thread::sleep(PAUSE);
}

/// A program and all its child processes. They are killed on drop and when this program ends for
/// any reason: the watchdog reads a pipe that only this program holds open.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    leader: Child,
    watchdog: Child,
}

impl ProcessGroup {
    /// Starts a program in a process group of its own.
    pub(super) fn spawn(command: &mut Command) -> anyhow::Result<Self> {
        let leader = command
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot run {command:?}"))?;
        let watchdog = Command::new("sh")
            .args(["-c", WATCHDOG, "watchdog", &leader.id().to_string()])
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()
            .context("cannot run sh")?;
        Ok(Self { leader, watchdog })
    }

    /// Returns the process id of the program.
    pub(super) fn leader(&self) -> u32 {
        self.leader.id()
    }

    /// Returns the exit status if the program has ended.
    pub(super) fn exit_status(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.leader.try_wait()?)
    }

    /// Waits for the program's end.
    pub(super) fn wait(&mut self, limit: Duration) -> anyhow::Result<ExitStatus> {
        poll(limit, || self.exit_status())
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        drop(self.watchdog.stdin.take());
        // A wait fails only if the child is already reaped.
        let _ = self.leader.wait();
        let _ = self.watchdog.wait();
    }
}

/// Waits until its pipe is closed, sends SIGTERM to the group and, after ten seconds, SIGKILL.
const WATCHDOG: &str = r#"
read -r _
kill -s TERM -- "-$1" 2>/dev/null
tries=0
while kill -s 0 -- "-$1" 2>/dev/null && [ "$tries" -lt 40 ]; do
    sleep 0.25
    tries=$((tries + 1))
done
kill -s KILL -- "-$1" 2>/dev/null
"#;
const LONGEST_END: usize = 2_000;
const PAUSE: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};

    use super::*;

    #[test]
    fn what_fails_says_why() {
        let error = output(Command::new("sh").args(["-c", "echo broken >&2; exit 3"])).unwrap_err();
        assert!(error.to_string().ends_with("failed: broken"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_grandchild_dies_with_the_group() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 600 & echo $!; wait"]).stdout(Stdio::piped());
        let mut group = ProcessGroup::spawn(&mut shell).unwrap();
        let mut id = String::new();
        BufReader::new(group.leader.stdout.take().unwrap()).read_line(&mut id).unwrap();
        let grandchild = Path::new("/proc").join(id.trim()).join("cmdline");
        let runs = || fs::read(&grandchild).is_ok_and(|line| !line.is_empty());
        poll(Duration::from_secs(10), || Ok(runs().then_some(()))).unwrap();
        drop(group);
        assert!(!runs());
    }

    #[test]
    fn a_program_that_ends_tells_how() {
        let mut group = ProcessGroup::spawn(Command::new("sh").args(["-c", "exit 7"])).unwrap();
        assert_eq!(group.wait(Duration::from_secs(10)).unwrap().code(), Some(7));
    }
}
