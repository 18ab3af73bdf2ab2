//! Arrival processes turned into absolute schedules.
