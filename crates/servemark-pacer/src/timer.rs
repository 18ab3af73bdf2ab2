//! Timers that fire at an absolute time.
//!
//! On Linux the timer is a timerfd, which is about 30 us late. Other systems have a thread that
//! sleeps until shortly before the time and yields until it. `examples/lateness.rs` measures how late
//! the system's own is; `docs/install.md` has figures.

#[cfg(target_os = "linux")]
mod descriptor;
#[cfg(any(test, not(target_os = "linux")))]
#[cfg_attr(target_os = "linux", expect(unreachable_pub, reason = "Linux only tests it"))]
mod sleeper;

#[cfg(target_os = "linux")]
pub use descriptor::{Timer, TimerFd};
#[cfg(not(target_os = "linux"))]
pub use sleeper::{Sleeper, Timer};
