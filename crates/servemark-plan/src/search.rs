//! Searches: which value to try next, from what was found of the others.
//!
//! A procedure is a function of its answers. It asks a closure for what it needs to know of a value,
//! and the closure may run a probe, or look into what is known already and return an error that
//! names the value: then the procedure is run again once that value is known, and gets as far. So a
//! search that was killed goes on where it was, from nothing but its finished probes.

mod bracket;
mod error;
mod largest;
mod peak;
mod range;
mod spec;

pub use self::bracket::{LoadBracket, LoadStanding};
pub use self::error::SearchError;
pub use self::largest::{Bracket, largest};
pub use self::peak::peak;
pub use self::range::{Grain, SearchRange};
pub use self::spec::{Effort, SloSearchSpec, SloTier};

#[cfg(test)]
mod tests;
