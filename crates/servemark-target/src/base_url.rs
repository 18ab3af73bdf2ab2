//! Base URLs of servers: scheme, host, port and the prefix of all paths.
//!
//! A base URL never contains a credential: it is written into plans, records and error messages.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use http::uri::{Authority, InvalidUri, Scheme, Uri};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The part of a server's URL that all its routes share, such as `http://127.0.0.1:30000` or
/// `https://gateway.example/openai`. One slash at its end is dropped.
///
/// ```
/// let base: servemark_target::BaseUrl = "https://[::1]:8443/tenant/".parse()?;
/// assert_eq!(base.to_string(), "https://[::1]:8443/tenant");
/// # Ok::<(), servemark_target::BaseUrlError>(())
/// ```
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct BaseUrl {
    scheme: Scheme,
    authority: Authority,
    prefix: String,
}

/// A text that is no base URL. It does not repeat the text, which may contain a password.
#[derive(Debug, Error)]
#[error("the base URL {why}")]
pub struct BaseUrlError {
    why: &'static str,
    #[source]
    source: Option<InvalidUri>,
}

impl BaseUrlError {
    fn no_url(source: InvalidUri) -> Self {
        Self { why: "is not a URL", source: Some(source) }
    }
}

impl BaseUrl {
    /// Parses the base URL of a client that appends routes to it as text. A slash at its end stays,
    /// so that routes begin with two: `http://host/` gives `http://host//generate`.
    ///
    /// ```
    /// use servemark_target::BaseUrl;
    ///
    /// assert_eq!(BaseUrl::with_slash("http://host/v1/")?.to_string(), "http://host/v1//");
    /// assert_eq!(BaseUrl::with_slash("http://host/v1")?.to_string(), "http://host/v1");
    /// # Ok::<(), servemark_target::BaseUrlError>(())
    /// ```
    pub fn with_slash(text: &str) -> Result<Self, BaseUrlError> {
        // Parsing drops one slash.
        if text.ends_with('/') { format!("{text}/").parse() } else { text.parse() }
    }

    /// Returns whether routes begin with two slashes.
    pub fn doubles_slash(&self) -> bool {
        self.prefix.ends_with('/')
    }

    /// Creates the `http` base URL of a host and a port. An IPv6 address may have brackets or not.
    pub fn at_host(host: &str, port: u16) -> Result<Self, BaseUrlError> {
        let is_bare_ipv6 = host.contains(':') && !host.starts_with('[');
        let host = if is_bare_ipv6 { format!("[{host}]") } else { host.to_owned() };
        format!("http://{host}:{port}").parse()
    }

    /// Returns whether the connection is encrypted.
    pub fn is_https(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// Returns the host as a resolver expects it: an IPv6 address without its brackets.
    pub fn host(&self) -> &str {
        self.authority.host().trim_start_matches('[').trim_end_matches(']')
    }

    /// Returns whether the address is one of this machine for certain: `localhost`, or an address
    /// that only this machine can reach.
    pub fn is_this_machine(&self) -> bool {
        let address = self.host().parse::<IpAddr>();
        self.host() == "localhost"
            || address.is_ok_and(|address| address.is_loopback() || address.is_unspecified())
    }

    /// Returns whether both addresses lead to the same port of one host by the same scheme. The names
    /// of this machine's own address, such as `localhost`, `127.0.0.1` and `[::1]`, count as one
    /// host.
    ///
    /// ```
    /// use servemark_target::BaseUrl;
    ///
    /// let base: BaseUrl = "http://localhost:8000".parse()?;
    /// assert!(base.is_same_server(&"http://127.0.0.1:8000/metrics".parse()?));
    /// assert!(!base.is_same_server(&"http://127.0.0.1:8001".parse()?));
    /// # Ok::<(), servemark_target::BaseUrlError>(())
    /// ```
    pub fn is_same_server(&self, other: &Self) -> bool {
        let is_same_host = self.host().eq_ignore_ascii_case(other.host())
            || (self.is_own_address() && other.is_own_address());
        is_same_host && self.port() == other.port() && self.scheme == other.scheme
    }

    /// Returns whether the host is a name of the address by which programs of this machine reach each
    /// other. An address that means all of them, such as `0.0.0.0`, leads to it, too.
    fn is_own_address(&self) -> bool {
        let is_own = |address: IpAddr| {
            let own = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
            address.is_unspecified() || own.contains(&address)
        };
        self.host().eq_ignore_ascii_case("localhost") || self.host().parse().is_ok_and(is_own)
    }

    /// Returns the port; the scheme's default if none is given.
    pub fn port(&self) -> u16 {
        let default = if self.is_https() { 443 } else { 80 };
        self.authority.port_u16().unwrap_or(default)
    }

    /// Returns host and port as in the `Host` header.
    pub fn authority(&self) -> &str {
        self.authority.as_str()
    }

    /// Returns the path of a route with the prefix; `/` if both are empty.
    pub fn path(&self, route: &str) -> String {
        let path = format!("{}{route}", self.prefix);
        if path.starts_with('/') { path } else { format!("/{path}") }
    }

    /// Returns the whole URL of a route.
    pub fn url(&self, route: &str) -> String {
        format!("{}://{}{}{route}", self.scheme, self.authority, self.prefix)
    }
}

impl FromStr for BaseUrl {
    type Err = BaseUrlError;

    fn from_str(text: &str) -> Result<Self, BaseUrlError> {
        let parts = text.parse::<Uri>().map_err(BaseUrlError::no_url)?;
        let parts = parts.into_parts();
        let scheme = parts.scheme.filter(|scheme| [Scheme::HTTP, Scheme::HTTPS].contains(scheme));
        let scheme = scheme.ok_or_else(|| refuse("must begin with http:// or https://"))?;
        let authority = parts.authority.ok_or_else(|| refuse("names no host"))?;
        if authority.as_str().contains('@') {
            return Err(refuse("holds a user name or a password; give them as a header"));
        }
        check_host_and_port(&authority)?;
        let path = parts.path_and_query.ok_or_else(|| refuse("is not a URL"))?;
        if path.query().is_some() {
            return Err(refuse("has a query; routes are appended to it"));
        }
        let path = path.path();
        let prefix = path.strip_suffix('/').unwrap_or(path).to_owned();
        Ok(Self { scheme, authority, prefix })
    }
}

/// Checks what the parser of URLs leaves open: any text is a port for it, and a host may be empty.
fn check_host_and_port(authority: &Authority) -> Result<(), BaseUrlError> {
    let host = authority.host();
    if host.is_empty() {
        return Err(refuse("names no host"));
    }
    if let Some(address) = host.strip_prefix('[')
        && address.trim_end_matches(']').parse::<Ipv6Addr>().is_err()
    {
        return Err(refuse("has brackets around what is no IPv6 address"));
    }
    let port = authority.as_str().strip_prefix(host).and_then(|rest| rest.strip_prefix(':'));
    let is_port = |port: &str| {
        let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
        is_number && port.parse::<u16>().is_ok_and(|port| port > 0)
    };
    match port {
        // A colon without a port means the scheme's default.
        None | Some("") => Ok(()),
        Some(port) if is_port(port) => Ok(()),
        Some(_) => Err(refuse("has a port that is no number from 1 to 65535")),
    }
}

impl TryFrom<String> for BaseUrl {
    type Error = BaseUrlError;

    fn try_from(text: String) -> Result<Self, BaseUrlError> {
        text.parse()
    }
}

impl From<BaseUrl> for String {
    fn from(base: BaseUrl) -> Self {
        base.to_string()
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.doubles_slash() { "/" } else { "" };
        write!(f, "{}://{}{}{end}", self.scheme, self.authority, self.prefix)
    }
}

fn refuse(why: &'static str) -> BaseUrlError {
    BaseUrlError { why, source: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, host: &str, port: u16, generate: &str) {
        let base: BaseUrl = text.parse().unwrap();
        assert_eq!((base.host(), base.port()), (host, port));
        assert_eq!(base.path("/generate"), generate);
    }

    #[track_caller]
    fn refused(text: &str, why: &str) {
        let error = text.parse::<BaseUrl>().unwrap_err();
        assert_eq!(error.to_string(), format!("the base URL {why}"));
    }

    #[test]
    fn hosts_ports_and_prefixes() {
        check("http://0.0.0.0:30000", "0.0.0.0", 30000, "/generate");
        check("http://localhost/", "localhost", 80, "/generate");
        check("https://gateway.example/a/b/", "gateway.example", 443, "/a/b/generate");
        check("http://[::1]:8000", "::1", 8000, "/generate");
        check("http://localhost//", "localhost", 80, "//generate");
    }

    #[test]
    fn addresses_of_this_machine_are_known() {
        let is_known = |text: &str| text.parse::<BaseUrl>().unwrap().is_this_machine();
        for text in
            ["http://localhost:1", "https://127.0.0.5", "http://[::1]:8000", "http://0.0.0.0:1"]
        {
            assert!(is_known(text), "{text}");
        }
        for text in ["http://10.0.0.1", "http://localhost.example", "http://[fe80::1]:8000"] {
            assert!(!is_known(text), "{text}");
        }
    }

    #[test]
    fn the_names_of_this_machines_own_address_are_one_server() {
        let is_same = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|text| text.parse::<BaseUrl>().unwrap());
            assert_eq!(one.is_same_server(&other), other.is_same_server(&one));
            one.is_same_server(&other)
        };
        for own in ["http://localhost:80", "http://LocalHost", "http://[::1]/a", "http://0.0.0.0"] {
            assert!(is_same(own, "http://127.0.0.1:80/metrics"), "{own}");
        }
        assert!(is_same("http://GPU0:9400", "http://gpu0:9400/metrics"));
        for other in
            ["http://127.0.0.1:81", "https://127.0.0.1:80", "http://127.0.0.2:80", "http://h:80"]
        {
            assert!(!is_same(other, "http://127.0.0.1:80"), "{other}");
        }
    }

    #[test]
    fn a_slash_that_stays_travels_as_text() {
        for text in ["http://host:1/", "http://host:1/a/", "http://host:1/a//", "http://host:1"] {
            let base = BaseUrl::with_slash(text).unwrap();
            assert_eq!(base.url("/x"), format!("{text}/x"));
            assert_eq!(base.doubles_slash(), text.ends_with('/'));
            assert_eq!(base.to_string().parse::<BaseUrl>().unwrap(), base);
        }
    }

    #[test]
    fn the_root_of_a_server_has_a_path() {
        let base: BaseUrl = "http://localhost:1".parse().unwrap();
        assert_eq!(
            (base.path(""), base.url("")),
            ("/".to_owned(), "http://localhost:1".to_owned())
        );
    }

    #[test]
    fn what_is_no_base_url() {
        refused("ftp://host/", "must begin with http:// or https://");
        refused("localhost:30000", "must begin with http:// or https://");
        refused("/v1", "must begin with http:// or https://");
        refused("http://host/v1?key=1", "has a query; routes are appended to it");
        refused("not a url", "is not a URL");
        for port in ["99999", "abc", "-1", "+1", "0", "1:2", "80a"] {
            let text = format!("http://127.0.0.1:{port}/m");
            let error = text.parse::<BaseUrl>().unwrap_err().to_string();
            assert!(error.contains("port") || error.contains("is not a URL"), "{text}: {error}");
        }
        refused("http://127.0.0.1:99999", "has a port that is no number from 1 to 65535");
        refused("http://[::1]:abc", "has a port that is no number from 1 to 65535");
        refused("http://:80/x", "names no host");
        refused("http://[nowhere]:80/x", "has brackets around what is no IPv6 address");
        assert_eq!("http://host:/x".parse::<BaseUrl>().unwrap().port(), 80);
    }

    #[test]
    fn a_password_is_refused_and_not_repeated() {
        refused(
            "http://me:hunter2@host/",
            "holds a user name or a password; give them as a header",
        );
    }

    #[test]
    fn it_travels_as_text() {
        let base: BaseUrl = serde_json::from_str(r#""http://host:1/x/""#).unwrap();
        assert_eq!(serde_json::to_string(&base).unwrap(), r#""http://host:1/x""#);
    }
}
