//! The concurrency limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::AcqRel, Ordering::Release};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::LoadSpec;

/// Lets at most so many requests through at once, first come, first served.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    limit: Option<Arc<Semaphore>>,
    /// How many are let through together, if the next must wait for all of them.
    wave: Option<Arc<Wave>>,
}

/// The right to be in flight; dropping it lets the next one through.
#[derive(Debug)]
pub(crate) struct Pass {
    _place: Option<Place>,
}

#[derive(Debug)]
enum Place {
    /// A place of one's own.
    Single { _permit: OwnedSemaphorePermit },
    /// A place among others.
    Among(Arc<Wave>),
}

/// Requests that are let through together.
#[derive(Debug)]
struct Wave {
    size: usize,
    /// How many of them are through.
    done: AtomicUsize,
    gate: Arc<Semaphore>,
}

impl Gate {
    pub(crate) fn new(load: &LoadSpec) -> Self {
        // Tokio's semaphore serves its waiters in the order in which they came.
        let size = load.max_concurrency.map(|limit| limit.get().min(Semaphore::MAX_PERMITS));
        let limit = size.map(|size| Arc::new(Semaphore::new(size)));
        let wave = limit.clone().zip(size).filter(|_| load.in_waves);
        let wave = wave.map(|(gate, size)| Wave { size, done: AtomicUsize::new(0), gate });
        Self { limit, wave: wave.map(Arc::new) }
    }

    pub(crate) async fn pass(&self) -> Pass {
        let Some(limit) = &self.limit else { return Pass { _place: None } };
        let permit = limit.clone().acquire_owned().await.expect("the gate is never closed");
        Pass { _place: Some(Place::new(permit, self.wave.as_ref())) }
    }
}

impl Place {
    fn new(permit: OwnedSemaphorePermit, wave: Option<&Arc<Wave>>) -> Self {
        match wave {
            None => Self::Single { _permit: permit },
            Some(wave) => {
                permit.forget();
                Self::Among(Arc::clone(wave))
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Self::Among(wave) = self {
            wave.leave();
        }
    }
}

impl Wave {
    /// The last one opens the gate for as many again.
    fn leave(&self) {
        if self.done.fetch_add(1, AcqRel) + 1 == self.size {
            self.done.store(0, Release);
            self.gate.add_permits(self.size);
        }
    }
}
