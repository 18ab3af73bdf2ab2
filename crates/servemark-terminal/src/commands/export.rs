//! Writes a run log in formats of other programs.

#[cfg_attr(feature = "parquet", path = "export/tables.rs")]
#[cfg_attr(not(feature = "parquet"), path = "export/no_tables.rs")]
mod tables;

use servemark::core::RunLogReader;
use servemark::report::BenchmarkReport;
use servemark::{ExitCode, replace_file};
use servemark_cli::ExportArgs;

use super::score;
use crate::{documents, screen};

/// Writes the requested files.
pub(crate) fn export(args: &ExportArgs) -> anyhow::Result<ExitCode> {
    let reader = RunLogReader::open(&args.run_log)?;
    let reader = reader.if_damaged(score::if_damaged(args.skip_damaged)).without_texts();
    let (log, left_out) = reader.into_log_and_left_out()?;
    score::say_left_out(&args.run_log, &left_out);
    let mut files = Vec::new();
    if let Some(folder) = &args.parquet {
        files.extend(tables::write(&log, folder)?);
        screen::eprint_line(&format!("Tables: {}", folder.display()));
    }
    if let Some(path) = &args.benchmark_report {
        let report = screen::text(|out| BenchmarkReport::write_log(&log, out))?;
        replace_file(path, report.as_bytes())?;
        screen::eprint_line(&format!("Report: {}", path.display()));
        files.push(path.clone());
    }
    documents::print_files(args.json, &files, true);
    Ok(ExitCode::Ok)
}
