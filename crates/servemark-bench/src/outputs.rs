//! Checks the files that a command writes before anything is sent.
//!
//! A run whose results could not be saved is refused before it begins. The checks truncate
//! nothing and leave nothing behind: an existing file is opened and closed again; for a new file,
//! an unnamed temporary file is created in its folder.

mod identity;
mod trial;

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use servemark_core::{IfTaken, RunLogError};
use servemark_plan::{BenchPlan, SaveMode, VllmFiles};
use thiserror::Error;

use self::identity::Identity;
use crate::ExitCode;
use crate::full_disk::exit_code_of;

/// Files that a command writes and files that it reads.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    outputs: Vec<Output>,
    inputs: Vec<PathBuf>,
}

#[derive(Clone, Debug)]
struct Output {
    what: &'static str,
    path: PathBuf,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Appended,
    /// A folder that is created, together with its parents, if it does not exist.
    Folder,
    Replaced,
    RunLog(IfTaken),
}

/// Why an output file is refused.
#[derive(Debug, Error)]
pub enum OutputError {
    /// The operating system refuses to write the file.
    #[error("cannot write {what} to {path}", path = path.display())]
    Refused {
        /// Description of the output.
        what: &'static str,
        /// Path of the file or folder.
        path: PathBuf,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The folder of the file does not exist.
    #[error(
        "cannot write {what} to {path}: there is no folder {folder}; create it or name another",
        path = path.display(),
        folder = folder.display()
    )]
    NoFolder {
        /// Description of the output.
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Path of the missing folder.
        folder: PathBuf,
    },
    /// The path is a folder where a file is needed, or a file where a folder is needed.
    #[error(
        "cannot write {what} to {path}, which is {is}; name another",
        path = path.display()
    )]
    OtherKind {
        /// Description of the output.
        what: &'static str,
        /// Path of the output.
        path: PathBuf,
        /// Kind of what exists at the path, in words.
        is: &'static str,
    },
    /// Two outputs of one command would be written to one file.
    #[error(
        "{one} and {other} would be written to the same file, {path}; name different files",
        path = path.display()
    )]
    Same {
        /// Description of the first output.
        one: &'static str,
        /// Description of the second output.
        other: &'static str,
        /// Path of the file.
        path: PathBuf,
    },
    /// An output file is also an input of the command.
    #[error(
        "{what} would be written to {path}, which this command reads; name another file",
        path = path.display()
    )]
    Input {
        /// Description of the output.
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
    },
    /// The run log's path is refused.
    #[error(transparent)]
    RunLog(#[from] RunLogError),
}

impl OutputError {
    /// Returns the program's exit code.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Refused { source, .. } => exit_code_of(source),
            _ => ExitCode::Usage,
        }
    }
}

impl Outputs {
    /// Returns the files of one run.
    pub fn of(plan: &BenchPlan) -> Self {
        let mut outputs = Self::default();
        outputs.add_plan(plan);
        outputs
    }

    /// Adds the files that a run writes and those that it reads.
    pub fn add_plan(&mut self, plan: &BenchPlan) {
        let output = &plan.output;
        if let Some(path) = &output.run_log {
            self.add("the run log", path, Kind::RunLog(output.run_log_if_taken));
        }
        if let Some(path) = &output.result_file {
            self.add_appended("the result", path);
        }
        if let Some(path) = &output.page {
            self.add_file("the page", path);
        }
        if let Some(path) = &output.steady_state_file {
            self.add_appended("the line about the steady part", path);
        }
        if let Some(files) = &output.vllm {
            self.add_vllm(files);
        }
        if let Some(files) = &output.aisbench {
            self.add_folder("the results", &files.folder);
        }
        self.add_engine_log(plan);
        self.inputs.extend(inputs(plan));
    }

    /// Adds a file that is created or replaced.
    pub fn add_file(&mut self, what: &'static str, path: &Path) {
        self.add(what, path, Kind::Replaced);
    }

    /// Adds a file that is appended to.
    pub fn add_appended(&mut self, what: &'static str, path: &Path) {
        self.add(what, path, Kind::Appended);
    }

    /// Adds a folder that is created if it does not exist. Files in it need no existing folder.
    pub fn add_folder(&mut self, what: &'static str, path: &Path) {
        self.add(what, path, Kind::Folder);
    }

    /// Adds a file that the command reads.
    pub fn add_input(&mut self, path: &Path) {
        self.inputs.push(path.to_owned());
    }

    /// Checks that all files are writable, differ from each other and are not inputs.
    pub fn check(&self) -> Result<(), OutputError> {
        self.outputs.iter().try_for_each(|output| self.try_out(output))?;
        let known: Vec<(&Output, Identity)> = self
            .outputs
            .iter()
            .filter(|output| output.kind != Kind::Folder)
            .filter_map(|output| Some((output, Identity::of(&output.path)?)))
            .collect();
        for (place, (output, identity)) in known.iter().enumerate() {
            let clashes =
                |(other, its): &&(&Output, Identity)| its == identity && !output.goes_with(other);
            if let Some((earlier, _)) = known[..place].iter().find(clashes) {
                let path = output.path.clone();
                return Err(OutputError::Same { one: earlier.what, other: output.what, path });
            }
            if identity.is_file() && self.reads(identity) {
                return Err(OutputError::Input { what: output.what, path: output.path.clone() });
            }
        }
        Ok(())
    }

    fn add(&mut self, what: &'static str, path: &Path, kind: Kind) {
        self.outputs.push(Output { what, path: path.to_owned(), kind });
    }

    /// Adds the files of vLLM's client whose names are known before the run.
    fn add_vllm(&mut self, files: &VllmFiles) {
        let folder = files.folder.clone().unwrap_or_default();
        let is_here = folder.as_os_str().is_empty();
        self.add_folder("the result", if is_here { Path::new(".") } else { &folder });
        let Some(name) = &files.name else { return };
        let path = folder.join(name);
        match files.save {
            Some(SaveMode::Append) => self.add_appended("the result", &path),
            Some(SaveMode::Replace) => self.add_file("the result", &path),
            None => {}
        }
        if files.timeline.is_some() {
            self.add_file("the timeline plot", &path.with_extension("timeline.html"));
        }
        if files.dataset_stats {
            self.add_file("the dataset plot", &path.with_extension("dataset_stats.png"));
        }
        if files.save.is_some() && files.pytorch.is_some() {
            self.add_file("the PyTorch result", &path.with_extension("pytorch.json"));
        }
    }

    #[cfg(feature = "engine")]
    fn add_engine_log(&mut self, plan: &BenchPlan) {
        use servemark_engine::EngineSpec;
        use servemark_plan::ServerSpec;

        if let ServerSpec::Engine(spec) = &plan.server
            && let EngineSpec::Worker(worker) = &spec.engine
            && let Some(path) = &worker.log
        {
            self.add_file("the engine's log", path);
        }
    }

    #[cfg(not(feature = "engine"))]
    #[expect(clippy::unused_self, reason = "without engines there is no log of one")]
    fn add_engine_log(&mut self, _: &BenchPlan) {}

    fn reads(&self, identity: &Identity) -> bool {
        self.inputs.iter().any(|path| Identity::of(path).as_ref() == Some(identity))
    }
}

impl Output {
    /// Returns whether both outputs may have the same path: appended lines of the same kind, or
    /// run logs that get different numbers.
    fn goes_with(&self, other: &Self) -> bool {
        let is_shared = [Kind::Appended, Kind::RunLog(IfTaken::Number)].contains(&self.kind);
        is_shared && self.kind == other.kind && self.what == other.what
    }
}

/// Returns the files that a plan names: data sets, tokenizers and certificates. Every path is a
/// string in the plan's JSON, so the fields are not listed here.
fn inputs(plan: &BenchPlan) -> Vec<PathBuf> {
    let plan = plan.to_json();
    let mut texts = Vec::new();
    for part in ["workload", "model", "server"] {
        collect_texts(&plan[part], &mut texts);
    }
    texts.into_iter().filter(|path| path.is_file()).collect()
}

fn collect_texts(value: &Value, texts: &mut Vec<PathBuf>) {
    match value {
        Value::String(text) if text.len() < LONGEST_PATH => texts.push(text.into()),
        Value::Array(values) => values.iter().for_each(|value| collect_texts(value, texts)),
        Value::Object(members) => members.values().for_each(|value| collect_texts(value, texts)),
        _ => {}
    }
}

/// Maximum length of a path on Linux, in bytes.
const LONGEST_PATH: usize = 4096;

#[cfg(test)]
#[cfg(unix)]
mod tests;
