//! Limits from which on a figure says something about a run. A limit is a share unless its name has
//! a unit.

/// Lag, as a share of the median gap between reads or the median E2E latency, from which on
/// latencies were corrected. At 1 % the lag is in the third digit of what is reported, where runs
/// differ anyway.
pub(super) const LAG: f64 = 0.01;

/// Share of the pieces that were queued unread in a read with later pieces, from which on gaps are
/// in doubt. Only the last piece of such a read has a stamp of its own; above 1 % they determine
/// the 99th percentile of the gaps.
pub(super) const SHARED: f64 = 0.01;

/// Lag below which a read did not wait for the client: waking a thread takes tens of microseconds.
/// A starved client reads so soon after the last of several pieces only by chance.
pub(super) const PROMPT_US: u32 = 100;

/// Share of the answers that only the program's own clock timed, from which on latencies are in
/// doubt. Above 1 % they determine the 99th percentile.
pub(super) const USER_CLOCK: f64 = 0.01;

/// Share of the schedule's median gap from which on a send is late. [`LATE_US`] is the lower limit.
pub(super) const LATE_OF_GAP: f64 = 0.01;

/// Least delay of a late send, in microseconds. Less than a millisecond does not matter to a
/// server.
pub(super) const LATE_US: f64 = 1_000.0;

/// Share of late sends from which on the client does not keep its schedule. Hiccups of the machine
/// make fewer.
pub(super) const LATE_SENDS: f64 = 0.1;

/// Share of the schedule's median gap from which on a send is far too late. The requests then
/// bunch, which is another arrival process than the one that was asked for. [`FAR_LATE_US`] is the
/// lower limit.
pub(super) const FAR_LATE_OF_GAP: f64 = 0.1;

/// Least delay of a send that is far too late, in microseconds. A scheduler gives another process
/// on the same core 3 to 4 ms at a time, so a thread that shares its core is late by one or two of
/// those slices; a thread that has more work than it can do is late without a bound.
pub(super) const FAR_LATE_US: f64 = 10_000.0;

/// Share of the concurrency from which on a closed loop that lost it is strained. The places stood
/// empty because the client had not yet seen the end of an answer. At 1 % the loss is in the third
/// digit of the throughput.
pub(super) const VACANT: f64 = 0.01;

/// Share of the concurrency from which on a closed loop that lost it is client-limited. At 5 % the
/// loss is in the second digit of the throughput: the load was another one.
pub(super) const VACANT_LIMIT: f64 = 0.05;

/// Share of the time spent waiting for a core from which on the core was shared with other
/// processes. An idle machine shows below 2 %.
pub(super) const SHARED_CORE: f64 = 0.05;

/// Error that no kernel stamp of an arrival removes, in microseconds: reading two clocks one after
/// the other, and the path of a request from the reading of the clock to the device. The overhead
/// study (docs/methodology.md) found 6 to 36 us at the 99th percentile, also beside a process that
/// competed for the cores.
pub(super) const STAMP_FLOOR_US: f64 = 30.0;

/// Time that a small request takes from the reading of the clock to the device, in seconds: 5 to 10
/// us on loopback (docs/methodology.md). A thread that loses its core within that time stamps its
/// request too early.
pub(super) const SEND_PATH_S: f64 = 10e-6;

/// Share of the sends from which on those that lose their core on the send path reach the 99th
/// percentile.
pub(super) const DISPLACED_SENDS: f64 = 0.01;

/// Error bound, as a share of the median gap between reads or the median E2E latency, from which on
/// latencies are in doubt: the error is in the second digit of what is reported.
pub(super) const STAMP_ERROR: f64 = 0.05;

/// Least number of late sends from which a share of late sends is computed.
pub(super) const LATE_SENDS_LEAST: u64 = 5;

/// Share by which the time from the first send to the last may exceed that of the schedule. At 1 %
/// the achieved rate is no longer the one in the report. [`BEHIND_US`] is the lower limit.
pub(super) const BEHIND: f64 = 0.01;

/// Excess over the schedule's time that is still allowed, in microseconds: a few time slices that
/// the system gave to other processes.
pub(super) const BEHIND_US: f64 = 10_000.0;

/// Share of the time, running or waiting for a core, from which on a thread had no time left to
/// wait for the server.
pub(super) const BUSY: f64 = 0.95;

/// Share of the machine's cores from which on the client may have taken them from an engine on the
/// same machine. Below 5 % this is at most in the second digit of what is reported.
pub(super) const CROWD: f64 = 0.05;

/// Share of the time spent waiting for the writer of the run log from which on a thread did not
/// read in time.
pub(super) const LOG_WAIT: f64 = 0.01;

/// Share of the time taken by the hypervisor from which on latencies are in doubt: the kernel loses
/// that time too, and its stamps are late then.
pub(super) const STEAL: f64 = 0.05;

/// Largest allowed difference between the two sides of Little's law, as a share. It is twice what
/// the edges of the shortest compared window can cause.
pub(super) const LITTLE: f64 = 0.1;

/// Length of the shortest window that Little's law is checked on, in mean latencies.
pub(super) const LITTLE_LATENCIES: f64 = 20.0;

/// Largest share of doubtful pieces, those in shared reads, up to which the lags of lone pieces
/// stand for how long all pieces waited: a late client seldom reads a piece alone. Beside a process
/// that competed for the cores, with up to half of the pieces in shared reads, the errors were 1.5
/// to 4.5 ms at the 99th percentile by a server's own log, and the longest lag of a lone piece was
/// 4.1 to 5.2 ms.
pub(super) const MOST_DOUBTFUL: f64 = 0.5;
