//! Creates the folders of several runs, so that no two processes have the same one.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::Context;
use servemark::{ExecuteError, OutputError, Outputs, create_new_folder, numbered};
use servemark_cli::aisbench::{Reuse, Tasks};
use servemark_cli::{EvalscopeRuns, ResultsFolder};

/// Returns the folder of several runs. A folder with the time in its name is created, under
/// another name if it exists.
pub(crate) fn create(folder: &ResultsFolder) -> anyhow::Result<PathBuf> {
    match folder {
        ResultsFolder::Dated(path) => created(path, numbered(path.clone())),
        ResultsFolder::Named(path) => Ok(path.clone()),
    }
}

/// Returns evalscope's runs with a folder of their own, if its path has the time in it:
/// `outputs/TIME/NAME`, or `outputs/TIME_2/NAME` if that exists.
pub(crate) fn evalscope(asked: &EvalscopeRuns) -> anyhow::Result<EvalscopeRuns> {
    let mut asked = asked.clone();
    if let ResultsFolder::Dated(path) = asked.results_folder()
        && let (Some(dated), Some(name)) = (path.parent(), path.file_name())
    {
        let names = numbered(dated.to_owned()).map(|dated| dated.join(name));
        let folder = created(&path, names)?;
        if folder != path {
            asked.move_to(folder)?;
        }
    }
    Ok(asked)
}

/// Returns AISBench's tasks with a folder of their own, unless they go on with an earlier run.
pub(crate) fn aisbench(tasks: &Tasks) -> anyhow::Result<Tasks> {
    let mut tasks = tasks.clone();
    if tasks.reuse == Reuse::Nothing {
        let folder = created(&tasks.folder, numbered(tasks.folder.clone()))?;
        if folder != tasks.folder {
            tasks.move_to(folder);
        }
    }
    Ok(tasks)
}

/// Creates the folder of the results of one command. A folder that the user named must be empty,
/// so that no other results are in it.
pub(crate) fn new_empty(asked: &ResultsFolder) -> anyhow::Result<PathBuf> {
    if let Some(refusal) = refusal(asked) {
        return Err(refusal);
    }
    let folder = create(asked)?;
    fs::create_dir_all(&folder).map_err(|source| refused(&folder, source))?;
    Ok(folder)
}

/// Returns why [`new_empty`] would refuse a folder. Nothing is created.
pub(crate) fn refusal(asked: &ResultsFolder) -> Option<anyhow::Error> {
    let folder = asked.path();
    let mut outputs = Outputs::default();
    outputs.add_folder(RESULTS, folder);
    if let Err(error) = outputs.check() {
        return Some(ExecuteError::from(error).into());
    }
    let ResultsFolder::Named(_) = asked else { return None };
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

/// Removes the folder of a command that ended before it measured anything.
pub(crate) fn remove_if_empty(folder: &Path) {
    let _ = fs::remove_dir(folder);
}

fn refused(folder: &Path, source: io::Error) -> anyhow::Error {
    ExecuteError::from(OutputError::Refused { what: RESULTS, path: folder.to_owned(), source })
        .into()
}

const RESULTS: &str = "the results";

fn created(path: &Path, names: impl IntoIterator<Item = PathBuf>) -> anyhow::Result<PathBuf> {
    create_new_folder(names).with_context(|| format!("cannot make the folder {}", path.display()))
}
