//! Why a sweep did not come to its end.

use std::io;
use std::path::PathBuf;

use servemark_core::RunLogError;
use servemark_plan::SweepError;
use thiserror::Error;

use crate::{ExecuteError, ExitCode, OutputError, ProcessError};

/// Why a sweep did not come to its end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SweepRunError {
    /// The sweep cannot be.
    #[error(transparent)]
    Spec(#[from] SweepError),
    /// The folder holds another sweep.
    #[error(
        "{folder} holds another sweep or search than this one; name another folder, or ask for the \
         same again to go on with that one",
        folder = folder.display()
    )]
    Different {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder holds run logs, and nothing says which sweep they are of.
    #[error(
        "{folder} holds run logs but no {manifest}, so nobody can tell which sweep or search they are \
         of, and they would be measured over; name another folder with --sweep-folder, or move them \
         away",
        folder = folder.display()
    )]
    Unknown {
        /// The folder.
        folder: PathBuf,
        /// The file that is missing.
        manifest: &'static str,
    },
    /// Another process is measuring in the folder.
    #[error(
        "another process is measuring in {folder}; wait for its end, or name another folder with \
         --sweep-folder",
        folder = folder.display()
    )]
    Busy {
        /// The folder.
        folder: PathBuf,
    },
    /// A file that a point would write cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// The folder cannot be read or written.
    #[error("cannot keep the sweep in {path}", path = path.display())]
    Folder {
        /// The folder or a file in it.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A point that was measured already cannot be read.
    #[error(transparent)]
    RunLog(#[from] RunLogError),
    /// The server of a point cannot be started.
    #[error(transparent)]
    Server(ProcessError),
    /// A point's run did not come to its report.
    #[error("point {name}")]
    Point {
        /// The point.
        name: String,
        /// Why.
        source: ExecuteError,
    },
}

impl SweepRunError {
    /// The program's exit code.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Spec(_)
            | Self::Different { .. }
            | Self::Unknown { .. }
            | Self::Busy { .. }
            | Self::Output(_)
            | Self::Folder { .. }
            | Self::RunLog(_) => ExitCode::Usage,
            Self::Server(source) => source.exit_code(),
            Self::Point { source, .. } => source.exit_code(),
        }
    }

    /// Whether the user stopped it.
    pub(crate) fn is_stop(&self) -> bool {
        matches!(
            self,
            Self::Point { source: ExecuteError::Interrupted, .. }
                | Self::Server(ProcessError::Interrupted)
        )
    }
}
