//! Who is asked, and how: the address, the protocol, the time-outs, and the credentials.

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

/// What a plan says about a target: everything but its credentials.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TargetSpec {
    /// Where it is.
    pub base_url: BaseUrl,
    /// Which HTTP it speaks.
    #[serde(default)]
    pub http_version: HttpVersion,
    /// Whose HTTP/1.1 it is.
    #[serde(default, skip_serializing_if = "Http1Stack::is_direct")]
    pub http1_stack: Http1Stack,
    /// How many connections HTTP/2 streams share; HTTP/1.1 opens one per request in flight.
    #[serde(default = "one")]
    pub http2_connections: usize,
    /// How fast connections are opened ahead of a run.
    #[serde(default, skip_serializing_if = "OpeningSpec::is_default")]
    pub opening: OpeningSpec,
    /// How connections are reused.
    #[serde(default, skip_serializing_if = "ReuseSpec::is_default")]
    pub reuse: ReuseSpec,
    /// Whether the kernel is asked when each request left: on Linux, over our own HTTP/1.1 in
    /// plain. It costs some microseconds of CPU for each.
    #[serde(default, skip_serializing_if = "is_off")]
    pub send_stamps: bool,
    /// How long each stage of a request may take.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// How much memory answers may hold while they are read.
    #[serde(default, skip_serializing_if = "AnswerLimits::is_default")]
    pub answers: AnswerLimits,
    /// A PEM file of authorities that are trusted beside the machine's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// Whether its certificate is taken for good, whoever signed it.
    #[serde(default, skip_serializing_if = "is_off")]
    pub trusts_anybody: bool,
}

impl TargetSpec {
    /// A target with the usual settings.
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

    /// Whether requests can be [sent precisely](crate::HttpTransport::with_precise_send).
    pub fn check_precise(&self) -> Result<(), NotPrecise> {
        match (self.http_version, self.http1_stack) {
            _ if self.base_url.is_https() => Err(NotPrecise::Encrypted),
            (HttpVersion::Http2, _) => Err(NotPrecise::Http2),
            (HttpVersion::Http1, Http1Stack::Hyper) => Err(NotPrecise::Hyper),
            (HttpVersion::Http1, Http1Stack::Direct) => Ok(()),
        }
    }
}

/// Why nothing can be written to a target's connections at an instant of our choice.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum NotPrecise {
    /// What is written is encrypted when it is written.
    #[error(
        "--precise-send writes requests as they were encoded, and https encrypts them; ask a server \
         over http:// or leave it out"
    )]
    Encrypted,
    /// Several requests share a connection, whose writes are nobody's own.
    #[error(
        "--precise-send writes each request on a connection of its own, and HTTP/2 shares them; \
         leave one of the two out"
    )]
    Http2,
    /// hyper writes when it pleases.
    #[error(
        "--precise-send writes on connections of our own HTTP/1.1; with hyper's, which the plan asks \
         for (http1_stack), it is not built"
    )]
    Hyper,
}

/// Which HTTP is spoken. Closed: HTTP/3 would be another transport.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HttpVersion {
    /// HTTP/1.1, a connection per request in flight.
    #[default]
    Http1,
    /// HTTP/2: over TLS by ALPN, in plain by prior knowledge.
    Http2,
}

/// Whose HTTP/1.1 is spoken. Both give the same records; closed, because there are two.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Http1Stack {
    /// Our own, which reads a socket where its bytes are wanted.
    #[default]
    Direct,
    /// hyper's, which costs more per chunk: for a server that ours should misread, and to prove
    /// the one against the other.
    Hyper,
}

impl Http1Stack {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields by reference")]
    fn is_direct(&self) -> bool {
        *self == Self::Direct
    }
}

/// A target that can be asked. Copies share everything.
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
    /// Makes a target of its description and its credentials. Reads the trusted authorities if
    /// the address is an `https` one.
    pub fn new(spec: &TargetSpec, credentials: Credentials) -> Result<Self, ClientError> {
        Self::within(spec, credentials, AnswerBudget::new(spec.answers))
    }

    /// The same, whose answers share a budget with those of others.
    fn within(
        spec: &TargetSpec,
        credentials: Credentials,
        budget: Arc<AnswerBudget>,
    ) -> Result<Self, ClientError> {
        let tls = if spec.base_url.is_https() { Some(Tls(tls::connector(spec)?)) } else { None };
        Ok(Self { shared: Arc::new(Shared { spec: spec.clone(), credentials, tls, budget }) })
    }

    /// Another server that is asked in the same way, with the same credentials.
    pub fn at(&self, base_url: BaseUrl) -> Result<Self, ClientError> {
        let spec = TargetSpec { base_url, ..self.shared.spec.clone() };
        Self::within(&spec, self.shared.credentials.clone(), self.budget())
    }

    /// Where it is.
    pub fn base_url(&self) -> &BaseUrl {
        &self.shared.spec.base_url
    }

    /// Whether it is asked over TLS and its certificate is taken for good, whoever signed it.
    pub fn is_unverified(&self) -> bool {
        self.shared.spec.trusts_anybody && self.shared.spec.base_url.is_https()
    }

    /// How long each stage of a request may take.
    pub fn timeouts(&self) -> Timeouts {
        self.shared.spec.timeouts
    }

    /// What answers may hold, and what they hold now.
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

    /// What a server said, without what it must not repeat.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.shared.credentials.redact(text)
    }

    pub(crate) fn tls(&self) -> Option<&TlsConnector> {
        self.shared.tls.as_ref().map(|tls| &tls.0)
    }
}

/// A connector has no `Debug` of its own.
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
