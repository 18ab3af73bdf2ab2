//! Builds `servemark` for a target and packs what a release has for it: an archive with the program,
//! its licences, manual pages and completions, a checksum and a list of parts (SBOM); for a static
//! Linux program also a Debian package and the root file system of a container image.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

use self::archive::Tree;
use self::shipped::Shipped;
use crate::check::announce;
use crate::metadata::{cargo_command, host, packages, root, target_folder};
use crate::python_environment::{PythonEnvironment, ZIG, run_to_end};

mod archive;
mod deb;
mod formula;
mod image;
mod pages;
mod sbom;
mod shipped;
mod third_party;

/// Name of the program.
const PROGRAM: &str = "servemark";

/// Maximum size of the program of a release, in bytes.
const LARGEST_PROGRAM: usize = 25_000_000;

/// Runs `cargo xtask dist`.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    match words {
        ["formula", folder] => formula::write(Path::new(folder), &version()?),
        _ => Release::build(&Options::parse(words)?)?.pack(),
    }
}

/// Version of all packages of the workspace.
fn version() -> anyhow::Result<String> {
    let packages = packages()?;
    Ok(packages.first().context("the workspace has no package")?.version.clone())
}

/// How the C library is linked.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Linking {
    /// As is usual for the target: static for musl, dynamic for the others.
    Usual,
    /// Static, also for a target whose C library is usually dynamic.
    Static,
}

/// Flags of `cargo xtask dist`.
#[derive(Debug, PartialEq)]
struct Options {
    /// Target triple; that of this machine if `None`.
    target: Option<String>,
    profile: String,
    linking: Linking,
    /// Program that is packed in place of a new one.
    program: Option<PathBuf>,
}

impl Options {
    fn parse(words: &[&str]) -> anyhow::Result<Self> {
        let mut options = Self {
            target: None,
            profile: "dist".to_owned(),
            linking: Linking::Usual,
            program: None,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match *word {
                "--target" => options.target = Some((*value()?).to_owned()),
                "--profile" => (*value()?).clone_into(&mut options.profile),
                "--program" => options.program = Some(value()?.into()),
                "--static" => options.linking = Linking::Static,
                _ => bail!(
                    "usage: cargo xtask dist [--target TRIPLE] [--profile NAME] [--static] \
                     [--program PATH] | dist formula FOLDER"
                ),
            }
        }
        Ok(options)
    }
}

/// A program that has been built, with all that is packed with it.
struct Release {
    version: String,
    target: String,
    is_static: bool,
    program: Vec<u8>,
    pages: Vec<pages::Page>,
    shipped: Shipped,
    /// Seconds from 1970 to the commit: the date of all packed files, so that a commit gives the
    /// same archive at any time.
    date: u64,
}

impl Release {
    /// Builds the program, asks it for its pages and collects what is known of its crates.
    fn build(options: &Options) -> anyhow::Result<Self> {
        let host = host()?;
        let target = options.target.clone().unwrap_or_else(|| host.clone());
        let package = shipped::package()?;
        let program = match &options.program {
            Some(program) => program.clone(),
            None => build(options, &package, &target)?,
        };
        let content = std::fs::read(&program)?;
        let size = content.len();
        announce(&format!("{}: {size} bytes", program.display()));
        ensure!(
            options.profile != "dist" || size <= LARGEST_PROGRAM,
            "the program has {size} bytes, more than {LARGEST_PROGRAM}"
        );
        Ok(Self {
            version: version()?,
            is_static: options.linking == Linking::Static || target.ends_with("-musl"),
            program: content,
            pages: pages::of(&program, runner(&target).as_deref())?,
            shipped: Shipped::read(&package, &target)?,
            date: commit_date(),
            target,
        })
    }

    /// Writes the files of the release below the target folder.
    fn pack(&self) -> anyhow::Result<()> {
        let folder = target_folder()?.join("distrib");
        std::fs::create_dir_all(&folder)?;
        let name = format!("{PROGRAM}-{}-{}", self.version, self.target);
        let third_party = third_party::text(&self.shipped)?;
        let sbom = format!("{:#}\n", sbom::document(&self.shipped));
        write(&folder, &format!("{name}.cdx.json"), sbom.as_bytes())?;

        let mut tree = Tree::default();
        tree.add_program(format!("{name}/{}", program_file(&self.target)), self.program.clone());
        for document in ["README.md", "LICENSE-APACHE", "LICENSE-MIT"] {
            tree.add_file(format!("{name}/{document}"), std::fs::read(root().join(document))?);
        }
        tree.add_file(format!("{name}/{THIRD_PARTY}"), third_party.clone().into_bytes());
        tree.add_file(format!("{name}/{PROGRAM}.cdx.json"), sbom.into_bytes());
        for page in &self.pages {
            tree.add_file(format!("{name}/{}", page.in_archive()), page.text.clone().into_bytes());
        }
        let archive = archive::gzip(&tree.tar(self.date)?)?;
        let file = format!("{name}.tar.gz");
        write(&folder, &file, &archive)?;
        let sum = format!("{}  {file}\n", archive::sha256(&archive));
        write(&folder, &format!("{file}.sha256"), sum.as_bytes())?;

        if self.is_static && self.target.contains("-linux-") {
            deb::write(self, &third_party, &folder)?;
            image::write(self, &third_party, &folder)?;
        }
        Ok(())
    }

    /// Name of the processor's architecture in Debian and in container images.
    fn architecture(&self) -> anyhow::Result<&'static str> {
        match self.target.split('-').next() {
            Some("x86_64") => Ok("amd64"),
            Some("aarch64") => Ok("arm64"),
            _ => bail!("no package and no image is made for {}", self.target),
        }
    }
}

/// Name of the file with the licences of the crates in the program.
const THIRD_PARTY: &str = "THIRD-PARTY.txt";

/// Package of PyPI with Cargo's command `zigbuild`.
const ZIGBUILD: &str = "cargo-zigbuild==0.24.1";

/// Builds the program of a package and returns its path. zig compiles the parts in C for musl and links
/// them, because few systems have a compiler for it.
fn build(options: &Options, package: &str, target: &str) -> anyhow::Result<PathBuf> {
    let mut folder = target_folder()?;
    let mut cargo = cargo_command();
    if target.ends_with("-linux-musl") {
        let requirements = format!("{ZIGBUILD}\n{ZIG}\n");
        let environment = PythonEnvironment::new(&folder.join("zig"), &requirements)?;
        environment.add_to_path(&mut cargo)?;
        cargo.arg("zigbuild");
    } else {
        cargo.arg("build");
    }
    cargo.args(["--locked", "-p", package, "--profile", &options.profile]);
    // Without a target the results of usual builds are used again.
    if options.target.is_some() || options.linking == Linking::Static {
        cargo.args(["--target", target]);
        folder.push(target);
    }
    if options.linking == Linking::Static {
        // For the target alone: build scripts and procedural macros must stay dynamic.
        let variable = format!("CARGO_TARGET_{}_RUSTFLAGS", in_variable(target));
        cargo.env(variable, "-C target-feature=+crt-static");
    }
    run_to_end(&mut cargo)?;
    let folder = folder.join(if options.profile == "dev" { "debug" } else { &options.profile });
    Ok(folder.join(program_file(target)))
}

/// Returns the name of the program's file on a target.
fn program_file(target: &str) -> String {
    let extension = if target.contains("windows") { ".exe" } else { "" };
    format!("{PROGRAM}{extension}")
}

/// Returns the command that runs programs of a target on this machine, from the variable that Cargo
/// reads for it; `None` if it is not set.
fn runner(target: &str) -> Option<String> {
    let variable = format!("CARGO_TARGET_{}_RUNNER", in_variable(target));
    std::env::var_os(variable)?.into_string().ok()
}

/// Returns a target as Cargo writes it in the names of its environment variables.
fn in_variable(target: &str) -> String {
    target.to_uppercase().replace('-', "_")
}

/// Returns when the commit was made, in seconds from 1970; 0 outside of a git repository.
fn commit_date() -> u64 {
    let mut git = Command::new("git");
    git.args(["log", "-1", "--format=%ct"]).current_dir(root());
    let output = git.output().ok();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Writes a file of the release.
fn write(folder: &Path, name: &str, content: &[u8]) -> anyhow::Result<()> {
    let path = folder.join(name);
    announce(&format!("{}: {} bytes", path.display(), content.len()));
    std::fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_and_unknown_ones_refused() {
        let options = Options::parse(&["--target", "a-b", "--static", "--profile", "dev"]).unwrap();
        let (target, profile) = (Some("a-b".to_owned()), "dev".to_owned());
        let linking = Linking::Static;
        assert_eq!(options, Options { target, profile, linking, program: None });
        assert!(Options::parse(&["--target"]).is_err());
        assert!(Options::parse(&["--musl"]).is_err());
    }

    /// A release with a few bytes for a program.
    pub(super) fn release() -> Release {
        let page = |kind, name: &str| pages::Page { kind, name: name.to_owned(), text: "a".into() };
        Release {
            version: "1.2.3".to_owned(),
            target: "x86_64-unknown-linux-musl".to_owned(),
            is_static: true,
            program: b"program".to_vec(),
            pages: vec![
                page(pages::Kind::Manual, "servemark-run.1"),
                page(pages::Kind::Bash, "servemark.bash"),
            ],
            shipped: Shipped::default(),
            date: 1_700_000_000,
        }
    }
}
