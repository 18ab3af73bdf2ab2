//! Refuses Parquet tables in a program that is built without the format.

use std::path::{Path, PathBuf};

use servemark::core::RunLog;
use servemark_cli::CliError;

pub(super) fn write(_log: &RunLog, _folder: &Path) -> anyhow::Result<[PathBuf; 3]> {
    let why = "this program is built without Parquet: use the program servemark for --parquet";
    Err(CliError::Together(why).into())
}
