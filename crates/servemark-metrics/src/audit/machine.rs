//! Load of the client's threads, and their waits.

use serde::Serialize;
use servemark_core::{ClientCost, RunLog};

use super::limits;

/// Load of the client's threads, and their waits. Shares are of the measurement's time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Machine {
    /// Duration of the measurement in seconds.
    pub wall_s: f64,
    /// Load of each thread that sent and read.
    pub shards: Vec<ShardLoad>,
    /// Share of this machine's cores that the hypervisor took; absent where the system does not
    /// report it.
    pub steal_share: Option<f64>,
    /// Share of this machine's cores that all threads of the client took together.
    pub cores_share: f64,
    /// Share of their time that the threads waited for the writer of the run log.
    pub log_wait_share: f64,
}

/// Load of one thread that sent and read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ShardLoad {
    /// Share of the time in which the thread ran.
    pub cpu_share: f64,
    /// Share of the time in which the thread could have run but no core was free; absent where the
    /// system does not report it.
    pub run_delay_share: Option<f64>,
    /// Number of times that the thread was taken off its core although it had work to do; absent if
    /// it was not counted.
    pub involuntary_switches: Option<u64>,
}

impl ShardLoad {
    /// Returns the share of the time in which the thread ran or waited for a core.
    pub fn busy_share(&self) -> f64 {
        self.cpu_share + self.run_delay_share.unwrap_or_default()
    }
}

impl Machine {
    /// Returns the load of a run's threads; absent for a run that was killed.
    pub(super) fn of(log: &RunLog) -> Option<Self> {
        let cost = log.footer()?.client.as_ref().filter(|cost| cost.wall_ns > 0)?;
        let shards = shards(cost);
        let wall = cost.wall_ns as f64;
        let cores = log.header().host.cores.max(1) as f64;
        Some(Self {
            wall_s: wall / 1e9,
            steal_share: cost.steal_ns.map(|steal| steal as f64 / (wall * cores)),
            cores_share: cost.cpu_ns as f64 / (wall * cores),
            log_wait_share: cost.log_wait_ns as f64 / (wall * shards.len() as f64),
            shards,
        })
    }

    /// Returns whether a thread had to wait for a core longer than on an idle machine, if that is
    /// known.
    pub fn core_is_shared(&self) -> Option<bool> {
        self.longest_run_delay().map(|share| share >= limits::SHARED_CORE)
    }

    /// Returns the largest share of the time for which a thread waited for a core, if that is
    /// known.
    pub fn longest_run_delay(&self) -> Option<f64> {
        self.shards.iter().filter_map(|shard| shard.run_delay_share).max_by(f64::total_cmp)
    }
}

/// Returns the load of each thread. Without figures for each thread, one entry holds the CPU time
/// of the whole client.
fn shards(cost: &ClientCost) -> Vec<ShardLoad> {
    let share = |nanos: u64| nanos as f64 / cost.wall_ns as f64;
    if cost.shards.is_empty() {
        return vec![ShardLoad { cpu_share: share(cost.cpu_ns), ..ShardLoad::default() }];
    }
    let load = |shard: &servemark_core::ShardCost| ShardLoad {
        cpu_share: share(shard.cpu_ns),
        run_delay_share: shard.run_delay_ns.map(share),
        involuntary_switches: Some(shard.involuntary_switches),
    };
    cost.shards.iter().map(load).collect()
}
