//! Reads a frame that differs from an earlier one in nothing but its text.
//!
//! Servers make all frames of a stream alike, to the byte, but for the piece of text in each. Once
//! one of them was parsed, the next need not be: between the same bytes before and the same bytes
//! after, a text without escapes is all that can have changed. No shape of any server is built in,
//! and whatever does not match is parsed.

/// A frame that was parsed, cut in two where its text was, with what else was found in it.
#[derive(Clone, Debug)]
pub(crate) struct Template<S> {
    before: Vec<u8>,
    after: Vec<u8>,
    found: Option<S>,
}

/// Nothing is known yet, and nothing matches.
impl<S> Default for Template<S> {
    fn default() -> Self {
        Self { before: Vec::new(), after: Vec::new(), found: None }
    }
}

impl<S: Copy> Template<S> {
    /// Remembers a frame of which `text`, borrowed from it, is the only text that counts, and
    /// which holds `found` besides. A text that had to be unescaped teaches nothing.
    pub(crate) fn learn(&mut self, frame: &[u8], text: &str, found: S) {
        let Some((before, after)) = around(frame, text) else { return };
        self.before.clear();
        self.before.extend_from_slice(before);
        self.after.clear();
        self.after.extend_from_slice(after);
        self.found = Some(found);
    }

    /// The text of a frame that is otherwise the remembered one.
    pub(crate) fn read<'a>(&self, frame: &'a [u8]) -> Option<(S, &'a str)> {
        let found = self.found?;
        let text = frame.strip_prefix(&*self.before)?.strip_suffix(&*self.after)?;
        let is_plain = !text.is_empty() && text.iter().all(|&byte| stands_for_itself(byte));
        is_plain.then_some((found, std::str::from_utf8(text).ok()?))
    }
}

/// What of a frame is around a text that lies in it between its quotes.
fn around<'a>(frame: &'a [u8], text: &str) -> Option<(&'a [u8], &'a [u8])> {
    let start = (text.as_ptr() as usize).checked_sub(frame.as_ptr() as usize)?;
    let (before, rest) = frame.split_at_checked(start)?;
    let (inside, after) = rest.split_at_checked(text.len())?;
    let lies_in_it =
        inside == text.as_bytes() && before.ends_with(b"\"") && after.starts_with(b"\"");
    lies_in_it.then_some((before, after))
}

/// Whether a byte within a string of JSON stands for itself.
fn stands_for_itself(byte: u8) -> bool {
    byte >= b' ' && byte != b'"' && byte != b'\\'
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: &str = r#"{"a":"text","b":1}"#;

    fn learnt() -> Template<u8> {
        let mut template = Template::default();
        template.learn(FRAME.as_bytes(), &FRAME[6..10], 7);
        template
    }

    #[track_caller]
    fn reads(frame: impl AsRef<[u8]>, text: Option<&str>) {
        assert_eq!(learnt().read(frame.as_ref()), text.map(|text| (7, text)));
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
