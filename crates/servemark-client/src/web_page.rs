//! Web pages in place of answers.

/// Returns whether a body is a web page.
pub(crate) fn is_page(body: &[u8]) -> bool {
    let body = body.trim_ascii_start();
    let begins = |tag: &[u8]| body.get(..tag.len()).is_some_and(|it| it.eq_ignore_ascii_case(tag));
    begins(b"<!doctype html") || begins(b"<html")
}

/// What a web page in place of an answer may mean.
pub(crate) const HINT: &str = ", but with a web page: is this the address of the engine, and not \
                               of a proxy or a web interface?";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_told_from_json() {
        assert!(is_page(b" \n<!DOCTYPE html><html>") && is_page(b"<HTML>"));
        assert!(!is_page(b"{\"data\": []}") && !is_page(b"") && !is_page(b"<xml>"));
    }
}
