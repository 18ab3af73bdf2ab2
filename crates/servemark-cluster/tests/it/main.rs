//! Whole runs of several ranks against one simulator.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod faults;
mod group;
mod runs;
