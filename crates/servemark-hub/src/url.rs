//! A URL in two parts, server and route. The query of a signed URL grants access like a key and is
//! never shown.

use std::fmt;

use http::Uri;
use servemark_client::{BaseUrl, ClientError};

/// A URL: a server and a route on it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Url {
    server: BaseUrl,
    route: String,
}

impl Url {
    /// Parses an absolute URL.
    pub(crate) fn parse(text: &str) -> Result<Self, ClientError> {
        let origin = origin_length(text);
        Ok(Self { server: text[..origin].parse()?, route: text[origin..].to_owned() })
    }

    /// Resolves a `Location` header: another server, or another route of this one.
    pub(crate) fn follow(&self, location: &str) -> Result<Self, ClientError> {
        if location.contains("://") {
            return Self::parse(location);
        }
        let route = if location.starts_with('/') {
            location.to_owned()
        } else {
            let path = self.route.split('?').next().unwrap_or_default();
            let folder = path.rfind('/').map_or("", |slash| &path[..slash]);
            format!("{folder}/{location}")
        };
        Ok(Self { server: self.server.clone(), route })
    }

    /// Returns the server.
    pub(crate) fn server(&self) -> &BaseUrl {
        &self.server
    }

    /// Returns the route: path and query.
    pub(crate) fn route(&self) -> &str {
        &self.route
    }
}

/// Writes the URL without its query.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.server, self.route.split('?').next().unwrap_or_default())
    }
}

/// Returns the length of a URL's scheme and host.
fn origin_length(text: &str) -> usize {
    let host = text.find("://").map_or(0, |scheme| scheme + "://".len());
    text[host..].find(['/', '?', '#']).map_or(text.len(), |end| host + end)
}

/// Escapes the characters of a path that a URL cannot hold.
pub(crate) fn escape(part: &str) -> String {
    if Uri::try_from(format!("/{part}")).is_ok() && !part.contains(['?', '#', '%', '&', '+']) {
        return part.to_owned();
    }
    part.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn follows(from: &str, location: &str, expected: &str) {
        let url = Url::parse(from).unwrap().follow(location).unwrap();
        assert_eq!(format!("{}{}", url.server, url.route), expected);
    }

    #[test]
    fn a_redirect_leads_to_a_route_or_to_a_server() {
        let from = "https://hub.example/a/resolve/main/f?x=1";
        follows(from, "/api/f", "https://hub.example/api/f");
        follows(from, "g?y", "https://hub.example/a/resolve/main/g?y");
        follows(from, "https://cdn.example:1/f?sig=s", "https://cdn.example:1/f?sig=s");
    }

    #[test]
    fn a_signature_is_not_shown() {
        let url = Url::parse("https://cdn.example/f?sig=secret").unwrap();
        assert_eq!(
            (url.to_string().as_str(), url.route()),
            ("https://cdn.example/f", "/f?sig=secret")
        );
    }

    #[test]
    fn names_are_escaped() {
        assert_eq!(escape("Math/test-0.parquet"), "Math/test-0.parquet");
        assert_eq!(escape("a b+ü.json"), "a%20b%2B%C3%BC.json");
    }
}
