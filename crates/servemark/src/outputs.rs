//! The files that a command writes, tried before anything is sent.
//!
//! A run that cannot be kept is refused while nothing is lost. Nothing is truncated and nothing is
//! left behind: a file that exists is opened and closed again, and where none is a nameless one is
//! made in its folder.

mod identity;
mod trial;

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use servemark_core::{IfTaken, RunLogError};
use servemark_plan::{BenchPlan, SaveMode, VllmFiles};
use thiserror::Error;

use self::identity::Identity;

/// The files that a command writes, and those that it reads.
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
    /// A folder, which is made with those above it if there is none.
    Folder,
    Replaced,
    RunLog(IfTaken),
}

/// Why a file cannot be written, or must not be.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The operating system refuses it.
    #[error("cannot write {what} to {path}", path = path.display())]
    Refused {
        /// What was to be written.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Its folder does not exist.
    #[error(
        "cannot write {what} to {path}: there is no folder {folder}; create it or name another",
        path = path.display(),
        folder = folder.display()
    )]
    NoFolder {
        /// What was to be written.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Its folder.
        folder: PathBuf,
    },
    /// It is a folder where a file is wanted, or a file where a folder is.
    #[error(
        "cannot write {what} to {path}, which is {is}; name another",
        path = path.display()
    )]
    OtherKind {
        /// What was to be written.
        what: &'static str,
        /// The path.
        path: PathBuf,
        /// What it leads to, in words.
        is: &'static str,
    },
    /// Two outputs of one command are one file.
    #[error(
        "{one} and {other} would be written to the same file, {path}; name different files",
        path = path.display()
    )]
    Same {
        /// The one.
        one: &'static str,
        /// The other.
        other: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// An output is an input.
    #[error(
        "{what} would be written to {path}, which this command reads; name another file",
        path = path.display()
    )]
    Input {
        /// What was to be written.
        what: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// The run log cannot have its name.
    #[error(transparent)]
    RunLog(#[from] RunLogError),
}

impl Outputs {
    /// The files of one run.
    pub fn of(plan: &BenchPlan) -> Self {
        let mut outputs = Self::default();
        outputs.add_plan(plan);
        outputs
    }

    /// Adds the files that a run writes, and those that it reads.
    pub fn add_plan(&mut self, plan: &BenchPlan) {
        let output = &plan.output;
        if let Some(path) = &output.run_log {
            self.add("the run log", path, Kind::RunLog(output.run_log_if_taken));
        }
        if let Some(path) = &output.result_file {
            self.add_appended("the result", path);
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

    /// Adds a file that is written anew.
    pub fn add_file(&mut self, what: &'static str, path: &Path) {
        self.add(what, path, Kind::Replaced);
    }

    /// Adds a file that is appended to.
    pub fn add_appended(&mut self, what: &'static str, path: &Path) {
        self.add(what, path, Kind::Appended);
    }

    /// Adds a folder that is made if there is none. Files in it need no folder of their own.
    pub fn add_folder(&mut self, what: &'static str, path: &Path) {
        self.add(what, path, Kind::Folder);
    }

    /// Adds a file that the command reads.
    pub fn add_input(&mut self, path: &Path) {
        self.inputs.push(path.to_owned());
    }

    /// Tries all files. They must be writable, and neither each other nor what is read.
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

    /// The files of vLLM's client, as far as their names are known before the run.
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
    /// Whether both may be written to one file: lines of the same kind, or run logs that are told
    /// apart by a number.
    fn goes_with(&self, other: &Self) -> bool {
        let is_shared = [Kind::Appended, Kind::RunLog(IfTaken::Number)].contains(&self.kind);
        is_shared && self.kind == other.kind && self.what == other.what
    }
}

/// The files that a plan names: its data sets, tokenizers, certificates. Whatever it names by a
/// path is a text in it, so this need not know each of them.
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

/// What Linux takes.
const LONGEST_PATH: usize = 4096;

#[cfg(test)]
mod tests;
