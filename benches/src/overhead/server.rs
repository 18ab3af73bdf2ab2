//! The ground-truth server as a process of its own, so that its work does not count as a reader's.
//!
//! It is a child process of the same program. It writes its address as its first line of output;
//! then it answers every line of input with one line of output, an [`Account`]. It ends when its
//! input ends.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use servemark::client::raise_nofile;
use servemark::mock::{MockServer, MockSpec, TruthRow};

use super::machine::pin;
use super::proc;

/// CPU time and true times of the server.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Account {
    /// CPU nanoseconds of its threads since it started.
    pub(super) cpu_ns: u64,
    /// Nanoseconds in which they were ready to run and waited for a core.
    pub(super) waited_ns: u64,
    /// Times at which it really received and sent, since the previous account.
    pub(super) truth: Vec<TruthRow>,
}

impl Account {
    /// Returns the account of the time after `earlier`, whose truth was already taken.
    pub(super) fn since(self, earlier: &Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
            truth: self.truth,
        }
    }
}

/// A server process. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    questions: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
    url: String,
}

impl Server {
    /// Starts `program` as a server, on a core of its own if one is given.
    pub(crate) fn start(
        program: &Path,
        spec: &MockSpec,
        core: Option<usize>,
    ) -> anyhow::Result<Self> {
        let spec = serde_json::to_string(spec)?;
        let mut command = Command::new(program);
        command.arg(SERVE).arg(spec).args(core.map(|core| core.to_string()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start the server")?;
        let questions = child.stdin.take();
        let output = child.stdout.take().context("the server has no output")?;
        let mut server =
            Self { child, questions, answers: BufReader::new(output).lines(), url: String::new() };
        server.url = server.answer()?;
        Ok(server)
    }

    /// Returns the address that it listens on.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the CPU time since its start, and the truth since the previous account.
    pub(super) fn account(&mut self) -> anyhow::Result<Account> {
        let questions = self.questions.as_mut().context("the server's input is closed")?;
        questions.write_all(b"account\n")?;
        Ok(serde_json::from_str(&self.answer()?)?)
    }

    fn answer(&mut self) -> anyhow::Result<String> {
        Ok(self.answers.next().context("the server ended")??)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.questions.take());
        // An error means that the server is gone already.
        let _ = self.child.wait();
    }
}

/// Runs the server process with the arguments that `Server::start` gave it. Returns whether the
/// arguments are those of a server.
pub fn serve(args: &[String], out: &mut dyn Write) -> anyhow::Result<bool> {
    let [first, spec, core @ ..] = args else { return Ok(false) };
    if first != SERVE {
        return Ok(false);
    }
    if let Some(core) = core.first() {
        pin(core.parse()?)?;
    }
    raise_nofile()?;
    let mut spec: MockSpec = serde_json::from_str(spec)?;
    spec.keep_requests = 0;
    let server = MockServer::start(spec)?;
    writeln!(out, "{}", server.base_url())?;
    out.flush()?;
    for question in std::io::stdin().lines() {
        question?;
        writeln!(out, "{}", serde_json::to_string(&account(&server))?)?;
        out.flush()?;
    }
    Ok(true)
}

fn account(server: &MockServer) -> Account {
    Account {
        cpu_ns: nanos(server.cpu_time().unwrap_or_default()),
        waited_ns: nanos(proc::waited("self")),
        truth: server.take_truth(),
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

const SERVE: &str = "serve";
