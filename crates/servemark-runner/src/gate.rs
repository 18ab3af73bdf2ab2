//! The concurrency limit.

use std::num::NonZeroUsize;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Lets at most so many requests through at once, first come, first served.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    limit: Option<Arc<Semaphore>>,
}

/// The right to be in flight; dropping it lets the next one through.
#[derive(Debug)]
pub(crate) struct Pass {
    _permit: Option<OwnedSemaphorePermit>,
}

impl Gate {
    pub(crate) fn new(limit: Option<NonZeroUsize>) -> Self {
        // Tokio's semaphore serves its waiters in the order in which they came.
        let limit =
            limit.map(|limit| Arc::new(Semaphore::new(limit.get().min(Semaphore::MAX_PERMITS))));
        Self { limit }
    }

    pub(crate) async fn pass(&self) -> Pass {
        let permit = match &self.limit {
            None => None,
            Some(limit) => {
                Some(limit.clone().acquire_owned().await.expect("the gate is never closed"))
            }
        };
        Pass { _permit: permit }
    }
}
