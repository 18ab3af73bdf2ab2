//! How busy the client's threads were, and what kept them from their work.

use serde::Serialize;
use servemark_core::{ClientCost, RunLog};

use super::limits;

/// How busy the client's threads were, and what kept them from their work. Shares are of the
/// measurement's time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Machine {
    /// How long the measurement took.
    pub wall_s: f64,
    /// Each thread that sent and read.
    pub shards: Vec<ShardLoad>,
    /// What the hypervisor took of this machine's cores; absent where the system does not say.
    pub steal_share: Option<f64>,
    /// What the threads took of this machine's cores, all together.
    pub cores_share: f64,
    /// For how much of their time the threads waited for the writer of the run log.
    pub log_wait_share: f64,
}

/// How busy a thread was that sent and read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ShardLoad {
    /// It ran.
    pub cpu_share: f64,
    /// It could have run, and no core was free; absent where the system does not say.
    pub run_delay_share: Option<f64>,
    /// How often it was taken off its core though it had work to do, if anybody counted.
    pub involuntary_switches: Option<u64>,
}

impl ShardLoad {
    /// It ran or wanted to.
    pub fn busy_share(&self) -> f64 {
        self.cpu_share + self.run_delay_share.unwrap_or_default()
    }
}

impl Machine {
    /// Nothing is known of a run that was killed.
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

    /// Whether a thread had to wait for a core for longer than on an idle machine, if that is known.
    pub fn core_is_shared(&self) -> Option<bool> {
        self.longest_run_delay().map(|share| share >= limits::SHARED_CORE)
    }

    /// The largest share of the time for which a thread had to wait for a core, if that is known.
    pub fn longest_run_delay(&self) -> Option<f64> {
        self.shards.iter().filter_map(|shard| shard.run_delay_share).max_by(f64::total_cmp)
    }
}

/// Of one thread that nobody looked at more closely its CPU time is known.
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
