//! Creates the folders of results, so that no two processes have the same one.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::Context;
use servemark::{ExecuteError, ExitCode, OutputError, Outputs, create_new_folder, numbered};
use servemark_cli::{Parsed, ResultsFolder};

use crate::screen;

/// Returns the folder of several runs. A folder with the time in its name is created, under
/// another name if it exists.
pub(crate) fn create(folder: &ResultsFolder) -> anyhow::Result<PathBuf> {
    match folder {
        ResultsFolder::Dated(path) => created(path, numbered(path.clone())),
        ResultsFolder::Named(path) => Ok(path.clone()),
    }
}

/// Prints where results are.
pub(crate) fn announce(folder: Option<&Path>) {
    if let Some(folder) = folder {
        screen::eprint_line(&format!("Results: {}", folder.display()));
    }
}

/// Creates the folder of the results of one command. A folder that the user named must be empty,
/// so that no other results are in it.
pub(crate) fn new_empty(requested: &ResultsFolder) -> anyhow::Result<PathBuf> {
    if let Some(refusal) = refusal(requested) {
        return Err(refusal);
    }
    let folder = create(requested)?;
    fs::create_dir_all(&folder).map_err(|source| refused(&folder, source))?;
    Ok(folder)
}

/// Returns why [`new_empty`] would refuse a folder. Nothing is created.
pub(crate) fn refusal(requested: &ResultsFolder) -> Option<anyhow::Error> {
    let folder = requested.path();
    let mut outputs = Outputs::default();
    outputs.add_folder(RESULTS, folder);
    if let Err(error) = outputs.check() {
        return Some(ExecuteError::from(error).into());
    }
    let ResultsFolder::Named(_) = requested else { return None };
    match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(source) => Some(refused(folder, source)),
        Ok(mut entries) => entries.next().map(|_| {
            let is = "a folder that is not empty";
            let path = folder.to_owned();
            ExecuteError::from(OutputError::OtherKind { what: RESULTS, path, is }).into()
        }),
    }
}

/// Calls `run` with the folder of its results, if the command line has one. A folder in which
/// nothing was written is removed.
pub(crate) fn run_in(
    parsed: &Parsed,
    run: impl FnOnce(&Parsed, Option<&Path>) -> anyhow::Result<ExitCode>,
) -> anyhow::Result<ExitCode> {
    let requested = parsed.folder.as_ref().filter(|_| parsed.plan_only.is_none());
    let Some(requested) = requested else { return run(parsed, None) };
    let parent = requested.path().parent().filter(|parent| !parent.exists());
    let folder = new_empty(requested)?;
    let mut parsed = parsed.clone();
    parsed.keep_in(&folder);
    run(&parsed, Some(&folder)).inspect_err(|_| {
        remove_if_empty(&folder);
        // It was created with the folder.
        parent.into_iter().for_each(remove_if_empty);
    })
}

/// Removes the folder of a command that ended before it measured anything.
pub(crate) fn remove_if_empty(folder: &Path) {
    let _ = fs::remove_dir(folder);
}

fn refused(folder: &Path, source: io::Error) -> anyhow::Error {
    ExecuteError::from(OutputError::Refused { what: RESULTS, path: folder.to_owned(), source })
        .into()
}

const RESULTS: &str = "the results";

/// Creates the folder `path` under the first of these names that is free.
pub(crate) fn created(
    path: &Path,
    names: impl IntoIterator<Item = PathBuf>,
) -> anyhow::Result<PathBuf> {
    create_new_folder(names).with_context(|| format!("cannot make the folder {}", path.display()))
}
