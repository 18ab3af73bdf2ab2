//! Error messages of servers, in any of their shapes.
//!
//! Errors are rare, so their bodies are parsed as generic JSON.

use serde_json::Value;

/// Returns the readable message in an error's body, or an excerpt of the body if it has none.
///
/// Servers send an object or a text under `error`, a flat object, or plain text; their web
/// frameworks send `detail`.
///
/// ```
/// use servemark_backends::error_message;
///
/// assert_eq!(error_message(br#"{"error":{"message":"too long","code":400}}"#), "too long");
/// assert_eq!(error_message(br#"{"error":"no such model"}"#), "no such model");
/// assert_eq!(error_message(br#"{"object":"error","message":"too long"}"#), "too long");
/// assert_eq!(error_message(b"Internal Server Error\n"), "Internal Server Error");
/// let page = b"<html><head><title>502 Bad Gateway</title></head><body>...</body></html>";
/// assert_eq!(error_message(page), "a web page, \"502 Bad Gateway\"");
/// ```
pub fn error_message(body: &[u8]) -> String {
    let document: Option<Value> = serde_json::from_slice(body).ok();
    match document.as_ref().and_then(message_in) {
        Some(message) => excerpt(message.as_bytes(), LONGEST_MESSAGE),
        None => match title(body) {
            Some(title) => format!("a web page, {title:?}"),
            None => excerpt(body, LONGEST_EXCERPT),
        },
    }
}

/// Returns whether a body is a web page.
pub fn is_web_page(body: &[u8]) -> bool {
    let body = body.trim_ascii_start();
    let begins = |tag: &[u8]| body.get(..tag.len()).is_some_and(|it| it.eq_ignore_ascii_case(tag));
    begins(b"<!doctype html") || begins(b"<html")
}

/// Returns the title of a web page.
fn title(body: &[u8]) -> Option<String> {
    if !is_web_page(body) {
        return None;
    }
    // The same positions as in the page itself, whose tags may be in capitals.
    let lower = body.to_ascii_lowercase();
    let begin = place(&lower, b"<title>")? + b"<title>".len();
    let length = place(&lower[begin..], b"</title>")?;
    let title = excerpt(&body[begin..begin + length], LONGEST_EXCERPT);
    let words: Vec<&str> = title.split_whitespace().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

fn place(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

/// Returns at most `limit` bytes of text from the start of `bytes`, with invalid UTF-8 replaced.
pub(crate) fn excerpt(bytes: &[u8], limit: usize) -> String {
    let bytes = bytes.trim_ascii();
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(limit + LONGEST_CHAR)]);
    if text.len() <= limit {
        return text.into_owned();
    }
    let room = limit - ELLIPSIS.len_utf8();
    let fits = |&(start, char): &(usize, char)| start + char.len_utf8() <= room;
    let kept = text.char_indices().take_while(fits).map(|(_, char)| char);
    kept.chain([ELLIPSIS]).collect()
}

fn message_in(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => Some(text.as_str()).filter(|text| !text.is_empty()),
        Value::Array(items) => items.iter().find_map(message_in),
        Value::Object(object) => KEYS.iter().find_map(|key| message_in(object.get(*key)?)),
        _ => None,
    }
}

/// The keys that lead to a message; `msg` occurs inside `detail`.
const KEYS: [&str; 4] = ["error", "message", "detail", "msg"];
const LONGEST_MESSAGE: usize = 1_000;
const LONGEST_EXCERPT: usize = 300;
const LONGEST_CHAR: usize = 4;
const ELLIPSIS: char = '…';

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, message: &str) {
        assert_eq!(error_message(body.as_bytes()), message);
    }

    #[test]
    fn a_page_is_told_from_json() {
        assert!(is_web_page(b" \n<!DOCTYPE html><html>") && is_web_page(b"<HTML>"));
        assert!(!is_web_page(b"{\"data\": []}") && !is_web_page(b"") && !is_web_page(b"<xml>"));
    }

    #[test]
    fn of_a_web_page_there_is_its_title() {
        check(
            "<!DOCTYPE HTML>\n<HTML><TITLE>Error\n   response</TITLE><p>é",
            "a web page, \"Error response\"",
        );
        let without = "<html><title> </title><h1>Not found</h1></html>";
        check(without, without);
        check("<html><title>cut", "<html><title>cut");
    }

    #[test]
    fn object_under_error() {
        check(r#"{"error":{"message":"boom","type":"x","code":400}}"#, "boom");
    }

    #[test]
    fn text_under_error() {
        check(r#"{"error":"boom"}"#, "boom");
    }

    #[test]
    fn flat_object() {
        check(r#"{"object":"error","message":"boom","type":"x","param":null,"code":400}"#, "boom");
    }

    #[test]
    fn plain_text() {
        check("Internal Server Error\r\n", "Internal Server Error");
    }

    #[test]
    fn a_web_frameworks_detail() {
        check(r#"{"detail":"Not Found"}"#, "Not Found");
        check(r#"{"detail":[{"loc":["body"],"msg":"Field required"}]}"#, "Field required");
    }

    #[test]
    fn without_a_message_the_body_itself() {
        let body = r#"{"error":{"message":"","type":"internal_server_error"}}"#;
        check(body, body);
        check("[1,2]", "[1,2]");
        check("", "");
    }

    #[test]
    fn what_is_long_is_cut_between_characters() {
        let message = error_message("é".repeat(1_000).as_bytes());
        assert_eq!(message, "é".repeat(148) + "…");
    }

    #[test]
    fn what_is_no_text_is_shown_as_well_as_it_can_be() {
        let message = error_message(&[0xff; 1_000]);
        assert!(message.len() <= LONGEST_EXCERPT && message.starts_with('\u{fffd}'), "{message}");
    }
}
