//! Description of a target in a plan: the address, the protocol, the time-outs.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::answer_limits::AnswerLimits;
use crate::base_url::BaseUrl;
use crate::opening::OpeningSpec;
use crate::reuse::ReuseSpec;
use crate::timeouts::Timeouts;

/// The description of a target in a plan: everything but its credentials.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// Base URL of the server.
    pub base_url: BaseUrl,
    /// HTTP version of the connections.
    #[serde(default)]
    pub http_version: HttpVersion,
    /// Implementation of HTTP/1.1.
    #[serde(default, skip_serializing_if = "Http1Stack::is_direct")]
    pub http1_stack: Http1Stack,
    /// Number of connections that HTTP/2 streams share; HTTP/1.1 opens one per request in flight.
    #[serde(default = "one")]
    pub http2_connections: usize,
    /// How fast connections are opened ahead of a run.
    #[serde(default, skip_serializing_if = "OpeningSpec::is_default")]
    pub opening: OpeningSpec,
    /// How connections are reused.
    #[serde(default, skip_serializing_if = "ReuseSpec::is_default")]
    pub reuse: ReuseSpec,
    /// Whether the kernel is asked when each request left: on Linux, over our own HTTP/1.1 without
    /// TLS. It costs some microseconds of CPU per request.
    #[serde(default, skip_serializing_if = "is_off")]
    pub send_stamps: bool,
    /// Time-outs of the stages of a request.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// Limits on the memory of answers while they are read.
    #[serde(default, skip_serializing_if = "AnswerLimits::is_default")]
    pub answers: AnswerLimits,
    /// A PEM file of authorities that are trusted in addition to the machine's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// Whether the server's certificate is accepted without a check of its signer.
    #[serde(default, rename = "trusts_anybody", skip_serializing_if = "is_off")]
    pub accepts_any_certificate: bool,
}

impl TargetSpec {
    /// Creates a target with default settings.
    pub fn new(base_url: BaseUrl) -> Self {
        Self {
            base_url,
            http_version: HttpVersion::default(),
            http1_stack: Http1Stack::default(),
            http2_connections: one(),
            opening: OpeningSpec::default(),
            reuse: ReuseSpec::default(),
            send_stamps: false,
            timeouts: Timeouts::default(),
            answers: AnswerLimits::default(),
            ca_file: None,
            accepts_any_certificate: false,
        }
    }

    /// Checks whether requests can be sent precisely: written when they are due, as they were
    /// encoded before.
    pub fn check_precise(&self) -> Result<(), NotPrecise> {
        match (self.http_version, self.http1_stack) {
            _ if self.base_url.is_https() => Err(NotPrecise::Encrypted),
            (HttpVersion::Http2, _) => Err(NotPrecise::Http2),
            (HttpVersion::Http1, Http1Stack::Hyper) => Err(NotPrecise::Hyper),
            (HttpVersion::Http1, Http1Stack::Direct) => Ok(()),
        }
    }
}

/// Why requests to a target cannot be sent precisely.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum NotPrecise {
    /// TLS encrypts a request only when it is written.
    #[error(
        "precise sending writes requests as they were encoded, and https encrypts them; ask a server \
         over http:// or leave it out"
    )]
    Encrypted,
    /// Several requests share a connection, so a write belongs to no single one.
    #[error(
        "precise sending writes each request on a connection of its own, and HTTP/2 shares them; \
         leave one of the two out"
    )]
    Http2,
    /// The plan asks for hyper's HTTP/1.1, which itself decides when it writes.
    #[error(
        "precise sending writes on connections of our own HTTP/1.1; with hyper's, which the plan asks \
         for (http1_stack), it is not built"
    )]
    Hyper,
}

/// The HTTP version. Closed: HTTP/3 would be another transport.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HttpVersion {
    /// HTTP/1.1, with one connection per request in flight.
    #[default]
    Http1,
    /// HTTP/2: negotiated by ALPN over TLS, by prior knowledge without TLS.
    Http2,
}

/// The implementation of HTTP/1.1. Both give the same records; closed, because there are two.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Http1Stack {
    /// Our own implementation, in which the task that waits for the answer reads the socket.
    #[default]
    Direct,
    /// hyper's implementation, which costs more per chunk: for servers whose answers ours might
    /// misread, and for the test that compares the two.
    Hyper,
}

impl Http1Stack {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields by reference")]
    fn is_direct(&self) -> bool {
        *self == Self::Direct
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields by reference")]
fn is_off(is_set: &bool) -> bool {
    !*is_set
}

fn one() -> usize {
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_names_what_differs() {
        let spec: TargetSpec = serde_json::from_str(r#"{"base_url": "http://h:1/"}"#).unwrap();
        assert_eq!(spec, TargetSpec::new("http://h:1".parse().unwrap()));
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<TargetSpec>(&text).unwrap(), spec);
    }
}
