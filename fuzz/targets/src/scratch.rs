//! A temporary folder for each thread, for readers that take a path.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

thread_local! {
    static FOLDER: RefCell<Option<TempDir>> = const { RefCell::new(None) };
}

/// Returns the thread's temporary folder; the first call creates it.
pub(crate) fn folder() -> PathBuf {
    FOLDER.with_borrow_mut(|folder| {
        let made = folder.get_or_insert_with(|| tempfile::tempdir().expect("a temporary folder"));
        made.path().to_owned()
    })
}

/// Writes a file into the thread's temporary folder and returns its path.
pub(crate) fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder().join(name);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).expect("a folder");
    }
    fs::write(&path, bytes).expect("a temporary file");
    path
}

/// Returns the path of a file of `fixtures/`.
pub(crate) fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(path)
}

/// Returns a choice below `count`, made by the first byte, and the remaining bytes; `None` if there
/// are no bytes.
pub(crate) fn choice(bytes: &[u8], count: usize) -> Option<(usize, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    Some((usize::from(*first) % count, rest))
}
