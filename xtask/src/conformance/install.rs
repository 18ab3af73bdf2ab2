//! Makes a folder in which an engine can be started: an environment, models, a stand-in driver.
//!
//! What is already there is used again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::ensure;

use super::engine::{Engine, Weights};
use super::process::output;

/// Where an engine lives.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) folder: PathBuf,
    pub(super) python: PathBuf,
    workspace: PathBuf,
    /// The folder of the stand-in driver, where the engine wants one.
    pub(super) driver: Option<PathBuf>,
    /// Name and version of what was asked for.
    pub(super) versions: Vec<(String, String)>,
}

impl Place {
    /// The folder of a model or an adapter, which is written if it is not there.
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

    /// Gives a program what the engine wants of its environment.
    pub(super) fn equip(&self, command: &mut Command, engine: &Engine) {
        command.envs(engine.environment.iter().copied()).env("HF_HUB_OFFLINE", "1");
        // Without what was compiled before, an import of these packages takes a minute.
        command.env_remove("PYTHONDONTWRITEBYTECODE");
        if let Some(driver) = &self.driver {
            command.env("LD_LIBRARY_PATH", driver);
        }
    }
}

/// Installs what is missing.
pub(super) fn install(engine: &Engine, folder: &Path, workspace: &Path) -> anyhow::Result<Place> {
    fs::create_dir_all(folder)?;
    let python = environment(folder).join("bin/python");
    if !is_installed(engine, folder) {
        super::say(&format!("{}: installing {}", engine.name, engine.packages.join(", ")));
        packages(engine, folder)?;
    }
    Ok(Place {
        workspace: workspace.to_owned(),
        driver: engine.wants_driver.map(|package| driver(folder, package)).transpose()?,
        versions: versions(engine, folder)?,
        folder: folder.to_owned(),
        python,
    })
}

/// Whether a former run installed just these packages, to the end.
pub(super) fn is_installed(engine: &Engine, folder: &Path) -> bool {
    fs::read_to_string(mark(folder)).is_ok_and(|names| names == wish(engine))
}

/// Removes the environment; what was found stays.
pub(super) fn remove(folder: &Path) {
    // If it cannot be removed it is in nobody's way.
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

/// Name and version of what was asked for in one version.
fn versions(engine: &Engine, folder: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let frozen = output(uv(folder).arg("freeze"))?;
    let pinned: Vec<_> = engine.packages.iter().filter_map(|package| pin(package)).collect();
    let installed = frozen.lines().filter_map(|line| line.split_once("=="));
    let wanted = installed.filter(|(name, _)| pinned.contains(name));
    Ok(wanted.map(|(name, version)| (name.to_owned(), version.to_owned())).collect())
}

/// The name in a requirement that pins a version.
fn pin(requirement: &str) -> Option<&str> {
    let (name, _) = requirement.split_once("==")?;
    name.split('[').next()
}

/// `uv pip`, for this environment.
fn uv(folder: &Path) -> Command {
    let environment = environment(folder);
    let mut command = Command::new(environment.join("bin/uv"));
    command.arg("pip").env("VIRTUAL_ENV", environment);
    command
}

/// Builds a library in the GPU driver's name whose every function says that there is no GPU.
///
/// SGLang's kernels are linked against the driver even where they run on a CPU. Which functions
/// they miss changes with every release, so the installed libraries are asked.
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

/// The driver's functions that these libraries expect from elsewhere. Their names go on with a
/// capital; those of the toolkit's own libraries, which are installed, do not.
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

/// The shared libraries of a Python package.
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

/// Written when an environment is whole, and gone with it.
fn mark(folder: &Path) -> PathBuf {
    environment(folder).join("conformance")
}

fn wish(engine: &Engine) -> String {
    [engine.packages, engine.install_flags, engine.overrides].concat().join("\n")
}

/// The driver's code for "no device was found".
const NO_DEVICE: i32 = 100;
