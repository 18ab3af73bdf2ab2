//! Writes the verdicts of gates for continuous integration.

use std::fs::OpenOptions;
use std::io::Write as _;

use anyhow::Context as _;
use servemark::Outputs;
use servemark::replace_file;
use servemark::report::GateReport;
use servemark_cli::GateArgs;

use crate::screen;

/// Writes the files and annotations that are asked for.
pub(crate) fn write(report: &GateReport, args: &GateArgs) -> anyhow::Result<()> {
    if let Some(path) = &args.markdown {
        replace_file(path, report.markdown().as_bytes())?;
    }
    if let Some(path) = &args.junit {
        replace_file(path, report.junit().as_bytes())?;
    }
    if args.github {
        report.annotations().iter().for_each(|line| screen::eprint_line(line));
    }
    if let Some(path) = &args.step_summary {
        let file = OpenOptions::new().append(true).create(true).open(path);
        file.and_then(|mut file| file.write_all(report.markdown().as_bytes()))
            .with_context(|| format!("cannot append the summary to {}", path.display()))?;
    }
    Ok(())
}

/// Adds the files that will be written.
pub(crate) fn add_outputs(args: &GateArgs, outputs: &mut Outputs) {
    for (what, path) in [("the Markdown", &args.markdown), ("the JUnit file", &args.junit)] {
        if let Some(path) = path {
            outputs.add_file(what, path);
        }
    }
    if let Some(path) = &args.step_summary {
        outputs.add_appended("the summary", path);
    }
}
