//! The runner under a paused clock: every stamp is exact.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod backlog;
mod fleet;
mod head_start;
mod look_ahead;
mod retries;
mod runs;
mod sessions;
mod world;
