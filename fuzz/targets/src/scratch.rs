//! A folder of a thread's own, for readers that take a path.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

thread_local! {
    static FOLDER: RefCell<Option<TempDir>> = const { RefCell::new(None) };
}

/// The thread's folder; the first call makes it.
pub(crate) fn folder() -> PathBuf {
    FOLDER.with_borrow_mut(|folder| {
        let made = folder.get_or_insert_with(|| tempfile::tempdir().expect("a temporary folder"));
        made.path().to_owned()
    })
}

/// Writes a file below the thread's folder.
pub(crate) fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder().join(name);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).expect("a folder");
    }
    fs::write(&path, bytes).expect("a temporary file");
    path
}

/// A file of the workspace.
pub(crate) fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(path)
}

/// The first byte, which chooses between things, and the rest.
pub(crate) fn choice(bytes: &[u8], count: usize) -> Option<(usize, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    Some((usize::from(*first) % count, rest))
}
