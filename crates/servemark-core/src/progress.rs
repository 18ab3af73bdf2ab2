//! Progress reports of long work before a run.

/// Receives the progress of long preparation work, from any thread. Some work reports every item, so
/// an implementation that draws must limit how often it does.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
///
/// use servemark_core::{Progress, Task};
///
/// #[derive(Default)]
/// struct Steps(AtomicU64);
///
/// impl Progress for Steps {
///     fn begin(&self, _work: &str, _total: u64) {}
///     fn advance(&self, steps: u64) {
///         self.0.fetch_add(steps, Relaxed);
///     }
///     fn end(&self) {}
/// }
///
/// let steps = Steps::default();
/// Task::begin(&steps, "drawing prompts", 3).advance(3);
/// assert_eq!(steps.0.into_inner(), 3);
/// ```
pub trait Progress: Send + Sync {
    /// Reports that a piece of work of `total` steps begins.
    fn begin(&self, work: &str, total: u64);
    /// Reports that a download of `total` bytes begins; 0 if the size is unknown.
    fn begin_bytes(&self, work: &str, total: u64) {
        self.begin(work, total);
    }
    /// Reports that `steps` more are done.
    fn advance(&self, steps: u64);
    /// Reports that the work is over.
    fn end(&self);
}

/// Discards all progress reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn begin(&self, _work: &str, _total: u64) {}
    fn advance(&self, _steps: u64) {}
    fn end(&self) {}
}

/// A piece of work whose progress is reported; dropping it reports the end, however the work ends.
pub struct Task<'a>(&'a dyn Progress);

impl<'a> Task<'a> {
    /// Reports that work of `total` steps begins.
    pub fn begin(progress: &'a dyn Progress, work: &str, total: u64) -> Self {
        progress.begin(work, total);
        Self(progress)
    }

    /// Reports that `steps` more are done.
    pub fn advance(&self, steps: u64) {
        self.0.advance(steps);
    }
}

impl Drop for Task<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl std::fmt::Debug for Task<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Task").finish_non_exhaustive()
    }
}
