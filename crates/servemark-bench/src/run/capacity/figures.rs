//! Capacity figures of a machine as a client.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Client capacity of one core of a machine.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Figures {
    /// Output chunks per second, if each chunk arrives by itself.
    pub chunks_per_second: f64,
    /// Requests per second, if each is answered with a single token.
    pub requests_per_second: f64,
}

impl Figures {
    /// Capacity assumed for a machine that was not measured: a core of a small virtual machine
    /// takes 5 us for a chunk, 1.5 us of which are for a network card's interrupts, and 20 us for
    /// a request.
    pub const ASSUMED: Self = Self::new(200_000.0, 50_000.0);

    /// Creates figures from chunks per second and requests per second.
    pub const fn new(chunks_per_second: f64, requests_per_second: f64) -> Self {
        Self { chunks_per_second, requests_per_second }
    }

    /// Returns whether both figures are positive normal numbers.
    pub(in crate::run) fn are_usable(&self) -> bool {
        [self.chunks_per_second, self.requests_per_second]
            .iter()
            .all(|figure| figure.is_normal() && *figure > 0.0)
    }
}

/// Origin of a machine's capacity figures.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FiguresSource {
    /// Default for a machine that was not measured.
    Assumed,
    /// Measured by `servemark selftest`; the value is the age of the measurement.
    Measured(Duration),
}
