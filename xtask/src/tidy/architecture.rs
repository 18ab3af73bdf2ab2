//! Checks that everything that the architecture documents name exists.
//!
//! A name in backticks is a path of the repository, a crate or program, or a name that some Rust
//! source defines: an item, a field or a variant. `Type::name` must be defined in a file that also
//! mentions the type. Spans that are neither a path nor a name, such as command lines, are left
//! alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::markdown;
use crate::metadata::{Package, files, root};

/// The documents whose names must exist.
const DOCUMENTS: &[&str] = &["docs/architecture.md", "docs/internals.md"];

/// Folders with files that a document may name by the end of their path.
const FOLDERS: &[&str] = &["benches", "bins", "crates", "docs", "fixtures", "fuzz", "xtask"];

/// Extensions of files that a document may name.
const EXTENSIONS: &[&str] = &["md", "py", "rs", "toml", "txt"];

/// Returns the names in the documents that nothing in the workspace has, given each source's path
/// and text.
pub(super) fn faults<'a>(
    packages: &[Package],
    sources: impl IntoIterator<Item = (&'a Path, &'a str)>,
) -> anyhow::Result<Vec<String>> {
    let root = root();
    let workspace = Workspace::read(&root, packages, sources)?;
    let mut found = Vec::new();
    for document in DOCUMENTS {
        let text = std::fs::read_to_string(root.join(document))?;
        let unknown = code_spans(&text).filter(|(_, span)| !workspace.has(span));
        let fault = |(line, span)| format!("{document}:{line}: there is no `{span}`");
        found.extend(unknown.map(fault));
    }
    Ok(found)
}

/// Returns the crates whose layer in the architecture document's table differs from `layers`.
pub(super) fn layer_faults(document: &str, layers: &[(&str, u8)]) -> Vec<String> {
    let mut shown = BTreeSet::new();
    for line in document.lines() {
        let layer = line.strip_prefix("| ").and_then(|rest| rest.split_once(" |"));
        let Some((layer, rest)) = layer.and_then(|(layer, rest)| Some((layer.parse().ok()?, rest)))
        else {
            continue;
        };
        let crates = rest.split('|').next().unwrap_or_default();
        shown.extend(crates.split('`').skip(1).step_by(2).map(|name| (name, layer)));
    }
    let layers: BTreeSet<(&str, u8)> = layers.iter().copied().collect();
    shown
        .symmetric_difference(&layers)
        .map(|(name, layer)| {
            format!("docs/architecture.md: {name} on layer {layer} differs from tidy")
        })
        .collect()
}

/// Everything that a document can name.
#[derive(Default)]
struct Workspace<'a> {
    /// Paths of files, relative to the root.
    paths: Vec<PathBuf>,
    /// Names of packages, and of their features.
    packages: BTreeSet<String>,
    /// Each defined name, and the indices of the sources that define it.
    definitions: BTreeMap<&'a str, BTreeSet<usize>>,
    sources: Vec<&'a str>,
}

impl<'a> Workspace<'a> {
    fn read(
        root: &Path,
        packages: &[Package],
        sources: impl IntoIterator<Item = (&'a Path, &'a str)>,
    ) -> anyhow::Result<Self> {
        let mut workspace = Self::default();
        for folder in FOLDERS {
            for extension in EXTENSIONS {
                let found = files(&root.join(folder), extension)?;
                let relative = found.iter().filter_map(|path| path.strip_prefix(root).ok());
                workspace.paths.extend(relative.map(Path::to_owned));
            }
        }
        workspace.paths.push("clippy.toml".into());
        for package in packages {
            workspace.packages.insert(package.name.clone());
            workspace.packages.extend(package.features.iter().cloned());
        }
        for (index, (_, text)) in sources.into_iter().enumerate() {
            workspace.sources.push(text);
            for name in text.lines().filter_map(defined_name) {
                workspace.definitions.entry(name).or_default().insert(index);
            }
        }
        Ok(workspace)
    }

    /// Returns whether the workspace has what a code span names, or the span names nothing.
    fn has(&self, span: &str) -> bool {
        let name = span.split_once('(').map_or(span, |(name, _)| name);
        if let Some(folder) = span.strip_suffix('/') {
            return self.paths.iter().any(|path| has_folder(path, Path::new(folder)));
        }
        if span.contains(['*', ' ']) {
            return true;
        }
        let extension = Path::new(span).extension().and_then(|extension| extension.to_str());
        if extension.is_some_and(|extension| EXTENSIONS.contains(&extension)) {
            return self.paths.iter().any(|path| path.ends_with(span));
        }
        if !is_path_of_names(name) {
            return true;
        }
        let mut segments = name.split("::").collect::<Vec<_>>();
        let Some(last) = segments.pop() else { return true };
        if segments.is_empty() && self.is_package(last) {
            return true;
        }
        let own = segments.pop().filter(|own| !self.is_package(&own.replace('_', "-")));
        self.definitions
            .get(last)
            .is_some_and(|defining| own.is_none_or(|own| self.belongs(defining, own)))
    }

    /// Returns whether a name is that of a package, a feature, or a library without its prefix.
    fn is_package(&self, name: &str) -> bool {
        let of_library = format!("servemark-{name}");
        self.packages.contains(name) || self.packages.contains(&of_library)
    }

    /// Returns whether one of these sources mentions the type or is the module `own`.
    fn belongs(&self, defining: &BTreeSet<usize>, own: &str) -> bool {
        self.definitions.contains_key(own)
            && (own.starts_with(char::is_lowercase)
                || defining.iter().any(|&index| self.sources[index].contains(own)))
    }
}

/// Returns whether a file lies in a folder that a document names by the end of its path.
fn has_folder(file: &Path, folder: &Path) -> bool {
    file.ancestors().skip(1).any(|ancestor| ancestor.ends_with(folder))
}

/// Returns whether a span is a Rust name, or several with `::` between them.
fn is_path_of_names(span: &str) -> bool {
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_alphabetic())
            && name.chars().all(|sign| sign.is_ascii_alphanumeric() || "_-".contains(sign))
    };
    span.split("::").all(is_name)
}

/// Returns the name that a line of a source defines: of an item, a field or a variant.
fn defined_name(line: &str) -> Option<&str> {
    const ITEMS: [&str; 9] = [
        "struct ",
        "enum ",
        "trait ",
        "type ",
        "fn ",
        "mod ",
        "const ",
        "static ",
        "macro_rules! ",
    ];
    let line = line.trim_start();
    let line = line.strip_prefix("pub").map_or(line, |rest| {
        let rest = rest
            .strip_prefix('(')
            .and_then(|rest| rest.split_once(')'))
            .map_or(rest, |(_, rest)| rest);
        rest.trim_start()
    });
    let item = ITEMS.iter().find_map(|item| {
        let (before, rest) = line.split_once(item)?;
        before
            .split_whitespace()
            .all(|word| ["const", "async", "unsafe"].contains(&word))
            .then_some(rest)
    });
    let rest = item.unwrap_or(line);
    let end =
        rest.find(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_').unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    let is_definition =
        item.is_some() || after.starts_with([':', ',', '(', ' ']) && !after.starts_with("::");
    (is_definition && !name.is_empty()).then_some(name)
}

/// Returns the code spans of a document outside of its code blocks, each with its one-based line.
fn code_spans(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(markdown::with_code(text.lines())).flat_map(|(number, (line, is_code))| {
        let line = if is_code { "" } else { line };
        line.split('`').skip(1).step_by(2).map(move |span| (number, span))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> Workspace<'static> {
        const SOURCE: &str = "pub struct Engine {\n    pub(crate) clock: u8,\n}\n\nimpl Engine {\n    \
            pub async fn start() {}\n}\n\nenum Kind {\n    Server,\n}\n";
        let packages = [Package { name: "servemark-core".to_owned(), ..Package::default() }];
        Workspace::read(&root(), &packages, [(Path::new("a.rs"), SOURCE)]).unwrap()
    }

    #[test]
    fn names_and_paths_that_exist_pass() {
        let workspace = workspace();
        for span in ["Engine", "Engine::start", "Engine::start(plan)", "clock", "Kind::Server"] {
            assert!(workspace.has(span), "{span}");
        }
        for span in ["servemark-core", "core", "tidy/architecture.rs", "xtask/src/tidy/"] {
            assert!(workspace.has(span), "{span}");
        }
        for span in ["--flag", "cargo xtask tidy", "{\"header\": …}", "/v1/messages"] {
            assert!(workspace.has(span), "{span} names nothing");
        }
    }

    #[test]
    fn names_and_paths_that_do_not_exist_are_faults() {
        let workspace = workspace();
        for span in ["Motor", "Engine::stop", "Motor::start", "tidy/nowhere.rs", "src/nowhere/"] {
            assert!(!workspace.has(span), "{span}");
        }
    }

    #[test]
    fn the_documents_layers_are_those_of_the_check() {
        let document = "| layer | crate | what |\n|---|---|---|\n| 0 | `a`, `b` | x `y` |\n";
        assert!(layer_faults(document, &[("a", 0), ("b", 0)]).is_empty());
        assert_eq!(layer_faults(document, &[("a", 0), ("b", 1)]).len(), 2);
    }

    #[test]
    fn code_blocks_are_left_out() {
        let text = "a `one`\n```\n`two`\n```\n`three` and `four`\n";
        let spans: Vec<_> = code_spans(text).collect();
        assert_eq!(spans, [(1, "one"), (5, "three"), (5, "four")]);
    }
}
