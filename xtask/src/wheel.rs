//! Builds the Python package as a wheel, installs it and runs its tests.

use std::env::{join_paths, split_paths, var_os};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::check::announce;
use crate::metadata::{host, root, target_folder};

/// Folder of the package in the repository.
const PACKAGE: &str = "crates/servemark-python";

/// Builds the wheel, installs it into a virtual environment below the target folder, and runs the
/// tests of the package there.
///
/// Without `words` the profile is `dev`. With `--target TRIPLE` the wheel is that of a release, and
/// it is installed if the target is this machine's. Other words are arguments of `maturin build`.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let (words, is_installed) = match words {
        // Without a target the results of usual builds are used again.
        [] => (vec!["--profile", "dev"], true),
        ["--target", target] => (of_release(target), *target == host()?),
        _ => (words.to_vec(), true),
    };
    let folder = target_folder()?.join("wheel");
    fs::create_dir_all(&folder)?;
    let package = root().join(PACKAGE);
    let environment = Environment::new(&folder.join("venv"), &package.join("tests"))?;
    let wheel = environment.build(&package, &folder.join("built"), &words)?;
    announce(&format!("{}: {} bytes", wheel.display(), fs::metadata(&wheel)?.len()));
    if !is_installed {
        return Ok(());
    }
    let mut install = environment.pip();
    install.args(["install", "--force-reinstall", "--no-deps", "--no-index"]).arg(&wheel);
    run_to_end(&mut install)?;
    let mut tests = environment.python();
    tests.args(["-m", "unittest", "discover", "--start-directory"]).arg(package.join("tests"));
    run_to_end(&mut tests)
}

/// Returns the arguments of `maturin build` for a wheel of a release. On Linux, zig links it for the
/// oldest C library that the wheel's name promises.
fn of_release(target: &str) -> Vec<&str> {
    let library: &[&str] = if target.ends_with("-linux-gnu") {
        &[ZIG, "--compatibility", "manylinux2014"]
    } else if target.ends_with("-linux-musl") {
        &[ZIG, "--compatibility", "musllinux_1_2"]
    } else {
        &[]
    };
    [&["--profile", "dist", "--target", target], library].concat()
}

/// Flag of `maturin build` that makes zig the linker and the C compiler.
const ZIG: &str = "--zig";

/// Package of PyPI with zig.
const ZIG_PACKAGE: &str = "ziglang==0.17.1";

/// A virtual environment of Python with the packages that the build and the tests need.
struct Environment {
    folder: PathBuf,
}

impl Environment {
    /// Creates the environment, unless an earlier call has installed the same packages.
    fn new(folder: &Path, tests: &Path) -> anyhow::Result<Self> {
        let environment = Self { folder: folder.to_owned() };
        let (requirements, mark) = (tests.join("requirements.txt"), folder.join("requirements"));
        let wanted = fs::read_to_string(&requirements)?;
        if fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
            return Ok(environment);
        }
        let mut create = Command::new("python3");
        create.args(["-m", "venv", "--clear"]).arg(folder);
        run_to_end(&mut create)
            .context("Debian has the module venv in the package python3-venv")?;
        run_to_end(environment.pip().args(["install", "--quiet", "-r"]).arg(&requirements))?;
        fs::write(mark, wanted)?;
        Ok(environment)
    }

    /// Builds the wheel into an empty folder and returns its path.
    fn build(&self, package: &Path, folder: &Path, words: &[&str]) -> anyhow::Result<PathBuf> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        if words.contains(&ZIG) {
            run_to_end(self.pip().args(["install", "--quiet", ZIG_PACKAGE]))?;
        }
        let mut maturin = self.program("maturin");
        // It finds the environment's Python, which has zig, by the search path.
        let path = var_os("PATH").unwrap_or_default();
        maturin.env("PATH", join_paths([self.programs()].into_iter().chain(split_paths(&path)))?);
        maturin.args(["build", "--locked", "--strip", "--out"]).arg(folder);
        maturin.arg("--manifest-path").arg(package.join("Cargo.toml"));
        maturin.args(words);
        run_to_end(&mut maturin)?;
        let built = fs::read_dir(folder)?.next().context("maturin built no wheel")?;
        Ok(built?.path())
    }

    fn pip(&self) -> Command {
        let mut pip = self.python();
        pip.args(["-m", "pip"]);
        pip
    }

    fn python(&self) -> Command {
        self.program("python")
    }

    fn program(&self, name: &str) -> Command {
        Command::new(self.programs().join(name))
    }

    fn programs(&self) -> PathBuf {
        self.folder.join(if cfg!(windows) { "Scripts" } else { "bin" })
    }
}

/// Runs a command to its end.
fn run_to_end(command: &mut Command) -> anyhow::Result<()> {
    announce(&format!("+ {command:?}"));
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(target: &str, expected: &str) {
        let expected = format!("--profile dist --target {target}{expected}");
        assert_eq!(of_release(target).join(" "), expected);
    }

    #[test]
    fn a_wheel_of_a_release_names_the_oldest_c_library_it_runs_with() {
        check("aarch64-unknown-linux-gnu", " --zig --compatibility manylinux2014");
        check("x86_64-unknown-linux-musl", " --zig --compatibility musllinux_1_2");
        check("aarch64-apple-darwin", "");
        check("x86_64-pc-windows-msvc", "");
    }
}
