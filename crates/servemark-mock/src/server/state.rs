//! The state that all threads of a server share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use servemark_core::{Clock, Stamp, unix_now};
use servemark_pacer::MachineClock;

use super::Logs;
use super::prefix_cache::{CacheCounts, PrefixCache, tokens};
use super::slots::Slots;
use super::work::Work;
use crate::answer::{Scripts, Vectors};
use crate::{FaultKind, MockSpec};

/// The state that all threads of a server share.
#[derive(Debug)]
pub(super) struct ServerState {
    pub(super) spec: MockSpec,
    pub(super) logs: Logs,
    /// The reported creation time of the model, in seconds since the Unix epoch.
    pub(super) created: u64,
    pub(super) ready_at: Stamp,
    pub(super) idle_limit: Option<IdleLimit>,
    pub(super) scripts: Scripts,
    pub(super) vectors: Vectors,
    answers: AtomicU64,
    places: Option<Mutex<Slots>>,
    cache: Option<Mutex<PrefixCache>>,
    pub(super) work: Arc<Work>,
    /// Time on the server's clock when the machine's monotonic clock is at zero, in nanoseconds
    /// since the Unix epoch.
    pub(super) zero_unix_ns: i128,
}

impl ServerState {
    pub(super) fn new(spec: MockSpec, logs: Logs) -> Self {
        let since_zero = i128::from(MachineClock.now().as_nanos());
        let unix_ns = i128::try_from(unix_now().as_nanos()).unwrap_or_default();
        let skew_ns = (spec.clock_skew_ms * 1e6) as i128;
        let zero_unix_ns = unix_ns - since_zero + skew_ns;
        Self {
            ready_at: MachineClock.now() + unready_time(&spec),
            places: Slots::of(spec.places, spec.kv_blocks).map(Mutex::new),
            cache: spec.cache_blocks.map(|blocks| {
                Mutex::new(PrefixCache::new(blocks.get(), spec.cache_block_tokens.get()))
            }),
            idle_limit: IdleLimit::of(&spec),
            spec,
            logs,
            created: unix_now().as_secs(),
            scripts: Scripts::default(),
            vectors: Vectors::default(),
            answers: AtomicU64::new(0),
            work: Arc::default(),
            zero_unix_ns,
        }
    }

    /// Counts a request for an answer and returns its one-based number.
    pub(super) fn count_answer(&self) -> u64 {
        self.answers.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Looks up a request's prompt in the prefix cache. Returns the number of tokens that were
    /// found, if there is a cache.
    pub(super) fn look_up(&self, body: &[u8]) -> Option<u32> {
        let cache = self.cache.as_ref()?;
        Some(cache.lock().unwrap_or_else(PoisonError::into_inner).find(&tokens(body)))
    }

    /// Returns how long computing a prompt takes beyond the server's `ttft`.
    pub(super) fn prefill(&self, prompt_tokens: u32, cached: Option<u32>) -> Duration {
        let computed = prompt_tokens.saturating_sub(cached.unwrap_or_default());
        self.spec.prefill_per_token.saturating_mul(computed)
    }

    /// Empties the prefix cache.
    pub(super) fn flush_cache(&self) {
        if let Some(cache) = &self.cache {
            cache.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    /// Returns the counters of the prefix cache, if there is one and the server reports them.
    pub(super) fn cache_counts(&self) -> Option<CacheCounts> {
        let cache = self.cache.as_ref().filter(|_| !self.spec.hides_cached)?;
        Some(cache.lock().unwrap_or_else(PoisonError::into_inner).counts())
    }

    /// Returns when a request that arrives at `now` and takes `lasts` begins to be served: at once,
    /// unless the number of requests or their memory is limited and too little of it is free.
    pub(super) fn acquire_slot(&self, now: Stamp, lasts: Duration, blocks: usize) -> Stamp {
        let Some(places) = &self.places else { return now };
        places.lock().unwrap_or_else(PoisonError::into_inner).take(now, lasts, blocks)
    }

    /// Returns the number of blocks that the keys and values of `tokens` tokens take.
    pub(super) fn blocks(&self, tokens: u32) -> usize {
        (tokens as usize).div_ceil(self.spec.cache_block_tokens.get())
    }

    /// Returns the share of the memory for keys and values that is taken at `now`, if it is
    /// limited.
    pub(super) fn kv_use(&self, now: Stamp) -> Option<f64> {
        let places = self.places.as_ref()?;
        places.lock().unwrap_or_else(PoisonError::into_inner).kv_use(now)
    }
}

/// The time limit of idle connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct IdleLimit {
    pub(super) after: Duration,
    /// Whether the server sends a 408 response before it closes the connection.
    pub(super) is_reported: bool,
}

impl IdleLimit {
    /// Returns the shortest limit among the faults, if there is any.
    pub(super) fn of(spec: &MockSpec) -> Option<Self> {
        let limits = spec.faults.iter().filter_map(|fault| match *fault.kind() {
            FaultKind::CloseIdle { limit } => Some(Self { after: limit, is_reported: false }),
            FaultKind::Idle408 { limit } => Some(Self { after: limit, is_reported: true }),
            _ => None,
        });
        limits.min_by_key(|limit| limit.after)
    }
}

fn unready_time(spec: &MockSpec) -> Duration {
    let times = spec.faults.iter().filter_map(|fault| match fault.kind() {
        FaultKind::NotReady { until } => Some(*until),
        _ => None,
    });
    times.max().unwrap_or_default()
}
