//! Pages that are served while their run goes on.

use serde_json::{Value, json};

use crate::number::count;

/// A page that is served while its run goes on. Its script asks the server for the next page until
/// the run is over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Served {
    /// Number of the page; each later page of the run has a larger one.
    pub version: u64,
    /// Whether the run is over, so that no other page follows.
    pub is_over: bool,
}

/// State of a served page that its frame shows.
#[derive(Debug)]
pub(crate) struct Live {
    served: Served,
    /// How far the run is, in a few words.
    text: String,
}

impl Live {
    pub(crate) fn new(served: Served, progress: &str) -> Self {
        let text = if served.is_over { "finished" } else { progress };
        Self { served, text: text.to_owned() }
    }

    /// Returns how far the run is, in a few words.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the state as JSON for the script of the page.
    pub(crate) fn to_json(&self) -> Value {
        let state = if self.served.is_over { "over" } else { "running" };
        json!({"version": self.served.version, "state": state, "text": self.text})
    }
}

/// Describes how many requests ended of those planned, if their number is known.
pub(crate) fn ended(done: usize, planned: Option<usize>) -> String {
    match planned {
        Some(planned) => format!("{} of {} requests", count(done), count(planned)),
        None => format!("{} requests", count(done)),
    }
}
