//! Where a sweep keeps its run logs, and what it is a sweep of.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{RunLog, RunLogReader, unix_now};
use servemark_plan::SweepSpec;

use super::SweepRunError;

/// Where a sweep keeps its run logs, if it has such a place.
#[derive(Debug)]
pub(super) struct Folder {
    path: Option<PathBuf>,
    nonce: u64,
    spec: SweepSpec,
}

/// What the folder is a folder of.
#[derive(Deserialize, Serialize)]
struct Manifest {
    servemark: String,
    /// What its prompts are salted with.
    nonce: u64,
    sweep: SweepSpec,
}

impl Folder {
    /// The folder of a sweep: made, or found and known again.
    pub(super) fn open(path: Option<&Path>, spec: &SweepSpec) -> Result<Self, SweepRunError> {
        let nonce = u64::try_from(unix_now().as_nanos()).unwrap_or(u64::MAX);
        let sweep = spec.clone();
        let Some(path) = path else { return Ok(Self { path: None, nonce, spec: sweep }) };
        let manifest = path.join(MANIFEST);
        let failed = |source| SweepRunError::Folder { path: manifest.clone(), source };
        let Manifest { nonce, sweep, .. } = match fs::read(&manifest) {
            Ok(bytes) => known(&bytes, spec)
                .map_err(failed)?
                .ok_or_else(|| SweepRunError::Different { folder: path.to_owned() })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let servemark = env!("CARGO_PKG_VERSION").to_owned();
                let new = Manifest { servemark, nonce, sweep };
                found(path, &manifest, &new).map_err(failed)?;
                new
            }
            Err(error) => return Err(failed(error)),
        };
        Ok(Self { path: Some(path.to_owned()), nonce, spec: sweep })
    }

    /// The sweep as it was when it was begun.
    pub(super) fn spec(&self) -> &SweepSpec {
        &self.spec
    }

    pub(super) fn nonce(&self) -> u64 {
        self.nonce
    }

    /// The run log of the how-manieth point, from one.
    pub(super) fn log_of(&self, number: usize, name: &str) -> Option<PathBuf> {
        let folder = self.path.as_ref()?;
        let plain: String = name.chars().map(plain).take(LONGEST).collect();
        Some(folder.join(format!("{number:03}_{plain}.runlog.jsonl")))
    }

    /// The run of a point that was whole when it ended. One that was killed or stopped, or whose
    /// log is none, is run again.
    pub(super) fn finished(path: &Path, plan: &Value) -> Option<RunLog> {
        let log = RunLogReader::open(path).and_then(RunLogReader::into_log).ok()?;
        (log.is_complete() && log.header().plan == *plan).then_some(log)
    }
}

/// The same sweep, begun before.
fn known(bytes: &[u8], spec: &SweepSpec) -> io::Result<Option<Manifest>> {
    let manifest: Manifest = serde_json::from_slice(bytes)?;
    let is_same = match &spec.identity {
        Some(identity) => manifest.sweep.identity.as_ref() == Some(identity),
        None => manifest.sweep == *spec,
    };
    Ok(is_same.then_some(manifest))
}

fn found(folder: &Path, manifest: &Path, new: &Manifest) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let bytes = serde_json::to_vec_pretty(new)?;
    // Written beside its place first: a manifest is whole or not there.
    let draft = manifest.with_extension("json.new");
    fs::write(&draft, bytes)?;
    fs::rename(draft, manifest)
}

fn plain(sign: char) -> char {
    if sign.is_ascii_alphanumeric() || "=,.+-_".contains(sign) { sign } else { '_' }
}

const MANIFEST: &str = "sweep.json";
/// File systems take names of 255 bytes.
const LONGEST: usize = 200;
