//! The text of the answers: one word per token, from a short list that repeats.

/// Appends the text of `count` tokens, starting with token `from`.
pub(super) fn push(from: u32, count: u32, out: &mut Vec<u8>) {
    let mut at = from as usize % WORDS * WIDTH;
    let mut missing = count as usize * WIDTH;
    while missing > 0 {
        let taken = missing.min(CIRCLE.len() - at);
        out.extend_from_slice(&CIRCLE[at..at + taken]);
        missing -= taken;
        at = 0;
    }
}

/// Returns the text of the first `count` tokens.
pub(super) fn text(count: u32) -> String {
    let mut bytes = Vec::with_capacity(count as usize * WIDTH);
    push(0, count, &mut bytes);
    String::from_utf8(bytes).expect("the words are ASCII")
}

/// Returns the text of one token.
pub(super) fn word(token: u32) -> String {
    let mut bytes = Vec::with_capacity(WIDTH);
    push(token, 1, &mut bytes);
    String::from_utf8(bytes).expect("the words are ASCII")
}

/// The number of characters of an answer before a token.
pub(super) fn offset(token: u32) -> usize {
    token as usize * WIDTH
}

/// The number of words in the list.
pub(super) const COUNT: u32 = WORDS as u32;

/// The words of the list, each a single token in today's common vocabularies.
const CIRCLE: &[u8] =
    b" time year work life hand part case week home side line word room door book mind";
const WIDTH: usize = " time".len();
const WORDS: usize = CIRCLE.len() / WIDTH;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_join_to_the_whole() {
        let mut joined = Vec::new();
        for from in (0..60).step_by(3) {
            push(from, 3, &mut joined);
        }
        assert_eq!(String::from_utf8(joined).unwrap(), text(60));
        assert!(text(17).ends_with(" mind time"));
        assert_eq!(text(60).split(' ').count(), 61);
    }
}
