//! How long work before a run tells how far it is.

/// Told how far a long piece of preparation is. Called a few times a second at most per worker, so
/// an implementation may draw.
pub trait Progress: Send + Sync {
    /// A piece of work of `total` steps begins.
    fn begin(&self, work: &str, total: u64);
    /// The same for a download, whose steps are bytes; 0 where nobody says how many.
    fn begin_bytes(&self, work: &str, total: u64) {
        self.begin(work, total);
    }
    /// `steps` more are done.
    fn advance(&self, steps: u64);
    /// It is over.
    fn end(&self);
}

/// Nobody is told.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn begin(&self, _work: &str, _total: u64) {}
    fn advance(&self, _steps: u64) {}
    fn end(&self) {}
}

/// A piece of work of which somebody is told, and that is over when this is dropped, however it
/// ends.
pub struct Task<'a>(&'a dyn Progress);

impl<'a> Task<'a> {
    /// Work of `total` steps begins.
    pub fn begin(progress: &'a dyn Progress, work: &str, total: u64) -> Self {
        progress.begin(work, total);
        Self(progress)
    }

    /// `steps` more are done.
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
