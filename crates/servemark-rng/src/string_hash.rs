//! `CPython`'s `hash` of a string, without a random key.

/// Returns `hash(text)` of `CPython` 3.11 under `PYTHONHASHSEED=0`: `SipHash-1-3` with a key of
/// zeros.
///
/// Without that setting every process has a key of its own. `None` for a text that is not ASCII,
/// whose hash depends on `CPython`'s internal representation.
///
/// ```
/// assert_eq!(servemark_rng::string_hash("1000:16"), Some(0xfd58_a9ad_b149_f8fc));
/// ```
pub fn string_hash(text: &str) -> Option<u64> {
    match text.is_ascii().then_some(text.as_bytes())? {
        [] => Some(0),
        bytes => Some(match sip_hash(bytes) {
            // CPython uses -1 to report that hashing failed.
            u64::MAX => u64::MAX - 1,
            hash => hash,
        }),
    }
}

fn sip_hash(bytes: &[u8]) -> u64 {
    let mut state = INITIAL;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        absorb(&mut state, u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    last[7] = bytes.len() as u8;
    absorb(&mut state, u64::from_le_bytes(last));
    state[2] ^= 0xff;
    (0..3).for_each(|_| round(&mut state));
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

fn absorb(state: &mut [u64; 4], word: u64) {
    state[3] ^= word;
    round(state);
    state[0] ^= word;
}

fn round([a, b, c, d]: &mut [u64; 4]) {
    *a = a.wrapping_add(*b);
    *c = c.wrapping_add(*d);
    *b = b.rotate_left(13) ^ *a;
    *d = d.rotate_left(16) ^ *c;
    *a = a.rotate_left(32);
    *c = c.wrapping_add(*b);
    *a = a.wrapping_add(*d);
    *b = b.rotate_left(17) ^ *c;
    *d = d.rotate_left(21) ^ *a;
    *c = c.rotate_left(32);
}

/// The constants of `SipHash` with a key of zeros.
const INITIAL: [u64; 4] =
    [0x736f_6d65_7073_6575, 0x646f_7261_6e64_6f6d, 0x6c79_6765_6e65_7261, 0x7465_6462_7974_6573];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: u64) {
        assert_eq!(string_hash(text), Some(expected), "{text:?}");
    }

    #[test]
    fn hashes_are_those_of_cpython() {
        check("", 0);
        check("a", 0x4074_48d2_b89b_1813);
        check("7:3", 0x6a2c_3c2c_f195_6d79);
        check("abcdefgh", 0x3f7b_849c_0b8e_35ea);
        check("abcdefghi", 0xf89b_34a3_d11e_b6e5);
        check("123456789:512", 0xec6e_301d_23fb_8202);
    }

    #[test]
    fn a_text_that_is_not_ascii_has_none() {
        assert_eq!(string_hash("é"), None);
    }
}
