//! A fast path for frames that differ from an earlier one only in their text.
//!
//! A server's frames of one stream are equal to the byte, except for the text in each. Once one of
//! them was parsed, later ones need not be: between equal bytes before and after it, a text without
//! escapes is all that can have changed. This works for any server's frames, and a frame that does
//! not match is parsed.

/// A parsed frame, split at its text, with the other values found in it.
#[derive(Clone, Debug)]
pub(crate) struct Template<S> {
    before: Vec<u8>,
    after: Vec<u8>,
    found: Option<S>,
}

/// Returns a template that matches no frame.
impl<S> Default for Template<S> {
    fn default() -> Self {
        Self { before: Vec::new(), after: Vec::new(), found: None }
    }
}

impl<S: Copy> Template<S> {
    /// Stores a frame whose only relevant text is `text`, which must be borrowed from it, and the
    /// other values `found` in it. Does nothing if the text had to be unescaped.
    pub(crate) fn learn(&mut self, frame: &[u8], text: &str, found: S) {
        let Some((before, after)) = around(frame, text) else { return };
        self.before.clear();
        self.before.extend_from_slice(before);
        self.after.clear();
        self.after.extend_from_slice(after);
        self.found = Some(found);
    }

    /// Returns the text of a frame that otherwise equals the stored one.
    pub(crate) fn read<'a>(&self, frame: &'a [u8]) -> Option<(S, &'a str)> {
        let found = self.found?;
        let text = frame.strip_prefix(&*self.before)?.strip_suffix(&*self.after)?;
        let is_plain = !text.is_empty() && text.iter().all(|&byte| stands_for_itself(byte));
        is_plain.then_some((found, std::str::from_utf8(text).ok()?))
    }
}

/// Returns the bytes before and after a text in a frame, if it lies there between quotes.
fn around<'a>(frame: &'a [u8], text: &str) -> Option<(&'a [u8], &'a [u8])> {
    let start = (text.as_ptr() as usize).checked_sub(frame.as_ptr() as usize)?;
    let (before, rest) = frame.split_at_checked(start)?;
    let (inside, after) = rest.split_at_checked(text.len())?;
    let lies_in_it =
        inside == text.as_bytes() && before.ends_with(b"\"") && after.starts_with(b"\"");
    lies_in_it.then_some((before, after))
}

/// Whether a byte in a JSON string needs no escape.
fn stands_for_itself(byte: u8) -> bool {
    byte >= b' ' && byte != b'"' && byte != b'\\'
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: &str = r#"{"a":"text","b":1}"#;

    fn learned_template() -> Template<u8> {
        let mut template = Template::default();
        template.learn(FRAME.as_bytes(), &FRAME[6..10], 7);
        template
    }

    #[track_caller]
    fn reads(frame: impl AsRef<[u8]>, text: Option<&str>) {
        assert_eq!(learned_template().read(frame.as_ref()), text.map(|text| (7, text)));
    }

    #[test]
    fn only_the_text_may_differ() {
        reads(FRAME, Some("text"));
        reads(r#"{"a":"é, and more","b":1}"#, Some("é, and more"));
        reads(r#"{"a":"text","b":2}"#, None);
        reads(r#"{"a":"text"}"#, None);
        reads(r#"{"a":"","b":1}"#, None);
        reads(r#"{"a":"text","b":1"#, None);
    }

    #[test]
    fn what_json_does_not_hold_as_it_is_is_parsed() {
        reads(r#"{"a":"x","c":"y","b":1}"#, None);
        reads(r#"{"a":"a\n","b":1}"#, None);
        reads("{\"a\":\"a\n\",\"b\":1}", None);
        reads(b"{\"a\":\"\xff\",\"b\":1}", None);
    }

    #[test]
    fn a_text_from_elsewhere_teaches_nothing() {
        let mut template = Template::default();
        template.learn(FRAME.as_bytes(), "text", 7);
        template.learn(FRAME.as_bytes(), &FRAME[7..9], 7);
        assert_eq!(template.read(FRAME.as_bytes()), None);
    }
}
