//! Builds the Python package as a wheel, installs it and runs its tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};

use crate::check::announce;
use crate::metadata::{root, target_folder};

/// Folder of the package in the repository.
const PACKAGE: &str = "crates/servemark-python";

/// Builds the wheel, installs it into a virtual environment below the target folder, and runs the
/// tests of the package there. `words` are arguments of `maturin build` in place of the profile
/// `dev`.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let folder = target_folder()?.join("wheel");
    fs::create_dir_all(&folder)?;
    let package = root().join(PACKAGE);
    let environment = Environment::new(&folder.join("venv"), &package.join("tests"))?;
    let wheel = environment.build(&package, &folder.join("built"), words)?;
    announce(&format!("{}: {} bytes", wheel.display(), fs::metadata(&wheel)?.len()));
    let mut install = environment.pip();
    install.args(["install", "--force-reinstall", "--no-deps", "--no-index"]).arg(&wheel);
    run_to_end(&mut install)?;
    let mut tests = environment.python();
    tests.args(["-m", "unittest", "discover", "--start-directory"]).arg(package.join("tests"));
    run_to_end(&mut tests)
}

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
        let mut maturin = self.program("maturin");
        maturin.args(["build", "--locked", "--strip", "--out"]).arg(folder);
        maturin.arg("--manifest-path").arg(package.join("Cargo.toml"));
        // Without a target the results of usual builds are used again.
        maturin.args(if words.is_empty() { &["--profile", "dev"] } else { words });
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
        Command::new(self.folder.join("bin").join(name))
    }
}

/// Runs a command to its end.
fn run_to_end(command: &mut Command) -> anyhow::Result<()> {
    announce(&format!("+ {command:?}"));
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}
