//! Checks that each published crate can be built from its package alone, and that its manifest has
//! what a registry shows.

use std::path::{Component, Path, PathBuf};

use crate::metadata::{Package, root};

/// Macros that read a file when the crate is compiled.
const INCLUDES: [&str; 3] = ["include!(", "include_bytes!(", "include_str!("];

/// Returns the files that a package includes from outside its folder, where Cargo does not pack
/// them. Sources in `tests` and `benches` are not checked: a package is built without them.
pub(super) fn include_faults(folder: &Path, sources: &[(PathBuf, String)]) -> Vec<String> {
    let is_packed = |path: &Path| {
        let inside = path.strip_prefix(folder).unwrap_or(path);
        !inside.starts_with("tests") && !inside.starts_with("benches")
    };
    let mut faults = Vec::new();
    for (path, text) in sources.iter().filter(|(path, _)| is_packed(path)) {
        let outside = included(folder, path, text).into_iter();
        let outside = outside.filter(|file| !normal(file).starts_with(normal(folder)));
        faults.extend(outside.map(|file| {
            format!("{} includes {}, outside its package", path.display(), normal(&file).display())
        }));
    }
    faults
}

/// Returns the paths of the files that a source includes. Paths that are not literals are skipped.
fn included(folder: &Path, source: &Path, text: &str) -> Vec<PathBuf> {
    let calls = INCLUDES.iter().flat_map(|name| text.split(name).skip(1));
    let path = |call: &str| {
        let (argument, _) = call.split_once(';').unwrap_or((call, ""));
        let literals: Vec<&str> = argument.split('"').skip(1).step_by(2).collect();
        match literals.as_slice() {
            ["CARGO_MANIFEST_DIR", relative, ..] => {
                Some(folder.join(relative.trim_start_matches('/')))
            }
            [relative, ..] => Some(source.parent()?.join(relative)),
            [] => None,
        }
    };
    calls.filter_map(path).collect()
}

/// Returns a path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// Files with the texts of the licences, in the workspace's folder and in each published package.
const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Returns the licence texts that a package lacks, or has in another version than the workspace.
pub(super) fn licence_faults(package: &Package) -> anyhow::Result<Vec<String>> {
    let mut faults = Vec::new();
    for name in LICENCES {
        let text = std::fs::read(root().join(name))?;
        if std::fs::read(package.folder.join(name)).ok() != Some(text) {
            faults.push(format!("{} has no link to the workspace's {name}", package.name));
        }
    }
    Ok(faults)
}

/// Categories of crates.io that our packages use; it ignores names that it does not know.
const CATEGORIES: &[&str] = &[
    "algorithms",
    "asynchronous",
    "caching",
    "command-line-interface",
    "command-line-utilities",
    "date-and-time",
    "development-tools::profiling",
    "development-tools::testing",
    "encoding",
    "mathematics",
    "network-programming",
    "os",
    "os::linux-apis",
    "parser-implementations",
    "science",
    "simulation",
    "text-processing",
    "visualization",
    "web-programming::http-client",
    "web-programming::http-server",
];

/// Maximum number of keywords and of categories that crates.io takes.
const MOST_WORDS: usize = 5;

/// Maximum number of characters of a keyword that crates.io takes.
const MOST_CHARACTERS: usize = 20;

/// Returns what a package's manifest lacks, and keywords and categories that crates.io refuses.
pub(super) fn manifest_faults(package: &Package) -> Vec<String> {
    let manifest = &package.manifest;
    let mut faults = Vec::new();
    for key in ["description", "license", "readme", "repository"] {
        if manifest[key].as_str().is_none_or(str::is_empty) {
            faults.push(format!("no {key}"));
        }
    }
    let words = |key: &str| -> Vec<&str> {
        manifest[key].as_array().into_iter().flatten().filter_map(|word| word.as_str()).collect()
    };
    for key in ["categories", "keywords"] {
        let count = words(key).len();
        if !(1..=MOST_WORDS).contains(&count) {
            faults.push(format!("{count} {key}; crates.io takes 1 to {MOST_WORDS}"));
        }
    }
    let keywords = words("keywords").into_iter().filter(|word| !is_keyword(word));
    faults.extend(keywords.map(|word| format!("the keyword {word:?}, which crates.io refuses")));
    let categories = words("categories").into_iter().filter(|word| !CATEGORIES.contains(word));
    faults
        .extend(categories.map(|word| format!("the category {word:?}, which is not in the list")));
    if !package.features.is_empty() && manifest["metadata"]["docs"]["rs"]["all-features"] != true {
        faults.push("features that docs.rs leaves out (all-features is not set)".to_owned());
    }
    faults.into_iter().map(|fault| format!("{} has {fault}", package.name)).collect()
}

fn is_keyword(word: &str) -> bool {
    let is_allowed =
        |character: char| character.is_ascii_alphanumeric() || "+-_".contains(character);
    word.len() <= MOST_CHARACTERS
        && word.starts_with(|first: char| first.is_ascii_alphanumeric())
        && word.chars().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[track_caller]
    fn check(source: &str, text: &str, expected: &[&str]) {
        let sources = [(PathBuf::from(source), text.to_owned())];
        assert_eq!(include_faults(Path::new("/crates/a"), &sources), expected);
    }

    #[test]
    fn a_file_outside_the_package_is_a_fault() {
        let text = r#"const A: &str = include_str!("../../../docs/a.md");"#;
        let fault = "/crates/a/src/b.rs includes /docs/a.md, outside its package";
        check("/crates/a/src/b.rs", text, &[fault]);
        let text = r#"fn a() { include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/a.md")); }"#;
        check("/crates/a/src/b.rs", text, &[fault]);
    }

    #[test]
    fn a_file_in_the_package_is_none() {
        check("/crates/a/src/b.rs", r#"include_str!("../docs/a.md");"#, &[]);
        check("/crates/a/src/b.rs", r#"include_str!("a.md");"#, &[]);
        let text = r#"include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/a.md"));"#;
        check("/crates/a/src/b.rs", text, &[]);
    }

    #[track_caller]
    fn check_manifest(change: (&str, Value), expected: &[&str]) {
        let mut manifest = json!({
            "description": "a", "license": "MIT", "readme": "README.md", "repository": "https://a",
            "keywords": ["a"], "categories": ["os"],
            "metadata": {"docs": {"rs": {"all-features": true}}},
        });
        manifest[change.0] = change.1;
        let (name, features) = ("a".to_owned(), vec!["b".to_owned()]);
        let package = Package { name, manifest, features, ..Package::default() };
        assert_eq!(manifest_faults(&package), expected);
    }

    #[test]
    fn a_manifest_has_what_a_registry_shows() {
        check_manifest(("license", json!("MIT")), &[]);
        check_manifest(("readme", Value::Null), &["a has no readme"]);
        check_manifest(("keywords", json!([])), &["a has 0 keywords; crates.io takes 1 to 5"]);
        let long = "the keyword \"a-word-of-21-characte\", which crates.io refuses";
        check_manifest(("keywords", json!(["a-word-of-21-characte"])), &[&format!("a has {long}")]);
        let unknown = "a has the category \"gpus\", which is not in the list";
        check_manifest(("categories", json!(["gpus"])), &[unknown]);
        let hidden = "a has features that docs.rs leaves out (all-features is not set)";
        check_manifest(("metadata", Value::Null), &[hidden]);
    }

    #[test]
    fn a_package_without_licence_texts_is_a_fault() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let package = Package { name: "a".to_owned(), folder, ..Package::default() };
        let faults = licence_faults(&package).unwrap();
        assert_eq!(faults[1], "a has no link to the workspace's LICENSE-MIT");
    }

    #[test]
    fn tests_are_not_packed() {
        check("/crates/a/tests/it/b.rs", r#"include_str!("../../../../docs/a.md");"#, &[]);
    }
}
