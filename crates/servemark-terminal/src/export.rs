//! Writes a run log in formats of other programs.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use anyhow::Context as _;
use servemark::ExitCode;
use servemark::core::RunLogReader;
use servemark::report::{write_requests_parquet, write_tokens_parquet};
use servemark_cli::ExportArgs;

use crate::{documents, score, screen};

/// Writes the tables of requests and of pieces of output.
pub(crate) fn export(args: &ExportArgs) -> anyhow::Result<ExitCode> {
    let reader = RunLogReader::open(&args.run_log)?;
    let reader = reader.if_damaged(score::if_damaged(args.skip_damaged)).without_texts();
    let (log, left_out) = reader.into_log_and_left_out()?;
    score::say_left_out(&args.run_log, &left_out);
    let folder = &args.parquet;
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let create = |path: &Path| {
        let file = File::create(path);
        file.map(BufWriter::new).with_context(|| format!("cannot write {}", path.display()))
    };
    let files = ["requests.parquet", "tokens.parquet"].map(|name| folder.join(name));
    write_requests_parquet(&log, create(&files[0])?)?;
    write_tokens_parquet(&log, create(&files[1])?)?;
    documents::print_files(args.json, &files, true);
    screen::eprint_line(&format!("Tables: {}", folder.display()));
    Ok(ExitCode::Ok)
}
