//! Input files of the cases, created when they are needed.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context;
use servemark::rng::PythonRandom;

/// Folder of the cases' files, and the scale of the cases.
#[derive(Debug)]
pub struct Inputs {
    folder: PathBuf,
    scale: f64,
}

impl Inputs {
    /// Creates inputs in this folder, which is created if it does not exist.
    pub fn new(folder: PathBuf, scale: f64) -> anyhow::Result<Self> {
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self { folder, scale })
    }

    /// Returns a case's number at this study's scale, at least one.
    #[expect(clippy::cast_sign_loss, reason = "a scale is positive")]
    pub fn scaled(&self, number: usize) -> usize {
        ((number as f64 * self.scale) as usize).max(1)
    }

    /// Returns a file in ShareGPT's layout of about `bytes` bytes at full scale: conversations of
    /// two to eight turns with 5 to 300 words each.
    pub fn sharegpt(&self, bytes: usize) -> anyhow::Result<PathBuf> {
        let bytes = self.scaled(bytes);
        self.file(&format!("sharegpt_{bytes}.json"), |file| write_conversations(file, bytes))
    }

    /// Returns a Mooncake trace of `rows` rows with 24 blocks each; groups of four rows share their
    /// first half.
    pub fn mooncake(&self, rows: usize) -> anyhow::Result<PathBuf> {
        self.file(&format!("mooncake_{rows}.jsonl"), |file| {
            (0..rows).try_for_each(|row| write_row(file, row))
        })
    }

    /// Returns a folder like that of a vision model: a tokenizer with an image processor beside it.
    pub fn vision_model(&self) -> anyhow::Result<PathBuf> {
        let model = self.folder.join("qwen2-vl");
        fs::create_dir_all(&model)?;
        for source in ["tokenizers/qwen2.5", "processors/qwen2-vl"] {
            let source = format!("{}/../fixtures/{source}", env!("CARGO_MANIFEST_DIR"));
            for entry in fs::read_dir(source)? {
                let entry = entry?;
                fs::copy(entry.path(), model.join(entry.file_name()))?;
            }
        }
        Ok(model)
    }

    /// Returns a file of the folder, which `write` creates if it does not exist.
    pub fn file(
        &self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
    ) -> anyhow::Result<PathBuf> {
        let path = self.folder.join(name);
        if path.exists() {
            return Ok(path);
        }
        let partial = path.with_extension("part");
        let mut file = BufWriter::new(File::create(&partial)?);
        write(&mut file)?;
        file.into_inner()?.sync_all()?;
        fs::rename(partial, &path)?;
        Ok(path)
    }
}

fn write_row(file: &mut dyn Write, row: usize) -> anyhow::Result<()> {
    let hashes = |of: usize| (0..12).map(move |block| 12 * of + block);
    let ids: Vec<usize> = hashes(row / 4).chain(hashes(1_000_000 + row)).collect();
    let lengths = r#""input_length": 12000, "output_length": 300"#;
    Ok(writeln!(file, r#"{{"timestamp": {}, {lengths}, "hash_ids": {ids:?}}}"#, 180 * row)?)
}

fn write_conversations(file: &mut dyn Write, bytes: usize) -> anyhow::Result<()> {
    let mut random = PythonRandom::seeded(1);
    let mut written = 0;
    while written < bytes {
        let conversation = conversation(&mut random);
        let separator = if written == 0 { "[" } else { ",\n" };
        write!(file, "{separator}{conversation}")?;
        written += separator.len() + conversation.len();
    }
    Ok(writeln!(file, "]")?)
}

fn conversation(random: &mut PythonRandom) -> String {
    let pairs = 1 + random.randbelow(4).unwrap_or(0);
    let speakers = (0..pairs).flat_map(|_| ["human", "gpt"]);
    let turns: Vec<String> =
        speakers.map(|from| format!(r#"{{"from":"{from}","value":"{}"}}"#, text(random))).collect();
    format!(r#"{{"id":"{:08x}","conversations":[{}]}}"#, random.getrandbits(32), turns.join(","))
}

fn text(random: &mut PythonRandom) -> String {
    let count = 5 + random.randbelow(296).unwrap_or(0) as usize;
    let words: Vec<&str> =
        random.choices(&WORDS, count).unwrap_or_default().into_iter().copied().collect();
    words.join(" ")
}

const WORDS: [&str; 24] = [
    "the",
    "model",
    "of",
    "a",
    "request",
    "and",
    "its",
    "answer",
    "to",
    "measure",
    "in",
    "time",
    "tokens",
    "is",
    "that",
    "server",
    "for",
    "what",
    "throughput",
    "how",
    "\\\"quoted\\\"",
    "naïve",
    "line\\nbreak",
    "latency",
];
