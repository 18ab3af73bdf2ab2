//! Addresses of metrics. They may carry secrets, which are kept apart and never written.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::base_url::BaseUrl;

/// The address of a source of metrics, such as `http://127.0.0.1:9400/metrics`.
///
/// A user name, a password and a query are secrets: they are sent, and are neither shown nor
/// serialised. A fragment, which would never be sent, is dropped.
///
/// ```
/// use servemark_target::MetricsUrl;
///
/// let url: MetricsUrl = "http://me:pass@gpu0:9400/metrics?token=t".parse()?;
/// assert_eq!(url.to_string(), "http://gpu0:9400/metrics");
/// assert!(!format!("{url:?}").contains("pass"));
/// # Ok::<(), servemark_target::MetricsUrlError>(())
/// ```
#[derive(Clone, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct MetricsUrl {
    base: BaseUrl,
    query: Option<String>,
    user: Option<String>,
}

impl MetricsUrl {
    /// Returns the address of a route of a server.
    pub fn of_route(base: &BaseUrl, route: &str) -> Result<Self, MetricsUrlError> {
        format!("{base}{route}").parse()
    }

    /// Returns the address without its secrets. All of its path is the base's prefix.
    pub fn base(&self) -> &BaseUrl {
        &self.base
    }

    /// Returns what follows the base: the query, if there is one.
    pub fn route(&self) -> String {
        self.query.as_ref().map(|query| format!("?{query}")).unwrap_or_default()
    }

    /// Returns the user name and the password, with a colon between them and without
    /// percent-encoding; `None` if the address has none. It is a secret.
    pub fn user(&self) -> Option<Vec<u8>> {
        self.user.as_deref().map(decoded)
    }

    /// Returns whether requests carry secrets. What such a server says must not be shown: it may
    /// repeat them in any form, for example escaped or in base64.
    pub fn has_secrets(&self) -> bool {
        self.query.iter().chain(&self.user).any(|secret| !secret.is_empty())
    }
}

/// An address that cannot be read. It does not repeat the address, which may hold a password.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("expected an address such as http://127.0.0.1:9400/metrics: {why}")]
pub struct MetricsUrlError {
    why: String,
}

impl FromStr for MetricsUrl {
    type Err = MetricsUrlError;

    fn from_str(text: &str) -> Result<Self, MetricsUrlError> {
        let (text, _fragment) = text.split_once('#').unwrap_or((text, ""));
        let (text, query) = match text.split_once('?') {
            Some((text, query)) => (text, Some(query.to_owned())),
            None => (text, None),
        };
        let (address, user) = without_user(text);
        let base = address.parse::<BaseUrl>();
        let base = base.map_err(|error| MetricsUrlError { why: error.to_string() })?;
        Ok(Self { base, query, user })
    }
}

/// Splits the user name and password off an address.
fn without_user(text: &str) -> (String, Option<String>) {
    let whole = || (text.to_owned(), None);
    let Some((scheme, rest)) = text.split_once("://") else { return whole() };
    let end = rest.find('/').unwrap_or(rest.len());
    match rest[..end].rsplit_once('@') {
        Some((user, host)) => (format!("{scheme}://{host}{}", &rest[end..]), Some(user.to_owned())),
        None => whole(),
    }
}

/// Decodes the percent-encoding of a text.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = tail.get(..2).and_then(|hex| str::from_utf8(hex).ok());
        let byte = hex.filter(|_| *first == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &tail[2..] } else { tail };
    }
    bytes
}

impl TryFrom<String> for MetricsUrl {
    type Error = MetricsUrlError;

    fn try_from(text: String) -> Result<Self, MetricsUrlError> {
        text.parse()
    }
}

impl From<MetricsUrl> for String {
    fn from(url: MetricsUrl) -> Self {
        url.to_string()
    }
}

/// Shows the address without its secrets.
impl fmt::Display for MetricsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.base.fmt(f)
    }
}

impl fmt::Debug for MetricsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MetricsUrl({})", self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_sent_and_not_shown() {
        let url: MetricsUrl = "https://a:b%20c@host:1/x/metrics?name=up&token=t".parse().unwrap();
        assert_eq!(
            (url.to_string(), url.route()),
            ("https://host:1/x/metrics".to_owned(), "?name=up&token=t".to_owned())
        );
        assert_eq!(decoded("a:b%20c%"), b"a:b c%");
        assert_eq!(url.user().unwrap(), b"a:b c");
        let plain: MetricsUrl = String::from(url.clone()).parse().unwrap();
        assert!(plain.route().is_empty() && plain.user().is_none());
    }

    #[test]
    fn an_address_has_secrets_or_not() {
        let has_secrets = |text: &str| text.parse::<MetricsUrl>().unwrap().has_secrets();
        for text in ["http://h/m?t", "http://me@h/m", "http://me:pass@h/m?t=u"] {
            assert!(has_secrets(text), "{text}");
        }
        for text in ["http://h/m", "http://h/m?", "http://@h/m", "http://h/m#f"] {
            assert!(!has_secrets(text), "{text}");
        }
    }

    #[test]
    fn a_fragment_is_dropped() {
        for text in ["http://h:1/m?token=t#frag", "http://h:1/m?token=t#a?b=c"] {
            assert_eq!(text.parse::<MetricsUrl>().unwrap().route(), "?token=t");
        }
        let url: MetricsUrl = "http://h:1/m#?token=t".parse().unwrap();
        assert_eq!((url.to_string(), url.route()), ("http://h:1/m".to_owned(), String::new()));
    }

    #[test]
    fn a_mistake_is_told_without_the_address() {
        let error = "ftp://me:secret@host/metrics".parse::<MetricsUrl>().unwrap_err().to_string();
        assert!(error.contains("must begin with http://") && !error.contains("secret"), "{error}");
        assert!("metrics".parse::<MetricsUrl>().is_err());
        for text in [
            "http://me:secret@:80/x",
            "http://me:secret@host:99999/m",
            "http://me:secret@host:abc/m",
            "http://me:secret@host:-1/m",
            "http://me:sec#ret@host/m",
            "http://me:sec/ret@host/m",
        ] {
            let error = text.parse::<MetricsUrl>().unwrap_err().to_string();
            assert!(error.contains("port") || error.contains("names no host"), "{error}");
            assert!(!error.contains("sec"), "{error}");
        }
    }
}
