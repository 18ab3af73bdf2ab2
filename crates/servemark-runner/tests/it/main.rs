//! The runner under a paused clock: every stamp is exact.

mod runs;
mod sessions;
mod world;
