//! Isolation of the points of a sweep.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Point;

/// Isolation of the points of a sweep, so that none finds in the server's prefix cache what an
/// earlier one left there.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Isolation {
    /// Whether each point draws with a seed of its own: the plan's seed plus the zero-based index
    /// of the point, or of the round in an A/B comparison. A sweep along the seed itself keeps its
    /// seeds.
    pub own_seed: bool,
    /// Whether the prompts of each point begin with a few letters that are unique to the point.
    pub prompt_salt: bool,
    /// Pause between two points.
    #[serde(with = "servemark_core::seconds")]
    pub cool_down: Duration,
}

impl Default for Isolation {
    fn default() -> Self {
        Self { own_seed: true, prompt_salt: true, cool_down: Duration::ZERO }
    }
}

impl Isolation {
    /// Returns no isolation: plans are run as they are, one right after the other.
    pub fn none() -> Self {
        Self { own_seed: false, prompt_salt: false, cool_down: Duration::ZERO }
    }

    /// Sets the pause between two points.
    #[must_use]
    pub fn with_cool_down(self, cool_down: Duration) -> Self {
        Self { cool_down, ..self }
    }

    pub(crate) fn set_apart(&self, index: u32, nonce: u64, point: &mut Point) {
        self.set_apart_in_rounds(index, index, nonce, point);
    }

    /// Isolates the run with number `index` from the others: all runs of a round share a seed, and
    /// each run has a prompt prefix of its own.
    pub(crate) fn set_apart_in_rounds(
        &self,
        round: u32,
        index: u32,
        nonce: u64,
        point: &mut Point,
    ) {
        let sweeps_seeds = point.settings.iter().any(|(key, _)| key.ends_with("seed"));
        let workload = &mut point.plan.workload;
        if self.own_seed && !sweeps_seeds {
            workload.seed = workload.seed.wrapping_add(round);
        }
        if self.prompt_salt {
            workload.prompt_salt = Some(prompt_prefix(nonce, index));
        }
    }
}

/// Returns eight hexadecimal digits that are unlikely to occur at another point or in another
/// sweep: the mixing function of `SplitMix64`, applied to a step of a Weyl sequence.
fn prompt_prefix(nonce: u64, index: u32) -> String {
    let mut bits = nonce.wrapping_add(u64::from(index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    format!("{:08x}", (bits ^ (bits >> 31)) >> 32)
}
