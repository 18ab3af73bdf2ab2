//! Numbers of tokens of the pieces of an answer that the wire did not count.

use servemark_core::{PieceCountsIter, RequestRecord, Retokenized};

/// Iterator over the number of tokens of each piece within the whole text, one item per piece of
/// the record. It is empty if the numbers are not known.
#[derive(Clone, Debug, Default)]
pub(super) enum PieceTokens<'a> {
    /// Each piece with text is one token: the number of such pieces equals the server's token
    /// count.
    OneEach,
    /// Tokens that were assigned to pieces by their offsets in the whole text.
    Placed(PieceCountsIter<'a>),
    /// Counts of pieces that were tokenized alone, scaled to the count of the whole text.
    Scaled(Scaled<'a>),
    #[default]
    Unknown,
}

impl<'a> PieceTokens<'a> {
    pub(super) fn of(record: &RequestRecord, counted: Option<&'a Retokenized>) -> Self {
        let Some(counted) = counted.filter(|counted| !counted.pieces.is_empty()) else {
            return Self::Unknown;
        };
        if is_one_token_each(record) {
            return Self::OneEach;
        }
        if !counted.placed.is_empty() {
            return Self::Placed(counted.placed.iter());
        }
        Self::Scaled(Scaled::of(counted))
    }
}

impl Iterator for PieceTokens<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        match self {
            Self::OneEach => Some(1),
            Self::Placed(counts) => counts.next(),
            Self::Scaled(scaled) => scaled.next(),
            Self::Unknown => None,
        }
    }
}

/// Returns whether the server's token count equals the number of pieces with text.
fn is_one_token_each(record: &RequestRecord) -> bool {
    let reported = record.usage.and_then(|usage| usage.completion_tokens);
    let pieces = || record.deltas.rows().filter(|row| row.bytes > 0).count();
    reported.is_some_and(|reported| reported > 0 && pieces() == reported as usize)
}

/// Counts whose sum is scaled to `tokens`. The cumulative counts are rounded, so that no token is
/// lost or added. Scaling is needed because a tokenizer that puts a mark before every text counts
/// too many tokens in pieces.
#[derive(Clone, Debug)]
pub(super) struct Scaled<'a> {
    counts: PieceCountsIter<'a>,
    /// Sum of all counts.
    all: u64,
    tokens: u64,
    /// Sum of the counts returned so far.
    observed: u64,
}

impl<'a> Scaled<'a> {
    fn of(counted: &'a Retokenized) -> Self {
        let counts = counted.pieces.iter();
        let all = counts.clone().map(u64::from).sum();
        // A run may tokenize pieces without counting the whole text.
        let tokens = if counted.tokens == 0 { all } else { counted.tokens.into() };
        Self { counts, all, tokens, observed: 0 }
    }

    /// Returns the scaled number of tokens at which the counts add up to `observed`.
    fn tokens_up_to(&self, observed: u64) -> u64 {
        let product = u128::from(observed) * u128::from(self.tokens);
        let rounded = (product + u128::from(self.all) / 2) / u128::from(self.all.max(1));
        u64::try_from(rounded).unwrap_or(u64::MAX)
    }
}

impl Iterator for Scaled<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let count = self.counts.next()?;
        let before = self.tokens_up_to(self.observed);
        self.observed += u64::from(count);
        u32::try_from(self.tokens_up_to(self.observed) - before).ok()
    }
}
