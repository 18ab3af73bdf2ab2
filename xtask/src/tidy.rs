//! Checks the architecture against Cargo's metadata of the workspace, and the words of doc
//! comments.
//!
//! A crate may use only crates of a lower layer, and a third-party crate only where the table
//! allows it; every crate inherits the workspace's lints. The table below is that of the
//! architecture document, in a form that can fail. [`words`] refuses doc comments that do not stand
//! alone.

use std::collections::BTreeSet;

use crate::metadata::{self, Package, packages};
use anyhow::ensure;

mod architecture;
mod dependencies;
mod documents;
mod flags;
mod modules;
mod packaging;
mod spelling;
mod words;

/// Each crate of the workspace and its layer. A crate depends only on lower layers.
const LAYERS: &[(&str, u8)] = &[
    ("servemark-sse", 0),
    ("servemark-http1", 0),
    ("servemark-pictures", 0),
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
    ("servemark-target", 2),
    ("servemark-report", 3),
    ("servemark-runner", 3),
    ("servemark-client", 3),
    ("servemark-engine", 3),
    ("servemark-mock", 3),
    ("servemark-hub", 4),
    ("servemark-page", 4),
    ("servemark-plan", 4),
    ("servemark-telemetry", 4),
    ("servemark-bench", 5),
    ("servemark-cluster", 6),
    ("servemark-cli", 6),
    ("servemark-command-lines", 7),
    ("servemark-terminal", 7),
    ("bench-embedding", 8),
    ("bench-offline", 8),
    ("bench-serving", 8),
    ("mock-server", 8),
    ("servemark", 8),
    ("servemark-benches", 8),
    ("servemark-fuzz-targets", 8),
    ("servemark-python", 8),
    ("xtask", 8),
];

/// Third-party crates that only these crates of the workspace may depend on.
const HOMES: &[(&str, &[&str])] = &[
    (
        "anyhow",
        &["mock-server", "servemark-benches", "servemark-python", "servemark-terminal", "xtask"],
    ),
    ("arrow-array", &["servemark-python"]),
    ("arrow-schema", &["servemark-python"]),
    ("async-nats", &["servemark-cluster"]),
    ("candle-core", &["servemark-engine"]),
    ("candle-nn", &["servemark-engine"]),
    ("clap", &["servemark-cli", "servemark-mock", "mock-server"]),
    ("clap_complete", &["servemark-cli"]),
    ("clap_mangen", &["servemark-cli"]),
    ("csv", &["servemark-datasets"]),
    ("epaint_default_fonts", &["servemark-report"]),
    ("futures-util", &["servemark-cluster"]),
    ("h2", &["servemark-client"]),
    ("flate2", &["servemark-client", "servemark-command-lines", "xtask"]),
    ("httparse", &["servemark-http1"]),
    ("hyper", &["servemark-client"]),
    ("hyper-util", &["servemark-client"]),
    ("image", &["servemark-pictures"]),
    ("indicatif", &["servemark-terminal"]),
    ("minijinja", &["servemark-tokenizer"]),
    ("mio", &["servemark-client", "servemark-mock", "servemark-telemetry"]),
    ("nix", &["servemark-receive"]),
    ("nvml-wrapper", &["servemark-telemetry"]),
    ("parquet", &["servemark-datasets", "servemark-report"]),
    ("plotters", &["servemark-report"]),
    ("png", &["servemark-command-lines", "servemark-pictures", "servemark-report"]),
    ("pyo3", &["servemark-python"]),
    ("regex-lite", &["servemark-command-lines"]),
    ("rusqlite", &["servemark-command-lines", "servemark-report"]),
    ("rustls", &["servemark-client"]),
    ("sha1", &["servemark-hub"]),
    (
        "sha2",
        &[
            "servemark-bench",
            "servemark-command-lines",
            "servemark-datasets",
            "servemark-hub",
            "servemark-page",
            "xtask",
        ],
    ),
    ("signal-hook", &["mock-server", "servemark-terminal"]),
    ("statrs", &["servemark-statistics"]),
    ("strsim", &["servemark-cli"]),
    ("symphonia", &["servemark-datasets"]),
    ("tokenizers", &["servemark-tokenizer"]),
    (
        "tokio",
        &[
            "servemark-bench",
            "servemark-benches",
            "servemark-client",
            "servemark-cluster",
            "servemark-engine",
            "servemark-fuzz-targets",
            "servemark-hub",
            "servemark-mock",
            "servemark-pacer",
            "servemark-runner",
            "servemark-signals",
            "servemark-telemetry",
            "servemark-terminal",
        ],
    ),
    ("toml", &["servemark-cli", "xtask"]),
    ("unicode-width", &["servemark-report"]),
    ("yaml-rust2", &["servemark-cli"]),
];

/// The crate that is not published and only ever a dev-dependency, so it has no layer.
const TESTKIT: &str = "servemark-testkit";

/// Maximum number of lines of a file.
const MOST_LINES: usize = 700;

/// Checks the whole workspace; the error lists all faults.
pub(crate) fn run() -> anyhow::Result<()> {
    let packages = packages()?;
    let mut faults = Vec::new();
    for package in &packages {
        faults.extend(package.layer_faults());
        faults.extend(package.home_faults());
        faults.extend(package.lint_fault()?);
        faults.extend(package.length_faults()?);
        faults.extend(dependencies::unused(package)?);
    }
    let sources: Vec<Vec<_>> = packages.iter().map(Package::sources).collect::<Result<_, _>>()?;
    for (package, sources) in packages.iter().zip(&sources).filter(|(one, _)| one.is_published) {
        faults.extend(packaging::include_faults(&package.folder, sources));
        faults.extend(packaging::manifest_faults(package));
        faults.extend(packaging::licence_faults(package)?);
    }
    let sources = sources.iter().flatten().map(|(path, text)| (path.as_path(), text.as_str()));
    faults.extend(words::faults(sources.clone()));
    faults.extend(words::repeated(sources.clone()));
    faults.extend(flags::faults(sources.clone()));
    faults.extend(architecture::faults(&packages, sources.clone())?);
    let document = std::fs::read_to_string(metadata::root().join("docs/architecture.md"))?;
    faults.extend(architecture::layer_faults(&document, LAYERS));
    faults.extend(modules::faults(&document, sources));
    faults.extend(document_word_faults()?);
    faults.extend(documents::faults(&packages)?);
    faults.extend(spelling::faults()?);
    faults.extend(unknown_names(&packages));
    faults.extend(needless_faults()?);
    ensure!(
        faults.is_empty(),
        "the workspace breaks the rules of the architecture:\n  {}",
        faults.join("\n  ")
    );
    Ok(())
}

/// Returns the faulty phrases of documents. `CONTRIBUTING.md` quotes them.
fn document_word_faults() -> anyhow::Result<Vec<String>> {
    let mut faults = Vec::new();
    for path in spelling::documents()? {
        faults.extend(words::document_faults(&path, &std::fs::read_to_string(&path)?));
    }
    Ok(faults)
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
        for file in metadata::rust_files(&self.folder)? {
            let lines = std::fs::read_to_string(&file)?.lines().count();
            if lines > MOST_LINES {
                faults.push(format!("{} has {lines} lines of {MOST_LINES}", file.display()));
            }
        }
        Ok(faults)
    }
}

fn names(packages: &[Package]) -> BTreeSet<&str> {
    packages.iter().map(|package| package.name.as_str()).collect()
}

fn layer(name: &str) -> Option<u8> {
    LAYERS.iter().find(|(known, _)| *known == name).map(|(_, layer)| *layer)
}

/// Returns the crates without a layer and the layers without a crate.
fn unknown_names(packages: &[Package]) -> Vec<String> {
    let found = names(packages);
    let known: BTreeSet<&str> = LAYERS.iter().map(|(name, _)| *name).chain([TESTKIT]).collect();
    found
        .symmetric_difference(&known)
        .map(|name| format!("{name} is in the workspace or in the table of layers, not in both"))
        .collect()
}

/// Crates that only some programs need, and the programs that must be built without them.
const NEEDLESS: &[(&str, &[&str])] = &[
    ("candle-core", &["bench-embedding", "bench-serving", "mock-server", "servemark"]),
    ("servemark-engine", &["bench-embedding", "bench-serving", "mock-server"]),
];

/// Returns the programs that are built with a crate that they do not need, by a feature that is on
/// by accident.
fn needless_faults() -> anyhow::Result<Vec<String>> {
    let mut faults = Vec::new();
    for (guest, programs) in NEEDLESS {
        for program in *programs {
            // Not `--offline`: on a new machine the packages of the programs are not there yet.
            let args = ["tree", "--locked", "--edges", "normal", "--prefix", "none", "-p", program];
            let tree = metadata::cargo_output(&args)?;
            if tree.lines().any(|line| line.split(' ').next() == Some(guest)) {
                faults.push(format!("{program} is built with {guest}, which it does not need"));
            }
        }
    }
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn package(name: &str, needs: &[&str]) -> Package {
        let needs = needs.iter().map(|need| (*need).to_owned()).collect();
        Package { name: name.to_owned(), needs, ..Package::default() }
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
