//! What the client itself costs.

use std::time::Duration;

use servemark_core::{ClientCost, Clock, Stamp};
use servemark_pacer::thread_cpu_time;

/// Measures the CPU time of the thread it is used on. The runner keeps all of its work on one
/// thread, so this is the client's whole cost but for the writing of the run log.
#[derive(Debug)]
pub struct CostMeter {
    cpu: Duration,
    wall: Stamp,
}

impl CostMeter {
    /// Starts to measure the calling thread.
    pub fn start(clock: &dyn Clock) -> Self {
        Self { cpu: thread_cpu_time(), wall: clock.now() }
    }

    /// What the calling thread used since the start, if it is the thread that started.
    pub fn stop(self, clock: &dyn Clock) -> ClientCost {
        let cpu = thread_cpu_time().saturating_sub(self.cpu);
        ClientCost::new(nanos(cpu), nanos(clock.now().since(self.wall)))
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
