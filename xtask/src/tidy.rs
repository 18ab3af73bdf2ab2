//! The walls of the house, checked against what Cargo says of the workspace.
//!
//! A crate may use only crates of a lower layer, a third-party crate only where the table lets it,
//! and nobody opts out of the workspace's lints. The table below is the architecture document's,
//! in a form that can fail.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use serde_json::Value;

/// Each crate of ours and its layer. A crate depends only on smaller layers.
const LAYERS: &[(&str, u8)] = &[
    ("servemark-sse", 0),
    ("servemark-http1", 0),
    ("servemark-pyjson", 0),
    ("servemark-rng", 0),
    ("servemark-signals", 0),
    ("servemark-statistics", 0),
    ("servemark-core", 1),
    ("servemark-pacer", 2),
    ("servemark-receive", 2),
    ("servemark-schedule", 2),
    ("servemark-tokenizer", 2),
    ("servemark-datasets", 2),
    ("servemark-backends", 2),
    ("servemark-metrics", 2),
    ("servemark-report", 3),
    ("servemark-runner", 3),
    ("servemark-client", 3),
    ("servemark-engine", 3),
    ("servemark-mock", 3),
    ("servemark-hub", 4),
    ("servemark-plan", 4),
    ("servemark", 5),
    ("servemark-cli", 6),
    ("servemark-terminal", 7),
    ("bench-embedding", 8),
    ("bench-offline", 8),
    ("bench-serving", 8),
    ("mock-server", 8),
    ("servemark-door", 8),
    ("servemark-benches", 8),
    ("servemark-fuzz-targets", 8),
    ("xtask", 8),
];

/// Third-party crates that only some of ours may name, because what they stand for has one home.
const HOMES: &[(&str, &[&str])] = &[
    ("anyhow", &["mock-server", "servemark-benches", "servemark-terminal", "xtask"]),
    ("candle-core", &["servemark-engine"]),
    ("candle-nn", &["servemark-engine"]),
    ("clap", &["servemark-cli", "mock-server"]),
    ("csv", &["servemark-datasets"]),
    ("epaint_default_fonts", &["servemark-report"]),
    ("h2", &["servemark-client"]),
    ("flate2", &["servemark-client"]),
    ("httparse", &["servemark-http1"]),
    ("hyper", &["servemark-client"]),
    ("hyper-util", &["servemark-client"]),
    ("image", &["servemark-datasets"]),
    ("indicatif", &["servemark-terminal"]),
    ("minijinja", &["servemark-tokenizer"]),
    ("mio", &["servemark-mock"]),
    ("nix", &["servemark-receive"]),
    ("parquet", &["servemark-datasets"]),
    ("plotters", &["servemark-report"]),
    ("png", &["servemark-datasets", "servemark-report"]),
    ("rusqlite", &["servemark-report"]),
    ("rustls", &["servemark-client"]),
    ("sha1", &["servemark-hub"]),
    ("sha2", &["servemark-datasets", "servemark-hub"]),
    ("signal-hook", &["mock-server", "servemark-terminal"]),
    ("statrs", &["servemark-statistics"]),
    ("strsim", &["servemark-cli"]),
    ("symphonia", &["servemark-datasets"]),
    ("tokenizers", &["servemark-tokenizer"]),
    (
        "tokio",
        &[
            "mock-server",
            "servemark",
            "servemark-benches",
            "servemark-client",
            "servemark-engine",
            "servemark-fuzz-targets",
            "servemark-hub",
            "servemark-pacer",
            "servemark-runner",
            "servemark-signals",
        ],
    ),
    ("toml", &["servemark-cli"]),
    ("unicode-width", &["servemark-report"]),
    ("yaml-rust2", &["servemark-cli"]),
];

/// Not published and only ever a dev-dependency, so it stands outside the layers.
const TESTKIT: &str = "servemark-testkit";

/// The longest file that still does one thing.
const MOST_LINES: usize = 700;

/// Checks the whole workspace.
pub(crate) fn run() -> anyhow::Result<()> {
    let packages = packages()?;
    let mut faults = Vec::new();
    for package in &packages {
        faults.extend(package.layer_faults());
        faults.extend(package.home_faults());
        faults.extend(package.lint_fault()?);
        faults.extend(package.length_faults()?);
    }
    faults.extend(unknown_names(&packages));
    faults.extend(needless_faults()?);
    ensure!(faults.is_empty(), "the walls do not hold:\n  {}", faults.join("\n  "));
    Ok(())
}

/// A crate of ours as Cargo sees it.
struct Package {
    name: String,
    folder: PathBuf,
    /// What it is built of; what only its tests use does not count.
    needs: BTreeSet<String>,
}

impl Package {
    fn layer_faults(&self) -> Vec<String> {
        let Some(own) = layer(&self.name) else { return Vec::new() };
        let too_high = |need: &&String| layer(need).is_some_and(|other| other >= own);
        let mut faults: Vec<String> = (self.needs.iter().filter(too_high))
            .map(|need| format!("{} (layer {own}) may not use {need}", self.name))
            .collect();
        if self.needs.contains(TESTKIT) {
            faults.push(format!("{} may use {TESTKIT} in its tests only", self.name));
        }
        faults
    }

    fn home_faults(&self) -> Vec<String> {
        HOMES
            .iter()
            .filter(|(guest, homes)| self.needs.contains(*guest) && !homes.contains(&&*self.name))
            .filter(|_| self.name != TESTKIT)
            .map(|(guest, homes)| format!("{} names {guest}, whose home is {homes:?}", self.name))
            .collect()
    }

    fn lint_fault(&self) -> anyhow::Result<Option<String>> {
        let manifest = std::fs::read_to_string(self.folder.join("Cargo.toml"))?;
        let inherits = manifest.contains("[lints]\nworkspace = true");
        Ok((!inherits).then(|| format!("{} does not inherit the workspace's lints", self.name)))
    }

    fn length_faults(&self) -> anyhow::Result<Vec<String>> {
        let mut faults = Vec::new();
        for file in rust_files(&self.folder)? {
            let lines = std::fs::read_to_string(&file)?.lines().count();
            if lines > MOST_LINES {
                faults.push(format!("{} has {lines} lines of {MOST_LINES}", file.display()));
            }
        }
        Ok(faults)
    }
}

fn layer(name: &str) -> Option<u8> {
    LAYERS.iter().find(|(known, _)| *known == name).map(|(_, layer)| *layer)
}

/// A crate without a layer, or a layer without its crate: the table above must not go stale.
fn unknown_names(packages: &[Package]) -> Vec<String> {
    let found: BTreeSet<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    let known: BTreeSet<&str> = LAYERS.iter().map(|(name, _)| *name).chain([TESTKIT]).collect();
    found
        .symmetric_difference(&known)
        .map(|name| format!("{name} is in the workspace or in the table of layers, not in both"))
        .collect()
}

/// What only some programs need, and who must be built without it.
const NEEDLESS: &[(&str, &[&str])] = &[
    ("candle-core", &["bench-embedding", "bench-serving", "mock-server", "servemark-door"]),
    ("servemark-engine", &["bench-embedding", "bench-serving", "mock-server"]),
];

/// A feature that is on by accident, and so pays for what it does not use.
fn needless_faults() -> anyhow::Result<Vec<String>> {
    let mut faults = Vec::new();
    for (guest, programs) in NEEDLESS {
        for program in *programs {
            let args =
                ["tree", "--offline", "--edges", "normal", "--prefix", "none", "-p", program];
            let output = Command::new(env!("CARGO")).args(args).output();
            let output = output.context("cannot run cargo tree")?;
            ensure!(output.status.success(), "cargo tree -p {program} failed");
            let tree = String::from_utf8_lossy(&output.stdout);
            if tree.lines().any(|line| line.split(' ').next() == Some(guest)) {
                faults.push(format!("{program} is built with {guest}, which it does not need"));
            }
        }
    }
    Ok(faults)
}

fn packages() -> anyhow::Result<Vec<Package>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .output()
        .context("cannot run cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    packages.iter().map(|package| parse(package).context("an odd package")).collect()
}

fn parse(package: &Value) -> Option<Package> {
    let needs = package["dependencies"].as_array()?.iter();
    Some(Package {
        name: package["name"].as_str()?.to_owned(),
        folder: Path::new(package["manifest_path"].as_str()?).parent()?.to_owned(),
        needs: needs
            .filter(|need| need["kind"].is_null())
            .filter_map(|need| need["name"].as_str().map(str::to_owned))
            .collect(),
    })
}

fn rust_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn package(name: &str, needs: &[&str]) -> Package {
        let needs = needs.iter().map(|need| (*need).to_owned()).collect();
        Package { name: name.to_owned(), folder: PathBuf::new(), needs }
    }

    #[test]
    fn the_walls_hold() {
        run().unwrap();
    }

    #[test]
    fn a_crate_that_reaches_up_is_a_fault() {
        let upward = package("servemark-metrics", &["servemark-core", "servemark-report"]);
        let faults = upward.layer_faults();
        assert_eq!(faults, ["servemark-metrics (layer 2) may not use servemark-report"]);
    }

    #[test]
    fn a_guest_outside_its_home_is_a_fault() {
        assert_eq!(package("servemark-metrics", &["tokio"]).home_faults().len(), 1);
        assert!(package("servemark-client", &["tokio", "hyper"]).home_faults().is_empty());
    }

    #[test]
    fn every_layer_is_named_once() {
        let names: BTreeMap<&str, u8> = LAYERS.iter().copied().collect();
        assert_eq!(names.len(), LAYERS.len());
    }
}
