//! Archives: a tree of files in the format `ustar`, compressed by gzip, and checksums. Written here,
//! so that they are the same on each system: without the names of users and in a fixed order.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::Context;
use flate2::{Compression, GzBuilder};
use ring::digest::{SHA256, digest};

/// Files and folders of an archive, in their order.
#[derive(Default)]
pub(super) struct Tree {
    entries: Vec<Entry>,
}

/// A file or folder of an archive.
struct Entry {
    path: String,
    /// Content of a file; `None` for a folder.
    content: Option<Vec<u8>>,
    mode: u32,
    /// Number of the user and of the group that the entry belongs to.
    owner: u32,
}

impl Tree {
    /// Adds a file that everyone may read.
    pub(super) fn add_file(&mut self, path: String, content: Vec<u8>) {
        self.entries.push(Entry { path, content: Some(content), mode: 0o644, owner: 0 });
    }

    /// Adds a file that everyone may execute.
    pub(super) fn add_program(&mut self, path: String, content: Vec<u8>) {
        self.entries.push(Entry { path, content: Some(content), mode: 0o755, owner: 0 });
    }

    /// Adds a folder with the mode of its permissions and the number of its owner.
    pub(super) fn add_folder(&mut self, path: &str, mode: u32, owner: u32) {
        let path = format!("{path}/");
        self.entries.push(Entry { path, content: None, mode, owner });
    }

    /// Adds the folders that the files lie in, each before its content.
    pub(super) fn with_parents(self) -> Self {
        let mut tree = Self::default();
        let mut known: BTreeSet<String> =
            self.entries.iter().filter(|entry| entry.content.is_none()).map(Entry::key).collect();
        for entry in self.entries {
            for (at, _) in entry.path.trim_end_matches('/').match_indices('/') {
                if known.insert(entry.path[..at].to_owned()) {
                    tree.add_folder(&entry.path[..at], 0o755, 0);
                }
            }
            tree.entries.push(entry);
        }
        tree
    }

    /// Number of bytes of all files.
    pub(super) fn size(&self) -> usize {
        self.entries.iter().filter_map(|entry| entry.content.as_ref()).map(Vec::len).sum()
    }

    /// Returns the archive in the format `ustar`; each entry has the date, in seconds from 1970.
    pub(super) fn tar(&self, date: u64) -> anyhow::Result<Vec<u8>> {
        let mut tar = Vec::new();
        for entry in &self.entries {
            tar.extend(entry.header(date)?);
            tar.extend(entry.content.as_deref().unwrap_or_default());
            tar.resize(tar.len().next_multiple_of(BLOCK), 0);
        }
        tar.resize(tar.len() + 2 * BLOCK, 0);
        Ok(tar)
    }
}

/// Number of bytes of a block.
const BLOCK: usize = 512;

/// Maximum number of bytes of the last part of a path.
const LONGEST_NAME: usize = 100;

/// Maximum number of bytes of the folders in front of the last part.
const LONGEST_PREFIX: usize = 155;

impl Entry {
    /// Path without the slash at the end of a folder's.
    fn key(&self) -> String {
        self.path.trim_end_matches('/').to_owned()
    }

    fn header(&self, date: u64) -> anyhow::Result<[u8; BLOCK]> {
        let (prefix, name) = split(&self.path).context("a path is too long for an archive")?;
        let size = self.content.as_ref().map_or(0, Vec::len);
        let kind = if self.content.is_some() { "0" } else { "5" };
        let mut header = [0; BLOCK];
        let mut put = |at: usize, text: &str| {
            header[at..at + text.len()].copy_from_slice(text.as_bytes());
        };
        put(0, name);
        put(100, &format!("{:07o}", self.mode));
        put(108, &format!("{:07o}", self.owner));
        put(116, &format!("{:07o}", self.owner));
        put(124, &format!("{size:011o}"));
        put(136, &format!("{date:011o}"));
        put(148, "        "); // the checksum counts as spaces while it is computed
        put(156, kind);
        put(257, "ustar\x0000");
        put(345, prefix);
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        Ok(header)
    }
}

/// Splits a path into its folders and its last part, so that both fit into a header.
fn split(path: &str) -> Option<(&str, &str)> {
    if path.len() <= LONGEST_NAME {
        return Some(("", path));
    }
    let mut slashes = path.match_indices('/').map(|(at, _)| path.split_at(at));
    let (prefix, name) = slashes.find(|(_, name)| name.len() - 1 <= LONGEST_NAME)?;
    (prefix.len() <= LONGEST_PREFIX && name.len() > 1).then(|| (prefix, &name[1..]))
}

/// Compresses bytes by gzip, without a name and a date.
pub(super) fn gzip(content: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut writer = GzBuilder::new().write(Vec::new(), Compression::best());
    writer.write_all(content)?;
    Ok(writer.finish()?)
}

/// Returns the SHA-256 checksum in hexadecimal digits.
pub(super) fn sha256(content: &[u8]) -> String {
    let mut digits = String::new();
    for byte in digest(&SHA256, content).as_ref() {
        write!(digits, "{byte:02x}").expect("a string takes all text");
    }
    digits
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn tar_reads_the_archive() {
        let mut tree = Tree::default();
        let long = format!("{}/{}", "a".repeat(90), "b".repeat(20));
        tree.add_file(long.clone(), vec![7; 513]);
        tree.add_program("c".to_owned(), Vec::new());
        tree.add_folder("d", 0o1777, 65532);
        let archive = gzip(&tree.tar(86400).unwrap()).unwrap();
        let mut command = Command::new("tar");
        command.args(["-tzvf", "-", "--numeric-owner"]).env("TZ", "UTC").env("LC_ALL", "C");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&archive).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        for (line, expected) in
            lines.iter().zip([("-rw-r--r--", &*long), ("-rwxr-xr-x", "c"), ("drwxrwxrwt", "d/")])
        {
            assert_eq!((line[0], *line.last().unwrap()), expected);
        }
        assert!(lines[0].contains(&"513") && lines[2].iter().any(|word| word.contains("65532")));
        assert_eq!(lines.len(), 3);
        assert_eq!(tree.size(), 513);
    }

    #[test]
    fn each_folder_stands_once_before_its_files() {
        let mut tree = Tree::default();
        tree.add_file("a/b/c".to_owned(), Vec::new());
        tree.add_folder("d", 0o1777, 0);
        tree.add_file("a/e".to_owned(), Vec::new());
        tree.add_file("d/f".to_owned(), Vec::new());
        let paths: Vec<String> =
            tree.with_parents().entries.into_iter().map(|entry| entry.path).collect();
        assert_eq!(paths, ["a/", "a/b/", "a/b/c", "d/", "a/e", "d/f"]);
    }

    #[test]
    fn a_path_is_split_where_both_parts_fit() {
        assert_eq!(split("a/b"), Some(("", "a/b")));
        let (folder, name) = ("a".repeat(100), "b".repeat(100));
        assert_eq!(split(&format!("{folder}/{name}")), Some((&*folder, &*name)));
        assert_eq!(split(&"a".repeat(101)), None);
        assert_eq!(split(&format!("{}/b", "a".repeat(156))), None);
    }

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), expected);
    }
}
