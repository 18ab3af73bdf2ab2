//! Prompt tokens that came from a prefix cache, as the server counts them.

use serde_json::{Value, json};
use servemark_core::{CachedDetails, RequestRecord, RunFacts, RunLog};
use servemark_pyjson::round;

/// Returns whether SGLang's client uses the server's count of prompt tokens: for runs that generate
/// tokens, except on the routes of Triton and Truss.
pub(super) fn reads_server(facts: &RunFacts) -> bool {
    let is_deaf = ["/generate_stream", ":predict"].iter().any(|end| facts.api_path.ends_with(end));
    facts.generates() && !is_deaf
}

/// Prompt tokens of the successful requests, and how many of them were cached.
#[derive(Default)]
pub(super) struct CacheTotals<'a> {
    pub(super) prompt: u64,
    pub(super) cached: u64,
    pub(super) places: Option<CacheTiers<'a>>,
}

/// Cached tokens by location, for the requests whose answer reports it.
#[derive(Default)]
pub(super) struct CacheTiers<'a> {
    pub(super) device: u64,
    pub(super) host: u64,
    pub(super) storage: u64,
    /// Name of the storage that served cached tokens last.
    storage_name: Option<&'a str>,
}

impl<'a> CacheTotals<'a> {
    pub(super) fn of(log: &'a RunLog) -> Self {
        let mut totals = Self::default();
        let reads = reads_server(&log.header().facts);
        let successes = log.measured().filter(|record| record.is_success());
        successes.for_each(|record| totals.add(record, reads));
        totals
    }

    fn add(&mut self, record: &'a RequestRecord, reads_server: bool) {
        let usage = record.usage.unwrap_or_default();
        let by_server = usage.prompt_tokens.filter(|&tokens| reads_server && tokens > 0);
        self.prompt += u64::from(by_server.unwrap_or(record.planned.prompt_tokens));
        self.cached += u64::from(usage.cached_tokens.unwrap_or_default());
        if let Some(details) = usage.cached_details {
            self.places.get_or_insert_default().add(details, record.cache_storage.as_deref());
        }
    }

    pub(super) fn hit_rate_percent(&self) -> f64 {
        match self.prompt {
            0 => 0.0,
            prompt => self.cached as f64 / prompt as f64 * 100.0,
        }
    }

    /// Returns the locations with the peer's labels; empty if nothing was cached.
    pub(super) fn rows(&self) -> Vec<(String, u64)> {
        let Some(places) = self.places.as_ref().filter(|_| self.cached > 0) else {
            return Vec::new();
        };
        let mut rows = vec![("  Device:".to_owned(), places.device)];
        rows.push(("  Host:".to_owned(), places.host));
        if places.storage > 0 {
            let name = places.storage_name.map(|name| format!(" ({name})")).unwrap_or_default();
            rows.push((format!("  Storage{name}:"), places.storage));
        }
        rows
    }

    /// Returns the object for the result line.
    pub(super) fn json(&self) -> Value {
        let places = self.places.as_ref();
        json!({
            "total_prompt_tokens": self.prompt,
            "total_cached_tokens": self.cached,
            "cache_hit_rate_pct": round(self.hit_rate_percent(), 2),
            "device_cached_tokens": places.map(|places| places.device),
            "host_cached_tokens": places.map(|places| places.host),
            "storage_cached_tokens": places.map(|places| places.storage).filter(|&n| n > 0),
            "storage_backend": places.and_then(|places| places.storage_name),
        })
    }
}

impl<'a> CacheTiers<'a> {
    fn add(&mut self, details: CachedDetails, storage_name: Option<&'a str>) {
        let count = |tokens: Option<u32>| u64::from(tokens.unwrap_or_default());
        self.device += count(details.device);
        self.host += count(details.host);
        self.storage += count(details.storage);
        if count(details.storage) > 0 {
            self.storage_name = storage_name;
        }
    }
}

/// Returns the cache details of one request, in the format of SGLang's server.
pub(super) fn details(record: &RequestRecord) -> Value {
    let Some(details) = record.usage.and_then(|usage| usage.cached_details) else {
        return Value::Null;
    };
    let mut entry = json!({"device": details.device, "host": details.host});
    if let Some(storage) = details.storage {
        entry["storage"] = storage.into();
    }
    if let Some(name) = &record.cache_storage {
        entry["storage_backend"] = name.as_str().into();
    }
    entry
}
