//! Reads the kernel's figures of a process: its waits and its CPU time.

use std::fs;
use std::time::Duration;

/// Returns how long the threads of a process were ready to run and had to wait for a core.
pub(super) fn waited(process: &str) -> Duration {
    let delays =
        threads(process).into_iter().filter_map(|thread| schedule_statistic(&thread, RUN_DELAY));
    Duration::from_nanos(delays.sum())
}

/// Returns the CPU time of the thread with this name in a process; absent if there is none.
pub(crate) fn cpu_of_thread(process: &str, name: &str) -> Option<Duration> {
    let of_name = |thread: &String| read(&format!("{thread}/comm")).trim() == name;
    let thread = threads(process).into_iter().find(of_name)?;
    schedule_statistic(&thread, ON_CPU).map(Duration::from_nanos)
}

/// Returns the number of involuntary context switches of a process's threads.
pub(super) fn switches(process: &str) -> u64 {
    let of = |thread: &String| field(&read(&format!("{thread}/status")), SWITCHES);
    threads(process).iter().filter_map(of).sum()
}

/// Returns the CPU time of a process on all cores, including threads that have ended, in whole
/// ticks of the kernel.
pub(super) fn cpu(process: &str) -> Duration {
    TICK * u32::try_from(used_ticks(&read(&format!("/proc/{process}/stat")))).unwrap_or(u32::MAX)
}

/// Returns the machine's steal time: core time that the hypervisor gave to others.
pub(super) fn steal_time() -> Duration {
    TICK * u32::try_from(stolen_ticks(&read("/proc/stat"))).unwrap_or(u32::MAX)
}

/// Returns the number of segments that TCP retransmitted, on all connections of this network
/// namespace.
pub(super) fn resent() -> u64 {
    table_value(&read("/proc/net/snmp"), "Tcp:", "RetransSegs")
}

/// Returns the mask of the cores to which the loopback device passes received packets. Absent if
/// the core that sent a packet handles it, which is the kernel's default.
pub(super) fn loopback_mask() -> Option<String> {
    let mask = read("/sys/class/net/lo/queues/rx-0/rps_cpus");
    let is_set = mask.trim().contains(|digit| digit != '0' && digit != ',');
    is_set.then(|| mask.trim().to_owned())
}

/// Returns a process and all its descendants that still run.
pub(super) fn family(process: &str) -> Vec<String> {
    let mut family = vec![process.to_owned()];
    let mut next = 0;
    while let Some(member) = family.get(next) {
        let children =
            threads(member).into_iter().map(|thread| read(&format!("{thread}/children")));
        let children: Vec<String> = children.collect();
        family.extend(children.iter().flat_map(|line| line.split_whitespace()).map(str::to_owned));
        next += 1;
    }
    family
}

/// Returns the folders of a process's threads; empty if the process is gone.
fn threads(process: &str) -> Vec<String> {
    let entries = fs::read_dir(format!("/proc/{process}/task"));
    let path = |entry: fs::DirEntry| entry.path().to_string_lossy().into_owned();
    entries.into_iter().flatten().flatten().map(path).collect()
}

/// Returns a field of a thread's scheduler statistics, in nanoseconds.
fn schedule_statistic(thread: &str, field: usize) -> Option<u64> {
    read(&format!("{thread}/schedstat")).split(' ').nth(field)?.parse().ok()
}

/// Fields of a thread's scheduler statistics: its CPU time, and the time in which it was ready to
/// run and waited for a core.
const ON_CPU: usize = 0;
const RUN_DELAY: usize = 1;

/// Reads a file; returns an empty text if it does not exist, like those of a thread that has ended.
fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim_start_matches(':').trim().parse().ok()
}

/// Returns user and system time of a process and of the children it has waited for. The name before
/// these fields may contain anything, but ends with the last bracket.
fn used_ticks(stat: &str) -> u64 {
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    after.split_whitespace().skip(11).take(4).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

fn stolen_ticks(stat: &str) -> u64 {
    let all = stat.lines().find_map(|line| line.strip_prefix("cpu "));
    all.and_then(|all| all.split_whitespace().nth(7)?.parse().ok()).unwrap_or_default()
}

/// Returns a number from a table with two lines for each kind: the names of the counters, and their
/// values.
fn table_value(table: &str, kind: &str, name: &str) -> u64 {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix(kind));
    let (names, counts) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let mut columns = names.split_whitespace().zip(counts.split_whitespace());
    columns.find(|column| column.0 == name).and_then(|found| found.1.parse().ok()).unwrap_or(0)
}

const SWITCHES: &str = "nonvoluntary_ctxt_switches";

/// Unit in which the kernel reports times to programs.
const TICK: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_past_any_name() {
        let stat = "7 (a) b) R 1 7 7 0 -1 4194304 100 0 0 0 11 5 2 1 20 0 1 0 99";
        assert_eq!(used_ticks(stat), 19);
        assert_eq!(used_ticks(""), 0);
    }

    #[test]
    fn stolen_time_is_that_of_all_cores() {
        assert_eq!(stolen_ticks("cpu  1 2 3 4 5 6 7 88 9 0\ncpu0 1 2 3 4 5 6 7 44 9 0"), 88);
    }

    #[test]
    fn switches_are_the_involuntary_ones() {
        let status = "voluntary_ctxt_switches:\t3\nnonvoluntary_ctxt_switches:\t14\n";
        assert_eq!(field(status, SWITCHES), Some(14));
    }

    #[test]
    fn a_count_stands_under_its_name() {
        let table = "Ip: Forwarding\nIp: 1\nTcp: ActiveOpens RetransSegs\nTcp: 3 14\n";
        assert_eq!(table_value(table, "Tcp:", "RetransSegs"), 14);
        assert_eq!(table_value(table, "Udp:", "RetransSegs"), 0);
    }

    #[test]
    fn a_family_begins_with_its_head() {
        assert_eq!(family("self")[0], "self");
        assert_eq!(family("0"), ["0"]);
    }
}
