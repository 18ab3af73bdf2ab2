//! Checks that each published crate can be built from its package alone.

use std::path::{Component, Path, PathBuf};

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
            ["CARGO_MANIFEST_DIR", relative, ..] => Some(folder.join(relative.trim_start_matches('/'))),
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

#[cfg(test)]
mod tests {
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

    #[test]
    fn tests_are_not_packed() {
        check("/crates/a/tests/it/b.rs", r#"include_str!("../../../../docs/a.md");"#, &[]);
    }
}
