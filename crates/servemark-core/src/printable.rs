//! Makes text from outside harmless for a terminal.
//!
//! A server, a data set, a run log or a file name may hold escape codes, line ends and characters
//! that change the direction of text. Every table cell and every line that is printed passes these
//! functions. The escapes are those of JSON, so an escaped JSON document is still the same
//! document.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Replaces every character that could move the cursor, end the line or reorder the text with a
/// visible escape such as `\u001b` or `\n`. The result is one line.
///
/// ```
/// use servemark_core::printable;
///
/// assert_eq!(printable("two\nlines"), "two\\nlines");
/// assert_eq!(printable("\u{1b}[2J"), "\\u001b[2J");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, is_unprintable)
}

/// Escapes as [`printable`] does, but keeps line feeds: for text of several lines whose values have
/// already passed [`printable`].
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |character| character != '\n' && is_unprintable(character))
}

fn escaped(text: &str, must_go: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&must_go) {
        return Cow::Borrowed(text);
    }
    let mut rendered = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            character if !must_go(character) => rendered.push(character),
            '\n' => rendered.push_str("\\n"),
            '\r' => rendered.push_str("\\r"),
            '\t' => rendered.push_str("\\t"),
            character => {
                // Writing to a string does not fail.
                let _ = write!(rendered, "\\u{:04x}", u32::from(character));
            }
        }
    }
    Cow::Owned(rendered)
}

/// Returns whether it is a control character, a line or paragraph separator, or a mark of
/// bidirectional text. All of them have at most four hexadecimal digits.
fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_codes_line_ends_and_bidi_marks_become_visible() {
        let hostile = "a\u{1b}[31m\r\n\t\0\u{9b}2J\u{7f}\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}z";
        let message =
            "a\\u001b[31m\\r\\n\\t\\u0000\\u009b2J\\u007f\\u202e\\u2066\\u200f\\u061c\\u2028z";
        assert_eq!(printable(hostile), message);
        assert_eq!(printable_lines("one\ntwo\r\n"), "one\ntwo\\r\n");
    }

    #[test]
    fn ordinary_text_of_any_language_is_borrowed_as_it_is() {
        for text in ["", "plain \\n text", "温度 é שלום \u{1f468}\u{200d}\u{1f469}"] {
            assert!(matches!(printable(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn a_json_document_stays_the_same_document() {
        let document = "{\n  \"a\": \"\u{7f}\u{9b}\u{202e}\"\n}";
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&printable_lines(document)), read(document));
    }
}
