//! Replaces files atomically, so that no reader sees a partial file and no kill leaves one.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Replaces the content of a file atomically: the file has either all of the old content or all
/// of the new content.
///
/// The content is written to a temporary file in the same folder, which is then renamed. If the
/// path is not a regular file, such as a pipe, or its folder does not allow a new file, the
/// content is written directly.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    if !is_replaceable(path) {
        return fs::write(path, content);
    }
    // Resolve links, so that the link is kept and its target is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let draft = draft_of(&path);
    let replaced = write_synced(&draft, content).and_then(|()| fs::rename(&draft, &path));
    let Err(error) = replaced else { return Ok(()) };
    // The draft may not exist; the first error is the one to report.
    let _ = fs::remove_file(&draft);
    match error.kind() {
        ErrorKind::CrossesDevices | ErrorKind::PermissionDenied | ErrorKind::ResourceBusy => {
            fs::write(&path, content)
        }
        _ => Err(error),
    }
}

/// Returns whether a file can be replaced repeatedly: it is a regular file or does not exist. A
/// pipe or a terminal can only be written once.
pub fn is_replaceable(path: &Path) -> bool {
    fs::metadata(path).map_or(true, |found| found.is_file())
}

fn write_synced(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(content)?;
    // Without this, the rename could reach the disk before the content does.
    file.sync_data()
}

/// Returns the path of the temporary file, in the folder of the file.
fn draft_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.new", std::process::id()));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<OsString> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sweep.csv");
        for content in ["first, and longer", "second"] {
            replace_file(&path, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        assert_eq!(names(folder.path()), ["sweep.csv"]);
    }

    // On Windows it depends on the file system.
    #[cfg(unix)]
    #[test]
    fn an_open_reader_keeps_the_whole_old_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sweep.csv");
        replace_file(&path, b"old").unwrap();
        let old = File::open(&path).unwrap();
        replace_file(&path, b"new content").unwrap();
        assert_eq!(io::read_to_string(old).unwrap(), "old");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        replace_file(&link, b"new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_no_draft() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("taken");
        fs::create_dir(&path).unwrap();
        assert!(replace_file(&path, b"new").is_err());
        assert!(replace_file(&folder.path().join("no/such/file"), b"new").is_err());
        assert_eq!(names(folder.path()), ["taken"]);
    }
}
