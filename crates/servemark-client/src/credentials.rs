//! Headers that carry secrets.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use servemark_target::MetricsUrl;

use crate::error::{ClientError, ClientErrorKind};

/// Secret headers that every request to a target carries: the key, and others that a gateway asks
/// for.
///
/// All values are sensitive: no `Debug` output, error or record shows them, and they are not part
/// of a plan.
///
/// ```
/// use servemark_client::Credentials;
///
/// let credentials = Credentials::new().bearer("sk-secret")?.header("X-Tenant", "blue")?;
/// assert!(!format!("{credentials:?}").contains("secret"));
/// # Ok::<(), servemark_client::ClientError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    headers: HeaderMap,
}

impl Credentials {
    /// Creates credentials without any header.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `Authorization: Bearer {key}`.
    pub fn bearer(self, key: &str) -> Result<Self, ClientError> {
        self.authorization(&format!("Bearer {key}"))
    }

    /// Adds `Authorization: {value}`, with the value unchanged.
    pub fn authorization(self, value: &str) -> Result<Self, ClientError> {
        self.with(AUTHORIZATION, value)
    }

    /// Adds a header, replacing any of the same name.
    pub fn header(self, name: &str, value: &str) -> Result<Self, ClientError> {
        let name = HeaderName::try_from(name)
            .map_err(|_| refuse(&format!("{name:?} is not the name of a header")))?;
        self.with(name, value)
    }

    /// Creates the credentials that carry the user name and the password of an address of metrics.
    pub fn of_metrics(url: &MetricsUrl) -> Result<Self, ClientError> {
        let Some(user) = url.user() else { return Ok(Self::new()) };
        Self::new().authorization(&format!("Basic {}", BASE64_STANDARD.encode(user)))
    }

    /// Returns whether there are no headers.
    pub fn is_empty(&self) -> bool {
        self.headers.is_empty()
    }

    /// Returns the sorted names of the headers, in lower case and without their values.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.headers.keys().map(|name| name.as_str().to_owned()).collect();
        names.sort();
        names
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Replaces the values, and the keys within them, in `text`: some servers repeat what they were
    /// sent.
    pub fn redact(&self, text: &str) -> String {
        let values = self.headers.values().filter_map(|value| value.to_str().ok());
        let secrets =
            values.flat_map(|value| [Some(value), value.split_once(' ').map(|two| two.1)]);
        secrets
            .flatten()
            .filter(|secret| secret.len() >= SHORTEST_SECRET)
            .fold(text.to_owned(), |text, secret| text.replace(secret, "***"))
    }

    fn with(mut self, name: HeaderName, value: &str) -> Result<Self, ClientError> {
        let mut value = HeaderValue::try_from(value).map_err(|_| {
            refuse(&format!("the value of the header {name} contains a control character"))
        })?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(self)
    }
}

/// Minimum length of a secret that is replaced. Shorter values are words such as `on`, which would
/// be removed from every sentence.
const SHORTEST_SECRET: usize = 6;

fn refuse(why: &str) -> ClientError {
    ClientError::new(ClientErrorKind::Configuration, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_wins_over_the_key() {
        let both = Credentials::new().bearer("one").unwrap().header("authorization", "Basic two");
        assert_eq!(both.unwrap().headers()[AUTHORIZATION], "Basic two");
    }

    #[test]
    fn a_user_in_an_address_of_metrics_is_sent_as_a_header() {
        let of = |url: &str| Credentials::of_metrics(&url.parse().unwrap()).unwrap();
        assert_eq!(of("http://a:b%20c@host/metrics").headers()[AUTHORIZATION], "Basic YTpiIGM=");
        assert!(of("http://host/metrics").is_empty());
    }

    #[test]
    fn what_cannot_be_sent_is_refused_without_being_shown() {
        let error = Credentials::new().header("X-Key", "sec\nret").unwrap_err();
        assert_eq!(error.to_string(), "the value of the header x-key contains a control character");
        let error = Credentials::new().header("X Key", "secret").unwrap_err();
        assert_eq!(error.to_string(), "\"X Key\" is not the name of a header");
    }

    #[test]
    fn what_a_server_repeats_is_struck_out() {
        let credentials = Credentials::new().bearer("sk-hunter2").unwrap();
        let credentials = credentials.header("x-debug", "on").unwrap();
        assert_eq!(
            credentials.redact("only sk-hunter2 came on, as Bearer sk-hunter2"),
            "only *** came on, as ***"
        );
    }

    #[test]
    fn debug_hides_the_values() {
        let debug = format!("{:?}", Credentials::new().bearer("sk-hunter2").unwrap());
        assert!(debug.contains("authorization") && !debug.contains("hunter2"), "{debug}");
    }
}
