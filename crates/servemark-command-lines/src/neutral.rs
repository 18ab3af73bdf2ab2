//! Replaces the parts of texts and values that differ between runs and machines.

use std::collections::BTreeMap;
use std::fmt::Write;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use regex_lite::{Captures, Regex};
use ring::digest::{SHA256, digest};
use serde_json::Value;

use crate::Peer;

/// Replaces the parts of texts that differ between runs and machines.
pub(crate) struct Neutral<'a> {
    /// Texts with their placeholders, the longest text first.
    places: Vec<(&'a str, &'a str)>,
    patterns: Vec<(Regex, &'static str)>,
}

impl<'a> Neutral<'a> {
    pub(crate) fn new(places: &'a BTreeMap<String, String>, peer: &dyn Peer) -> Self {
        let words = places.iter().map(|(word, stands)| (stands.as_str(), word.as_str()));
        // The digits of a port could be part of any number; the port is replaced as part of the
        // URL.
        let mut places: Vec<_> =
            words.filter(|(_, word)| !["{HOST}", "{PORT}"].contains(word)).collect();
        places.sort_by_key(|(stands, _)| std::cmp::Reverse(stands.len()));
        let patterns = [UUID].iter().chain(peer.drawn_anew());
        let patterns = patterns.map(|(pattern, word)| (regex(pattern), *word)).collect();
        Self { places, patterns }
    }

    /// Replaces all places and patterns in a text.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (stands, word) in &self.places {
            if text.contains(stands) {
                text = text.replace(stands, word);
            }
        }
        for (pattern, word) in &self.patterns {
            if pattern.is_match(&text) {
                text = pattern.replace_all(&text, *word).into_owned();
            }
        }
        text
    }

    /// Normalizes a body, as JSON if it is valid JSON.
    pub(crate) fn body(&self, body: &str) -> Value {
        match serde_json::from_str(body) {
            Ok(value) => self.value(value),
            Err(_) => Value::String(short(self.text(body))),
        }
    }

    /// Normalizes a multipart form, given as base64, as a list of its parts with their header
    /// lines. Bytes that are not text become hexadecimal digits, and a long part is replaced by its
    /// hash.
    pub(crate) fn form(&self, base64: &str, boundary: &str) -> Value {
        let bytes = BASE64_STANDARD.decode(base64).unwrap_or_default();
        let boundary = format!("--{boundary}").into_bytes();
        let mut parts = Vec::new();
        let mut rest = &bytes[..];
        while let Some(at) = rest.windows(boundary.len()).position(|window| window == boundary) {
            parts.push(Value::String(short(self.text(&hexed(&rest[..at])))));
            rest = &rest[at + boundary.len()..];
        }
        Value::Array(parts)
    }

    /// Normalizes all texts of a value and shortens long ones.
    pub(crate) fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(short(self.text(&pictures(&text)))),
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(map) => {
                map.into_iter().map(|(key, item)| (key, self.value(item))).collect()
            }
            other => other,
        }
    }
}

/// Replaces a long text by its hash and its length in characters.
fn short(text: String) -> String {
    let length = text.chars().count();
    if length <= LONGEST {
        return text;
    }
    let mut short = String::from("sha256:");
    for byte in &digest(&SHA256, text.as_bytes()).as_ref()[..8] {
        let _ = write!(short, "{byte:02x}");
    }
    let _ = write!(short, ":{length}");
    short
}

/// Returns text unchanged and other bytes as hexadecimal digits.
fn hexed(bytes: &[u8]) -> String {
    let hex = |text: String, byte: &u8| format!("{text}{byte:02x}");
    str::from_utf8(bytes).map_or_else(|_| bytes.iter().fold(String::new(), hex), str::to_owned)
}

/// Replaces PNG files by the size and checksum of their pixels, because encoders differ.
fn pictures(text: &str) -> String {
    if !text.contains(PNG) {
        return text.to_owned();
    }
    let uri = regex(&format!("{PNG}([A-Za-z0-9+/=]+)"));
    let pixels =
        |found: &Captures<'_>| png_pixels(&found[1]).unwrap_or_else(|| found[0].to_owned());
    uri.replace_all(text, pixels).into_owned()
}

fn png_pixels(base64: &str) -> Option<String> {
    let file = BASE64_STANDARD.decode(base64).ok()?;
    let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().ok()?;
    let mut pixels = vec![0; reader.output_buffer_size()?];
    let frame = reader.next_frame(&mut pixels).ok()?;
    let sum = crc32fast::hash(&pixels[..frame.buffer_size()]);
    Some(format!("{PNG}{}x{}:{sum:08x}", frame.width, frame.height))
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("patterns are constants that are tried by the tests")
}

const LONGEST: usize = 200;
const PNG: &str = "data:image/png;base64,";
const UUID: (&str, &str) =
    ("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "{UUID}");

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Sglang;

    #[test]
    fn what_differs_from_run_to_run_is_a_word() {
        let places = [("{URL}", "http://127.0.0.1:80"), ("{OUT}", "/tmp/a"), ("{PORT}", "80")];
        let places = places.map(|(word, stands)| (word.to_owned(), stands.to_owned())).into();
        let neutral = Neutral::new(&places, &Sglang);
        let id = "0b1f7c62-1111-4222-8333-abcdefabcdef";
        let body = format!(
            r#"{{"b": "http://127.0.0.1:80/p", "a": ["/tmp/a/x", "80", "{id}"], "c": 1e-6}}"#
        );
        assert_eq!(
            neutral.body(&body).to_string(),
            r#"{"b":"{URL}/p","a":["{OUT}/x","80","{UUID}"],"c":1e-6}"#
        );
        assert_eq!(neutral.body("no JSON"), json!("no JSON"));
        let long = neutral.value(json!("ü".repeat(201)));
        assert!(long.as_str().unwrap().ends_with(":201"), "{long}");
        assert_eq!(neutral.value(json!("ü".repeat(200))), json!("ü".repeat(200)));
    }
}
