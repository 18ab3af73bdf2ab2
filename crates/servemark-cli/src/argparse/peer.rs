//! The flags of a peer's command in the peer's order.

use super::HELP;

/// The long flags of a peer's command in its order, which messages about abbreviations show. Each
/// list is made of a recording of the peer's parser, one flag a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerFlags(&'static str);

impl PeerFlags {
    pub(crate) const fn recorded(lines: &'static str) -> Self {
        Self(lines)
    }

    /// Returns the names with their dashes. `--help` is the first, as in every parser of argparse.
    pub(crate) fn names(self) -> Vec<&'static str> {
        std::iter::once(HELP.name()).chain(self.0.lines()).collect()
    }
}
