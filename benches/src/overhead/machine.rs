//! Describes the machine and assigns cores.

use std::fs;

use anyhow::Context;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};

use super::proc;

/// The machine of a study.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Machine {
    /// Model of the processor.
    pub cpu: String,
    /// Number of cores that this process may use.
    pub cores: usize,
    /// Version of the kernel.
    pub kernel: String,
    /// Mask of the cores to which the loopback device passes received packets, if it is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loopback_mask: Option<String>,
}

impl Machine {
    /// Describes this machine. Call it before anything is pinned.
    pub fn describe() -> Self {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let kernel = format!("Linux {}", release.trim());
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let cpu = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let cpu = cpu.map_or("unknown", |(_, name)| name).to_owned();
        Self { cpu, cores: allowed().len(), kernel, loopback_mask: proc::loopback_mask() }
    }
}

/// One core for the server and another for the reader.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Cores {
    /// Core of the server.
    pub server: usize,
    /// Core of the reader.
    pub reader: usize,
}

impl Cores {
    /// Returns the first two cores that this process may use; absent if there is only one.
    pub fn pick() -> Option<Self> {
        match allowed()[..] {
            [server, reader, ..] => Some(Self { server, reader }),
            _ => None,
        }
    }
}

/// Pins the calling thread, and those it starts from now on, to one core.
pub(crate) fn pin(core: usize) -> anyhow::Result<()> {
    pin_to(&[core])
}

/// Pins the calling thread, and those it starts from now on, to several cores.
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
