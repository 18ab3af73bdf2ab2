//! Writes a run log in formats of other programs.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use servemark::core::{RunLog, RunLogReader};
use servemark::report::{
    BenchmarkReport, write_requests_parquet, write_series_parquet, write_tokens_parquet,
};
use servemark::{ExitCode, replace_file};
use servemark_cli::ExportArgs;

use crate::{documents, score, screen};

/// Writes the requested files.
pub(crate) fn export(args: &ExportArgs) -> anyhow::Result<ExitCode> {
    let reader = RunLogReader::open(&args.run_log)?;
    let reader = reader.if_damaged(score::if_damaged(args.skip_damaged)).without_texts();
    let (log, left_out) = reader.into_log_and_left_out()?;
    score::say_left_out(&args.run_log, &left_out);
    let mut files = Vec::new();
    if let Some(folder) = &args.parquet {
        files.extend(write_tables(&log, folder)?);
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

/// Writes the tables of requests, pieces of output and readings of series. Returns their paths.
fn write_tables(log: &RunLog, folder: &Path) -> anyhow::Result<[PathBuf; 3]> {
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let create = |path: &Path| {
        let file = File::create(path);
        file.map(BufWriter::new).with_context(|| format!("cannot write {}", path.display()))
    };
    let files =
        ["requests.parquet", "tokens.parquet", "series.parquet"].map(|name| folder.join(name));
    write_requests_parquet(log, create(&files[0])?)?;
    write_tokens_parquet(log, create(&files[1])?)?;
    write_series_parquet(log, create(&files[2])?)?;
    Ok(files)
}
