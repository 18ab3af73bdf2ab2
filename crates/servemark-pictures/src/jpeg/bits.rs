//! Bit stream of variable-length codes.

use super::tables::Codes;

/// Code and code length of each symbol.
pub(super) struct Book([(u16, u8); 256]);

impl Book {
    /// Assigns codes in ascending order within each length; longer codes follow the shorter ones.
    pub(super) fn of(codes: &Codes) -> Self {
        let mut book = [(0, 0); 256];
        let (mut code, mut symbols) = (0, codes.symbols.iter());
        for (length, count) in (1..).zip(codes.lengths) {
            for symbol in symbols.by_ref().take(count.into()) {
                book[usize::from(*symbol)] = (code, length);
                code += 1;
            }
            code <<= 1;
        }
        Self(book)
    }
}

/// Bytes that are being filled with codes.
#[derive(Default)]
pub(super) struct Bits {
    bytes: Vec<u8>,
    /// Bits that do not fill a byte yet; the newest bit is the lowest.
    waiting: u64,
    count: u32,
}

impl Bits {
    /// Appends a symbol's code and then `size` bits of `value`.
    pub(super) fn push(&mut self, book: &Book, symbol: u8, value: u32, size: u32) {
        let (code, length) = book.0[usize::from(symbol)];
        self.append(code.into(), length.into());
        self.append(value, size);
    }

    fn append(&mut self, bits: u32, count: u32) {
        self.waiting = self.waiting << count | u64::from(bits);
        self.count += count;
        while self.count >= 8 {
            self.count -= 8;
            self.byte((self.waiting >> self.count) as u8);
        }
    }

    /// Appends a byte. The byte 0xff is followed by a zero, so that no reader takes it for a
    /// marker.
    fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
        if byte == 0xff {
            self.bytes.push(0);
        }
    }

    /// Returns the bytes, with the last one padded with ones.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.append(0x7f, 7);
        self.bytes
    }
}
