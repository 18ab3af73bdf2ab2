//! Stores the results of `servemark selftest` for later runs.
//!
//! There is one small file for each machine, number of cores and program version, because each of
//! them changes the figures. A missing or unreadable file is not an error: runs then use the
//! default figures.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use servemark_core::{HostFacts, unix_now};

use super::figures::{Figures, FiguresSource};
use crate::host_name;

/// File that stores the capacity figures of a machine.
#[derive(Clone, Debug)]
pub(crate) struct SelftestCache {
    path: PathBuf,
}

/// Content of the file.
#[derive(Debug, Deserialize, Serialize)]
struct CachedFigures {
    measured_unix_s: u64,
    figures: Figures,
}

impl SelftestCache {
    /// Returns the file in `folder` for this machine and program version.
    pub(crate) fn of_this_machine(folder: &Path) -> Self {
        let cores = HostFacts::of_this_machine().cores;
        Self::of(folder, &host_name(), cores)
    }

    fn of(folder: &Path, host: &str, cores: usize) -> Self {
        let host: String =
            host.chars().map(|sign| if is_plain(sign) { sign } else { '_' }).collect();
        let version = env!("CARGO_PKG_VERSION");
        Self { path: folder.join(format!("selftest-{host}-{cores}-{version}.json")) }
    }

    /// Stores figures that were measured just now and returns the path of the file.
    pub(crate) fn keep(&self, figures: Figures) -> io::Result<&Path> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let kept = CachedFigures { measured_unix_s: unix_now().as_secs(), figures };
        fs::write(&self.path, serde_json::to_vec_pretty(&kept)?)?;
        Ok(&self.path)
    }

    /// Returns the figures and their origin.
    pub(crate) fn figures(&self) -> (Figures, FiguresSource) {
        let kept = fs::read(&self.path).ok();
        let kept = kept.and_then(|bytes| serde_json::from_slice::<CachedFigures>(&bytes).ok());
        let kept = kept.filter(|kept| kept.figures.are_usable());
        kept.map_or((Figures::ASSUMED, FiguresSource::Assumed), |kept| {
            let age = unix_now().saturating_sub(Duration::from_secs(kept.measured_unix_s));
            (kept.figures, FiguresSource::Measured(age))
        })
    }
}

/// Whether a character is allowed in file names on all systems.
fn is_plain(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || ".-_".contains(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_known_for_the_same_machine_only() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("servemark");
        let known = SelftestCache::of(&cache, "node/1", 2);
        assert_eq!(known.figures(), (Figures::ASSUMED, FiguresSource::Assumed));
        let path = known.keep(Figures::new(1.0, 2.0)).unwrap();
        assert!(path.file_name().unwrap().to_string_lossy().starts_with("selftest-node_1-2-0."));
        let (figures, source) = known.figures();
        assert_eq!(figures, Figures::new(1.0, 2.0));
        assert!(matches!(source, FiguresSource::Measured(_)));
        assert_eq!(SelftestCache::of(&cache, "node/1", 4).figures().1, FiguresSource::Assumed);
    }

    #[test]
    fn a_broken_file_is_no_figure() {
        let folder = tempfile::tempdir().unwrap();
        let known = SelftestCache::of(folder.path(), "node", 2);
        known.keep(Figures::ASSUMED).unwrap();
        for broken in [
            "{",
            r#"{"measured_unix_s":1,"figures":{"chunks_per_second":0,"requests_per_second":1}}"#,
        ] {
            fs::write(&known.path, broken).unwrap();
            assert_eq!(known.figures(), (Figures::ASSUMED, FiguresSource::Assumed), "{broken}");
        }
    }
}
