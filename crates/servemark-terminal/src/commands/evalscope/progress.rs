//! `progress.json`: the progress of a command line's runs, in the format of evalscope's tracker.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use anyhow::Context;
use serde_json::json;
use servemark::{Live, replace_file};
use servemark_cli::LocalTime;

/// Writes the file when progress was made, at most once a second, from its own thread.
#[derive(Debug)]
pub(super) struct Tracker {
    file: Arc<ProgressFile>,
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

#[derive(Debug)]
struct ProgressFile {
    path: PathBuf,
    /// Total number of requests, or of sessions.
    total: u64,
    live: Arc<Live>,
}

impl Tracker {
    /// Starts writing into an existing folder.
    pub(super) fn start(folder: &Path, total: u64, live: Arc<Live>) -> anyhow::Result<Self> {
        let file = Arc::new(ProgressFile { path: folder.join("progress.json"), total, live });
        file.write("running")?;
        let (stop, stopped) = channel();
        let followed = Arc::clone(&file);
        let thread = spawn(move || {
            let mut reported = 0;
            while stopped.recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout) {
                let done = followed.live.sessions();
                // A run continues without the file; the last write reports its error.
                if done != reported && followed.write("running").is_ok() {
                    reported = done;
                }
            }
        });
        Ok(Self { file, stop, thread })
    }

    /// Writes the final progress and whether all runs completed.
    pub(super) fn end(self, is_whole: bool) -> anyhow::Result<()> {
        drop(self.stop);
        let _ = self.thread.join();
        self.file.write(if is_whole { "completed" } else { "error" })
    }
}

impl ProgressFile {
    fn write(&self, status: &str) -> anyhow::Result<()> {
        self.replace(status).with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Replaces the file atomically, so that readers never see a partial one.
    fn replace(&self, status: &str) -> io::Result<()> {
        let done = self.live.sessions();
        let percent = done as f64 / self.total as f64 * 100.0;
        let state = json!({
            "status": status,
            "pipeline": "perf",
            "total_count": self.total,
            "processed_count": done,
            "percent": (percent * 100.0).round() / 100.0,
            "updated_at": LocalTime::now().iso(),
        });
        replace_file(&self.path, format!("{state:#}").as_bytes())
    }
}

const PAUSE: Duration = Duration::from_secs(1);
