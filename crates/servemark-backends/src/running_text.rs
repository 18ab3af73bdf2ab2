//! The text of an answer whose frames hold either all text so far or a piece.
//!
//! SGLang's `/generate` sends all text so far unless the server was started for incremental
//! streaming, and so does Triton if it accumulates tokens; no frame says which. A frame whose text
//! does not begin with the one before shows that frames hold pieces.

/// The text received so far, and what frames hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunningText {
    pending: String,
    frames: Frames,
}

/// What the frames of a stream contain: the whole text so far, or the piece that is new.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Frames {
    /// Not known yet; treated as the whole text.
    #[default]
    Unknown,
    /// The whole text so far.
    Whole,
    /// The new piece.
    Pieces,
}

impl RunningText {
    /// Records that frames hold pieces, if something other than the text shows it.
    pub(crate) fn is_in_pieces(&mut self) {
        self.frames = Frames::Pieces;
    }

    /// Returns whether frames are known to hold pieces.
    pub(crate) fn has_pieces(&self) -> bool {
        self.frames == Frames::Pieces
    }

    /// Returns whether frames are known to hold the whole text so far.
    pub(crate) fn is_restated(&self) -> bool {
        self.frames == Frames::Whole
    }

    /// Returns whether a frame may hold either the whole text again or an equal piece, because no
    /// frame has shown yet which of the two frames hold.
    pub(crate) fn may_repeat(&self, text: &str) -> bool {
        self.frames == Frames::Unknown && !text.is_empty() && self.pending == text
    }

    /// Returns the text of the frames before the one that showed that frames hold pieces.
    pub(crate) fn pending_text(&self) -> &str {
        &self.pending
    }

    /// Returns the new part of a frame's text.
    pub(crate) fn advance<'a>(&mut self, text: &'a str) -> &'a str {
        if self.frames == Frames::Pieces || text.is_empty() {
            return text;
        }
        if let Some(new) = text.strip_prefix(self.pending.as_str()) {
            return self.grow(new);
        }
        if self.frames == Frames::Unknown {
            self.is_in_pieces();
            return text;
        }
        self.rewrite(text)
    }

    /// Whether frames hold the whole text, and it currently equals this one.
    pub(crate) fn is_at(&self, text: &str) -> bool {
        self.frames != Frames::Pieces && self.pending == text
    }

    /// Appends `new` to the whole text and returns it.
    pub(crate) fn grow<'a>(&mut self, new: &'a str) -> &'a str {
        if !self.pending.is_empty() && !new.is_empty() {
            self.frames = Frames::Whole;
        }
        self.pending.push_str(new);
        new
    }

    /// Handles text that the server took back. The removed text was already passed on; only its
    /// replacement is new.
    fn rewrite<'a>(&mut self, text: &'a str) -> &'a str {
        if self.pending.starts_with(text) {
            return "";
        }
        let pairs = self.pending.chars().zip(text.chars());
        let common = pairs.take_while(|(old, new)| old == new).map(|(old, _)| old.len_utf8()).sum();
        self.pending.truncate(common);
        self.pending.push_str(&text[common..]);
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
