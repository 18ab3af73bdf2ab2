//! The folder of the results of several runs.

use std::path::{Path, PathBuf};

use crate::environment::Environment;

/// Folder of the results of several runs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ResultsFolder {
    /// Named after the time of the start, so that the folder is a new one. If another process took
    /// the name, these runs have the first free one: `NAME_2`, `NAME_3`, …
    Dated(PathBuf),
    /// Named by the user. The runs go on in a folder that exists.
    Named(PathBuf),
}

impl ResultsFolder {
    /// Returns the path of the folder, without the number that it may get.
    pub fn path(&self) -> &Path {
        match self {
            Self::Dated(path) | Self::Named(path) => path,
        }
    }
}

/// Returns the usual folder of a command of Servemark's own: `servemark-results/DATE_TIME`.
pub(crate) fn usual_folder(environment: &Environment) -> ResultsFolder {
    let [date, time] = environment.now().digits();
    ResultsFolder::Dated(Path::new(RESULTS).join(format!("{date}_{time}")))
}

/// Folder in which each command of Servemark's own makes a folder of its results.
const RESULTS: &str = "servemark-results";
