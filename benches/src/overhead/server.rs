//! The ground-truth server as a process of its own, so that its work is on no reader's bill.
//!
//! It is a child of the same program. It says its address on its first line of output; from then
//! on every line of input is a question that one line of output answers with an [`Account`]. When
//! its input ends, so does it.

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

/// What the server did.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Account {
    /// CPU nanoseconds of its threads since it started.
    pub(super) cpu_ns: u64,
    /// Nanoseconds for which they were ready to run and waited for a core.
    pub(super) waited_ns: u64,
    /// When it really received and sent what, since it was last asked.
    pub(super) truth: Vec<TruthRow>,
}

impl Account {
    /// What it did after `earlier`, which had its truth taken.
    pub(super) fn since(self, earlier: &Self) -> Self {
        Self {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
            truth: self.truth,
        }
    }
}

/// A server process. It ends when this is dropped.
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

    /// Where it listens.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// What it did since it started, and the truth since it was last asked.
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
        // A server that cannot be waited for is gone already.
        let _ = self.child.wait();
    }
}

/// The body of the server process: its arguments are what `Server::start` gave it. Says whether
/// they are a server's at all.
pub fn serve(args: &[String], out: &mut dyn Write) -> anyhow::Result<bool> {
    let [first, spec, core @ ..] = args else { return Ok(false) };
    if first != SERVE {
        return Ok(false);
    }
    if let Some(core) = core.first() {
        pin(core.parse()?)?;
    }
    raise_nofile()?;
    let spec: MockSpec = serde_json::from_str(spec)?;
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
