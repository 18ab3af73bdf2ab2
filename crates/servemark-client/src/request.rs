//! Builds HTTP requests before they are due.

use bytes::Bytes;
use http::header::{
    ACCEPT, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue,
    USER_AGENT,
};
use http::{Method, Request, Uri, Version};
use http_body_util::Full;
use servemark_target::{Http1Stack, HttpVersion};

use crate::direct::Encoded;
use crate::error::{ClientError, ClientErrorKind};
use crate::link::WholeRequest;
use crate::target::Target;

/// Builds a request to a route of the target.
///
/// Headers are set in this order: ours, the body's type, the target's credentials and custom
/// headers, the request's own. A later header replaces an earlier one of the same name.
pub(crate) fn build(
    target: &Target,
    method: Method,
    route: &str,
    own: &HeaderMap,
    body: Bytes,
) -> Result<WholeRequest, ClientError> {
    let request = assemble(target, method, route, own, body)?;
    if target.http_version() == HttpVersion::Http1 && target.http1_stack() == Http1Stack::Direct {
        return Ok(WholeRequest::Direct(Encoded::new(request)));
    }
    Ok(WholeRequest::Hyper(Box::new(request.map(Full::new))))
}

fn assemble(
    target: &Target,
    method: Method,
    route: &str,
    own: &HeaderMap,
    body: Bytes,
) -> Result<Request<Bytes>, ClientError> {
    let is_empty_post = method == Method::POST && body.is_empty();
    let mut request = Request::new(body);
    *request.method_mut() = method;
    *request.uri_mut() = uri(target, route)?;
    if target.http_version() == HttpVersion::Http2 {
        *request.version_mut() = Version::HTTP_2;
    }
    fill(request.headers_mut(), target, own)?;
    // The length of an empty body is not sent otherwise, and some gateways require it.
    if is_empty_post {
        request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    Ok(request)
}

fn fill(headers: &mut HeaderMap, target: &Target, own: &HeaderMap) -> Result<(), ClientError> {
    if target.http_version() == HttpVersion::Http1 {
        let host = HeaderValue::try_from(target.base_url().authority());
        headers.insert(HOST, host.map_err(|error| unusable(target).caused_by(error))?);
    }
    if target.http_version() == HttpVersion::Http1 && !target.reuse().keep_alive {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
    headers.insert(USER_AGENT, HeaderValue::from_static(US));
    put(headers, own.iter().filter(|header| header.0 == CONTENT_TYPE));
    put(headers, target.headers());
    put(headers, own.iter().filter(|header| header.0 != CONTENT_TYPE));
    Ok(())
}

fn put<'a>(
    headers: &mut HeaderMap,
    more: impl IntoIterator<Item = (&'a HeaderName, &'a HeaderValue)>,
) {
    for (name, value) in more {
        headers.insert(name, value.clone());
    }
}

/// Returns the path for HTTP/1.1 and the whole URL for HTTP/2.
fn uri(target: &Target, route: &str) -> Result<Uri, ClientError> {
    let base = target.base_url();
    let text = match target.http_version() {
        HttpVersion::Http1 => base.path(route),
        HttpVersion::Http2 => base.url(route),
    };
    Uri::try_from(text).map_err(|error| unusable(target).caused_by(error))
}

fn unusable(target: &Target) -> ClientError {
    let message = format!("{} cannot be used as the address of an HTTP request", target.base_url());
    ClientError::new(ClientErrorKind::Configuration, message)
}

const US: &str = concat!("servemark/", env!("CARGO_PKG_VERSION"));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::Credentials;
    use servemark_target::TargetSpec;

    fn target(version: HttpVersion) -> Target {
        let mut spec = TargetSpec::new("http://localhost:30000/prefix/".parse().unwrap());
        spec.http_version = version;
        let credentials = Credentials::new().bearer("sk-one").unwrap();
        let credentials = credentials.header("user-agent", "mine").unwrap();
        Target::new(&spec, credentials.header("x-tenant", "blue").unwrap()).unwrap()
    }

    fn assembled_request(version: HttpVersion) -> Request<Bytes> {
        let mut own = HeaderMap::new();
        own.insert("x-tenant", HeaderValue::from_static("green"));
        own.insert("x-routing-key", HeaderValue::from_static("7"));
        own.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let body = Bytes::from_static(b"{}");
        assemble(&target(version), Method::POST, "/generate", &own, body).unwrap()
    }

    #[test]
    fn later_headers_win_and_keep_the_place() {
        let request = assembled_request(HttpVersion::Http1);
        let headers: Vec<_> = request
            .headers()
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        assert_eq!(
            headers,
            [
                "host: localhost:30000",
                "accept: */*",
                "user-agent: mine",
                "content-type: application/json",
                "authorization: Bearer sk-one",
                "x-tenant: green",
                "x-routing-key: 7",
            ]
        );
    }

    #[test]
    fn a_request_without_keep_alive_says_so_over_http1() {
        assert_eq!(without_keep_alive(HttpVersion::Http1)[CONNECTION], "close");
    }

    #[cfg(feature = "http2")]
    #[test]
    fn a_request_over_http2_says_nothing_about_keep_alive() {
        assert!(!without_keep_alive(HttpVersion::Http2).contains_key(CONNECTION));
    }

    fn without_keep_alive(version: HttpVersion) -> HeaderMap {
        let mut spec = TargetSpec::new("http://localhost:30000".parse().unwrap());
        spec.http_version = version;
        spec.reuse.keep_alive = false;
        let target = Target::new(&spec, Credentials::new()).unwrap();
        let request = assemble(&target, Method::GET, "/", &HeaderMap::new(), Bytes::new());
        request.unwrap().headers().clone()
    }

    #[test]
    fn the_address_over_http1_is_a_path() {
        assert_eq!(assembled_request(HttpVersion::Http1).uri(), "/prefix/generate");
    }

    #[cfg(feature = "http2")]
    #[test]
    fn the_address_over_http2_is_whole() {
        let request = assembled_request(HttpVersion::Http2);
        assert_eq!(request.uri(), "http://localhost:30000/prefix/generate");
        assert!(!request.headers().contains_key(HOST));
    }

    #[test]
    fn debug_does_not_show_the_key() {
        let request = assembled_request(HttpVersion::Http1);
        assert!(!format!("{request:?}").contains("sk-one"));
        assert!(!format!("{:?}", Encoded::new(request)).contains("sk-one"));
    }
}
