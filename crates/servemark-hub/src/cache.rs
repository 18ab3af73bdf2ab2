//! The folder of one repository in the cache that the hub's Python tools share: `blobs` holds files
//! by checksum, `snapshots` links to them by commit, and `refs` maps branches to commits.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::HubError;
use crate::download::make_folder_of;
use crate::error::disk;
use crate::hub_request::{HubRequest, Kind, is_plain};

/// The cache folder of one repository.
#[derive(Debug)]
pub(crate) struct RepoCache {
    root: PathBuf,
    locks: PathBuf,
}

impl RepoCache {
    /// Returns the folder of a repository in `cache`.
    pub(crate) fn new(cache: &Path, wanted: &HubRequest) -> Self {
        let kind = match wanted.kind {
            Kind::Dataset => "datasets",
            Kind::Model(_) => "models",
        };
        let name = format!("{kind}--{}", wanted.name.replace('/', "--"));
        Self { root: cache.join(&name), locks: cache.join(".locks").join(name) }
    }

    pub(crate) fn blob(&self, tag: &str) -> PathBuf {
        self.root.join("blobs").join(tag)
    }

    pub(crate) fn lock(&self, tag: &str) -> PathBuf {
        self.locks.join(format!("{tag}.lock"))
    }

    pub(crate) fn snapshot(&self, commit: &str) -> PathBuf {
        self.root.join("snapshots").join(commit)
    }

    /// Returns the snapshot that `refs` records for a branch, if it exists: that of the last
    /// download.
    pub(crate) fn newest(&self, branch: &str) -> Option<PathBuf> {
        let commit = fs::read_to_string(self.reference(branch)).ok()?;
        Some(self.snapshot(commit.trim())).filter(|folder| folder.is_dir())
    }

    /// Records the commit of a branch.
    pub(crate) fn point(&self, branch: &str, commit: &str) -> Result<(), HubError> {
        let path = self.reference(branch);
        if fs::read_to_string(&path).is_ok_and(|known| known == commit) {
            return Ok(());
        }
        make_folder_of(&path)?;
        let fresh = fresh(&path);
        fs::write(&fresh, commit).map_err(disk(&fresh))?;
        fs::rename(&fresh, &path).map_err(disk(&path))
    }

    /// Links a blob into a snapshot under the file's own name.
    pub(crate) fn link(&self, commit: &str, file: &str, tag: &str) -> Result<PathBuf, HubError> {
        let path = self.snapshot(commit).join(file);
        make_folder_of(&path)?;
        let depth = Path::new(file).components().count() + 1;
        let target: PathBuf = [&"../".repeat(depth), "blobs", tag].iter().collect();
        if fs::read_link(&path).is_ok_and(|known| known == target) {
            return Ok(path);
        }
        let fresh = fresh(&path);
        link(&target, &self.blob(tag), &fresh).map_err(disk(&fresh))?;
        fs::rename(&fresh, &path).map_err(disk(&path))?;
        Ok(path)
    }

    fn reference(&self, branch: &str) -> PathBuf {
        self.root.join("refs").join(branch)
    }
}

/// Checks that a commit or tag can be a part of a path.
pub(crate) fn checked(word: &str, url: &str) -> Result<String, HubError> {
    if is_plain(word) {
        return Ok(word.to_owned());
    }
    Err(HubError::BadAnswer { url: url.to_owned(), why: format!("names a file {word:?}") })
}

/// Returns a path beside a file at which its next version is written before it is renamed.
fn fresh(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    name.into()
}

#[cfg(unix)]
fn link(target: &Path, _blob: &Path, at: &Path) -> io::Result<()> {
    match fs::remove_file(at) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    std::os::unix::fs::symlink(target, at)
}

#[cfg(not(unix))]
fn link(_target: &Path, blob: &Path, at: &Path) -> io::Result<()> {
    fs::copy(blob, at).map(drop)
}
