//! Readings of real servers' texts, and the sampler against servers that behave and misbehave.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod recorded;
mod sampling;
