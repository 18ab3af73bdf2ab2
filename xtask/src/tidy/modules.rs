//! Checks the layers of the modules of `servemark-cli` against the table of the architecture
//! document: a module imports from its own layer and from lower ones.

use std::collections::BTreeMap;
use std::path::Path;

const HEADING: &str = "| layer | modules |";
const SOURCES: &str = "crates/servemark-cli/src/";

/// Returns the imports that lead to a higher layer, and the modules without a layer, given the text
/// of the document and each source's path and text.
pub(super) fn faults<'a>(
    document: &str,
    sources: impl IntoIterator<Item = (&'a Path, &'a str)>,
) -> Vec<String> {
    let layers = layers(document);
    let own = |(path, text): (&'a Path, &'a str)| {
        let path = path.to_str()?;
        let (_, relative) = path.split_once(SOURCES)?;
        Some((relative, without_tests(text)))
    };
    let sources: Vec<(&str, &str)> =
        sources.into_iter().filter_map(own).filter(|(path, _)| !path.contains("tests")).collect();
    let root = sources.iter().find(|(path, _)| *path == "lib.rs").map_or("", |(_, text)| text);
    let exports = exports(root);
    let mut found = Vec::new();
    for &(path, text) in &sources {
        let module = path.split(['/', '.']).next().unwrap_or_default();
        if ["lib", "mirror"].contains(&module) {
            continue;
        }
        let Some(layer) = layers.get(module) else {
            found.push(format!("{SOURCES}{path}: the module {module} has no layer"));
            continue;
        };
        for import in imports(text) {
            let target = exports.get(import).copied().unwrap_or(import);
            if layers.get(target).is_some_and(|other| other > layer) {
                found.push(format!("{SOURCES}{path}: {module} may not import from {target}"));
            }
        }
    }
    found
}

/// Returns the layer of each module in the document's table, from zero.
fn layers(document: &str) -> BTreeMap<&str, usize> {
    let (_, table) = document.split_once(HEADING).unwrap_or_default();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|')).enumerate();
    rows.flat_map(|(layer, row)| row.split('`').skip(1).step_by(2).map(move |name| (name, layer)))
        .collect()
}

/// Returns the text before a source's unit tests.
fn without_tests(text: &str) -> &str {
    text.split_once("#[cfg(test)]\nmod tests {").map_or(text, |(before, _)| before)
}

/// Returns the modules whose items the crate's root exports, by the names of the items.
fn exports(root: &str) -> BTreeMap<&str, &str> {
    let uses = root.split("pub use ").skip(1).filter_map(|rest| rest.split_once(';'));
    let uses = uses.filter_map(|(item, _)| item.split_once("::"));
    let mut exports = BTreeMap::new();
    for (module, items) in uses {
        for item in items.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_') {
            exports.insert(item, module);
        }
    }
    exports
}

/// Returns the first names after each `crate::`, of which there are several in braces.
fn imports(text: &str) -> impl Iterator<Item = &str> {
    let is_end = |sign: char| !sign.is_ascii_alphanumeric() && sign != '_';
    text.split("crate::").skip(1).flat_map(move |rest| {
        let (inside, end) = match rest.strip_prefix('{') {
            Some(inside) => (inside, inside.find("};").unwrap_or(inside.len())),
            None => (rest, rest.find(is_end).unwrap_or(rest.len())),
        };
        let mut depth = 0_usize;
        let items = inside[..end].split(move |sign| {
            depth += usize::from(sign == '{');
            depth = depth.saturating_sub(usize::from(sign == '}'));
            sign == ',' && depth == 0
        });
        items.map(move |item| item.trim().split(is_end).next().unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "| layer | modules |\n|---|---|\n| low | `a`, `b` |\n| high | `c` |\n\n";

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[&str]) {
        let root = (Path::new("crates/servemark-cli/src/lib.rs"), "pub use c::{Thing, Other};\n");
        let path = format!("crates/servemark-cli/src/{path}");
        assert_eq!(faults(DOCUMENT, [root, (Path::new(&path), text)]), expected);
    }

    #[test]
    fn imports_from_the_own_layer_and_from_lower_ones_pass() {
        check("a.rs", "use crate::b::X;\nuse crate::{a, b::{c, d}};\n", &[]);
        check("c/deep.rs", "use crate::{Thing, a};\n", &[]);
    }

    #[test]
    fn imports_from_higher_layers_are_faults() {
        let fault = "crates/servemark-cli/src/a.rs: a may not import from c";
        for text in
            ["use crate::c::X;\n", "use crate::{b::{d, e}, c};\n", "fn f(a: crate::Thing) {}\n"]
        {
            check("a.rs", text, &[fault]);
        }
        check("a.rs", "#[cfg(test)]\nmod tests {\n    use crate::c;\n", &[]);
    }

    #[test]
    fn every_module_has_a_layer() {
        check("d.rs", "", &["crates/servemark-cli/src/d.rs: the module d has no layer"]);
    }
}
