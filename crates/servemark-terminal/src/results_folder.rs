//! Creates the folders of several runs, so that no two processes have the same one.

use std::path::{Path, PathBuf};

use anyhow::Context;
use servemark::{create_new_folder, numbered};
use servemark_cli::aisbench::{Reuse, Tasks};
use servemark_cli::{EvalscopeRuns, ResultsFolder};

/// Returns the folder of several runs. A folder with the time in its name is created, under
/// another name if it exists.
pub(crate) fn settled(folder: &ResultsFolder) -> anyhow::Result<PathBuf> {
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

fn created(path: &Path, names: impl IntoIterator<Item = PathBuf>) -> anyhow::Result<PathBuf> {
    create_new_folder(names).with_context(|| format!("cannot make the folder {}", path.display()))
}
