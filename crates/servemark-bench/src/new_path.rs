//! Creates files and folders under names that no other process has.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Creates a folder with its parents and returns its path. The folder is the first of `names` that
/// does not exist, so that two processes never get the same one.
pub fn create_new_folder(names: impl IntoIterator<Item = PathBuf>) -> io::Result<PathBuf> {
    for name in names {
        if let Some(parent) = name.parent() {
            fs::create_dir_all(parent)?;
        }
        match fs::create_dir(&name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => return created.map(|()| name),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Returns the path, then the path with `_2`, `_3`, … at its end.
pub fn numbered(path: PathBuf) -> impl Iterator<Item = PathBuf> {
    let name = path.file_name().unwrap_or_default().to_owned();
    let others = (2_u32..).map({
        let path = path.clone();
        move |number| {
            let mut name = name.clone();
            name.push(format!("_{number}"));
            path.with_file_name(name)
        }
    });
    std::iter::once(path).chain(others)
}

/// Creates a file with its whole content, so that no reader sees a part of it. If the file exists,
/// it is left as it is and the error is [`ErrorKind::AlreadyExists`].
pub(crate) fn create_whole_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut draft = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
    draft.write_all(content)?;
    draft.as_file().sync_data()?;
    match fs::hard_link(draft.path(), path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            // Some file systems have no links.
            File::create_new(path)?.write_all(content)
        }
        linked => linked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_exists_gets_a_number() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a/runs");
        let made = [0; 3].map(|_| create_new_folder(numbered(path.clone())).unwrap());
        let names = made.map(|path| path.strip_prefix(root.path()).unwrap().to_owned());
        assert_eq!(names, ["a/runs", "a/runs_2", "a/runs_3"].map(PathBuf::from));
        fs::write(root.path().join("file"), "").unwrap();
        assert!(create_new_folder([root.path().join("file/runs")]).is_err());
    }

    #[test]
    fn a_file_that_exists_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sweep.json");
        create_whole_file(&path, b"first").unwrap();
        let error = create_whole_file(&path, b"second").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a draft is left");
    }
}
