//! What the client itself costs.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use servemark_core::{ClientCost, Clock, Stamp};

/// Measures the CPU time of the thread it is used on. The runner keeps all of its work on one
/// thread, so this is the client's whole cost but for the writing of the run log.
#[derive(Debug)]
pub struct CostMeter {
    cpu_ns: u64,
    wall: Stamp,
}

impl CostMeter {
    /// Starts to measure the calling thread.
    pub fn start(clock: &dyn Clock) -> Self {
        Self { cpu_ns: thread_cpu_ns(), wall: clock.now() }
    }

    /// What the calling thread used since the start, if it is the thread that started.
    pub fn stop(self, clock: &dyn Clock) -> ClientCost {
        let wall = clock.now().since(self.wall).as_nanos();
        let cpu_ns = thread_cpu_ns().saturating_sub(self.cpu_ns);
        ClientCost::new(cpu_ns, u64::try_from(wall).unwrap_or(u64::MAX))
    }
}

fn thread_cpu_ns() -> u64 {
    let cpu = Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default();
    u64::try_from(cpu.as_nanos()).unwrap_or(u64::MAX)
}
