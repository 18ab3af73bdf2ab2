//! Descriptions of the peers' clients.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{Argued, Line, Outcome, SentRequest};

mod aisbench;
mod evalscope;
mod sglang;
mod vllm;

pub use aisbench::Aisbench;
pub use evalscope::Evalscope;
pub use sglang::{ONE_BATCH_LINES, Sglang};
pub use vllm::Vllm;

/// Description of a peer's client: the start of its command lines and the format of its results.
pub trait Peer: Sync {
    /// Returns the words before the flags, for a subcommand.
    fn words(&self, command: &str) -> Vec<String>;

    /// Returns the model that the server reports; it may contain `{DATA}`.
    fn model(&self) -> &'static str;

    /// Returns the result among the files of a run: its name, and its keys with their values.
    fn result(&self, files: &BTreeMap<String, String>) -> Option<(String, Map<String, Value>)>;

    /// Returns whether the value of a result key depends on times.
    fn is_time(&self, key: &str) -> bool;

    /// Returns the labels of the peer's table in standard output.
    fn labels(&self, stdout: &str) -> Vec<String>;

    /// Returns the reason for which a command line was refused, from standard error.
    fn message(&self, stderr: &str) -> Option<String> {
        let last = stderr.lines().rfind(|line| !line.trim().is_empty())?;
        // Removes the program's name before the message and Servemark's suggestion after it.
        let message = last.split_once("error: ").map_or(last, |(_, message)| message);
        let (message, _) = message.split_once("; did you mean ").unwrap_or((message, ""));
        Some(message.to_owned())
    }

    /// Returns whether a request with this method and path is compared. Readings of the server that
    /// only Servemark takes are not.
    fn compares(&self, _method: &str, _path: &str) -> bool {
        true
    }

    /// Returns whether this command line repeats its requests until a time limit.
    fn repeats(&self, _argv: &[String]) -> bool {
        false
    }

    /// Returns patterns of values that each run draws at random, with their placeholders.
    fn drawn_anew(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Returns whether a request only controls or queries the server; its headers are not compared.
    fn is_control(&self, _request: &SentRequest) -> bool {
        false
    }

    /// Removes parts of a run, the peer's or Servemark's, that always differ on purpose;
    /// `docs/compat/` lists them.
    fn trim(&self, _line: &mut Line) {}

    /// Adjusts what the peer did to what Servemark did, where one of two outcomes is the other at
    /// an earlier moment; `docs/compat/` lists such outcomes.
    fn reconcile(&self, _peer: &mut Line, _own: &Line) {}

    /// Returns the kinds of intended differences.
    fn argued(&self) -> &'static [Argued];
}

/// Returns the peer with this name.
pub fn from_name(name: &str) -> Option<&'static dyn Peer> {
    match name {
        "aisbench" => Some(&Aisbench),
        "evalscope" => Some(&Evalscope),
        "sglang" => Some(&Sglang),
        "vllm" => Some(&Vllm),
        _ => None,
    }
}

/// Replaces infinities and NaN, which Python writes although JSON has neither, by null.
fn numbers_only(text: &str) -> String {
    [": Infinity", ": -Infinity", ": NaN"]
        .into_iter()
        .fold(text.to_owned(), |text, number| text.replace(number, ": null"))
}

/// Returns whether Servemark refused a whole number beyond 64 bits, which Python takes.
fn refuses_long_number(peer: &Line, own: &Line) -> bool {
    let is_long = |word: &String| word.contains(LONG_NUMBER);
    own.outcome == Outcome::Refused && peer.argv.iter().any(is_long)
}

/// A whole number beyond 64 bits that drawn command lines have.
const LONG_NUMBER: &str = "99999999999999999999";
