//! The concurrency limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::AcqRel, Ordering::Release};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::LoadSpec;

/// Lets at most so many requests through at once, first come, first served.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    limit: Option<Arc<Semaphore>>,
    /// How many are let through together, if the next must wait for all of them.
    wave: Option<Arc<Wave>>,
    /// How long it takes until there is one place more, if they are not all there at once.
    step: Option<Duration>,
}

/// Places that are not open yet.
#[derive(Debug)]
pub(crate) struct Shut {
    gate: Arc<Semaphore>,
    places: u32,
    step: Duration,
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
        let step = load.opening.map(|rate| Duration::from_secs_f64(1.0 / rate.per_second()));
        Self { limit, wave: wave.map(Arc::new), step }
    }

    /// Shuts all places but one, if they are to be opened one by one. Nobody may have one of them.
    pub(crate) fn shut(&self) -> Option<Shut> {
        let (gate, step) = (self.limit.clone()?, self.step?);
        let places = gate.forget_permits(gate.available_permits().saturating_sub(1));
        Some(Shut { gate, places: u32::try_from(places).unwrap_or(u32::MAX), step })
    }

    pub(crate) async fn pass(&self) -> Pass {
        let Some(limit) = &self.limit else { return Pass { _place: None } };
        let permit = limit.clone().acquire_owned().await.expect("the gate is never closed");
        Pass { _place: Some(Place::new(permit, self.wave.as_ref())) }
    }
}

impl Shut {
    /// How long after the start each place is opened.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = Duration> + use<> {
        let step = self.step;
        (1..=self.places).map(move |place| step.saturating_mul(place))
    }

    /// Opens one place.
    pub(crate) fn open_one(&self) {
        self.gate.add_permits(1);
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
