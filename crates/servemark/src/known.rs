//! What `servemark selftest` found out, kept for the runs after it.
//!
//! One small file for each machine, number of cores and version of the program, because each of
//! them changes the figures. A file that is missing or unreadable is no error: the runs then go by
//! what is assumed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use servemark_core::{HostFacts, unix_now};

use crate::capacity::{Figures, Source};

/// Where figures are kept.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    path: PathBuf,
}

/// What is in the file.
#[derive(Debug, Deserialize, Serialize)]
struct Kept {
    measured_unix_s: u64,
    figures: Figures,
}

impl Known {
    /// This machine's and this program's, in a folder.
    pub(crate) fn of_this_machine(folder: &Path) -> Self {
        let cores = HostFacts::of_this_machine().cores;
        Self::of(folder, rustix::system::uname().nodename().to_string_lossy().as_ref(), cores)
    }

    fn of(folder: &Path, host: &str, cores: usize) -> Self {
        let host: String =
            host.chars().map(|sign| if is_plain(sign) { sign } else { '_' }).collect();
        let version = env!("CARGO_PKG_VERSION");
        Self { path: folder.join(format!("selftest-{host}-{cores}-{version}.json")) }
    }

    /// Keeps figures, which were measured just now. Says where.
    pub(crate) fn keep(&self, figures: Figures) -> io::Result<&Path> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let kept = Kept { measured_unix_s: unix_now().as_secs(), figures };
        fs::write(&self.path, serde_json::to_vec_pretty(&kept)?)?;
        Ok(&self.path)
    }

    /// The figures and where they come from.
    pub(crate) fn figures(&self) -> (Figures, Source) {
        let kept = fs::read(&self.path).ok();
        let kept = kept.and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok());
        let kept = kept.filter(|kept| kept.figures.are_usable());
        kept.map_or((Figures::ASSUMED, Source::Assumed), |kept| {
            let age = unix_now().saturating_sub(Duration::from_secs(kept.measured_unix_s));
            (kept.figures, Source::Measured(age))
        })
    }
}

/// Whether a sign may stand in a file's name anywhere.
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
        let known = Known::of(&cache, "node/1", 2);
        assert_eq!(known.figures(), (Figures::ASSUMED, Source::Assumed));
        let path = known.keep(Figures::new(1.0, 2.0)).unwrap();
        assert!(path.file_name().unwrap().to_string_lossy().starts_with("selftest-node_1-2-0."));
        let (figures, source) = known.figures();
        assert_eq!(figures, Figures::new(1.0, 2.0));
        assert!(matches!(source, Source::Measured(_)));
        assert_eq!(Known::of(&cache, "node/1", 4).figures().1, Source::Assumed);
    }

    #[test]
    fn a_broken_file_is_no_figure() {
        let folder = tempfile::tempdir().unwrap();
        let known = Known::of(folder.path(), "node", 2);
        known.keep(Figures::ASSUMED).unwrap();
        for broken in [
            "{",
            r#"{"measured_unix_s":1,"figures":{"chunks_per_second":0,"requests_per_second":1}}"#,
        ] {
            fs::write(&known.path, broken).unwrap();
            assert_eq!(known.figures(), (Figures::ASSUMED, Source::Assumed), "{broken}");
        }
    }
}
