//! Runs all checks that a change must pass, the fastest first.

use std::process::Stdio;

use anyhow::{Context, ensure};

use crate::licences;
use crate::metadata::{Package, cargo_command, packages};
use crate::{package, tidy, wheel};

/// Runs all checks and stops at the first failure.
pub(crate) fn run() -> anyhow::Result<()> {
    tidy::run()?;
    cargo(&["fmt", "--all", "--check"])?;
    deny()?;
    cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])?;
    without_features()?;
    package::run()?;
    cargo(&["doc", "--workspace", "--no-deps", "--locked"])?;
    cargo(&["test", "--workspace", "--locked"])?;
    wheel::run(&[])
}

/// Checks the licences of dependencies as `deny.toml` asks and, if cargo-deny is installed, also
/// their advisories and sources.
pub(crate) fn deny() -> anyhow::Result<()> {
    licences::check()?;
    let mut version = cargo_command();
    version.args(["deny", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    if !version.status().is_ok_and(|status| status.success()) {
        announce("+ cargo deny is not installed: advisories are not checked");
        return Ok(());
    }
    cargo(&["deny", "check"])
}

/// Compiles the crates that may be published with none of their features, all together. It takes an
/// eighth of the time of [`features`].
fn without_features() -> anyhow::Result<()> {
    let mut packages = packages()?;
    packages.retain(|package| package.is_published && !package.features.is_empty());
    let each = packages.iter().flat_map(|package| ["-p", &package.name]);
    cargo(
        &["check", "--locked", "--no-default-features"].into_iter().chain(each).collect::<Vec<_>>(),
    )
}

/// Compiles each library and program with none of its features, and with each of those alone that its
/// sources name. A feature that needs another one without declaring it still compiles in the workspace,
/// where all features are enabled together. A feature that its sources do not name only turns on those of
/// other packages, where it is compiled.
pub(crate) fn features() -> anyhow::Result<()> {
    for package in packages()?.iter().filter(|package| !package.features.is_empty()) {
        let mut sources = package.sources()?;
        sources.retain(|(path, _)| path.starts_with(package.folder.join("src")));
        let sources: String = sources.into_iter().map(|(_, text)| text).collect();
        for line in lines(package, &sources) {
            cargo(&line.iter().map(String::as_str).collect::<Vec<_>>())?;
        }
    }
    Ok(())
}

fn lines(package: &Package, sources: &str) -> Vec<Vec<String>> {
    let alone = ["check", "--locked", "--no-default-features", "-p", &package.name];
    let alone = alone.map(str::to_owned).to_vec();
    let with = |feature: &String| [alone.clone(), vec!["--features".into(), feature.clone()]];
    let is_named = |feature: &&String| sources.contains(&format!("feature = \"{feature}\""));
    let each = package.features.iter().filter(is_named).map(|feature| with(feature).concat());
    [alone.clone()].into_iter().chain(each).collect()
}

/// Runs Cargo; documentation that it builds must be without warnings.
pub(crate) fn cargo(args: &[&str]) -> anyhow::Result<()> {
    let line = format!("cargo {}", args.join(" "));
    announce(&format!("+ {line}"));
    let mut command = cargo_command();
    command.args(args).env("RUSTDOCFLAGS", "-D warnings");
    let status = command.status().with_context(|| line.clone())?;
    ensure!(status.success(), "{line} failed");
    Ok(())
}

/// Prints a line about what is done.
#[expect(clippy::print_stderr, reason = "a chore tells its user what it does")]
pub(crate) fn announce(line: &str) {
    eprintln!("{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_that_sources_name_is_compiled_alone() {
        let features = ["a", "b", "c"].map(str::to_owned).to_vec();
        let sources = "#[cfg(feature = \"a\")]\n#[cfg(all(unix, feature = \"b\"))]";
        let package = Package { name: "p".to_owned(), features, ..Package::default() };
        let ends: Vec<_> =
            lines(&package, sources).iter().map(|line| line[3..].join(" ")).collect();
        assert_eq!(ends, ["-p p", "-p p --features a", "-p p --features b"]);
    }
}
