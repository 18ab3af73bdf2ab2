//! Which file a path leads to.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What tells a file from others, whatever path leads to it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Identity {
    /// A file or a pipe that exists, by its device and its number there.
    File(u64, u64),
    /// A file that does not exist, by its path without links.
    Path(PathBuf),
}

impl Identity {
    /// The file of a path. A device is none: `/dev/null` may be written to by everybody.
    pub(super) fn of(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            Ok(facts) if facts.is_file() || facts.file_type().is_fifo() => {
                Some(Self::File(facts.dev(), facts.ino()))
            }
            Ok(_) => None,
            Err(_) => Some(Self::Path(without_links(&end_of_links(path)))),
        }
    }

    pub(super) fn is_file(&self) -> bool {
        matches!(self, Self::File(..))
    }
}

/// Where a link leads to whose file does not exist, which is where the file would be.
pub(super) fn end_of_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        path = folder_of(&path).join(target);
    }
    path
}

/// The folder that a file is in.
pub(super) fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// The path with everything resolved that exists of it.
fn without_links(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|folder| {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        Some((folder, fs::canonicalize(folder).ok()?))
    });
    let Some((folder, resolved)) = existing else { return path.to_owned() };
    let rest = path.strip_prefix(folder).unwrap_or(path);
    rest.components().fold(resolved, |whole, part| whole.join(part))
}

/// As many as Linux follows.
const MOST_LINKS: usize = 40;
