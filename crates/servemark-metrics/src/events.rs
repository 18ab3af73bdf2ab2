//! Selects the pieces of an answer that a policy counts as output.

mod piece_tokens;

use servemark_core::{DeltaKind, DeltaRows, PieceCountsIter, RequestRecord, Retokenized, Stamp};

use self::piece_tokens::PieceTokens;
use crate::policy::{ItlRule, OutputEvents};

/// Iterator over the pieces of an answer that a policy counts.
#[derive(Clone, Debug)]
pub(crate) struct Events<'a> {
    rows: DeltaRows<'a>,
    /// Number of tokens of each piece when tokenized alone.
    pieces: PieceCountsIter<'a>,
    /// Number of tokens of each piece within the whole text.
    tokens: PieceTokens<'a>,
    rule: OutputEvents,
    has_text: bool,
    /// Event without output before all pieces.
    before: Option<Stamp>,
    /// Number of events without output after all pieces, and their stamp.
    after: (u32, Stamp),
}

/// Largest number of events without output that is counted. No server sends more; a log from
/// elsewhere may hold any number, and each event costs time.
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
            has_text: false,
            before: record.first_byte.filter(|_| is_every).filter(|at| is_first(*at, record)),
            after: (silent, record.ended),
        }
    }

    /// Returns the next event without output that comes after all pieces.
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
            self.has_text |= is_text;
            let counts = match self.rule {
                OutputEvents::Any => row.bytes > 0 || row.tokens.is_some_and(|tokens| tokens > 0),
                OutputEvents::Every => true,
                OutputEvents::SinceFirstText => self.has_text,
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

    /// Returns the number of tokens of the event under a rule that splits gaps.
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

/// Returns whether the stamp is before the first piece.
fn is_first(at: Stamp, record: &RequestRecord) -> bool {
    record.deltas.first_at().is_none_or(|first| at < first)
}

/// Largest number of tokens that one piece counts for. No engine decodes as many in one step; a
/// server that claims more must not cost computing time.
const MOST_TOKENS_IN_A_PIECE: usize = 65_536;
