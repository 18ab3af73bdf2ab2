//! Unmodified observations of a run.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::neutral::Neutral;
use crate::{Line, Outcome, Peer, ResultFile, SentRequest};

/// Unmodified observations of a run. The scripts in `fixtures/record/command_lines/` write one as
/// JSON per command line, and [`Own`](crate::Own) makes one of `servemark`.
#[derive(Clone, Debug, Deserialize)]
pub struct Observed {
    /// Number of the command line in its draw.
    pub n: u64,
    /// The peer's subcommand; empty if there is none.
    pub command: String,
    /// Arguments after the subcommand, in which the placeholders of [`places`](Self::places) are
    /// not replaced.
    pub argv: Vec<String>,
    /// Environment variables that the line sets.
    pub env: BTreeMap<String, String>,
    /// Input files in its folder, by name, in which the placeholders of [`places`](Self::places)
    /// are not replaced.
    #[serde(default)]
    pub inputs: BTreeMap<String, String>,
    /// Whether the order of its requests is deterministic.
    pub ordered: bool,
    /// Exit code; `None` if the process was killed.
    pub exit: Option<i32>,
    /// Whether it ended by an unexpected error.
    pub crashed: bool,
    /// Text on standard output.
    pub stdout: String,
    /// Text on standard error.
    pub stderr: String,
    /// Files in its folder after the run, by name.
    pub files: BTreeMap<String, String>,
    /// Requests that the server received.
    pub requests: Vec<ObservedRequest>,
    /// Values of the placeholders in braces.
    pub places: BTreeMap<String, String>,
}

/// A request as the server received it.
#[derive(Clone, Debug, Deserialize)]
pub struct ObservedRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    #[serde(default)]
    pub(crate) body: String,
    #[serde(default)]
    pub(crate) body_base64: Option<String>,
}

impl Observed {
    /// Returns the reproducible part of the run.
    pub fn line(&self, peer: &dyn Peer) -> Line {
        let neutral = Neutral::new(&self.places, peer);
        let outcome = self.outcome();
        let is_refused = outcome == Outcome::Refused;
        let mut line = Line {
            n: self.n,
            command: self.command.clone(),
            argv: self.argv.clone(),
            env: self.env.clone(),
            inputs: self.inputs.clone(),
            ordered: self.ordered,
            outcome,
            exit: self.exit,
            requests: self.compared_requests(peer, &neutral),
            result: peer.result(&self.files).map(|(file, result)| ResultFile {
                file: neutral.text(&file),
                keys: result.keys().cloned().collect(),
                values: (result.into_iter())
                    .filter(|(key, _)| !peer.is_time(key) && !peer.repeats(&self.argv))
                    .map(|(key, value)| (key, neutral.value(value)))
                    .collect(),
            }),
            labels: peer.labels(&self.stdout).iter().map(|label| neutral.text(label)).collect(),
            message: (is_refused.then(|| peer.message(&self.stderr)).flatten())
                .map(|message| neutral.text(&message)),
        };
        peer.trim(&mut line);
        line
    }

    /// Returns the requests that are compared. If the line repeats its requests until a time limit,
    /// each is returned once.
    fn compared_requests(&self, peer: &dyn Peer, neutral: &Neutral<'_>) -> Vec<SentRequest> {
        let mut sent: Vec<SentRequest> = Vec::new();
        let repeats = peer.repeats(&self.argv);
        for request in &self.requests {
            if !peer.compares(&request.method, &request.path) {
                continue;
            }
            let request = without_headers(request.neutral_request(neutral), peer);
            if !repeats || !sent.contains(&request) {
                sent.push(request);
            }
        }
        sent
    }

    fn outcome(&self) -> Outcome {
        match self.exit {
            _ if self.crashed => Outcome::Crashed,
            None => Outcome::Stuck,
            Some(0) => Outcome::Done,
            Some(2) => Outcome::Refused,
            Some(_) => Outcome::Failed,
        }
    }
}

impl ObservedRequest {
    /// Returns the boundary between the parts of a multipart form.
    fn boundary(&self) -> Option<&str> {
        let is_type = |name: &str| name.eq_ignore_ascii_case("content-type");
        let (_, value) = self.headers.iter().find(|(name, _)| is_type(name))?;
        value.split_once("boundary=").map(|(_, boundary)| boundary)
    }

    fn neutral_request(&self, neutral: &Neutral<'_>) -> SentRequest {
        let body = match &self.body_base64 {
            Some(bytes) => match self.boundary() {
                Some(boundary) => neutral.form(bytes, boundary),
                None => neutral.value(Value::String(bytes.clone())),
            },
            None if self.body.is_empty() => Value::Null,
            None => neutral.body(&self.body),
        };
        let headers = self.headers.iter().map(|(name, value)| (name.to_lowercase(), value));
        SentRequest {
            method: self.method.clone(),
            path: neutral.text(&self.path),
            headers: (headers.filter(|(name, value)| says_something(name, value)))
                .map(|(name, value)| (name, neutral.text(value)))
                .collect(),
            body,
        }
    }
}

fn without_headers(mut request: SentRequest, peer: &dyn Peer) -> SentRequest {
    if peer.is_control(&request) {
        request.headers.clear();
    }
    request
}

/// Returns whether a header describes the request, and not the program that sends it or the
/// connection.
fn says_something(name: &str, value: &str) -> bool {
    match name {
        "accept" => value != "*/*",
        "accept-encoding" | "connection" | "content-length" | "host" | "transfer-encoding" => false,
        "user-agent" => !PROGRAMS.iter().any(|program| value.starts_with(program)),
        _ => !name.starts_with("x-servemark-"),
    }
}

/// Prefixes of the clients' default user agents.
const PROGRAMS: [&str; 7] = [
    "modelscope_bench",
    "Python/",
    "python-requests/",
    "python-httpx/",
    "OpenAI/",
    "AsyncOpenAI/",
    "servemark",
];
