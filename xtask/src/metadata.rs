//! The workspace's packages, from Cargo's metadata.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

/// A package of the workspace.
#[derive(Debug, Default)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) folder: PathBuf,
    /// Whether the package may be published.
    pub(crate) is_published: bool,
    /// Its manifest as Cargo's metadata has it.
    pub(crate) manifest: Value,
    /// Names of its dependencies, without those that only its tests use.
    pub(crate) needs: BTreeSet<String>,
    /// Names of the dependencies of its tests, examples and benchmarks and, if the package is not
    /// published, of its feature `tests`.
    pub(crate) test_needs: BTreeSet<String>,
    /// The dependencies that its sources call by another name.
    pub(crate) renamed: BTreeMap<String, String>,
    /// Names of its features, without `default` and those that stand for an optional dependency.
    pub(crate) features: Vec<String>,
}

impl Package {
    /// Returns the paths and the texts of the sources, tests included.
    pub(crate) fn sources(&self) -> anyhow::Result<Vec<(PathBuf, String)>> {
        let read = |path: PathBuf| Ok((path.clone(), std::fs::read_to_string(path)?));
        rust_files(&self.folder)?.into_iter().map(read).collect()
    }
}

/// Returns all packages of the workspace.
pub(crate) fn packages() -> anyhow::Result<Vec<Package>> {
    let metadata = metadata()?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    packages.iter().map(|package| parse(package).context("an odd package")).collect()
}

/// Returns the folder of Cargo's build results.
pub(crate) fn target_folder() -> anyhow::Result<PathBuf> {
    let metadata = metadata()?;
    let folder = metadata["target_directory"].as_str();
    Ok(folder.context("cargo metadata has no target folder")?.into())
}

/// Returns the folder of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns all packages that the workspace is built from on a target, third-party ones included,
/// and which of them each needs, with all features.
pub(crate) fn graph(target: &str) -> anyhow::Result<Value> {
    // Not `--offline`: on a new machine the packages are not there yet.
    metadata_with(&["--locked", "--all-features", "--filter-platform", target])
}

fn metadata() -> anyhow::Result<Value> {
    metadata_with(&["--no-deps", "--offline"])
}

fn metadata_with(args: &[&str]) -> anyhow::Result<Value> {
    let output = cargo_output(&[&["metadata", "--format-version", "1"], args].concat())?;
    Ok(serde_json::from_str(&output)?)
}

/// Returns the command `cargo`, without what Cargo told this program about its package.
pub(crate) fn cargo_command() -> Command {
    let mut command = Command::new(env!("CARGO"));
    leave_package(&mut command);
    command
}

/// Removes what Cargo told this program about its package. The build script of `ring` runs again when
/// it differs, and all that depends on `ring` is compiled again.
pub(crate) fn leave_package(command: &mut Command) {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in names.filter(|name| is_of_package(name)) {
        command.env_remove(name);
    }
}

fn is_of_package(name: &str) -> bool {
    ["CARGO_MANIFEST_", "CARGO_PKG_"].iter().any(|start| name.starts_with(start))
}

/// Runs Cargo and returns what it prints.
pub(crate) fn cargo_output(args: &[&str]) -> anyhow::Result<String> {
    let line = format!("cargo {}", args.join(" "));
    let output = cargo_command().args(args).output();
    let output = output.with_context(|| format!("cannot run {line}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{line} failed: {errors}");
    Ok(String::from_utf8(output.stdout)?)
}

fn parse(package: &Value) -> Option<Package> {
    let is_published = package["publish"].is_null();
    let features = package["features"].as_object()?;
    let of_tests = features.get("tests").filter(|_| !is_published).and_then(Value::as_array);
    let of_tests: BTreeSet<&str> = (of_tests.into_iter().flatten())
        .filter_map(|feature| feature.as_str()?.strip_prefix("dep:"))
        .collect();
    let needs = package["dependencies"].as_array()?;
    let named = |is_wanted: &dyn Fn(&str, &Value) -> bool| {
        let names = needs.iter().filter_map(|need| Some((need["name"].as_str()?, &need["kind"])));
        names
            .filter(|(name, kind)| is_wanted(name, kind))
            .map(|(name, _)| name.to_owned())
            .collect()
    };
    let renamed = needs.iter().filter_map(|need| {
        Some((need["name"].as_str()?.to_owned(), need["rename"].as_str()?.to_owned()))
    });
    Some(Package {
        name: package["name"].as_str()?.to_owned(),
        version: package["version"].as_str()?.to_owned(),
        folder: Path::new(package["manifest_path"].as_str()?).parent()?.to_owned(),
        is_published,
        manifest: package.clone(),
        needs: named(&|name, kind| kind.is_null() && !of_tests.contains(name)),
        test_needs: named(&|name, kind| kind == "dev" || of_tests.contains(name)),
        renamed: renamed.collect(),
        features: features.keys().filter(|feature| *feature != "default").cloned().collect(),
    })
}

/// Returns the target triple of this machine.
pub(crate) fn host() -> anyhow::Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("cannot run rustc")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc does not say for which machine it is")?.to_owned())
}

/// Returns all Rust files below a folder, without build results.
pub(crate) fn rust_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    files(folder, "rs")
}

/// Returns all files below a folder that have this extension, without build results.
pub(crate) fn files(folder: &Path, extension: &str) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            found.extend(files(&path, extension)?);
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(publish: &Value, needs: &[&str], test_needs: &[&str]) {
        let package = json!({
            "name": "p", "version": "1.0.0", "manifest_path": "/p/Cargo.toml", "publish": publish,
            "features": {"tests": ["dep:hyper", "servemark/candle"]},
            "dependencies": [
                {"name": "serde", "kind": null},
                {"name": "hyper", "kind": null, "optional": true},
                {"name": "insta", "kind": "dev"},
            ],
        });
        let package = parse(&package).unwrap();
        assert_eq!(Vec::from_iter(&package.needs), needs);
        assert_eq!(Vec::from_iter(&package.test_needs), test_needs);
    }

    #[test]
    fn what_a_feature_for_tests_needs_is_a_need_of_tests_unless_it_is_published() {
        check(&json!([]), &["serde"], &["hyper", "insta"]);
        check(&Value::Null, &["hyper", "serde"], &["insta"]);
    }

    #[test]
    fn names_of_this_package_are_not_passed_on() {
        let command = cargo_command();
        let removed =
            |name: &str| command.get_envs().any(|(key, value)| key == name && value.is_none());
        assert!(removed("CARGO_MANIFEST_DIR") && removed("CARGO_PKG_NAME"));
        assert!(!removed("CARGO") && !removed("PATH"));
    }
}
