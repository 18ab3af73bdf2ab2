//! Starts and ends an engine's server on loopback.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};

use super::engine::{Engine, Serving};
use super::install::Installation;
use super::process::{ProcessGroup, end_of, poll};
use super::tally::Tally;

/// A running server, which is ended on drop.
#[derive(Debug)]
pub(super) struct Server {
    port: u16,
    _group: ProcessGroup,
}

impl Server {
    /// Starts a server with its model and waits until it is ready.
    pub(super) fn start(
        engine: &Engine,
        serving: &Serving,
        place: &Installation,
        model: &Path,
    ) -> anyhow::Result<Self> {
        let port = free_port()?;
        let log = place.folder.join(format!("server-{}.log", serving.task.as_str()));
        let mut command = command(engine, place, &log)?;
        command.args(serving.launch).arg(model).args(engine.arguments);
        command.args(["--host", "127.0.0.1", "--port", &port.to_string()]);
        let mut group = ProcessGroup::spawn(&mut command)?;
        poll(LONGEST_START, || match group.exit_status()? {
            Some(status) => bail!("the server ended with {status}"),
            None => Ok(is_ready(port, serving.ready_path).then_some(())),
        })
        .with_context(|| format!("{} did not start: {}", engine.title, end_of(&log)))?;
        Ok(Self { port, _group: group })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the current values of the server's counters.
    pub(super) fn tally(&self) -> anyhow::Result<Tally> {
        Ok(Tally::of(&self.metrics()?))
    }

    /// Returns the server's page of metrics.
    pub(super) fn metrics(&self) -> anyhow::Result<String> {
        ask(self.port, "/metrics").context("the server's metrics")
    }
}

fn command(engine: &Engine, place: &Installation, log: &Path) -> anyhow::Result<Command> {
    let log = File::create(log)?;
    let mut command = Command::new(&place.python);
    place.equip(&mut command, engine);
    command.current_dir(&place.folder).stdout(log.try_clone()?).stderr(log);
    Ok(command)
}

/// Returns a port that was free a moment ago.
fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

fn is_ready(port: u16, path: &str) -> bool {
    ask(port, path).is_ok_and(|answer| answer.split(' ').nth(1) == Some("200"))
}

/// Sends a GET request and returns the raw response.
fn ask(port: u16, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Three consecutive imports of a large Python package take minutes on a small machine.
const LONGEST_START: Duration = Duration::from_secs(600);
