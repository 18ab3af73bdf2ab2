//! Effects of other processes on a run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::proc;

/// Effects of other processes on a run. They are printed beside every figure; no run is left out
/// because of them.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Noise {
    /// Milliseconds in which the reader was ready to run and waited for a core.
    pub waited_ms: f64,
    /// Milliseconds in which the server was ready to run and waited for a core.
    pub server_waited_ms: f64,
    /// Number of involuntary context switches of the reader.
    pub switches: u64,
    /// Steal time in milliseconds: core time that the hypervisor gave to others.
    pub stolen_ms: f64,
    /// Number of segments that TCP retransmitted, on all connections. On one machine a segment is
    /// lost only if a queue of the kernel overflows, and its reader then waits for a fifth of a
    /// second or more.
    #[serde(default)]
    pub resent: u64,
}

/// Measures the noise of this process and of the machine.
#[derive(Debug)]
pub(super) struct NoiseMeter {
    waited: Duration,
    switches: u64,
    stolen: Duration,
    resent: u64,
}

impl NoiseMeter {
    pub(super) fn start() -> Self {
        Self {
            waited: proc::waited(SELF),
            switches: proc::switches(SELF),
            stolen: proc::steal_time(),
            resent: proc::resent(),
        }
    }

    /// Returns the noise since the start; `server_waited` is the server's part.
    pub(super) fn stop(self, server_waited: Duration) -> Noise {
        Noise {
            waited_ms: millis(proc::waited(SELF).saturating_sub(self.waited)),
            server_waited_ms: millis(server_waited),
            switches: proc::switches(SELF).saturating_sub(self.switches),
            stolen_ms: millis(proc::steal_time().saturating_sub(self.stolen)),
            resent: proc::resent().saturating_sub(self.resent),
        }
    }
}

pub(super) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

const SELF: &str = "self";
