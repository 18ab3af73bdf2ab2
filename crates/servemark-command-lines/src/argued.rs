//! Intended differences from a peer.

use crate::{Difference, Line};

/// A kind of intended difference. `docs/compat/` gives its reason under this name.
#[derive(Clone, Copy, Debug)]
pub struct Argued {
    /// Name of the kind.
    pub kind: &'static str,
    /// Returns whether a difference between the peer's run and Servemark's is of this kind.
    pub is: fn(&Line, &Line, &Difference) -> bool,
}
