//! Program of the preparation study: measures the time and memory needed to prepare data sets.

use std::io::{Write, stderr, stdout};

use anyhow::Context;
use servemark_benches::prepare::{Options, measure, prepare, write_report};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|first| first == CHILD) {
        let figures = prepare(&args[1..])?;
        return Ok(writeln!(stdout(), "{}", serde_json::to_string(&figures)?)?);
    }
    let options = Options::parse(args)?;
    let program = std::env::current_exe().context("cannot find this program again")?;
    let study = measure(&options, &[program.as_os_str(), CHILD.as_ref()], |step| {
        // Progress is lost without harm if standard error is closed.
        let _ = writeln!(stderr(), "{step}");
    })?;
    Ok(write_report(&study, &mut stdout().lock())?)
}

/// First argument with which the program prepares one data set and prints its figures. Each data
/// set has a process of its own, because the peak memory of a process never falls.
const CHILD: &str = "--child";
