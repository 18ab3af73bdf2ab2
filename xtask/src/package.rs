//! Packs each crate that may be published, and checks that the packages build from each other.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::check::cargo;
use crate::metadata::{Package, packages, root, target_folder};

/// Packs the crates, unpacks them into a workspace of their own below the target folder, and
/// compiles them there. Third-party crates are compiled once for both workspaces.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut packages = packages()?;
    packages.retain(|package| package.is_published);
    let target = target_folder()?;
    let packed = target.join("package");
    let names = packages.iter().flat_map(|package| ["-p", package.name.as_str()]);
    let pack = ["package", "--no-verify", "--allow-dirty", "--offline"];
    cargo(&pack.into_iter().chain(names).collect::<Vec<_>>())?;

    let unpacked = target.join("unpacked");
    if unpacked.exists() {
        std::fs::remove_dir_all(&unpacked)?;
    }
    std::fs::create_dir_all(&unpacked)?;
    for package in &packages {
        unpack(&packed.join(format!("{}.crate", package.file_stem())), &unpacked)?;
    }
    let root = root();
    std::fs::copy(root.join("Cargo.lock"), unpacked.join("Cargo.lock"))?;
    let manifest = manifest(&packages, &std::fs::read_to_string(root.join("Cargo.toml"))?);
    let path = unpacked.join("Cargo.toml");
    std::fs::write(&path, manifest)?;
    let [path, target] = [&path, &target].map(|path| path.to_string_lossy());
    cargo(&["check", "--workspace", "--offline", "--manifest-path", &path, "--target-dir", &target])
}

fn unpack(package: &Path, into: &Path) -> anyhow::Result<()> {
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(package).arg("-C").arg(into);
    let status = tar.status().context("cannot run tar")?;
    ensure!(status.success(), "cannot unpack {}", package.display());
    Ok(())
}

impl Package {
    /// Returns the name of the file of the package without its extension, which is the name of
    /// the folder in it.
    fn file_stem(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }
}

/// Returns the manifest of the workspace of unpacked packages, given that of this workspace: each
/// dependency on one of the packages is taken from the workspace, not from the registry. The
/// profiles are the same in both, so that compiled third-party crates can be used in both.
fn manifest(packages: &[Package], root: &str) -> String {
    let mut manifest = String::from("[workspace]\nresolver = \"3\"\nmembers = [\"*-*.*.*\"]\n");
    manifest.push_str("\n[patch.crates-io]\n");
    for package in packages {
        let path = package.file_stem();
        writeln!(manifest, "{} = {{ path = \"{path}\" }}", package.name)
            .expect("a string takes all text");
    }
    for section in sections(root).filter(|section| section.starts_with("[profile")) {
        write!(manifest, "\n{}\n", section.trim_end()).expect("a string takes all text");
    }
    manifest
}

/// Returns the sections of a manifest, each from its heading on.
fn sections(manifest: &str) -> impl Iterator<Item = &str> {
    let starts = manifest.match_indices("\n[").map(|(at, _)| at + 1).chain([manifest.len()]);
    let starts: Vec<usize> = starts.collect();
    let ends = starts.clone().into_iter().skip(1);
    starts.into_iter().zip(ends).map(|(start, end)| &manifest[start..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_patched_and_profiles_kept() {
        let package =
            Package { name: "a".to_owned(), version: "0.1.0".to_owned(), ..Package::default() };
        let root = "[workspace]\nmembers = [\"x\"]\n\n[profile.dev]\ndebug = 1\n\n# Why.\n[profile.b]\nc = 2\n";
        let expected = "[workspace]\nresolver = \"3\"\nmembers = [\"*-*.*.*\"]\n\n[patch.crates-io]\n\
                        a = { path = \"a-0.1.0\" }\n\n[profile.dev]\ndebug = 1\n\n# Why.\n\n[profile.b]\nc = 2\n";
        assert_eq!(manifest(&[package], root), expected);
    }
}
