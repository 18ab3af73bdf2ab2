//! Opens the file of a run log, so that no run writes into the log of another.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::RunLogError;

/// What to do if the file of a new run log already exists.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IfTaken {
    /// Refuse the run and leave the file unchanged.
    #[default]
    Refuse,
    /// Write to the first free name: `run.runlog.jsonl`, then `run_2.runlog.jsonl`.
    Number,
    /// Empty the file, unless another process is writing to it.
    Replace,
}

/// Returns whether a path leads to a device, a pipe, a socket or a file that this process already
/// has open. These are written to as they are: they cannot be created, emptied or locked.
pub fn is_stream(path: &Path) -> bool {
    let is_open_already = OPEN_FILES.into_iter().any(|name| path.starts_with(name));
    let is_special = |facts: fs::Metadata| !facts.is_file() && !facts.is_dir();
    is_open_already || fs::metadata(path).is_ok_and(is_special)
}

/// Checks whether a run log can be created at `path`, without creating it.
pub fn check_run_log(path: &Path, if_taken: IfTaken) -> Result<(), RunLogError> {
    match if_taken {
        IfTaken::Refuse if !is_stream(path) && fs::symlink_metadata(path).is_ok() => {
            Err(RunLogError::Taken { path: path.to_owned() })
        }
        IfTaken::Replace if !is_stream(path) => match File::open(path) {
            Ok(file) => lock(&file, path),
            Err(_) => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Opens and locks the file; returns its path, which may be a numbered one.
pub(super) fn open(path: &Path, if_taken: IfTaken) -> Result<(PathBuf, File), RunLogError> {
    let cannot_write = |source| RunLogError::Write { path: path.to_owned(), source };
    if is_stream(path) {
        let file = OpenOptions::new().append(true).open(path).map_err(cannot_write)?;
        return Ok((path.to_owned(), file));
    }
    let (path, file) = match if_taken {
        IfTaken::Refuse => match File::create_new(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(RunLogError::Taken { path: path.to_owned() });
            }
            opened => (path.to_owned(), opened.map_err(cannot_write)?),
        },
        IfTaken::Number => first_free(path).map_err(cannot_write)?,
        IfTaken::Replace => {
            let mut create = OpenOptions::new();
            let opened = create.write(true).create(true).truncate(false).open(path);
            (path.to_owned(), opened.map_err(cannot_write)?)
        }
    };
    lock(&file, &path)?;
    if if_taken == IfTaken::Replace {
        file.set_len(0).map_err(cannot_write)?;
    }
    Ok((path, file))
}

/// Removes a run log, unless another process is writing to it. A missing file is not an error.
pub fn remove_run_log(path: &Path) -> Result<(), RunLogError> {
    let failed = |source| RunLogError::Write { path: path.to_owned(), source };
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(error)),
        Ok(file) => {
            lock(&file, path)?;
            fs::remove_file(path).map_err(failed)
        }
    }
}

/// Locks the file. A file system without locks is not an error.
fn lock(file: &File, path: &Path) -> Result<(), RunLogError> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(RunLogError::Busy { path: path.to_owned() }),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// Creates a file under the first free name: `run.runlog.jsonl`, then `run_2.runlog.jsonl`.
pub fn first_free(path: &Path) -> io::Result<(PathBuf, File)> {
    let mut number = 1;
    loop {
        let path = numbered(path, number);
        match File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            created => return created.map(|file| (path, file)),
        }
    }
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let end = ENDS.into_iter().find(|end| name.ends_with(end)).unwrap_or_default();
    let stem = &name[..name.len() - end.len()];
    path.with_file_name(format!("{stem}_{number}{end}"))
}

/// Returns whether the path still leads to the open file.
pub(super) fn is_in_place(file: &File, path: &Path) -> io::Result<bool> {
    let open = file.metadata()?;
    let there = fs::metadata(path);
    Ok(!open.is_file() || there.is_ok_and(|there| is_same(&open, &there)))
}

#[cfg(unix)]
fn is_same(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;

    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Other systems do not tell files apart here: a file at the path counts as the open one.
#[cfg(not(unix))]
fn is_same(_one: &fs::Metadata, _other: &fs::Metadata) -> bool {
    true
}

const OPEN_FILES: [&str; 4] = ["/dev/fd", "/dev/stderr", "/dev/stdout", "/proc/self/fd"];
const ENDS: [&str; 3] = [".runlog.jsonl", ".jsonl", ".engine.log"];
