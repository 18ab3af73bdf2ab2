//! Identifies the file of a path.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

/// Identity of a file, independent of the path that leads to it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Identity {
    /// An existing file or pipe.
    File(FileId),
    /// A file that does not exist, by its path with links resolved.
    Path(PathBuf),
}

impl Identity {
    /// Returns the identity of a path. A device has none, because several outputs may be written
    /// to `/dev/null`.
    pub(super) fn of(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            Ok(facts) => file_id(path, &facts).map(Self::File),
            Err(_) => Some(Self::Path(without_links(&end_of_links(path)))),
        }
    }

    pub(super) fn is_file(&self) -> bool {
        matches!(self, Self::File(..))
    }
}

/// The numbers of a device and of an inode on it.
#[cfg(unix)]
type FileId = (u64, u64);

/// The path with links resolved.
#[cfg(not(unix))]
type FileId = PathBuf;

#[cfg(unix)]
fn file_id(_path: &Path, facts: &Metadata) -> Option<FileId> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};

    let is_one = facts.is_file() || facts.file_type().is_fifo();
    is_one.then(|| (facts.dev(), facts.ino()))
}

#[cfg(not(unix))]
fn file_id(path: &Path, facts: &Metadata) -> Option<FileId> {
    facts.is_file().then(|| fs::canonicalize(path).ok())?
}

/// Follows links to the path at which a missing file would be created.
pub(super) fn end_of_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        path = folder_of(&path).join(target);
    }
    path
}

/// Returns the folder of a file.
pub(super) fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Resolves the existing part of a path.
fn without_links(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|folder| {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        Some((folder, fs::canonicalize(folder).ok()?))
    });
    let Some((folder, resolved)) = existing else { return path.to_owned() };
    let rest = path.strip_prefix(folder).unwrap_or(path);
    rest.components().fold(resolved, |whole, part| whole.join(part))
}

/// Maximum number of links that Linux follows.
const MOST_LINKS: usize = 40;
