//! Refuses dependencies that a package declares but whose names do not occur in its sources.

use std::collections::BTreeSet;
use std::path::Path;

use crate::metadata::{Package, rust_files};

/// Returns the dependencies of a package that none of its sources names.
pub(super) fn unused(package: &Package) -> anyhow::Result<Vec<String>> {
    let source = read(&package.folder.join("src"))?;
    let mut tests = source.clone();
    for folder in ["tests", "examples", "benches"] {
        let folder = package.folder.join(folder);
        tests.extend(if folder.is_dir() { read(&folder)? } else { Vec::new() });
    }
    let name =
        |need: &str| package.renamed.get(need).map_or(need, String::as_str).replace('-', "_");
    let unused = unnamed(&package.needs, name, &source, Comments::Ignored).into_iter();
    // Examples in doc comments use the dependencies of tests.
    let unused = unused.chain(unnamed(&package.test_needs, name, &tests, Comments::Read));
    Ok(unused.map(|need| format!("{} declares {need} and does not use it", package.name)).collect())
}

/// Whether a name in a comment counts.
#[derive(Clone, Copy, PartialEq)]
enum Comments {
    Ignored,
    Read,
}

/// Returns the dependencies whose names in the sources, which `name` returns, do not occur in `texts`.
fn unnamed<'a>(
    needs: &'a BTreeSet<String>,
    name: impl Fn(&str) -> String,
    texts: &[String],
    comments: Comments,
) -> Vec<&'a str> {
    let is_named = |need: &str| {
        let name = name(need);
        let lines = texts.iter().flat_map(|text| text.lines());
        let mut lines =
            lines.filter(|line| comments == Comments::Read || !line.trim_start().starts_with("//"));
        lines.any(|line| has_word(line, &name))
    };
    needs.iter().map(String::as_str).filter(|need| !is_named(need)).collect()
}

fn has_word(line: &str, word: &str) -> bool {
    let is_part =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    line.match_indices(word).any(|(start, found)| {
        let before = start.checked_sub(1).and_then(|before| line.as_bytes().get(before));
        !is_part(before) && !is_part(line.as_bytes().get(start + found.len()))
    })
}

fn read(folder: &Path) -> anyhow::Result<Vec<String>> {
    rust_files(folder)?.into_iter().map(|path| Ok(std::fs::read_to_string(path)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, comments: Comments, expected: &[&str]) {
        let needs = BTreeSet::from(["serde-json".to_owned()]);
        let name = |need: &str| need.replace('-', "_");
        assert_eq!(unnamed(&needs, name, &[line.to_owned()], comments), expected, "{line}");
    }

    #[test]
    fn a_dependency_that_no_line_names_is_unused() {
        check("use serde_json::json;", Comments::Ignored, &[]);
        check("let serde_jsonish = my_serde_json;", Comments::Ignored, &["serde-json"]);
        check("/// serde_json::json", Comments::Ignored, &["serde-json"]);
        check("/// serde_json::json", Comments::Read, &[]);
    }
}
