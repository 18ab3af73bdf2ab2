//! Which pieces of an answer a policy counts as output.

mod piece_tokens;

use servemark_core::{DeltaKind, DeltaRows, PieceCountsIter, RequestRecord, Retokenized, Stamp};

use self::piece_tokens::PieceTokens;
use crate::policy::{ItlRule, OutputEvents};

/// The pieces of an answer that a policy counts.
#[derive(Clone, Debug)]
pub(crate) struct Events<'a> {
    rows: DeltaRows<'a>,
    /// Tokens of each piece, tokenized alone.
    pieces: PieceCountsIter<'a>,
    /// Tokens of each piece within the whole text.
    tokens: PieceTokens<'a>,
    rule: OutputEvents,
    text_seen: bool,
    /// One without output that comes before them.
    before: Option<Stamp>,
    /// Those without output that come after them, and when.
    after: (u32, Stamp),
}

/// More events without output than any server sends: a foreign log may hold any number, and each of
/// them is walked through.
const MOST_SILENT: u32 = 1 << 20;

/// A piece of output that a policy counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) at: Stamp,
    wire: Option<u32>,
    piece: Option<u32>,
    token: Option<u32>,
}

impl<'a> Events<'a> {
    pub(crate) fn of(
        record: &'a RequestRecord,
        counted: Option<&'a Retokenized>,
        rule: OutputEvents,
    ) -> Self {
        let pieces = counted.map(|counted| counted.pieces.iter()).unwrap_or_default();
        let is_every = rule == OutputEvents::Every && !record.is_document;
        let silent = if is_every { record.silent_events.min(MOST_SILENT) } else { 0 };
        Self {
            rows: record.deltas.rows(),
            pieces,
            tokens: PieceTokens::of(record, counted),
            rule,
            text_seen: false,
            before: record.first_byte.filter(|_| is_every).filter(|at| is_first(*at, record)),
            after: (silent, record.ended),
        }
    }

    /// The next one that has no output and comes after all that have.
    fn silent(&mut self) -> Option<Event> {
        let (left, at) = &mut self.after;
        *left = left.checked_sub(1)?;
        Some(Event::silent(*at))
    }
}

impl Iterator for Events<'_> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        if let Some(at) = self.before.take() {
            return Some(Event::silent(at));
        }
        loop {
            let Some(row) = self.rows.next() else { return self.silent() };
            let (piece, token) = (self.pieces.next(), self.tokens.next());
            let is_text = row.bytes > 0 && row.kind != DeltaKind::ToolCall;
            self.text_seen |= is_text;
            let counts = match self.rule {
                OutputEvents::Any => row.bytes > 0 || row.tokens.is_some_and(|tokens| tokens > 0),
                OutputEvents::Every => true,
                OutputEvents::SinceFirstText => self.text_seen,
                OutputEvents::Text => is_text,
            };
            if counts {
                return Some(Event { at: row.at, wire: row.tokens, piece, token });
            }
        }
    }
}

impl Event {
    fn silent(at: Stamp) -> Self {
        Self { at, wire: None, piece: None, token: None }
    }

    /// How many tokens it is by a rule that splits gaps.
    pub(crate) fn tokens(&self, rule: ItlRule) -> usize {
        let counted = match rule {
            ItlRule::PerEvent => None,
            ItlRule::PerToken => self.wire.or(self.token),
            ItlRule::SplitByPieces => self.piece,
            ItlRule::SplitByWire => self.wire,
        };
        counted.map_or(1, |tokens| (tokens as usize).min(MOST_TOKENS_IN_A_PIECE))
    }
}

/// Whether something arrived before the first piece.
fn is_first(at: Stamp, record: &RequestRecord) -> bool {
    record.deltas.first_at().is_none_or(|first| at < first)
}

/// No engine decodes as many in one step; a server that claims more must not cost our time.
const MOST_TOKENS_IN_A_PIECE: usize = 65_536;
