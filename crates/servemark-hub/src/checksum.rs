//! The checksum that a hub gives a file, which is also the file's name in the cache.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

/// The algorithm of a checksum in an `ETag`: SHA-256 for a large file, git's SHA-1 for a small one.
/// An `ETag` of another form is not a checksum.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Checksum {
    GitBlob,
    Sha256,
}

impl Checksum {
    /// Returns the algorithm of the checksum `etag`, or `None` if it is not one.
    pub(crate) fn of(etag: &str) -> Option<Self> {
        let is_hex = etag.bytes().all(|byte| byte.is_ascii_hexdigit());
        match etag.len() {
            40 if is_hex => Some(Self::GitBlob),
            64 if is_hex => Some(Self::Sha256),
            _ => None,
        }
    }

    /// Computes the checksum of a file, in hexadecimal digits.
    pub(crate) fn compute(self, path: &Path) -> io::Result<String> {
        let mut file = File::open(path)?;
        match self {
            Self::GitBlob => {
                let mut digest = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
                digest.update(format!("blob {}\0", file.metadata()?.len()).as_bytes());
                feed(&mut file, digest)
            }
            Self::Sha256 => feed(&mut file, Context::new(&SHA256)),
        }
    }
}

fn feed(file: &mut File, mut digest: Context) -> io::Result<String> {
    let mut block = vec![0; BLOCK];
    loop {
        match file.read(&mut block)? {
            0 => break,
            read => digest.update(&block[..read]),
        }
    }
    let mut digits = String::new();
    for byte in digest.finish().as_ref() {
        digits.extend([byte >> 4, byte & 15].map(|half| char::from(DIGITS[usize::from(half)])));
    }
    Ok(digits)
}

const BLOCK: usize = 1 << 20;
const DIGITS: &[u8; 16] = b"0123456789abcdef";

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(etag: &str) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "hello\n").unwrap();
        assert_eq!(Checksum::of(etag).unwrap().compute(&path).unwrap(), etag);
    }

    #[test]
    fn both_sorts_are_computed() {
        // The output of `git hash-object` and `sha256sum`.
        check("ce013625030ba8dba906f756967f9e9ca394464a");
        check("5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
    }

    #[test]
    fn another_tag_is_no_checksum() {
        assert_eq!(Checksum::of("W-1234"), None);
        assert_eq!(Checksum::of(&"x".repeat(64)), None);
    }
}
