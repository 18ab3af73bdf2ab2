//! The machine: what it is, and which core does what.

use std::fs;

use anyhow::Context;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};

use super::proc;

/// The machine that measured.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Machine {
    /// The model of its processor.
    pub cpu: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// Its kernel.
    pub kernel: String,
    /// The mask of the cores to which its loopback device hands what it receives, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loopback_mask: Option<String>,
}

impl Machine {
    /// Looks at this machine. Call it before anything is pinned.
    pub fn describe() -> Self {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let kernel = format!("Linux {}", release.trim());
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let cpu = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let cpu = cpu.map_or("unknown", |(_, name)| name).to_owned();
        Self { cpu, cores: allowed().len(), kernel, loopback_mask: proc::loopback_mask() }
    }
}

/// A core for the server and another for whoever reads.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Cores {
    /// The server's.
    pub server: usize,
    /// The reader's.
    pub reader: usize,
}

impl Cores {
    /// The first two cores that this process may use; none if there is only one.
    pub fn pick() -> Option<Self> {
        match allowed()[..] {
            [server, reader, ..] => Some(Self { server, reader }),
            _ => None,
        }
    }
}

/// Keeps the calling thread, and those it starts from now on, on one core.
pub(crate) fn pin(core: usize) -> anyhow::Result<()> {
    pin_to(&[core])
}

/// The same for any of several cores.
pub(crate) fn pin_to(cores: &[usize]) -> anyhow::Result<()> {
    let mut only = CpuSet::new();
    for core in cores {
        only.set(*core);
    }
    sched_setaffinity(None, &only)
        .with_context(|| format!("cannot pin a thread to cores {cores:?}"))
}

fn allowed() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_default();
    (0..CpuSet::MAX_CPU).filter(|&core| set.is_set(core)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_cores_are_different_ones_that_we_may_use() {
        if let Some(Cores { server, reader }) = Cores::pick() {
            assert_ne!(server, reader);
            pin(reader).unwrap();
            assert_eq!(allowed(), [reader]);
        }
    }
}
