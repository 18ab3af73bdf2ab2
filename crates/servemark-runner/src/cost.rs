//! Measures the resources that the client itself uses and waits for.

use std::fs;
use std::time::Duration;

use servemark_core::{ClientCost, Clock, ShardCost, Stamp};
use servemark_pacer::thread_cpu_time;

/// Measures the CPU cost of sending and reading on the current thread. The run log is written and
/// requests are prepared on other threads, which do not count.
#[derive(Debug)]
pub struct CostMeter {
    run: RunMeter,
    thread: ThreadMeter,
}

impl CostMeter {
    /// Starts to measure the calling thread.
    pub fn start(clock: &dyn Clock) -> Self {
        Self { run: RunMeter::start(clock), thread: ThreadMeter::start() }
    }

    /// Returns what the thread used since the start. It must be called on the thread that started.
    pub fn stop(self, clock: &dyn Clock) -> ClientCost {
        let shard = self.thread.stop();
        self.run.stop(clock, vec![shard])
    }
}

/// Measures the machine's steal time since the start of a run.
#[derive(Debug, Default)]
pub(crate) struct RunMeter {
    since: Stamp,
    stolen: Option<Duration>,
}

impl RunMeter {
    pub(crate) fn start(clock: &dyn Clock) -> Self {
        Self { since: clock.now(), stolen: steal_time() }
    }

    /// Returns the cost of a run from the costs of its threads.
    pub(crate) fn stop(self, clock: &dyn Clock, shards: Vec<ShardCost>) -> ClientCost {
        let cpu_ns = shards.iter().map(|shard| shard.cpu_ns).sum();
        let mut cost = ClientCost::new(cpu_ns, nanos(clock.now().since(self.since)));
        cost.shards = shards;
        cost.steal_ns = since(self.stolen, steal_time()).map(nanos);
        cost
    }
}

/// Measures the calling thread.
#[derive(Debug)]
pub(crate) struct ThreadMeter {
    cpu: Duration,
    switches: Option<u64>,
    delay: Option<Duration>,
}

impl ThreadMeter {
    pub(crate) fn start() -> Self {
        Self { cpu: thread_cpu_time(), switches: switches(), delay: run_delay() }
    }

    pub(crate) fn stop(self) -> ShardCost {
        let mut cost = ShardCost::default();
        cost.cpu_ns = nanos(thread_cpu_time().saturating_sub(self.cpu));
        cost.involuntary_switches =
            switches().unwrap_or(0).saturating_sub(self.switches.unwrap_or(0));
        cost.run_delay_ns = since(self.delay, run_delay()).map(nanos);
        cost
    }
}

/// Returns the number of involuntary context switches of the calling thread. Only Linux reports it
/// per thread.
fn switches() -> Option<u64> {
    switches_in(&fs::read_to_string("/proc/thread-self/status").ok()?)
}

fn switches_in(status: &str) -> Option<u64> {
    status
        .lines()
        .find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))?
        .trim()
        .parse()
        .ok()
}

/// Returns how long the calling thread was ready to run while no core was free.
fn run_delay() -> Option<Duration> {
    run_delay_in(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// Reads the second number of the file: time on a core, time waiting for a core, number of time
/// slices.
fn run_delay_in(schedstat: &str) -> Option<Duration> {
    Some(Duration::from_nanos(schedstat.split_whitespace().nth(1)?.parse().ok()?))
}

/// Returns the machine's steal time: core time that the hypervisor gave to others.
#[cfg(target_os = "linux")]
fn steal_time() -> Option<Duration> {
    let ticks = stolen_ticks_in(&fs::read_to_string("/proc/stat").ok()?)?;
    Some(Duration::from_secs_f64(ticks as f64 / rustix::param::clock_ticks_per_second() as f64))
}

/// Returns `None`: only Linux reports it.
#[cfg(not(target_os = "linux"))]
fn steal_time() -> Option<Duration> {
    None
}

/// Reads the eighth number of the line for all cores: user, nice, system, idle, iowait, irq,
/// softirq, steal.
#[cfg(any(test, target_os = "linux"))]
fn stolen_ticks_in(stat: &str) -> Option<u64> {
    let all_cores = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    all_cores.split_whitespace().nth(7)?.parse().ok()
}

fn since(before: Option<Duration>, after: Option<Duration>) -> Option<Duration> {
    Some(after?.saturating_sub(before?))
}

pub(crate) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_files_are_read_where_they_say_it() {
        let status = "Threads:\t3\nvoluntary_ctxt_switches:\t15\nnonvoluntary_ctxt_switches:\t7\n";
        assert_eq!(switches_in(status), Some(7));
        assert_eq!(run_delay_in("1000 250 12\n"), Some(Duration::from_nanos(250)));
        let stat = "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 80 9 10\n";
        assert_eq!(stolen_ticks_in(stat), Some(8));
    }

    #[test]
    fn what_they_do_not_say_is_absent() {
        assert_eq!(
            (switches_in(""), run_delay_in("7"), stolen_ticks_in("cpu  1 2")),
            (None, None, None)
        );
        assert_eq!(since(None, Some(Duration::ZERO)), None);
    }
}
