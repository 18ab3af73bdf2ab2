//! What a status other than 200 is turned into: the number, the server's own words, and what to
//! try.

use http::StatusCode;

use crate::error::{ClientError, ClientErrorKind};
use crate::target::Target;

/// The error for a route that answered with `status` and `body`.
pub(crate) fn status_error(
    target: &Target,
    status: StatusCode,
    route: &str,
    body: &[u8],
) -> ClientError {
    let code = status.as_u16();
    // A message is cut when it is long, and half a key is still half a key.
    let body = target.redact(&String::from_utf8_lossy(body));
    let words = servemark_backends::error_message(body.as_bytes());
    let said = if words.is_empty() { String::new() } else { format!(": {words}") };
    let cure = cure(status, route);
    let message = format!("the server answered {code} for {route}{said}{cure}");
    ClientError::new(ClientErrorKind::Status(code), message)
}

fn cure(status: StatusCode, route: &str) -> &'static str {
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
        (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, _) => {
            "; was a key given (--api-key, OPENAI_API_KEY or API_KEY), and is it right?"
        }
        _ => "",
    }
}

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
