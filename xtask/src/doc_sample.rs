//! Draws doc comments for a review of their wording.

use std::path::Path;

use anyhow::{Context, bail};
use servemark_rng::PythonRandom;

use crate::metadata::{Package, packages, root, rust_files};

/// Number of doc comments drawn from each package.
const DRAWN_PER_PACKAGE: usize = 10;

/// Prints doc comments of every package as Markdown. A seed always draws the same ones.
pub(crate) fn run(args: &[&str]) -> anyhow::Result<()> {
    let seed: u64 = match args {
        [] => 1,
        ["--seed", seed] => seed.parse().context("--seed takes a number")?,
        _ => bail!("doc-sample takes --seed N only"),
    };
    let root = root().canonicalize()?;
    let mut random = PythonRandom::seeded(seed);
    for package in packages()? {
        print_package(&package, &root, &mut random)?;
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the result of a chore")]
fn print_package(package: &Package, root: &Path, random: &mut PythonRandom) -> anyhow::Result<()> {
    let mut comments = Vec::new();
    let source = package.folder.join("src");
    let mut files = if source.exists() { rust_files(&source)? } else { Vec::new() };
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(&file)?;
        let path = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        let found = doc_comments(&text).into_iter();
        comments
            .extend(found.map(|comment| format!("- `{path}:{}` {}", comment.line, comment.text)));
    }
    println!("\n## {}: {} doc comments\n", package.name, comments.len());
    for index in sample(comments.len(), random) {
        println!("{}", comments[index]);
    }
    Ok(())
}

/// A doc comment: the one-based number of its first line, and its text with the item that it
/// documents.
#[derive(Debug, PartialEq)]
struct DocComment {
    line: usize,
    text: String,
}

/// Returns the doc comments of a source in order.
fn doc_comments(text: &str) -> Vec<DocComment> {
    let mut comments = Vec::new();
    let mut lines = (1..).zip(text.lines().map(str::trim)).peekable();
    while let Some((line, first)) = lines.next() {
        let marker = if first.starts_with("//!") { "//!" } else { "///" };
        let Some(first) = first.strip_prefix(marker).filter(|rest| !rest.starts_with('/')) else {
            continue;
        };
        let mut words = vec![first.trim()];
        while let Some((_, next)) = lines.next_if(|(_, next)| next.starts_with(marker)) {
            words.push(next[marker.len()..].trim());
        }
        while lines.next_if(|(_, next)| next.starts_with("#[")).is_some() {}
        let item = match marker {
            "//!" => "the module",
            _ => lines.peek().map_or("", |(_, item)| item),
        };
        let text = words.join(" ");
        comments.push(DocComment { line, text: format!("on `{item}`: {}", text.trim()) });
    }
    comments
}

/// Draws distinct indices below `count` and returns them in order.
fn sample(count: usize, random: &mut PythonRandom) -> Vec<usize> {
    let drawn = count.min(DRAWN_PER_PACKAGE);
    let mut indices = random.sample_indices(count, drawn).unwrap_or_default();
    indices.sort_unstable();
    indices
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_comments() {
        let sample = |count, seed| sample(count, &mut PythonRandom::seeded(seed));
        assert_eq!(sample(100, 7), sample(100, 7));
        assert_ne!(sample(100, 7), sample(100, 8));
        let mut drawn = sample(100, 7);
        drawn.dedup();
        assert_eq!(drawn.len(), DRAWN_PER_PACKAGE);
        assert_eq!(sample(3, 7), [0, 1, 2]);
    }

    #[test]
    fn comments_come_with_their_item() {
        let text = "//! A file.\n\n/// Opens\n/// it.\n#[inline]\nfn open() {}\n";
        let texts: Vec<_> = doc_comments(text).into_iter().map(|found| found.text).collect();
        assert_eq!(texts, ["on `the module`: A file.", "on `fn open() {}`: Opens it."]);
    }
}
