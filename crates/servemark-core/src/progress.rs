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
