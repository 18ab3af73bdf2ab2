//! Memory of this process, as the kernel reports it.

use std::fs;

use anyhow::Context;

/// Returns the peak memory in MiB.
pub(crate) fn peak_mib() -> anyhow::Result<f64> {
    status("VmHWM:")
}

/// Returns the current memory in MiB.
pub(crate) fn now_mib() -> anyhow::Result<f64> {
    status("VmRSS:")
}

fn status(name: &'static str) -> anyhow::Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB"));
    let kib = kib.with_context(|| format!("no {name} is told"))?;
    Ok(kib.trim().parse::<f64>()? / 1024.0)
}
