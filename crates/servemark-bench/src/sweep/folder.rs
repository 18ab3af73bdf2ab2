//! Folder of a sweep, search or A/B comparison, with its run logs and manifest.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use servemark_core::{RunLog, RunLogError, RunLogReader, unix_now};
use servemark_plan::{AbSpec, Isolation, SloSearchSpec, SweepSpec};

use super::SweepRunError;
use crate::new_path::create_whole_file;

/// Folder for run logs, if they are kept in one.
#[derive(Debug)]
pub(super) struct Folder {
    path: Option<PathBuf>,
    nonce: u64,
    /// The manifest, locked while points are measured.
    _lock: Option<File>,
}

/// A spec of several runs that can be resumed and is recognised by the manifest in its folder.
pub(crate) trait Resumable: Clone + DeserializeOwned + PartialEq + Serialize {
    /// Key of the spec in the manifest.
    const KEY: &'static str;

    /// Returns the part of the spec that identifies it; `None` if the whole spec is compared.
    fn identity(&self) -> Option<&str>;

    /// Returns the settings that keep runs from influencing each other.
    fn isolation(&self) -> &Isolation;
}

impl Resumable for SweepSpec {
    const KEY: &'static str = "sweep";

    fn identity(&self) -> Option<&str> {
        self.identity.as_deref()
    }

    fn isolation(&self) -> &Isolation {
        &self.isolation
    }
}

impl Resumable for SloSearchSpec {
    const KEY: &'static str = "search";

    fn identity(&self) -> Option<&str> {
        self.identity.as_deref()
    }

    fn isolation(&self) -> &Isolation {
        &self.isolation
    }
}

impl Resumable for AbSpec {
    const KEY: &'static str = "ab";

    fn identity(&self) -> Option<&str> {
        self.identity.as_deref()
    }

    fn isolation(&self) -> &Isolation {
        &self.isolation
    }
}

impl Folder {
    /// Opens or creates the folder of a spec. Returns the spec as stored in the manifest; if the
    /// manifest is new, it has a copy of `spec`.
    pub(super) fn open<U: Resumable>(
        path: Option<&Path>,
        spec: &U,
    ) -> Result<(Self, U), SweepRunError> {
        let nonce = u64::try_from(unix_now().as_nanos()).unwrap_or(u64::MAX);
        let Some(path) = path else {
            return Ok((Self { path: None, nonce, _lock: None }, spec.clone()));
        };
        let manifest = path.join(MANIFEST);
        let failed = |source| SweepRunError::Folder { path: manifest.clone(), source };
        if !manifest.exists() {
            refuse_unknown(path)?;
            create(path, &manifest, nonce, spec).map_err(failed)?;
        }
        // Another process may have written the manifest first.
        let bytes = fs::read(&manifest).map_err(failed)?;
        let (nonce, spec) = stored_spec(&bytes, spec)
            .map_err(failed)?
            .ok_or_else(|| SweepRunError::Different { folder: path.to_owned() })?;
        let lock = File::open(&manifest).map_err(failed)?;
        if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(SweepRunError::Busy { folder: path.to_owned() });
        }
        Ok((Self { path: Some(path.to_owned()), nonce, _lock: Some(lock) }, spec))
    }

    /// Returns whether run logs are kept in this folder and not at the paths of the plans.
    pub(super) fn keeps_run_logs(&self) -> bool {
        self.path.is_some()
    }

    pub(super) fn nonce(&self) -> u64 {
        self.nonce
    }

    /// Returns the path of the run log of the point with the one-based index `number`.
    pub(super) fn log_of(&self, number: usize, name: &str) -> Option<PathBuf> {
        let folder = self.path.as_ref()?;
        let plain: String = name.chars().map(plain).take(LONGEST).collect();
        Some(folder.join(format!("{number:03}_{plain}{RUN_LOG}")))
    }

    /// Returns the run log of a point if it is complete and has the same plan; `None` if the run
    /// was killed or stopped, or if the file is not a run log. A damaged log is an error, because
    /// it may contain a complete run.
    pub(super) fn finished(path: &Path, plan: &Value) -> Result<Option<RunLog>, RunLogError> {
        let read = RunLogReader::open(path).and_then(RunLogReader::into_log);
        match read {
            Ok(log) => Ok((log.is_complete() && log.header().plan == *plan).then_some(log)),
            Err(error) if error.is_damage() => Err(error),
            Err(_) => Ok(None),
        }
    }
}

/// Refuses a folder that contains run logs and no manifest.
fn refuse_unknown(folder: &Path) -> Result<(), SweepRunError> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name());
    if names.any(|name| name.to_string_lossy().ends_with(RUN_LOG)) {
        let folder = folder.to_owned();
        return Err(SweepRunError::Unknown { folder, manifest: MANIFEST });
    }
    Ok(())
}

/// Returns the nonce and the stored spec of a manifest if the spec is the same.
fn stored_spec<U: Resumable>(bytes: &[u8], spec: &U) -> io::Result<Option<(u64, U)>> {
    let manifest: Map<String, Value> = serde_json::from_slice(bytes)?;
    let Some(begun) = manifest.get(U::KEY) else { return Ok(None) };
    let begun = U::deserialize(begun)?;
    let is_same = match spec.identity() {
        Some(identity) => begun.identity() == Some(identity),
        None => begun == *spec,
    };
    let nonce = manifest.get("nonce").and_then(Value::as_u64);
    Ok(nonce.filter(|_| is_same).map(|nonce| (nonce, begun)))
}

/// Creates the folder and its manifest, unless it has one by now.
fn create<U: Resumable>(folder: &Path, manifest: &Path, nonce: u64, spec: &U) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let servemark = env!("CARGO_PKG_VERSION");
    let new = json!({ "servemark": servemark, "nonce": nonce, U::KEY: spec });
    let bytes = serde_json::to_vec_pretty(&new)?;
    match create_whole_file(manifest, &bytes) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        created => created,
    }
}

fn plain(sign: char) -> char {
    if sign.is_ascii_alphanumeric() || "=,.+-_".contains(sign) { sign } else { '_' }
}

const MANIFEST: &str = "sweep.json";
const RUN_LOG: &str = ".runlog.jsonl";
/// Maximum number of characters of a point's name in a file name; file systems allow 255 bytes
/// for the whole.
const LONGEST: usize = 200;
