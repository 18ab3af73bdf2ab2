//! The concurrency limit.

use std::iter::StepBy;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::AcqRel, Ordering::Release};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{LoadSpec, Share, SharedPlaces};

/// Limits the number of sessions in flight, first come, first served.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    limit: Option<Arc<Semaphore>>,
    /// The places, if several processes share the limit.
    shared: Option<Arc<SharedPlaces>>,
    /// The wave in which all slots are freed together, if the next sessions must wait for a whole
    /// wave.
    wave: Option<Arc<Wave>>,
    /// When each slot opens, if they do not all open at once.
    opening: Option<Opening>,
}

/// When the slots of one process open: each slot of the limit opens `step` after the one before it,
/// the first one at the start.
#[derive(Clone, Debug)]
struct Opening {
    /// Positions of the process's slots in the whole limit.
    slots: StepBy<Range<usize>>,
    step: Duration,
}

/// Slots that are not open yet.
#[derive(Debug)]
pub(crate) struct ClosedSlots {
    gate: Arc<Semaphore>,
    opening: Opening,
}

/// The permit to be in flight; dropping it frees its slot.
#[derive(Debug)]
pub(crate) struct Pass {
    _slot: Option<Slot>,
}

#[derive(Debug)]
enum Slot {
    /// A slot that is freed by itself.
    Single { _permit: OwnedSemaphorePermit },
    /// A slot that is freed with all others of its wave.
    InWave(Arc<Wave>),
}

/// Sessions whose slots are freed together.
#[derive(Debug)]
struct Wave {
    size: usize,
    /// Number of sessions of the wave that have ended.
    done: AtomicUsize,
    gate: Arc<Semaphore>,
}

impl Gate {
    /// Creates the gate of a process that has this share of the load. Its part of the limit is its
    /// share too, or `shared` if several processes hand places to each other.
    pub(crate) fn new(load: &LoadSpec, share: Share, shared: Option<Arc<SharedPlaces>>) -> Self {
        // Tokio's semaphore serves its waiters in the order in which they came.
        let whole = load.max_concurrency.map(|limit| limit.get().min(Semaphore::MAX_PERMITS));
        let size = whole.map(|limit| share.of(limit));
        let limit = match &shared {
            Some(places) => Some(Arc::clone(&places.gate)),
            None => size.map(|size| Arc::new(Semaphore::new(size))),
        };
        let wave = limit.clone().zip(size).filter(|_| load.in_waves);
        let wave = wave.map(|(gate, size)| Wave { size, done: AtomicUsize::new(0), gate });
        let opening = load.opening.zip(whole).map(|(rate, limit)| Opening {
            slots: share.indices(limit),
            step: Duration::from_secs_f64(1.0 / rate.per_second()),
        });
        Self { limit, shared, wave: wave.map(Arc::new), opening }
    }

    /// Closes all slots, if they are to open one by one. No slot may be in use.
    pub(crate) fn close_slots(&self) -> Option<ClosedSlots> {
        let (gate, opening) = (self.limit.clone()?, self.opening.clone()?);
        gate.forget_permits(gate.available_permits());
        Some(ClosedSlots { gate, opening })
    }

    pub(crate) async fn pass(&self) -> Pass {
        let Some(limit) = &self.limit else { return Pass { _slot: None } };
        if let Some(places) = &self.shared {
            return Pass { _slot: Some(Slot::Single { _permit: places.acquire().await }) };
        }
        let permit = limit.clone().acquire_owned().await.expect("the gate is never closed");
        Pass { _slot: Some(Slot::new(permit, self.wave.as_ref())) }
    }
}

impl ClosedSlots {
    /// Returns how long after the start each slot opens.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = Duration> + use<> {
        let Opening { slots, step } = self.opening.clone();
        slots.map(move |slot| step.saturating_mul(u32::try_from(slot).unwrap_or(u32::MAX)))
    }

    /// Opens one slot.
    pub(crate) fn open_one(&self) {
        self.gate.add_permits(1);
    }
}

impl Slot {
    fn new(permit: OwnedSemaphorePermit, wave: Option<&Arc<Wave>>) -> Self {
        match wave {
            None => Self::Single { _permit: permit },
            Some(wave) => {
                permit.forget();
                Self::InWave(Arc::clone(wave))
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Self::InWave(wave) = self {
            wave.leave();
        }
    }
}

impl Wave {
    /// Counts one ended session; the last of a wave frees the slots of all.
    fn leave(&self) {
        if self.done.fetch_add(1, AcqRel) + 1 == self.size {
            self.done.store(0, Release);
            self.gate.add_permits(self.size);
        }
    }
}
