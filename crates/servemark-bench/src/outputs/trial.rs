//! Tests whether a file or a folder can be written.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use servemark_core::{check_run_log, is_stream};

use super::identity::{end_of_links, folder_of};
use super::{Kind, Output, OutputError, Outputs};

impl Outputs {
    pub(super) fn try_out(&self, output: &Output) -> Result<(), OutputError> {
        match output.kind {
            Kind::Folder => output.try_folder(&output.path),
            Kind::RunLog(if_taken) => {
                check_run_log(&output.path, if_taken)?;
                self.try_file(output)
            }
            Kind::Appended | Kind::Replaced => self.try_file(output),
        }
    }

    fn try_file(&self, output: &Output) -> Result<(), OutputError> {
        let path = &output.path;
        if path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(output.other_kind(path, "a folder"));
        }
        match fs::metadata(path) {
            // Opening a pipe would wait for its reader.
            Ok(_) if is_stream(path) => Ok(()),
            Ok(_) => {
                let opened = OpenOptions::new().append(true).open(path);
                opened.map(drop).map_err(|source| output.refused(path, source))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.try_place(output),
            Err(error) => Err(output.refused(path, error)),
        }
    }

    /// Checks the folder of a file that does not exist.
    fn try_place(&self, output: &Output) -> Result<(), OutputError> {
        let path = end_of_links(&output.path);
        let folder = folder_of(&path);
        let is_made =
            |other: &Output| other.kind == Kind::Folder && folder.starts_with(&other.path);
        if folder.exists() || self.outputs.iter().any(is_made) {
            return output.try_folder(folder);
        }
        let (path, folder) = (output.path.clone(), folder.to_owned());
        Err(OutputError::NoFolder { what: output.what, path, folder })
    }
}

impl Output {
    /// Creates an unnamed file in the folder, or in its closest existing parent.
    fn try_folder(&self, folder: &Path) -> Result<(), OutputError> {
        let existing = folder.ancestors().find(|folder| folder.exists());
        let existing = existing.filter(|folder| !folder.as_os_str().is_empty());
        let existing = existing.unwrap_or(Path::new("."));
        if !existing.is_dir() {
            return Err(self.other_kind(existing, "no folder"));
        }
        let file = tempfile::tempfile_in(existing);
        let written = file.and_then(|mut file| file.write_all(b"\n"));
        written.map_err(|source| self.refused(&self.path, source))
    }

    fn refused(&self, path: &Path, source: io::Error) -> OutputError {
        OutputError::Refused { what: self.what, path: path.to_owned(), source }
    }

    fn other_kind(&self, path: &Path, is: &'static str) -> OutputError {
        OutputError::OtherKind { what: self.what, path: path.to_owned(), is }
    }
}
