//! How long data sets take to prepare and how much memory that needs, beside SGLang's client.
//!
//! A case is a command line of SGLang's client, so that both clients do the same work: each reads
//! it in a process of its own, seeds, draws every prompt and tells the time of the draw and the
//! most memory that the process ever had. Ours then also writes every request's body, once, as it
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

/// What was measured of each case.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Study {
    /// One row of the table each.
    pub rows: Vec<Row>,
}

/// One case, by both clients.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Row {
    /// The case.
    pub name: &'static str,
    /// Ours.
    pub ours: Figures,
    /// SGLang's client's, where it was asked for.
    pub peer: Option<Figures>,
}

/// Measures the cases that were asked for, one after the other.
///
/// `child` is the program that prepares one data set, to which a case's command line is added.
pub fn measure(
    options: &Options,
    child: &[&OsStr],
    mut tell: impl FnMut(&str),
) -> anyhow::Result<Study> {
    let inputs = Inputs::new(options.folder.clone(), options.scale)?;
    let mut rows = Vec::new();
    for case in CASES.iter().filter(|case| options.asks_for(case.name)) {
        tell(case.name);
        let argv = (case.argv)(&inputs)?;
        let ours = run(child, &argv)?;
        let peer = options.peer.as_ref().map(|peer| run(&peer.command(), &argv)).transpose()?;
        rows.push(Row { name: case.name, ours, peer });
    }
    Ok(Study { rows })
}

/// The figures that a program prints, given a case's command line, as its last line.
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
