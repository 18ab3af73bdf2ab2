//! Measures the time and memory needed to prepare data sets, compared with SGLang's client.
//!
//! A case is a command line of SGLang's client, so that both clients do the same work: each parses
//! it in a process of its own, seeds its generators, draws every prompt, and reports the time of
//! the draw and its peak memory. Servemark's client also encodes every request's body once, as it
//! would shortly before sending it.

mod cases;
mod child;
mod inputs;
mod options;
mod table;

use std::ffi::OsStr;
use std::process::Command;

use anyhow::{Context, bail};

pub use self::cases::{CASES, Case};
pub use self::child::{Figures, prepare};
pub use self::inputs::Inputs;
pub use self::options::{Options, Peer};
pub use self::table::write_report;

/// Results of all cases.
#[derive(Clone, Debug)]
pub struct Study {
    /// Rows of the table.
    pub rows: Vec<Row>,
}

/// Results of one case for both clients.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name of the case.
    pub name: &'static str,
    /// Figures of Servemark's client.
    pub ours: Figures,
    /// Figures of SGLang's client; absent if it was not asked for.
    pub peer: Option<Figures>,
}

/// Measures the cases that were asked for, one after the other.
///
/// `child` is the program that prepares one data set; a case's command line is appended to it.
pub fn measure(
    options: &Options,
    child: &[&OsStr],
    mut report: impl FnMut(&str),
) -> anyhow::Result<Study> {
    let inputs = Inputs::new(options.folder.clone(), options.scale)?;
    let mut rows = Vec::new();
    for case in CASES.iter().filter(|case| options.asks_for(case.name)) {
        report(case.name);
        let argv = (case.argv)(&inputs)?;
        let ours = run(child, &argv)?;
        let peer = options.peer.as_ref().map(|peer| run(&peer.command(), &argv)).transpose()?;
        rows.push(Row { name: case.name, ours, peer });
    }
    Ok(Study { rows })
}

/// Runs a program with a case's command line and returns the figures that it prints as its last
/// line.
fn run(program: &[&OsStr], argv: &str) -> anyhow::Result<Figures> {
    let (first, rest) = program.split_first().context("there is no program")?;
    let mut command = Command::new(first);
    let output = command.args(rest).args(argv.split_whitespace()).output();
    let output = output.with_context(|| format!("cannot start {}", first.display()))?;
    if !output.status.success() {
        bail!("{} {argv}: {}", first.display(), String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8(output.stdout)?;
    let last = text.lines().next_back().unwrap_or_default();
    serde_json::from_str(last).with_context(|| format!("{last:?} holds no figures"))
}
