//! The fields of a form, `multipart/form-data`.

use std::collections::HashMap;

/// The texts of a form's fields by their names. Files are left out.
pub(super) fn fields(body: &[u8]) -> HashMap<String, String> {
    let end = body.windows(2).position(|two| two == b"\r\n").unwrap_or(body.len());
    let boundary = [b"\r\n", &body[..end]].concat();
    let mut rest = &body[end..];
    let mut found = HashMap::new();
    while let Some(at) = find(rest, &boundary) {
        found.extend(field(&rest[..at]));
        rest = &rest[at + boundary.len()..];
    }
    found
}

/// The name and the text of a part, if it is a field.
fn field(part: &[u8]) -> Option<(String, String)> {
    let at = find(part, b"\r\n\r\n")?;
    let head = str::from_utf8(&part[..at]).ok()?;
    if head.contains("filename=") {
        return None;
    }
    let (_, name) = head.split_once("name=\"")?;
    let (name, _) = name.split_once('"')?;
    let text = str::from_utf8(&part[at + 4..]).ok()?;
    Some((name.to_owned(), text.to_owned()))
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
