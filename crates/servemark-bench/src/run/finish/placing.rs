//! Positions of an answer's tokens in its text.

use servemark_core::{RequestRecord, SpecialTokens, Tokenizer};

/// Returns, for each chunk of a record, the number of tokens of the whole text that end within
/// it. Returns `None` if the tokenizer cannot encode the text or decode its tokens.
pub(super) fn placed(tokenizer: &dyn Tokenizer, record: &RequestRecord) -> Option<Vec<u32>> {
    let ends = token_ends(tokenizer, &record.text)?;
    let mut ends = ends.into_iter().peekable();
    let mut piece_end = 0;
    let pieces = record.pieces().map(|(_, piece)| {
        piece_end += piece.len();
        let mut tokens = 0;
        while ends.next_if(|end| *end <= piece_end).is_some() {
            tokens += 1;
        }
        tokens
    });
    Some(pieces.collect())
}

/// Returns the byte offset in the text at which each of its tokens ends, in ascending order.
///
/// Tokens are decoded incrementally, each with the tokens before it, as a streaming server
/// decodes them: a token decoded by itself may lose its leading blank. A token that ends within a
/// character gets the end of the token that completes the character. A tokenizer may normalise
/// letters or blanks, so that the decoded text differs from the original; its offsets are then
/// scaled to the length of the original.
fn token_ends(tokenizer: &dyn Tokenizer, text: &str) -> Option<Vec<usize>> {
    let ids = tokenizer.encode(text, SpecialTokens::Omit).ok()?;
    let (mut before, mut after) = (0, 0);
    let mut written = 0;
    let mut ends = Vec::with_capacity(ids.len());
    for read in 1..=ids.len() {
        let known = tokenizer.decode(&ids[before..after]).ok()?;
        let all = tokenizer.decode(&ids[before..read]).ok()?;
        let is_whole =
            !all.ends_with(char::REPLACEMENT_CHARACTER) || read - after >= MOST_HELD_BACK;
        if is_whole || read == ids.len() {
            written += all.len().saturating_sub(known.len());
            ends.resize(read, written);
            (before, after) = (after, read);
        }
    }
    let stretch = |end: usize| {
        if written == text.len() { end } else { end * text.len() / written.max(1) }
    };
    Some(ends.into_iter().map(stretch).collect())
}

/// Maximum number of tokens held back for an incomplete character. A character has at most four
/// bytes, so if this many tokens do not complete one, the model itself wrote a replacement
/// character.
const MOST_HELD_BACK: usize = 8;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use servemark_core::{Delta, Finish, Phase, Recorder, Sample, Sink, Stamp};
    use servemark_tokenizer::HfTokenizer;

    use super::*;

    fn tokenizer(name: &str) -> HfTokenizer {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/tokenizers");
        HfTokenizer::load(&fixtures.join(name)).unwrap()
    }

    fn record(pieces: &[&str]) -> RequestRecord {
        let sample = Sample::new("", 1, 1);
        let mut recorder = Recorder::new(0, Phase::Measure, &sample, Stamp::ZERO);
        for piece in pieces {
            recorder.at(Stamp::ZERO).delta(Delta::content(piece));
        }
        recorder.finish(Ok(Finish::default()), Stamp::ZERO)
    }

    #[test]
    fn the_tokens_of_a_sentence_piece_tokenizer_lie_where_the_server_sent_them() {
        let tokenizer = tokenizer("mistral-v1-spm-bpe");
        let text = "The quick brown fox jumps over the lazy dog, and déjà vu follows it.";
        let ids = tokenizer.encode(text, SpecialTokens::Omit).unwrap();
        let up_to = |count: usize| tokenizer.decode(&ids[..count]).unwrap();
        let pieces: Vec<String> =
            (0..ids.len()).map(|at| up_to(at + 1)[up_to(at).len()..].to_owned()).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        assert_eq!(pieces.concat(), text);
        let alone = pieces.iter().map(|piece| tokenizer.count(piece, SpecialTokens::Omit).unwrap());
        assert!(alone.sum::<u32>() as usize > ids.len(), "a mark before every piece counts");
        let placed = placed(&tokenizer, &record(&pieces)).unwrap();
        assert_eq!(placed, vec![1; ids.len()]);
    }

    #[test]
    fn a_character_of_several_tokens_counts_where_it_is_whole() {
        let tokenizer = tokenizer("gpt2");
        let placed = placed(&tokenizer, &record(&["so ", "\u{1f9ea}", "!"])).unwrap();
        let whole = tokenizer.count("so \u{1f9ea}!", SpecialTokens::Omit).unwrap();
        assert_eq!(placed.iter().sum::<u32>(), whole);
        assert!(placed[1] > 1, "{placed:?}");
    }
}
