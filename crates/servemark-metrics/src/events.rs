//! Which pieces of an answer a policy counts as output.

use servemark_core::{DeltaKind, DeltaRows, PieceCountsIter, RequestRecord, Retokenized, Stamp};

use crate::policy::{ItlRule, OutputEvents};

/// The pieces of an answer that a policy counts.
#[derive(Clone, Debug)]
pub(crate) struct Events<'a> {
    rows: DeltaRows<'a>,
    pieces: PieceCountsIter<'a>,
    rule: OutputEvents,
    text_seen: bool,
}

/// A piece of output that a policy counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) at: Stamp,
    wire: Option<u32>,
    piece: Option<u32>,
}

impl<'a> Events<'a> {
    pub(crate) fn of(
        record: &'a RequestRecord,
        counted: Option<&'a Retokenized>,
        rule: OutputEvents,
    ) -> Self {
        let pieces = counted.map(|counted| counted.pieces.iter()).unwrap_or_default();
        Self { rows: record.deltas.rows(), pieces, rule, text_seen: false }
    }
}

impl Iterator for Events<'_> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        loop {
            let row = self.rows.next()?;
            let piece = self.pieces.next();
            let is_text = row.bytes > 0 && row.kind != DeltaKind::ToolCall;
            self.text_seen |= is_text;
            let counts = match self.rule {
                OutputEvents::Any => row.bytes > 0 || row.tokens.is_some_and(|tokens| tokens > 0),
                OutputEvents::SinceFirstText => self.text_seen,
                OutputEvents::Text => is_text,
            };
            if counts {
                return Some(Event { at: row.at, wire: row.tokens, piece });
            }
        }
    }
}

impl Event {
    /// How many tokens it is by a rule that splits gaps.
    pub(crate) fn tokens(&self, rule: ItlRule) -> usize {
        let counted = match rule {
            ItlRule::PerEvent => None,
            ItlRule::PerToken => self.wire.or(self.piece),
            ItlRule::SplitByPieces => self.piece,
            ItlRule::SplitByWire => self.wire,
        };
        counted.map_or(1, |tokens| (tokens as usize).min(MOST_TOKENS_IN_A_PIECE))
    }
}

/// No engine decodes as many in one step; a server that claims more must not cost our time.
const MOST_TOKENS_IN_A_PIECE: usize = 65_536;
