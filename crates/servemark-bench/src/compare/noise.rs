//! Stores the spread between repeated runs in a file for later comparisons.
//!
//! The file is one JSON object with an entry for each machine, server and plan. The machine is
//! the client, identified as in run logs by system and cores; the server is identified by address
//! and model; the plan is identified by a hash of what is sent and when, without seed, server,
//! tables and files.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use servemark_core::{Header, unix_now};
use servemark_metrics::{Figure, RunSpread};

use crate::replace_file;

/// File that stores the spread between repeated runs.
#[derive(Clone, Debug)]
pub struct NoiseStore {
    path: PathBuf,
}

/// Spread between runs of one plan against one server.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct KnownNoise {
    /// Time of the measurement in seconds since the Unix epoch.
    pub measured_unix_s: u64,
    /// Number of runs.
    pub runs: usize,
    /// Standard deviation between runs in percent of the mean, by the path of the figure
    /// (`ttft_ms.mean`).
    pub percent: BTreeMap<String, f64>,
}

impl KnownNoise {
    /// Returns the spread of a figure in percent, if it is known.
    pub fn of(&self, figure: Figure) -> Option<f64> {
        self.percent.get(&figure.path()).copied()
    }
}

impl NoiseStore {
    /// Creates a store for the file at `path`, which may not exist yet.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Stores the spreads of runs with this header and replaces earlier ones.
    pub fn keep(&self, header: &Header, spreads: &[RunSpread]) -> io::Result<()> {
        let mut entries = self.read()?;
        let entry = KnownNoise {
            measured_unix_s: unix_now().as_secs(),
            runs: spreads.iter().map(|spread| spread.runs).max().unwrap_or_default(),
            percent: spreads.iter().map(|spread| (spread.figure.path(), spread.percent)).collect(),
        };
        entries.insert(key(header), entry);
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)?;
        }
        replace_file(&self.path, &serde_json::to_vec_pretty(&entries)?)
    }

    /// Returns the stored spread of runs with this header. A file that cannot be read has none.
    pub fn find(&self, header: &Header) -> Option<KnownNoise> {
        self.read().ok()?.remove(&key(header))
    }

    fn read(&self) -> io::Result<BTreeMap<String, KnownNoise>> {
        match fs::metadata(&self.path) {
            Ok(found) if found.len() > MOST_BYTES => {
                let why = format!("the file is larger than {MOST_BYTES} bytes");
                Err(io::Error::new(io::ErrorKind::InvalidData, why))
            }
            Ok(_) => Ok(serde_json::from_slice(&fs::read(&self.path)?)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(error) => Err(error),
        }
    }
}

/// Returns the key of an entry, such as `linux-x86_64, 8 cores | http://127.0.0.1:30000 llama |
/// 0123456789abcdef`.
fn key(header: &Header) -> String {
    let (facts, host) = (&header.facts, &header.host);
    let plan = plan_hash(&header.plan);
    format!(
        "{}, {} cores | {} {} | {plan:016x}",
        host.system, host.cores, facts.target, facts.model
    )
}

/// Returns an FNV-1a hash of what a plan sends and when. It is stable across program versions
/// that serialise plans in the same way.
fn plan_hash(plan: &Value) -> u64 {
    let mut plan = plan.clone();
    if let Some(fields) = plan.as_object_mut() {
        for key in ["echo", "output", "scoring", "server", "warm_up"] {
            fields.remove(key);
        }
        if let Some(workload) = fields.get_mut("workload").and_then(Value::as_object_mut) {
            workload.remove("seed");
            workload.remove("prompt_salt");
        }
    }
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    plan.to_string().bytes().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Maximum size of a file that is read; enough for tens of thousands of entries.
const MOST_BYTES: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use serde_json::json;
    use servemark_core::RunFacts;

    use super::*;

    fn header(target: &str, requests: usize, seed: u32) -> Header {
        let mut facts = RunFacts::default();
        target.clone_into(&mut facts.target);
        let plan = json!({"workload": {"requests": requests, "seed": seed}, "output": {}});
        Header::new(0, facts, plan)
    }

    #[test]
    fn the_spread_is_found_by_machine_server_and_plan() {
        let folder = tempfile::tempdir().unwrap();
        let store = NoiseStore::at(&folder.path().join("new/noise.json"));
        let figure: Figure = "ttft:mean".parse().unwrap();
        let spread = RunSpread::of(figure, &[98.0, 100.0, 102.0]).unwrap();
        assert_eq!(store.find(&header("a", 10, 1)), None);
        store.keep(&header("a", 10, 1), &[spread]).unwrap();
        let known = store.find(&header("a", 10, 7)).unwrap();
        assert_eq!((known.of(figure), known.runs), (Some(2.0), 3));
        assert_eq!(known.percent.keys().collect::<Vec<_>>(), ["ttft_ms.mean"]);
        assert_eq!(store.find(&header("b", 10, 1)), None);
        assert_eq!(store.find(&header("a", 11, 1)), None);
        // The entry of another server is kept.
        store.keep(&header("b", 10, 1), &[spread]).unwrap();
        assert!(store.find(&header("a", 10, 1)).is_some());
    }

    #[test]
    fn a_file_that_is_none_of_ours_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("noise.json");
        fs::write(&path, "[1]").unwrap();
        let store = NoiseStore::at(&path);
        assert!(store.keep(&header("a", 10, 1), &[]).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "[1]");
        assert_eq!(store.find(&header("a", 10, 1)), None);
    }
}
