//! Builds the Python package as a wheel, installs it and runs its tests.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::check::announce;
use crate::metadata::{host, leave_package, root, target_folder};
use crate::python_environment::{PythonEnvironment, ZIG, run_to_end};

/// Folder of the package in the repository.
const PACKAGE: &str = "crates/servemark-python";

/// Builds the wheel, installs it into a virtual environment below the target folder, and runs the
/// tests of the package there.
///
/// Without `words` the profile and the features are those of the workspace's tests. With
/// `--target TRIPLE` the wheel is that of a release, and it is installed if the target is this
/// machine's. Other words are arguments of `maturin build`.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let (words, is_installed) = match words {
        // Without a target the results of the tests' build are used again.
        [] => (vec!["--profile", "dev", "--features", "tests"], true),
        ["--target", target] => (of_release(target), *target == host()?),
        _ => (words.to_vec(), true),
    };
    let folder = target_folder()?.join("wheel");
    fs::create_dir_all(&folder)?;
    let package = root().join(PACKAGE);
    let requirements = fs::read_to_string(package.join("tests/requirements.txt"))?;
    let environment = PythonEnvironment::new(&folder.join("venv"), &requirements)?;
    let wheel = build(&environment, &package, &folder.join("built"), &words)?;
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
        &[ZIG_FLAG, "--compatibility", "manylinux2014"]
    } else if target.ends_with("-linux-musl") {
        &[ZIG_FLAG, "--compatibility", "musllinux_1_2"]
    } else {
        &[]
    };
    [&["--profile", "dist", "--target", target], library].concat()
}

/// Flag of `maturin build` that makes zig the linker and the C compiler.
const ZIG_FLAG: &str = "--zig";

/// Builds the wheel into an empty folder and returns its path.
fn build(
    environment: &PythonEnvironment,
    package: &Path,
    folder: &Path,
    words: &[&str],
) -> anyhow::Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    if words.contains(&ZIG_FLAG) {
        environment.install(ZIG)?;
    }
    let mut maturin = environment.program("maturin");
    environment.add_to_path(&mut maturin)?;
    leave_package(&mut maturin);
    maturin.args(["build", "--locked", "--strip", "--out"]).arg(folder);
    maturin.arg("--manifest-path").arg(package.join("Cargo.toml"));
    maturin.args(words);
    run_to_end(&mut maturin)?;
    let built = fs::read_dir(folder)?.next().context("maturin built no wheel")?;
    Ok(built?.path())
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
