//! Measures the memory of streams that wait, and of tokens that are kept and scored.
//!
//! Every case runs in a process of its own, because the peak memory of a process never falls. The
//! server of the idle streams is a separate process, so that its sockets do not count.

mod cases;
mod idle;
mod options;
mod tokens;

use std::ffi::OsStr;
use std::io::{self, Write};
use std::process::Command;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

pub use self::cases::{Case, measure_case};
pub use self::options::Options;

/// Result of one case.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Figures {
    /// Peak memory of the case's process, in MiB.
    pub peak_mib: f64,
    /// Memory per stream or token, in bytes.
    pub bytes_each: f64,
    /// Duration in seconds; absent where it shows nothing.
    pub seconds: Option<f64>,
}

/// Measures the cases one after the other. `child` is the program that measures one, and `tell`
/// receives the name of each case.
pub fn measure(
    options: &Options,
    child: &[&OsStr],
    mut report: impl FnMut(&str),
) -> anyhow::Result<Vec<(Case, Figures)>> {
    let run = |case: Case| {
        report(&case.to_string());
        Ok((case.clone(), figures(&case, child)?))
    };
    let cases = options.cases();
    let measured = cases.into_iter().map(run).collect();
    options.tidy_up();
    measured
}

/// Writes a table with a line per case.
pub fn write_report(rows: &[(Case, Figures)], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "| case | peak, MiB | bytes each | took, s |\n|---|---|---|---|")?;
    for (case, Figures { peak_mib, bytes_each, seconds }) in rows {
        let took = seconds.map_or_else(String::new, |seconds| format!("{seconds:.1}"));
        writeln!(out, "| {case} | {peak_mib:.0} | {bytes_each:.1} | {took} |")?;
    }
    Ok(())
}

fn figures(case: &Case, child: &[&OsStr]) -> anyhow::Result<Figures> {
    let (program, words) = child.split_first().context("there is no program")?;
    let mut command = Command::new(program);
    let output = command.args(words).arg(serde_json::to_string(case)?).output()?;
    let news = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{case}: {news}");
    Ok(serde_json::from_slice(&output.stdout)?)
}
