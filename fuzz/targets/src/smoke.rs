//! A short run of a target without a fuzzer: over the corpus and over changed copies of it, which
//! are equal on every machine.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use crate::Target;

/// Returns the paths and the contents of a target's corpus.
pub fn corpus(target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus").join(target.name);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files.into_iter().filter_map(|path| Some((path.clone(), fs::read(path).ok()?))).collect()
}

/// Runs a target over its corpus and over changed inputs. Returns the number of executions, or the
/// first input for which the property does not hold.
pub fn run(target: &Target) -> Result<u32, Vec<u8>> {
    let corpus: Vec<Vec<u8>> = corpus(target).into_iter().map(|(_, bytes)| bytes).collect();
    let mut changer = Changer { state: seed(target.name), corpus: &corpus };
    let fresh = (0..target.smoke).map(|_| changer.next());
    let inputs = corpus.iter().cloned().chain(fresh);
    let mut executions = 0;
    for input in inputs {
        if catch_unwind(AssertUnwindSafe(|| (target.run)(&input))).is_err() {
            return Err(input);
        }
        executions += 1;
    }
    Ok(executions)
}

/// Creates changed copies of inputs from a fixed seed.
struct Changer<'a> {
    state: u64,
    corpus: &'a [Vec<u8>],
}

impl Changer<'_> {
    fn next(&mut self) -> Vec<u8> {
        let mut bytes = self.one();
        for _ in 0..=self.below(4) {
            self.change(&mut bytes);
        }
        bytes.truncate(MOST_BYTES);
        bytes
    }

    fn one(&mut self) -> Vec<u8> {
        let index = self.below(self.corpus.len().max(1));
        self.corpus.get(index).cloned().unwrap_or_default()
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len() + 1);
        match self.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = self.below(256) as u8,
            2 => bytes.insert(at, self.below(256) as u8),
            3 => drop(bytes.drain(at..(at + self.below(32)).min(bytes.len()))),
            4 => bytes.truncate(at),
            5 => {
                let word = WORDS[self.below(WORDS.len())];
                bytes.splice(at..at, word.iter().copied());
            }
            6 => {
                let end = (at + self.below(64)).min(bytes.len());
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => {
                let other = self.one();
                let from = self.below(other.len() + 1);
                let to = (from + self.below(128)).min(other.len());
                bytes.splice(at..at, other[from..to].iter().copied());
            }
        }
    }

    /// Draws a number below `end`.
    fn below(&mut self, end: usize) -> usize {
        // The constants are those of xorshift64*.
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let random = self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32;
        usize::try_from(random).unwrap_or_default() % end
    }
}

fn seed(name: &str) -> u64 {
    name.bytes().fold(0x9E37_79B9_7F4A_7C15, |seed, byte| {
        seed.rotate_left(5).wrapping_add(u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

/// Maximum length of an input. Longer ones take time and find nothing more.
const MOST_BYTES: usize = 32 << 10;

/// Byte strings that have a meaning in some format, or are invalid in it.
const WORDS: [&[u8]; 24] = [
    b"\r\n",
    b"\n\n",
    b"data: ",
    b"[DONE]",
    b"0\r\n\r\n",
    b"{\"",
    b"[[[[",
    b"]]]]",
    b"null",
    b"-1",
    b"1e308",
    b"18446744073709551615",
    b"4294967295",
    b"-9223372036854775808",
    b"NaN",
    b"\\ud800",
    b"\xff\xfe",
    b"\xf0\x9f\x98\x80",
    b"\0",
    b"../",
    b"*a",
    b"&a",
    b"{{ x ~ x }}",
    b"**",
];
