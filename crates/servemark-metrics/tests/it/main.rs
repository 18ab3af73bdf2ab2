//! Whole runs: against what SGLang 0.5.23 made of them, and by our own definitions.

mod golden;
mod peer;
mod policies;
