//! The load generator: pacing, the concurrency gate, phases and stop rules.
