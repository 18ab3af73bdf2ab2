//! Errors for a status other than 200: the status, the server's own message, and what to try.

use http::StatusCode;
use http::header::AUTHORIZATION;

use crate::error::{ClientError, ClientErrorKind};
use crate::target::Target;

/// Returns the error of a request to `route` that was answered with `status` and `body`.
pub(crate) fn status_error(
    target: &Target,
    status: StatusCode,
    route: &str,
    body: &[u8],
) -> ClientError {
    let code = status.as_u16();
    // Redacted before the message is truncated, which could leave a part of a key.
    let body = target.redact(&String::from_utf8_lossy(body));
    let words = servemark_backends::error_message(body.as_bytes());
    let reason = if words.is_empty() { String::new() } else { format!(": {words}") };
    let is_for_https = status == StatusCode::BAD_REQUEST && is_for_https(&body);
    let cure = match Key::of(target) {
        _ if is_for_https => "; ask it by https:// instead",
        key => cure(status, route, key),
    };
    // The path of an address without routes is its base's.
    let whole = target.base_url().path(route);
    let asked = if route.starts_with('/') { route } else { &whole };
    let message = format!("the server answered {code} for {asked}{reason}{cure}");
    ClientError::new(ClientErrorKind::Status(code), message).permanent_if(is_for_https)
}

/// Returns whether the body is what nginx or Go servers send to a plain request on a TLS port.
fn is_for_https(body: &str) -> bool {
    ["plain HTTP request was sent to HTTPS port", "HTTP request to an HTTPS server"]
        .iter()
        .any(|phrase| body.contains(phrase))
}

/// Whether requests carry a key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Key {
    Given,
    Missing,
}

impl Key {
    fn of(target: &Target) -> Self {
        if target.headers().contains_key(AUTHORIZATION) { Self::Given } else { Self::Missing }
    }
}

fn cure(status: StatusCode, route: &str, key: Key) -> &'static str {
    match (status, route) {
        (StatusCode::NOT_FOUND, "/v1/completions") => {
            "; is the model's name right? a chat-only server is asked on /v1/chat/completions, \
             by a chat backend"
        }
        (StatusCode::NOT_FOUND, "/v1/chat/completions") => {
            "; is the model's name right? a server without chats is asked on /v1/completions, \
             by a backend of completions"
        }
        (StatusCode::NOT_FOUND, "/generate") => {
            "; a server that is not SGLang's is asked on /v1/chat/completions, by a chat backend"
        }
        (StatusCode::NOT_FOUND, _) => "; does the server offer this route under this base URL?",
        (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, _) if key == Key::Given => {
            "; is the key right (OPENAI_API_KEY or API_KEY)?"
        }
        (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, _) => NO_KEY,
        // Gateways such as litellm send this status for a missing key.
        (StatusCode::INTERNAL_SERVER_ERROR, "/v1/models") if key == Key::Missing => NO_KEY,
        _ => "",
    }
}

const NO_KEY: &str = "; no key was given: set OPENAI_API_KEY (or API_KEY, or a header \
                      Authorization), if the server wants one";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Credentials, TargetSpec};

    #[track_caller]
    fn check(code: u16, route: &str, body: &str, message: &str) {
        let status = StatusCode::from_u16(code).unwrap();
        let spec = TargetSpec::new("http://h".parse().unwrap());
        let target = Target::new(&spec, Credentials::new()).unwrap();
        let error = status_error(&target, status, route, body.as_bytes());
        assert_eq!(error.status(), Some(code));
        assert_eq!(error.to_string(), message);
    }

    #[test]
    fn a_missing_route_suggests_another_backend() {
        check(
            404,
            "/v1/completions",
            r#"{"detail":"Not Found"}"#,
            "the server answered 404 for /v1/completions: Not Found; is the model's name right? \
             a chat-only server is asked on /v1/chat/completions, by a chat backend",
        );
        check(
            404,
            "/v1/embeddings",
            "",
            "the server answered 404 for /v1/embeddings; \
             does the server offer this route under this base URL?",
        );
    }

    #[test]
    fn a_refusal_of_the_list_of_models_without_a_key_hints_at_the_key() {
        let hinted = |code, route, credentials| {
            let spec = TargetSpec::new("http://h".parse().unwrap());
            let target = Target::new(&spec, credentials).unwrap();
            let status = StatusCode::from_u16(code).unwrap();
            status_error(&target, status, route, b"").to_string().contains("set OPENAI_API_KEY")
        };
        for code in [401, 403, 500] {
            assert!(hinted(code, "/v1/models", Credentials::new()), "{code}");
            let keyed = Credentials::new().bearer("sk").unwrap();
            assert!(!hinted(code, "/v1/models", keyed), "{code}");
        }
        assert!(!hinted(500, "/v1/completions", Credentials::new()));
    }

    #[test]
    fn a_server_that_wants_tls_says_so() {
        check(
            400,
            "/v1/models",
            "<center>The plain HTTP request was sent to HTTPS port</center>",
            "the server answered 400 for /v1/models: <center>The plain HTTP request was sent to HTTPS \
             port</center>; ask it by https:// instead",
        );
    }

    #[test]
    fn the_servers_own_words_are_kept() {
        check(500, "/generate", "boom", "the server answered 500 for /generate: boom");
        check(
            400,
            "/v1/chat/completions",
            r#"{"error":{"message":"too long","code":400}}"#,
            "the server answered 400 for /v1/chat/completions: too long",
        );
    }
}
