//! Finds installed programs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};

use super::Program;

/// Locations where programs are looked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgramPaths {
    /// Folder of Servemark's programs; if absent, the folder of this program.
    pub ours: Option<PathBuf>,
    /// Python interpreter with the peers' packages, or with the packages that those need.
    pub python: Option<PathBuf>,
    /// Folder of SGLang's unpacked wheel, if the interpreter does not have the package.
    pub sglang: Option<PathBuf>,
    /// Folder of vLLM's unpacked wheel, if the interpreter does not have the package.
    pub vllm: Option<PathBuf>,
}

/// An installed program.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Installed {
    /// The program.
    pub program: Program,
    /// Version of the program.
    pub version: String,
}

impl ProgramPaths {
    /// Looks for a program.
    ///
    /// # Errors
    ///
    /// The program is not installed; the error says what is missing.
    pub fn find(&self, program: Program) -> anyhow::Result<Installed> {
        let version = match program {
            Program::Servemark => {
                self.ours()?;
                env!("CARGO_PKG_VERSION").to_owned()
            }
            Program::SglangPython | Program::SglangRust => {
                self.version("sglang", self.sglang.as_deref())?
            }
            Program::VllmRust if self.vllm.is_some() => wheel_version("vllm", self.vllm_rs()?.1)?,
            Program::VllmPython | Program::VllmRust => {
                self.version("vllm", self.vllm.as_deref())?
            }
        };
        Ok(Installed { program, version })
    }

    /// Returns a program's command, without arguments.
    pub(in super::super) fn command(&self, program: Program) -> anyhow::Result<Command> {
        let (sglang, vllm) = (self.sglang.as_deref(), self.vllm.as_deref());
        let mut command = match program {
            Program::Servemark => Command::new(self.ours()?),
            Program::SglangPython => {
                self.script("sglang.py", sglang, &["python"], "sglang.bench_serving")?
            }
            Program::SglangRust => {
                let module = "sglang.benchmark.rust_client";
                self.script("sglang.py", sglang, &["rust"], module)?
            }
            Program::VllmPython => self.script("vllm.py", vllm, &[], VLLM)?,
            Program::VllmRust if self.vllm.is_some() => Command::new(self.vllm_rs()?.0),
            Program::VllmRust => self.script("vllm.py", None, &[], VLLM)?,
        };
        let of_vllm = matches!(program, Program::VllmPython | Program::VllmRust);
        let scripted = program == Program::VllmPython && self.vllm.is_some();
        if of_vllm && !scripted {
            command.args(["bench", "serve"]);
        }
        command.env("HF_HUB_OFFLINE", "1").env("TRANSFORMERS_VERBOSITY", "error");
        let rust = if program == Program::VllmRust { "1" } else { "0" };
        command.env("VLLM_USE_RUST_BENCH", rust);
        Ok(command)
    }

    fn ours(&self) -> anyhow::Result<PathBuf> {
        let beside = || Some(std::env::current_exe().ok()?.parent()?.to_owned());
        let folder = self.ours.clone().or_else(beside).context("there is no folder of ours")?;
        let program = folder.join("bench-serving");
        let hint = "build it with cargo build --release -p bench-serving";
        ensure!(program.exists(), "{} is not there; {hint}", program.display());
        Ok(program)
    }

    /// Returns the Python command of a module, or of a script that runs it from an unpacked wheel.
    fn script(
        &self,
        script: &str,
        wheel: Option<&Path>,
        words: &[&str],
        module: &str,
    ) -> anyhow::Result<Command> {
        let mut command = Command::new(self.python()?);
        match wheel {
            None => command.args(["-m", module]),
            Some(wheel) => command.arg(Path::new(SCRIPTS).join(script)).arg(wheel).args(words),
        };
        Ok(command)
    }

    fn python(&self) -> anyhow::Result<&Path> {
        self.python.as_deref().context("no --python was given")
    }

    fn vllm_rs(&self) -> anyhow::Result<(PathBuf, &Path)> {
        let wheel = self.vllm.as_deref().context("no --vllm was given")?;
        let program = wheel.join("vllm/vllm-rs");
        ensure!(program.exists(), "{} is not there", program.display());
        Ok((program, wheel))
    }

    fn version(&self, package: &str, wheel: Option<&Path>) -> anyhow::Result<String> {
        let python = self.python()?;
        if let Some(wheel) = wheel {
            return wheel_version(package, wheel);
        }
        let ask = format!("import importlib.metadata as m; print(m.version({package:?}))");
        let mut command = Command::new(python);
        let output = command.args(["-c", &ask]).stderr(Stdio::null()).output();
        let output = output.with_context(|| format!("cannot run {}", python.display()))?;
        ensure!(output.status.success(), "{} has no package {package}", python.display());
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

/// Returns the version in the name of a wheel's metadata folder.
fn wheel_version(package: &str, wheel: &Path) -> anyhow::Result<String> {
    let entries = std::fs::read_dir(wheel);
    let entries = entries.with_context(|| format!("cannot look into {}", wheel.display()))?;
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let rest = name.strip_prefix(package).and_then(|rest| rest.strip_prefix('-'));
        if let Some(version) = rest.and_then(|rest| rest.strip_suffix(".dist-info")) {
            return Ok(version.to_owned());
        }
    }
    bail!("{} is no unpacked wheel of {package}", wheel.display())
}

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/peer");
const VLLM: &str = "vllm.entrypoints.cli.main";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let places = ProgramPaths::default();
        let error = |program| places.find(program).unwrap_err().to_string();
        assert_eq!(error(Program::SglangPython), "no --python was given");
        assert_eq!(error(Program::VllmRust), "no --python was given");
        let nowhere = ProgramPaths { ours: Some("/nowhere".into()), ..ProgramPaths::default() };
        let error = nowhere.find(Program::Servemark).unwrap_err().to_string();
        assert!(error.starts_with("/nowhere/bench-serving is not there; build it"), "{error}");
    }

    #[test]
    fn a_wheel_says_its_version() {
        let wheel = tempfile::tempdir().unwrap();
        let path = wheel.path();
        let error = wheel_version("vllm", path).unwrap_err().to_string();
        assert!(error.ends_with("is no unpacked wheel of vllm"), "{error}");
        std::fs::create_dir(path.join("vllm-0.33.0.dist-info")).unwrap();
        assert_eq!(wheel_version("vllm", path).unwrap(), "0.33.0");
    }
}
