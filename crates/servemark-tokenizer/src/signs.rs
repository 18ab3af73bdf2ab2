//! The characters that stand for bytes in a byte-level vocabulary.

/// Returns the characters for these bytes.
pub(crate) fn signs(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| sign(*byte)).collect()
}

/// Returns the character for a byte. A printable byte stands for itself, the others are numbered
/// from U+0100.
pub(crate) fn sign(byte: u8) -> char {
    let is_printable = |byte: u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..);
    if is_printable(byte) {
        return char::from(byte);
    }
    let unseen_before = (0..byte).filter(|before| !is_printable(*before)).count();
    char::from_u32(0x100 + unseen_before as u32).unwrap_or_default()
}

/// The map from characters back to bytes.
#[derive(Debug)]
pub(crate) struct Signs {
    bytes: [Option<u8>; SPAN],
}

impl Signs {
    pub(crate) fn new() -> Self {
        let mut bytes = [None; SPAN];
        for byte in 0..=u8::MAX {
            bytes[sign(byte) as usize] = Some(byte);
        }
        Self { bytes }
    }

    /// Appends the bytes of a token. A character that stands for no byte is appended in UTF-8.
    pub(crate) fn read(&self, token: &str, to: &mut Vec<u8>) {
        for sign in token.chars() {
            match self.bytes.get(sign as usize) {
                Some(Some(byte)) => to.push(*byte),
                _ => to.extend_from_slice(sign.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
    }
}

/// The 68 bytes that are not printable have the characters from U+0100 on.
const SPAN: usize = 256 + 68;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_signs_of_gpt2() {
        assert_eq!(signs(b" a\n\x00\x7f\xad\xff~"), "ĠaĊĀġŃÿ~");
        let all: std::collections::BTreeSet<char> = (0..=255).map(sign).collect();
        assert_eq!(all.len(), 256);
    }

    #[test]
    fn signs_stand_for_their_bytes_and_everything_else_for_itself() {
        let (all, mut read): (Vec<u8>, _) = ((0..=u8::MAX).collect(), Vec::new());
        Signs::new().read(&signs(&all), &mut read);
        assert_eq!(read, all);
        read.clear();
        Signs::new().read("Ġ\u{a0}东 <|x|>", &mut read);
        assert_eq!(read, " \u{a0}东 <|x|>".as_bytes());
    }
}
