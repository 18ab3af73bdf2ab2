//! Where a sweep or a search keeps its run logs, and what it is.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use servemark_core::{RunLog, RunLogError, RunLogReader, unix_now};
use servemark_plan::{AbSpec, Isolation, SloSearchSpec, SweepSpec};

use super::SweepRunError;
use crate::replace_file;

/// Where run logs are kept, if there is such a place.
#[derive(Debug)]
pub(super) struct Folder {
    path: Option<PathBuf>,
    nonce: u64,
    /// The manifest, locked for as long as points are measured.
    _lock: Option<File>,
}

/// What makes several runs, and is known again when it is begun again.
pub(crate) trait Undertaking: Clone + DeserializeOwned + PartialEq + Serialize {
    /// What it is called in the folder's manifest.
    const KEY: &'static str;

    /// By what it is known, if not by all of it.
    fn identity(&self) -> Option<&str>;

    /// What keeps its runs apart.
    fn isolation(&self) -> &Isolation;
}

impl Undertaking for SweepSpec {
    const KEY: &'static str = "sweep";

    fn identity(&self) -> Option<&str> {
        self.identity.as_deref()
    }

    fn isolation(&self) -> &Isolation {
        &self.isolation
    }
}

impl Undertaking for SloSearchSpec {
    const KEY: &'static str = "search";

    fn identity(&self) -> Option<&str> {
        self.identity.as_deref()
    }

    fn isolation(&self) -> &Isolation {
        &self.isolation
    }
}

impl Undertaking for AbSpec {
    const KEY: &'static str = "ab";

    fn identity(&self) -> Option<&str> {
        self.identity.as_deref()
    }

    fn isolation(&self) -> &Isolation {
        &self.isolation
    }
}

impl Folder {
    /// The folder of an undertaking, and that as it was when it was begun: made, or found and known
    /// again.
    pub(super) fn open<U: Undertaking>(
        path: Option<&Path>,
        spec: &U,
    ) -> Result<(Self, U), SweepRunError> {
        let nonce = u64::try_from(unix_now().as_nanos()).unwrap_or(u64::MAX);
        let Some(path) = path else {
            return Ok((Self { path: None, nonce, _lock: None }, spec.clone()));
        };
        let manifest = path.join(MANIFEST);
        let failed = |source| SweepRunError::Folder { path: manifest.clone(), source };
        let (nonce, spec) = match fs::read(&manifest) {
            Ok(bytes) => known(&bytes, spec)
                .map_err(failed)?
                .ok_or_else(|| SweepRunError::Different { folder: path.to_owned() })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                refuse_unknown(path)?;
                found(path, &manifest, nonce, spec).map_err(failed)?;
                (nonce, spec.clone())
            }
            Err(error) => return Err(failed(error)),
        };
        let lock = File::open(&manifest).map_err(failed)?;
        if matches!(lock.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(SweepRunError::Busy { folder: path.to_owned() });
        }
        Ok((Self { path: Some(path.to_owned()), nonce, _lock: Some(lock) }, spec))
    }

    /// Whether points' run logs are kept here, and not where their plans say.
    pub(super) fn keeps_run_logs(&self) -> bool {
        self.path.is_some()
    }

    pub(super) fn nonce(&self) -> u64 {
        self.nonce
    }

    /// The run log of the how-manieth point, from one.
    pub(super) fn log_of(&self, number: usize, name: &str) -> Option<PathBuf> {
        let folder = self.path.as_ref()?;
        let plain: String = name.chars().map(plain).take(LONGEST).collect();
        Some(folder.join(format!("{number:03}_{plain}{RUN_LOG}")))
    }

    /// The run of a point that was whole when it ended. One that was killed or stopped, or whose
    /// log is none, is run again. A log that is damaged is an error: it may hold a whole run.
    pub(super) fn finished(path: &Path, plan: &Value) -> Result<Option<RunLog>, RunLogError> {
        let read = RunLogReader::open(path).and_then(RunLogReader::into_log);
        match read {
            Ok(log) => Ok((log.is_complete() && log.header().plan == *plan).then_some(log)),
            Err(error) if error.is_damage() => Err(error),
            Err(_) => Ok(None),
        }
    }
}

/// Refuses a folder with run logs and without a manifest.
fn refuse_unknown(folder: &Path) -> Result<(), SweepRunError> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names = entries.map(|entry| entry.file_name());
    if names.any(|name| name.to_string_lossy().ends_with(RUN_LOG)) {
        let folder = folder.to_owned();
        return Err(SweepRunError::Unknown { folder, manifest: MANIFEST });
    }
    Ok(())
}

/// The same undertaking, begun before, and what its prompts are salted with.
fn known<U: Undertaking>(bytes: &[u8], spec: &U) -> io::Result<Option<(u64, U)>> {
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

fn found<U: Undertaking>(folder: &Path, manifest: &Path, nonce: u64, spec: &U) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let servemark = env!("CARGO_PKG_VERSION");
    let new = json!({ "servemark": servemark, "nonce": nonce, U::KEY: spec });
    let bytes = serde_json::to_vec_pretty(&new)?;
    replace_file(manifest, &bytes)
}

fn plain(sign: char) -> char {
    if sign.is_ascii_alphanumeric() || "=,.+-_".contains(sign) { sign } else { '_' }
}

const MANIFEST: &str = "sweep.json";
const RUN_LOG: &str = ".runlog.jsonl";
/// File systems take names of 255 bytes.
const LONGEST: usize = 200;
