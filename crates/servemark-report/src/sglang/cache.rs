//! Prompt tokens from a prefix cache, as the server counts them.

use serde_json::{Value, json};
use servemark_core::{CachedDetails, RequestRecord, RunLog};
use servemark_pyjson::round;

/// Prompt tokens of the successes, and how many of them were cached where.
#[derive(Default)]
pub(super) struct CacheTotals<'a> {
    pub(super) prompt: u64,
    pub(super) cached: u64,
    pub(super) places: Option<Places<'a>>,
}

/// Where cached tokens were, of the requests for which the server says.
#[derive(Default)]
pub(super) struct Places<'a> {
    pub(super) device: u64,
    pub(super) host: u64,
    pub(super) storage: u64,
    /// The last one that held any.
    storage_name: Option<&'a str>,
}

impl<'a> CacheTotals<'a> {
    pub(super) fn of(log: &'a RunLog) -> Self {
        let mut totals = Self::default();
        log.measured().filter(|record| record.is_success()).for_each(|record| totals.add(record));
        totals
    }

    fn add(&mut self, record: &'a RequestRecord) {
        let usage = record.usage.unwrap_or_default();
        let by_server = usage.prompt_tokens.filter(|&tokens| tokens > 0);
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

    /// The places by the peer's labels; none where nothing was cached.
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

    /// The object of the result line.
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

impl<'a> Places<'a> {
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

/// One request's entry among the details, as SGLang's server writes it.
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
