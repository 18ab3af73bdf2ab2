//! From where on a figure says something of a run. Each is a share unless its name has a unit.

/// A lag of this share of the yardstick (the median gap of a stream, or the median E2E latency) is
/// in the third digit of what is reported, where runs differ anyway.
pub(super) const LAG: f64 = 0.01;

/// Of pieces that share a read only the last has its own stamp; of more than these the 99th
/// percentile of the gaps is made.
pub(super) const SHARED: f64 = 0.01;

/// What was read this soon after its last byte arrived had not waited for the client: waking a
/// thread takes tens of microseconds. A starved client comes so soon after the last of several
/// pieces only by chance.
pub(super) const PROMPT_US: u32 = 100;

/// Answers that are known by the program's clock alone; the p99 is made of more.
pub(super) const USER_CLOCK: f64 = 0.01;

/// A send is late from this share of the median gap of the schedule on …
pub(super) const LATE_OF_GAP: f64 = 0.01;

/// … but not below a millisecond, which is nothing to a server.
pub(super) const LATE_US: f64 = 1_000.0;

/// So many late sends are no hiccups of the machine: the client does not keep its schedule.
pub(super) const LATE_SENDS: f64 = 0.1;

/// A send is far too late from this share of the median gap of the schedule on: the requests bunch,
/// which is another arrival process than the one that was asked for …
pub(super) const FAR_LATE_OF_GAP: f64 = 0.1;

/// … but not below 10 ms. A scheduler gives a neighbour on the same core 3 to 4 ms at a time, so a
/// thread that shares its core is late by one or two of those, and a thread that has more to do
/// than it can is late without a bound.
pub(super) const FAR_LATE_US: f64 = 10_000.0;

/// The share of the concurrency that a closed loop lost while its places stood empty because the
/// client had not seen the end of an answer yet. At 1 % it is in the third digit of the throughput …
pub(super) const VACANT: f64 = 0.01;

/// … and at 5 % in the second: the load was another one.
pub(super) const VACANT_LIMIT: f64 = 0.05;

/// From this share of the time spent waiting for a core on, the core was shared with others. An
/// idle machine shows below 2 %.
pub(super) const SHARED_CORE: f64 = 0.05;

/// What no kernel stamp of an arrival takes out, in microseconds: reading two clocks one after the
/// other, and the way of a request from the reading of the clock to the device. The overhead study
/// (docs/methodology.md) found 6 to 36 us at the 99th percentile, beside a busy neighbour too.
pub(super) const STAMP_FLOOR_US: f64 = 30.0;

/// How long a small request is on its way from the reading of the clock to the device: 5 to 10 us
/// on loopback (docs/methodology.md). A thread that loses its core within that time stamps its
/// request too early.
pub(super) const SEND_PATH_S: f64 = 10e-6;

/// Sends hit by that of fewer than these are not in the 99th percentile.
pub(super) const DISPLACED_SENDS: f64 = 0.01;

/// Latencies that are known to this share of the yardstick, and no better, are in doubt: the error
/// is in the second digit of what is reported.
pub(super) const STAMP_ERROR: f64 = 0.05;

/// And of fewer than these no share is made.
pub(super) const LATE_SENDS_LEAST: u64 = 5;

/// By how much the time from the first send to the last may exceed that of the schedule: at 1 % a
/// rate is no longer the one in the report …
pub(super) const BEHIND: f64 = 0.01;

/// … and below this it is a few time slices that the system gave to somebody else.
pub(super) const BEHIND_US: f64 = 10_000.0;

/// A thread that ran, or wanted to, for so much of the time had none to wait for the server in.
pub(super) const BUSY: f64 = 0.95;

/// What the client takes of a machine's cores an engine on them may have wanted; below this it is in
/// the second digit of what is reported.
pub(super) const CROWD: f64 = 0.05;

/// A thread that waited for its run log this long did not read meanwhile.
pub(super) const LOG_WAIT: f64 = 0.01;

/// What the hypervisor takes it takes from the kernel too, whose stamps are late then.
pub(super) const STEAL: f64 = 0.05;

/// By how much the two sides of Little's law may differ: twice what the edges of the shortest
/// window that is compared can make of it.
pub(super) const LITTLE: f64 = 0.1;

/// The shortest window that is compared, in mean latencies.
pub(super) const LITTLE_LATENCIES: f64 = 20.0;

/// Of more pieces than these in shared reads, the lags of lone pieces are no sample any more of how
/// long all of them waited: a late client seldom reads one piece alone. Beside a busy neighbour, with
/// up to half of the pieces in shared reads, the errors were 1.5 to 4.5 ms at the 99th percentile by
/// a server's own log, and the longest lag of a lone piece 4.1 to 5.2 ms.
pub(super) const MOST_DOUBTFUL: f64 = 0.5;
