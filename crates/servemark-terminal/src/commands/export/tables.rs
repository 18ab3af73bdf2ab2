//! Parquet tables of a run log.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use servemark::core::RunLog;
use servemark::report::{write_requests_parquet, write_series_parquet, write_tokens_parquet};

/// Writes the tables of requests, pieces of output and readings of series. Returns their paths.
pub(super) fn write(log: &RunLog, folder: &Path) -> anyhow::Result<[PathBuf; 3]> {
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
