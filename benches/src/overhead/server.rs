//! The ground-truth server as a process of its own, so that its work is on no reader's bill.
//!
//! It is a child of the same program. It says its address on its first line of output; from then
//! on every line of input is a question that one line of output answers with an [`Account`]. When
//! its input ends, so does it.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use servemark::client::raise_nofile;
use servemark::core::Truth;
use servemark::mock::{MockServer, MockSpec};

use super::Load;
use super::machine::pin;

/// What the server did since it was last asked.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Account {
    /// CPU nanoseconds of its thread since it started.
    pub cpu_ns: u64,
    /// When it really sent each chunk.
    pub truth: Vec<Truth>,
}

/// A server process. It ends when this is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    questions: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
    url: String,
}

impl Server {
    /// Starts `program` as a server for `load`, on a core of its own if one is given.
    pub fn start(program: &Path, load: &Load, core: Option<usize>) -> anyhow::Result<Self> {
        let spec = serde_json::to_string(&load.server())?;
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
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What it did since it was last asked.
    pub fn account(&mut self) -> anyhow::Result<Account> {
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

/// The body of the server process: its arguments are what [`Server::start`] gave it. Says whether
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
    let cpu = server.cpu_time().unwrap_or_default();
    Account {
        cpu_ns: u64::try_from(cpu.as_nanos()).unwrap_or(u64::MAX),
        truth: server.take_truth().into_iter().map(Truth::from).collect(),
    }
}

const SERVE: &str = "serve";
