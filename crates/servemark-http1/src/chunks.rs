//! The chunked coding: lengths, data, extensions and trailers.

use crate::Malformed;
use crate::piece::{Piece, take};

/// A body in chunks that is being read.
#[derive(Clone, Debug)]
pub(crate) struct Chunks {
    step: Step,
}

/// What is to be read next, byte by byte except for data.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    /// The first digit of a chunk's length.
    Length,
    /// Another digit, or the end of the length; with the length so far.
    Digits(u64),
    /// White space after the length; with the length.
    Blank(u64),
    /// An extension of the chunk; with the chunk's length and the extension's length so far.
    Extension(u64, u16),
    /// The line feed that ends the line of the length; with the length.
    LengthLf(u64),
    /// Data of the chunk; with the number of bytes left.
    Data(u64),
    /// The carriage return after the data.
    DataCr,
    /// The line feed after the data.
    DataLf,
    /// A trailer, or the end of the body; with the length of all trailers so far.
    Line(u16),
    /// The rest of a trailer; with the length of all trailers so far.
    Trailer(u16),
    /// The line feed that ends a trailer; with the length of all trailers so far.
    TrailerLf(u16),
    /// The last line feed of the body.
    LastLf,
    /// The body is over.
    Over,
}

use Step::{
    Blank, Data, DataCr, DataLf, Digits, Extension, LastLf, Length, LengthLf, Line, Over, Trailer,
    TrailerLf,
};

impl Default for Chunks {
    fn default() -> Self {
        Self { step: Length }
    }
}

impl Chunks {
    pub(crate) fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Piece<'a>, Malformed> {
        loop {
            if let Data(left) = &mut self.step {
                if let Some(piece) = take(left, input) {
                    return Ok(piece);
                }
                self.step = DataCr;
            }
            if self.are_over() {
                return Ok(Piece::End);
            }
            let Some((&byte, rest)) = input.split_first() else { return Ok(Piece::More) };
            self.step = self.step.after(byte)?;
            *input = rest;
        }
    }

    pub(crate) fn are_over(&self) -> bool {
        self.step == Over
    }
}

impl Step {
    fn after(self, byte: u8) -> Result<Self, Malformed> {
        match self {
            Length => digit(0, byte),
            Digits(length) if byte.is_ascii_hexdigit() => digit(length, byte),
            Digits(length) | Blank(length) => after_length(length, byte),
            Extension(length, _) if byte == b'\r' => Ok(LengthLf(length)),
            Extension(length, so_far) if byte != b'\n' => {
                Ok(Extension(length, longer(so_far, "an extension of a chunk does not end")?))
            }
            LengthLf(0) if byte == b'\n' => Ok(Line(0)),
            LengthLf(length) if byte == b'\n' => Ok(Data(length)),
            DataCr if byte == b'\r' => Ok(DataLf),
            DataLf if byte == b'\n' => Ok(Length),
            Line(_) if byte == b'\r' => Ok(LastLf),
            Trailer(so_far) if byte == b'\r' => Ok(TrailerLf(so_far)),
            Line(so_far) | Trailer(so_far) => {
                Ok(Trailer(longer(so_far, "the trailers do not end")?))
            }
            TrailerLf(so_far) if byte == b'\n' => Ok(Line(so_far)),
            LastLf if byte == b'\n' => Ok(Over),
            _ => Err(Malformed::new("a chunk does not end where its length says")),
        }
    }
}

fn digit(length: u64, byte: u8) -> Result<Step, Malformed> {
    let bad = Malformed::new("a chunk has no valid length");
    let digit = char::from(byte).to_digit(16).ok_or(bad)?;
    let length = length.checked_mul(16).ok_or(bad)?;
    Ok(Digits(length + u64::from(digit)))
}

fn after_length(length: u64, byte: u8) -> Result<Step, Malformed> {
    match byte {
        b' ' | b'\t' => Ok(Blank(length)),
        b';' => Ok(Extension(length, 0)),
        b'\r' => Ok(LengthLf(length)),
        _ => Err(Malformed::new("a chunk has no valid length")),
    }
}

fn longer(so_far: u16, reason: &'static str) -> Result<u16, Malformed> {
    let longer = so_far + 1;
    if longer < LONGEST { Ok(longer) } else { Err(Malformed::new(reason)) }
}

/// Maximum length of an extension, and of all trailers together. Their content is not used.
const LONGEST: u16 = 16 << 10;
