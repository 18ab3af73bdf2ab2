//! Parts of a body.

/// The next part of a body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Piece<'a> {
    /// Bytes of the body.
    Data(&'a [u8]),
    /// All input is used up; the body has more.
    More,
    /// The end of the body; the rest of the input does not belong to it.
    End,
}

/// Takes at most `left` bytes off the input; `None` if `left` is zero.
pub(crate) fn take<'a>(left: &mut u64, input: &mut &'a [u8]) -> Option<Piece<'a>> {
    if *left == 0 {
        return None;
    }
    if input.is_empty() {
        return Some(Piece::More);
    }
    let length = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
    let (data, rest) = input.split_at(length);
    *input = rest;
    *left -= length as u64;
    Some(Piece::Data(data))
}
