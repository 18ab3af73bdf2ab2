//! Errors of sweeps and searches.

use std::io;
use std::path::PathBuf;

use servemark_core::RunLogError;
use servemark_plan::SweepError;
use thiserror::Error;

use crate::full_disk::exit_code_of;
use crate::{ExecuteError, ExitCode, OutputError, ProcessError};

/// Why a sweep, search or A/B comparison failed.
#[derive(Debug, Error)]
pub enum SweepRunError {
    /// The spec is invalid.
    #[error(transparent)]
    Spec(#[from] SweepError),
    /// The folder belongs to another sweep.
    #[error(
        "{folder} holds another sweep or search than this one; name another folder, or ask for the \
         same again to go on with that one",
        folder = folder.display()
    )]
    Different {
        /// Path of the folder.
        folder: PathBuf,
    },
    /// The folder contains run logs but no manifest, so their sweep is unknown.
    #[error(
        "{folder} holds run logs but no {manifest}, so the sweep or search that they belong to is \
         unknown and they would be overwritten; name another folder, or move them away",
        folder = folder.display()
    )]
    Unknown {
        /// Path of the folder.
        folder: PathBuf,
        /// Name of the missing file.
        manifest: &'static str,
    },
    /// Another process is measuring in the folder.
    #[error(
        "another process is measuring in {folder}; wait for its end, or name another folder",
        folder = folder.display()
    )]
    Busy {
        /// Path of the folder.
        folder: PathBuf,
    },
    /// An output file of a point cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The folder cannot be read or written.
    #[error("cannot keep the sweep in {path}", path = path.display())]
    Folder {
        /// Path of the folder or of a file in it.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The run log of a completed point cannot be read or removed.
    #[error(transparent)]
    RunLog(#[from] RunLogError),
    /// The server of a point cannot be started.
    #[error(transparent)]
    Server(ProcessError),
    /// The run of a point failed.
    #[error("point {name}")]
    Point {
        /// Name of the point.
        name: String,
        /// Error of the run.
        source: ExecuteError,
    },
}

impl SweepRunError {
    /// Returns the program's exit code.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Spec(_)
            | Self::Different { .. }
            | Self::Unknown { .. }
            | Self::Busy { .. }
            | Self::RunLog(_) => ExitCode::Usage,
            Self::Output(source) => source.exit_code(),
            Self::Folder { source, .. } => exit_code_of(source),
            Self::Server(source) => source.exit_code(),
            Self::Point { source, .. } => source.exit_code(),
        }
    }

    /// Returns whether the user stopped the run.
    pub(crate) fn is_stop(&self) -> bool {
        matches!(
            self,
            Self::Point { source: ExecuteError::Interrupted, .. }
                | Self::Server(ProcessError::Interrupted)
        )
    }
}
