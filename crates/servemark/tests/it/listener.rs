//! What a run tells, kept for a test.

use std::sync::{Mutex, PoisonError};

use servemark::core::Progress;
use servemark::{Audience, News};

/// Keeps the words of all news.
#[derive(Debug, Default)]
pub(crate) struct Listener(Mutex<Vec<String>>);

impl Progress for Listener {
    fn begin(&self, _work: &str, _total: u64) {}
    fn advance(&self, _steps: u64) {}
    fn end(&self) {}
}

impl Audience for Listener {
    fn tell(&self, news: &News<'_>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(news.to_string());
    }
}

impl Listener {
    /// Number of news that hold these words.
    pub(crate) fn heard(&self, words: &str) -> usize {
        let told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.iter().filter(|news| news.contains(words)).count()
    }
}
