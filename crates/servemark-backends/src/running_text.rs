//! The text of an answer of which every frame holds either all so far or a piece.
//!
//! SGLang's `/generate` sends all of it unless it was started for incremental streaming, Triton
//! where it accumulates tokens, and no frame says which. It shows when a text does not begin with the one before.

/// How far the text has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunningText {
    seen: String,
    frames: Frames,
}

/// What each frame holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Frames {
    /// Nothing has shown yet; taken for the whole text.
    #[default]
    Unknown,
    /// The whole text so far.
    Whole,
    /// The new piece.
    Pieces,
}

impl RunningText {
    /// Something other than the text shows that frames hold pieces.
    pub(crate) fn is_in_pieces(&mut self) {
        self.frames = Frames::Pieces;
    }

    /// The part of a frame's text that is new.
    pub(crate) fn advance<'a>(&mut self, text: &'a str) -> &'a str {
        if self.frames == Frames::Pieces || text.is_empty() {
            return text;
        }
        if let Some(new) = text.strip_prefix(self.seen.as_str()) {
            return self.grow(new);
        }
        if self.frames == Frames::Unknown {
            self.is_in_pieces();
            return text;
        }
        self.rewrite(text)
    }

    /// Whether frames hold the whole text, and so far this one.
    pub(crate) fn is_at(&self, text: &str) -> bool {
        self.frames != Frames::Pieces && self.seen == text
    }

    /// The whole text has become longer by `new`.
    pub(crate) fn grow<'a>(&mut self, new: &'a str) -> &'a str {
        if !self.seen.is_empty() && !new.is_empty() {
            self.frames = Frames::Whole;
        }
        self.seen.push_str(new);
        new
    }

    /// The server took text back. What it took back was already handed out; what replaces it is
    /// new.
    fn rewrite<'a>(&mut self, text: &'a str) -> &'a str {
        if self.seen.starts_with(text) {
            return "";
        }
        let pairs = self.seen.chars().zip(text.chars());
        let common = pairs.take_while(|(old, new)| old == new).map(|(old, _)| old.len_utf8()).sum();
        self.seen.truncate(common);
        self.seen.push_str(&text[common..]);
        &text[common..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(texts: &[&str], new: &[&str]) {
        let mut running = RunningText::default();
        let parts: Vec<_> = texts.iter().map(|text| running.advance(text)).collect();
        assert_eq!(parts, new);
    }

    #[test]
    fn of_a_whole_text_only_the_end_is_new() {
        check(&["a", "ab", "ab", "abcd"], &["a", "b", "", "cd"]);
    }

    #[test]
    fn a_text_that_does_not_begin_with_the_last_is_a_piece() {
        check(&["a", "b", "b", "bc"], &["a", "b", "b", "bc"]);
    }

    #[test]
    fn an_empty_text_says_nothing() {
        check(&["", "a", "", "ab"], &["", "a", "", "b"]);
    }

    #[test]
    fn text_that_is_taken_back_and_sent_again_is_not_new() {
        check(&["a", "abc", "ab", "abc", "abcd"], &["a", "bc", "", "", "d"]);
    }

    #[test]
    fn text_that_replaces_what_was_taken_back_is_new() {
        check(&["a", "aé", "aè", "aèb"], &["a", "é", "è", "b"]);
    }
}
