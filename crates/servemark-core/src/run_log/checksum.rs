//! The checksum of a line: the last member of its JSON object, which lines of other programs may
//! lack.
//!
//! `{"request":{…}}` becomes `{"request":{…},"crc32":"0a1b2c3d"}`. The checksum is the CRC-32 of
//! all bytes before its comma, as eight lower-case hexadecimal digits. A line is therefore
//! serialised only once, and a reader can check it without a parser.

use std::io::Write;

use serde::Serialize;

/// Appends a value as a line with its checksum and its line feed.
pub(super) fn append_line(to: &mut Vec<u8>, value: &impl Serialize) -> serde_json::Result<()> {
    serde_json::to_writer(&mut *to, value)?;
    seal(to);
    Ok(())
}

/// Ends a line that holds a JSON object: appends the checksum, the closing brace and a line feed.
fn seal(line: &mut Vec<u8>) {
    let bracket = line.pop();
    assert_eq!(bracket, Some(b'}'), "a line is a JSON object");
    let sum = crc32fast::hash(line);
    writeln!(line, "{KEY}{sum:08x}{END}").expect("memory takes every write");
}

/// Removes the checksum of a line without line feed, if it has one. Returns false if it was wrong.
pub(super) fn unseal(line: &mut Vec<u8>) -> bool {
    let object = line.trim_ascii_end().len();
    line.truncate(object);
    let Some(body) = line.len().checked_sub(LENGTH) else { return true };
    let (object, checksum) = line.split_at(body);
    let digits = checksum.strip_prefix(KEY.as_bytes());
    let Some(digits) = digits.and_then(|rest| rest.strip_suffix(END.as_bytes())) else {
        return true;
    };
    let is_right = digits == format!("{:08x}", crc32fast::hash(object)).as_bytes();
    line.truncate(body);
    line.push(b'}');
    is_right
}

const KEY: &str = ",\"crc32\":\"";
const END: &str = "\"}";
const LENGTH: usize = KEY.len() + 8 + END.len();

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(object: &str) -> Vec<u8> {
        let mut line = object.as_bytes().to_vec();
        seal(&mut line);
        line
    }

    #[track_caller]
    fn check(mut line: Vec<u8>, is_right: bool, object: &str) {
        assert_eq!(unseal(&mut line), is_right);
        assert_eq!(String::from_utf8(line).unwrap(), object);
    }

    #[test]
    fn a_sealed_line_is_json_and_ends_with_its_checksum() {
        let line = String::from_utf8(sealed("{\"a\":1}")).unwrap();
        // Python: zlib.crc32(b'{"a":1')
        assert_eq!(line, "{\"a\":1,\"crc32\":\"a702fc6e\"}\n");
        assert!(serde_json::from_str::<serde_json::Value>(&line).is_ok());
    }

    #[test]
    fn the_checksum_comes_off_again() {
        check(sealed("{\"a\":1}"), true, "{\"a\":1}");
        check(b"{\"a\":1}\r".to_vec(), true, "{\"a\":1}");
        check(b"{}".to_vec(), true, "{}");
    }

    #[test]
    fn a_line_that_was_changed_is_told() {
        let changed = String::from_utf8(sealed("{\"a\":1}")).unwrap().replace(":1,", ":2,");
        check(changed.into_bytes(), false, "{\"a\":2}");
        let capitals = String::from_utf8(sealed("{\"a\":1}")).unwrap().replace("a702fc", "A702FC");
        check(capitals.into_bytes(), false, "{\"a\":1}");
    }

    #[test]
    fn a_checksum_within_a_request_is_the_requests_own() {
        let nested = "{\"request\":{\"a\":1,\"crc32\":\"00000000\"}}";
        check(nested.as_bytes().to_vec(), true, nested);
    }
}
