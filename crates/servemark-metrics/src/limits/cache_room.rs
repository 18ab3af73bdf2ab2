//! Whether a server's key-value cache had room for the requests that waited.

use std::collections::BTreeMap;

use super::CAUSE;
use crate::Series;
use crate::series::summed;

/// How often the server's key-value cache had no room for the next request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CacheRoom {
    /// Share of the readings in which the cache was full.
    full: f64,
    /// Share of the readings in which it was full, or its free rest was too small for the request
    /// that waited.
    lacking: f64,
    /// Mean use of the cache in the latter readings.
    use_if_lacking: f64,
    /// Whether only readings are counted in which requests waited.
    while_waiting: bool,
}

impl CacheRoom {
    /// Reads the room of the cache with the least room.
    pub(super) fn of(series: &[Series], end_s: f64) -> Self {
        let caches = series.iter().filter(|series| series.name == "kv_use");
        let rooms = caches.map(|cache| Self::of_cache(cache, series, end_s));
        rooms.max_by(|one, other| one.lacking.total_cmp(&other.lacking)).unwrap_or_default()
    }

    /// A cache is taken in blocks and the next request needs several, so it may be without room
    /// although it is not full. How many it needs is not known; a running request holds as many on
    /// average.
    fn of_cache(cache: &Series, series: &[Series], end_s: f64) -> Self {
        let (waiting, running) =
            (beside(cache, series, "waiting"), beside(cache, series, "running"));
        let is_measured = |at: f64| (0.0..=end_s).contains(&at);
        let waits = |at: f64| waiting.get(&at.to_bits()).is_some_and(|count| *count > 0.0);
        let while_waiting = cache.points.iter().any(|(at, _)| is_measured(*at) && waits(*at));
        let counted = cache.points.iter().filter(|(at, _)| is_measured(*at));
        let counted = counted.filter(|(at, _)| !while_waiting || waits(*at));
        let (mut readings, mut full, mut lacking, mut used) = (0.0, 0.0, 0.0, 0.0);
        for &(at, in_use) in counted {
            readings += 1.0;
            let held = running.get(&at.to_bits()).filter(|count| **count > 0.0);
            let held = held.filter(|_| waits(at)).map_or(0.0, |count| in_use / count);
            if in_use >= FULL {
                full += 1.0;
            }
            if in_use >= FULL || 1.0 - in_use < ROOM * held {
                lacking += 1.0;
                used += in_use;
            }
        }
        let share = |count: f64| if readings > 0.0 { count / readings } else { 0.0 };
        let use_if_lacking = if lacking > 0.0 { used / lacking } else { 0.0 };
        Self { full: share(full), lacking: share(lacking), use_if_lacking, while_waiting }
    }

    /// Returns whether the cache had no room for the next request for enough of the time.
    pub(super) fn is_lacking(self) -> bool {
        self.lacking >= CAUSE
    }

    /// Returns whether the cache was full for enough of the time.
    pub(super) fn is_full(self) -> bool {
        self.full >= CAUSE
    }

    /// Returns what the readings show; `None` if there was always room.
    pub(super) fn words(self) -> Option<String> {
        let when = if self.while_waiting { " in which requests waited" } else { "" };
        if self.is_lacking() && !self.is_full() {
            return Some(format!(
                "the KV cache, of which {:.0} % were in use, had no room for the next request for \
                 {:.0} % of the time{when}",
                self.use_if_lacking * 100.0,
                self.lacking * 100.0
            ));
        }
        let full = self.full * 100.0;
        (full > 0.0).then(|| format!("the KV cache was full for {full:.0} % of the time{when}"))
    }
}

/// Returns the values of a quantity of the engine that a series belongs to, by the bits of their
/// time: the series with the same labels, or all of the source if its labels differ by quantity.
fn beside(of: &Series, series: &[Series], name: &str) -> BTreeMap<u64, f64> {
    let named = || series.iter().filter(|it| it.source == of.source && it.name == name);
    let has_its_own = named().any(|it| it.labels == of.labels);
    summed(named().filter(|it| !has_its_own || it.labels == of.labels))
}

/// Use of the key-value cache from which it counts as full.
const FULL: f64 = 0.95;

/// Part of what a running request holds of the key-value cache on average below which the free rest
/// has no room for another one. It is below one because engines round the use that they report.
const ROOM: f64 = 0.95;
