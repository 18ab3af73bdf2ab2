//! Creates a folder in which an engine can be started: Python environment, models and a stub
//! driver.
//!
//! Existing parts are reused.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::ensure;

use super::engine::{Engine, Weights};
use super::process::output;

/// Installation of an engine.
#[derive(Debug)]
pub(super) struct Installation {
    pub(super) folder: PathBuf,
    pub(super) python: PathBuf,
    workspace: PathBuf,
    /// Folder of the stub driver, if the engine needs one.
    pub(super) driver: Option<PathBuf>,
    /// Names and versions of the pinned packages.
    pub(super) versions: Vec<(String, String)>,
}

impl Installation {
    /// Returns the folder of a model or an adapter, which is created if it does not exist.
    pub(super) fn model(&self, weights: Weights) -> anyhow::Result<PathBuf> {
        let whole = self.folder.join(weights.folder);
        let model = self.folder.join(weights.model);
        let is_there = |file| model.join(file).exists();
        if !["model.safetensors", "adapter_model.safetensors"].into_iter().any(is_there) {
            let script = self.workspace.join("xtask/python").join(weights.script);
            let tokenizer = self.workspace.join("fixtures/tokenizers/gpt2");
            output(Command::new(&self.python).arg(script).arg(&whole).arg(tokenizer))?;
        }
        Ok(model)
    }

    /// Sets the environment variables that the engine needs.
    pub(super) fn equip(&self, command: &mut Command, engine: &Engine) {
        command.envs(engine.environment.iter().copied()).env("HF_HUB_OFFLINE", "1");
        // Without cached bytecode, an import of these packages takes a minute.
        command.env_remove("PYTHONDONTWRITEBYTECODE");
        if let Some(driver) = &self.driver {
            command.env("LD_LIBRARY_PATH", driver);
        }
    }
}

/// Installs whatever is missing.
pub(super) fn install(
    engine: &Engine,
    folder: &Path,
    workspace: &Path,
) -> anyhow::Result<Installation> {
    fs::create_dir_all(folder)?;
    let python = environment(folder).join("bin/python");
    if !is_installed(engine, folder) {
        super::eprint_line(&format!("{}: installing {}", engine.name, engine.packages.join(", ")));
        packages(engine, folder)?;
    }
    Ok(Installation {
        workspace: workspace.to_owned(),
        driver: engine.wants_driver.map(|package| driver(folder, package)).transpose()?,
        versions: versions(engine, folder)?,
        folder: folder.to_owned(),
        python,
    })
}

/// Whether an earlier run completely installed exactly these packages.
pub(super) fn is_installed(engine: &Engine, folder: &Path) -> bool {
    fs::read_to_string(mark(folder)).is_ok_and(|names| names == wish(engine))
}

/// Removes the environment and keeps the results.
pub(super) fn remove(folder: &Path) {
    // A failure is harmless: the folder only takes space.
    let _ = fs::remove_dir_all(environment(folder));
}

fn packages(engine: &Engine, folder: &Path) -> anyhow::Result<()> {
    let environment = environment(folder);
    output(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))?;
    let python = environment.join("bin/python");
    output(Command::new(&python).args(["-m", "pip", "install", "--quiet", "uv"]))?;
    let overrides = folder.join("overrides.txt");
    fs::write(&overrides, engine.overrides.join("\n"))?;
    let mut install = uv(folder);
    install.args(["install", "--quiet"]).args(engine.install_flags);
    output(install.arg("--override").arg(overrides).args(engine.packages))?;
    fs::write(mark(folder), wish(engine))?;
    Ok(())
}

/// Returns the names and versions of the packages that are pinned.
fn versions(engine: &Engine, folder: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let frozen = output(uv(folder).arg("freeze"))?;
    let pinned: Vec<_> = engine.packages.iter().filter_map(|package| pin(package)).collect();
    let installed = frozen.lines().filter_map(|line| line.split_once("=="));
    let wanted = installed.filter(|(name, _)| pinned.contains(name));
    Ok(wanted.map(|(name, version)| (name.to_owned(), version.to_owned())).collect())
}

/// Returns the package name of a requirement that pins a version.
fn pin(requirement: &str) -> Option<&str> {
    let (name, _) = requirement.split_once("==")?;
    name.split('[').next()
}

/// Returns a `uv pip` command for this environment.
fn uv(folder: &Path) -> Command {
    let environment = environment(folder);
    let mut command = Command::new(environment.join("bin/uv"));
    command.arg("pip").env("VIRTUAL_ENV", environment);
    command
}

/// Builds a replacement of the GPU driver's library, in which every function returns that there
/// is no GPU.
///
/// SGLang's kernels are linked against the driver even if they run on a CPU. The required
/// functions change with every release, so they are read from the installed libraries.
fn driver(folder: &Path, package: &str) -> anyhow::Result<PathBuf> {
    let stub = folder.join("driver");
    fs::create_dir_all(&stub)?;
    let names = missing_functions(&libraries(&environment(folder).join("lib"), package)?)?;
    ensure!(!names.is_empty(), "{package} misses no function of a driver");
    let define = |name: &String| format!("int {name}(void) {{ return {NO_DEVICE}; }}\n");
    fs::write(stub.join("driver.c"), names.iter().map(define).collect::<String>())?;
    let mut compiler = Command::new("cc");
    compiler.current_dir(&stub).args(["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]);
    output(compiler.args(["-o", "libcuda.so.1", "driver.c"]))?;
    Ok(stub)
}

/// Returns the driver functions that these libraries import. Their names have an upper-case
/// letter after `cu`, unlike those of the CUDA toolkit's libraries, which are installed.
fn missing_functions(libraries: &[PathBuf]) -> anyhow::Result<Vec<String>> {
    let symbols = output(Command::new("nm").args(["-D", "--undefined-only"]).args(libraries))?;
    let is_drivers = |name: &str| {
        name.strip_prefix("cu")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
    };
    let words = symbols.lines().filter_map(|line| line.split_whitespace().last());
    let names = words.filter_map(|word| word.split('@').next()).filter(|name| is_drivers(name));
    let mut names: Vec<_> = names.map(str::to_owned).collect();
    names.sort();
    names.dedup();
    Ok(names)
}

/// Returns the shared libraries of a Python package.
fn libraries(folder: &Path, package: &str) -> anyhow::Result<Vec<PathBuf>> {
    let find = output(
        Command::new("find")
            .arg(folder)
            .args(["-name", "*.so", "-path"])
            .arg(format!("*/{package}/*")),
    )?;
    let found: Vec<_> = find.lines().map(PathBuf::from).collect();
    ensure!(!found.is_empty(), "{package} has no libraries in {}", folder.display());
    Ok(found)
}

fn environment(folder: &Path) -> PathBuf {
    folder.join("venv")
}

/// Path of a file that is written when the environment is complete and is removed with it.
fn mark(folder: &Path) -> PathBuf {
    environment(folder).join("conformance")
}

fn wish(engine: &Engine) -> String {
    [engine.packages, engine.install_flags, engine.overrides].concat().join("\n")
}

/// The driver's error code for "no device was found".
const NO_DEVICE: i32 = 100;
