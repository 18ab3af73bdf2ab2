//! Search procedures: which value to try next, from what is known of the others.
//!
//! A procedure is a function of its answers. It asks a closure for what it needs to know of a
//! value. The closure may run a probe, or look up a finished one and return an error that names the
//! missing value; once that value is known, the procedure is run again and continues past it. So a
//! search that was killed resumes from its finished probes alone.

mod bracket;
mod error;
mod largest;
mod peak;
mod range;
mod spec;

pub use self::bracket::{LoadBracket, LoadOutcome};
pub use self::error::SearchError;
pub use self::largest::{Bracket, largest};
pub use self::peak::peak;
pub use self::range::{Grain, SearchRange};
pub use self::spec::{Effort, SloSearchSpec, SloTier};

#[cfg(test)]
mod tests;
