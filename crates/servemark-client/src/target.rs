//! Targets: a spec with its credentials and its TLS settings.

use std::sync::Arc;

use http::HeaderMap;
use servemark_target::{
    BaseUrl, Http1Stack, HttpVersion, NotPrecise, OpeningSpec, ReuseSpec, TargetSpec, Timeouts,
};
use tokio_rustls::TlsConnector;

use crate::credentials::Credentials;
use crate::error::{ClientError, ClientErrorKind};
use crate::reservation::AnswerBudget;
use crate::tls;

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
    /// the address is an `https` one. HTTP/2 is refused in a build without the feature `http2`.
    pub fn new(spec: &TargetSpec, credentials: Credentials) -> Result<Self, ClientError> {
        Self::within(spec, credentials, AnswerBudget::new(spec.answers))
    }

    /// Creates a target whose answers count in a shared budget.
    fn within(
        spec: &TargetSpec,
        credentials: Credentials,
        budget: Arc<AnswerBudget>,
    ) -> Result<Self, ClientError> {
        if spec.http_version == HttpVersion::Http2 && !cfg!(feature = "http2") {
            return Err(ClientError::new(ClientErrorKind::Configuration, NO_HTTP2));
        }
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
        self.shared.spec.accepts_any_certificate && self.shared.spec.base_url.is_https()
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

const NO_HTTP2: &str =
    "this program was built without the feature http2; the program servemark has it";

/// Wraps the connector, which has no `Debug`.
struct Tls(TlsConnector);

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TlsConnector")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_never_shown() {
        let spec = TargetSpec::new("http://h:1".parse().unwrap());
        let credentials = Credentials::new().bearer("sk-hunter2").unwrap();
        let target = Target::new(&spec, credentials).unwrap();
        assert!(!format!("{target:?}").contains("hunter2"));
        assert!(!serde_json::to_string(&spec).unwrap().contains("hunter2"));
    }
    #[cfg(not(feature = "http2"))]
    #[test]
    fn http2_is_refused_in_a_build_without_it() {
        let mut spec = TargetSpec::new("http://h:1".parse().unwrap());
        spec.http_version = HttpVersion::Http2;
        let refusal = Target::new(&spec, Credentials::new()).unwrap_err();
        assert_eq!(refusal.kind(), ClientErrorKind::Configuration);
        assert!(refusal.to_string().contains("feature http2"), "{refusal}");
    }
}
