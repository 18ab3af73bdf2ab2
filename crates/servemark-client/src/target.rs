//! Targets: the address, the protocol, the time-outs, and the credentials.

use std::path::PathBuf;
use std::sync::Arc;

use http::HeaderMap;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio_rustls::TlsConnector;

use crate::base_url::BaseUrl;
use crate::credentials::Credentials;
use crate::error::ClientError;
use crate::holding::{AnswerBudget, AnswerLimits};
use crate::opening::OpeningSpec;
use crate::reuse::ReuseSpec;
use crate::timeouts::Timeouts;
use crate::tls;

/// The description of a target in a plan: everything but its credentials.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
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
    #[serde(default, skip_serializing_if = "is_off")]
    pub trusts_anybody: bool,
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
            trusts_anybody: false,
        }
    }

    /// Checks whether requests can be [sent precisely](crate::HttpTransport::with_precise_send).
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
#[non_exhaustive]
pub enum NotPrecise {
    /// TLS encrypts a request only when it is written.
    #[error(
        "--precise-send writes requests as they were encoded, and https encrypts them; ask a server \
         over http:// or leave it out"
    )]
    Encrypted,
    /// Several requests share a connection, so a write belongs to no single one.
    #[error(
        "--precise-send writes each request on a connection of its own, and HTTP/2 shares them; \
         leave one of the two out"
    )]
    Http2,
    /// hyper decides when it writes.
    #[error(
        "--precise-send writes on connections of our own HTTP/1.1; with hyper's, which the plan asks \
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
    /// hyper's implementation, which costs more per chunk: for servers that ours should misread,
    /// and for the test that compares the two.
    Hyper,
}

impl Http1Stack {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields by reference")]
    fn is_direct(&self) -> bool {
        *self == Self::Direct
    }
}

/// A target that can be requested. Clones share everything.
#[derive(Clone, Debug)]
pub struct Target {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    spec: TargetSpec,
    credentials: Credentials,
    tls: Option<Tls>,
    budget: Arc<AnswerBudget>,
}

impl Target {
    /// Creates a target from its description and its credentials. Reads the trusted authorities if
    /// the address is an `https` one.
    pub fn new(spec: &TargetSpec, credentials: Credentials) -> Result<Self, ClientError> {
        Self::within(spec, credentials, AnswerBudget::new(spec.answers))
    }

    /// Creates a target whose answers count in a shared budget.
    fn within(
        spec: &TargetSpec,
        credentials: Credentials,
        budget: Arc<AnswerBudget>,
    ) -> Result<Self, ClientError> {
        let tls = if spec.base_url.is_https() { Some(Tls(tls::connector(spec)?)) } else { None };
        Ok(Self { shared: Arc::new(Shared { spec: spec.clone(), credentials, tls, budget }) })
    }

    /// Creates a target for another server, with the same settings, credentials and memory budget.
    pub fn at(&self, base_url: BaseUrl) -> Result<Self, ClientError> {
        let spec = TargetSpec { base_url, ..self.shared.spec.clone() };
        Self::within(&spec, self.shared.credentials.clone(), self.budget())
    }

    /// Returns the base URL.
    pub fn base_url(&self) -> &BaseUrl {
        &self.shared.spec.base_url
    }

    /// Returns whether TLS is used and the certificate is accepted without a check of its signer.
    pub fn is_unverified(&self) -> bool {
        self.shared.spec.trusts_anybody && self.shared.spec.base_url.is_https()
    }

    /// Returns the time-outs of the stages of a request.
    pub fn timeouts(&self) -> Timeouts {
        self.shared.spec.timeouts
    }

    /// Returns the memory budget of the answers.
    pub(crate) fn budget(&self) -> Arc<AnswerBudget> {
        Arc::clone(&self.shared.budget)
    }

    pub(crate) fn check_precise(&self) -> Result<(), NotPrecise> {
        self.shared.spec.check_precise()
    }

    pub(crate) fn http_version(&self) -> HttpVersion {
        self.shared.spec.http_version
    }

    pub(crate) fn http1_stack(&self) -> Http1Stack {
        self.shared.spec.http1_stack
    }

    pub(crate) fn http2_connections(&self) -> usize {
        self.shared.spec.http2_connections.max(1)
    }

    pub(crate) fn opening(&self) -> OpeningSpec {
        self.shared.spec.opening
    }

    pub(crate) fn reuse(&self) -> ReuseSpec {
        self.shared.spec.reuse
    }

    pub(crate) fn send_stamps(&self) -> bool {
        self.shared.spec.send_stamps
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.shared.credentials.headers()
    }

    /// Removes the credentials from a server's message.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.shared.credentials.redact(text)
    }

    pub(crate) fn tls(&self) -> Option<&TlsConnector> {
        self.shared.tls.as_ref().map(|tls| &tls.0)
    }
}

/// Wraps the connector, which has no `Debug`.
struct Tls(TlsConnector);

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TlsConnector")
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields by reference")]
fn is_off(asked: &bool) -> bool {
    !*asked
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

    #[test]
    fn secrets_are_never_shown() {
        let spec = TargetSpec::new("http://h:1".parse().unwrap());
        let credentials = Credentials::new().bearer("sk-hunter2").unwrap();
        let target = Target::new(&spec, credentials).unwrap();
        assert!(!format!("{target:?}").contains("hunter2"));
        assert!(!serde_json::to_string(&spec).unwrap().contains("hunter2"));
    }
}
