//! The crates whose code is in the program, as Cargo resolves them for a target.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::PROGRAM;
use crate::metadata::{cargo_output, graph, packages, root};
use crate::toml_file;

/// The program and the crates in it.
#[derive(Debug, Default)]
pub(super) struct Shipped {
    pub(super) program: Crate,
    /// Crates in the program without its own, in the order of their names and versions.
    pub(super) crates: Vec<Crate>,
}

/// A crate of the program.
#[derive(Debug, Default)]
pub(super) struct Crate {
    pub(super) name: String,
    pub(super) version: String,
    /// Its manifest as Cargo's metadata has it.
    pub(super) manifest: Value,
    /// SHA-256 checksum of its package in the registry; `None` for a crate of the workspace.
    pub(super) checksum: Option<String>,
    /// Names and versions of the crates that it needs.
    pub(super) needs: Vec<(String, String)>,
}

/// Returns the name of the package with the program.
pub(super) fn package() -> anyhow::Result<String> {
    let has_program = |manifest: &Value| {
        let targets = manifest["targets"].as_array();
        targets.into_iter().flatten().any(|target| {
            target["name"] == PROGRAM
                && target["kind"].as_array().is_some_and(|kinds| kinds.contains(&"bin".into()))
        })
    };
    let packages = packages()?;
    let found = packages.into_iter().find(|package| has_program(&package.manifest));
    Ok(found.context("no package has the program")?.name)
}

impl Shipped {
    /// Returns what Cargo links into the program of a package for a target.
    pub(super) fn read(package: &str, target: &str) -> anyhow::Result<Self> {
        let tree = tree(package, target)?;
        let linked: BTreeSet<(String, String)> =
            tree.lines().filter_map(name_and_version).collect();
        let lock = std::fs::read_to_string(root().join("Cargo.lock"))?;
        let mut crates = crates(&graph(target)?, &linked, &checksums(&lock)?)?;
        let place = crates.iter().position(|found| found.name == package);
        let program = crates.remove(place.context("Cargo does not list the program")?);
        Ok(Self { program, crates })
    }
}

/// Returns what `cargo tree` prints of the crates that are linked into a package's program. Cargo's
/// metadata has the features that any package of the workspace enables, `cargo tree` only those
/// that the program enables.
fn tree(package: &str, target: &str) -> anyhow::Result<String> {
    let program = ["tree", "--locked", "-p", package, "--target", target, "--prefix", "none"];
    let form = ["--edges", "normal,no-proc-macro", "--format", "{p}"];
    cargo_output(&[&program[..], &form].concat())
}

/// Returns the name and the version of a line of `cargo tree`: `serde v1.0.0 (…)`.
fn name_and_version(line: &str) -> Option<(String, String)> {
    let mut words = line.split(' ');
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    Some((name.to_owned(), version.to_owned()))
}

/// Returns the checksum of each package of a lock file that is from a registry, by name and version.
fn checksums(lock: &str) -> anyhow::Result<BTreeMap<(String, String), String>> {
    let lock = toml_file::parse(lock)?;
    let packages = lock["package"].as_array().context("Cargo.lock lists no packages")?;
    let text = |package: &Value, key: &str| Some(package[key].as_str()?.to_owned());
    let found = packages.iter().filter_map(|package| {
        let key = (text(package, "name")?, text(package, "version")?);
        Some((key, text(package, "checksum")?))
    });
    Ok(found.collect())
}

/// Returns the linked crates, given Cargo's metadata and the checksums of the lock file.
fn crates(
    graph: &Value,
    linked: &BTreeSet<(String, String)>,
    checksums: &BTreeMap<(String, String), String>,
) -> anyhow::Result<Vec<Crate>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let key = |manifest: &Value| (text(&manifest["name"]), text(&manifest["version"]));
    let manifests = list(&graph["packages"]);
    let keys: BTreeMap<String, (String, String)> =
        manifests.iter().map(|manifest| (text(&manifest["id"]), key(manifest))).collect();
    let nodes: BTreeMap<String, Value> = list(&graph["resolve"]["nodes"])
        .into_iter()
        .map(|node| (text(&node["id"]), node))
        .collect();
    let mut crates = Vec::new();
    for manifest in manifests {
        let (name, version) = key(&manifest);
        if !linked.contains(&(name.clone(), version.clone())) {
            continue;
        }
        let node = nodes.get(&text(&manifest["id"])).context("a package without a node")?;
        let is_normal =
            |need: &Value| list(&need["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
        let needs = list(&node["deps"]).into_iter().filter(is_normal);
        let needs = needs.filter_map(|need| keys.get(&text(&need["pkg"])).cloned());
        let needs = needs.filter(|need| linked.contains(need)).collect();
        let checksum = checksums.get(&(name.clone(), version.clone())).cloned();
        crates.push(Crate { name, version, manifest, checksum, needs });
    }
    crates.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    ensure!(crates.len() == linked.len(), "Cargo's metadata lacks crates of the program");
    Ok(crates)
}

impl Crate {
    /// Licence as an SPDX expression. Older manifests have a slash between alternatives.
    pub(super) fn licence(&self) -> String {
        let licence = self.manifest["license"].as_str().unwrap_or_default();
        licence.split('/').map(str::trim).collect::<Vec<_>>().join(" OR ")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pair(name: &str, version: &str) -> (String, String) {
        (name.to_owned(), version.to_owned())
    }

    #[test]
    fn lines_of_the_tree_have_a_name_and_a_version() {
        let line = "servemark v0.1.0 (/a/b c)";
        assert_eq!(name_and_version(line), Some(pair("servemark", "0.1.0")));
        assert_eq!(name_and_version("libc v0.2.1 (*)"), Some(pair("libc", "0.2.1")));
        assert_eq!(name_and_version(""), None);
    }

    #[test]
    fn only_linked_crates_are_listed_with_their_normal_needs() {
        let package = |name: &str| json!({"id": name, "name": name, "version": "1.0.0"});
        let need = |name: &str, kind: Value| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let graph = json!({
            "packages": [package("b"), package("a"), package("c"), package("d")],
            "resolve": {"nodes": [
                {"id": "a", "deps": [need("b", Value::Null), need("c", Value::Null), need("d", json!("dev"))]},
                {"id": "b", "deps": []}, {"id": "c", "deps": []}, {"id": "d", "deps": []},
            ]},
        });
        let linked = ["a", "b", "d"].map(|name| pair(name, "1.0.0")).into();
        let lock = "[[package]]\nname = \"b\"\nversion = \"1.0.0\"\nchecksum = \"ff\"\n";
        let crates = crates(&graph, &linked, &checksums(lock).unwrap()).unwrap();
        let names: Vec<&str> = crates.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "d"]);
        assert_eq!(crates[0].needs, [pair("b", "1.0.0")]);
        assert_eq!(crates[1].checksum.as_deref(), Some("ff"));
    }

    #[test]
    fn a_slash_is_an_alternative() {
        let manifest = json!({"license": "MIT/Apache-2.0"});
        assert_eq!(Crate { manifest, ..Crate::default() }.licence(), "MIT OR Apache-2.0");
    }
}
