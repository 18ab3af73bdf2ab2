//! Limits of this machine: file descriptors and local ports, checked before a run starts instead of
//! being hit during it.

use std::fs;

use crate::error::{ClientError, ClientErrorKind};

/// Returns the soft and the hard limit of open files; `None` where there is no limit.
pub fn open_files() -> (Option<u64>, Option<u64>) {
    system::open_files()
}

/// Raises the soft limit of open files to the hard limit, but at most to 2^20, and returns the
/// resulting soft limit. A higher soft limit is left as it is.
pub fn raise_nofile() -> Result<u64, ClientError> {
    let (soft, hard) = open_files();
    let most = hard.unwrap_or(MOST_DESCRIPTORS).min(MOST_DESCRIPTORS);
    let now = soft.unwrap_or(u64::MAX);
    if now >= most {
        return Ok(now);
    }
    system::set_open_files(most, hard).map_err(|error| {
        let message = format!("cannot raise the limit of open files from {now} to {most}");
        ClientError::new(ClientErrorKind::Capacity, message).caused_by(error)
    })?;
    Ok(most)
}

#[cfg(unix)]
mod system {
    use std::io;

    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    pub(super) fn open_files() -> (Option<u64>, Option<u64>) {
        let limits = getrlimit(Resource::Nofile);
        (limits.current, limits.maximum)
    }

    pub(super) fn set_open_files(soft: u64, hard: Option<u64>) -> io::Result<()> {
        let limits = Rlimit { current: Some(soft), maximum: hard };
        Ok(setrlimit(Resource::Nofile, limits)?)
    }
}

/// Windows has no limit.
#[cfg(not(unix))]
mod system {
    use std::io;

    pub(super) fn open_files() -> (Option<u64>, Option<u64>) {
        (None, None)
    }

    pub(super) fn set_open_files(_soft: u64, _hard: Option<u64>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The number of connections that the machine can hold. Unknown limits count as unlimited.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Capacity {
    descriptors: u64,
    ports: u64,
}

impl Capacity {
    /// Creates a capacity of `descriptors` free descriptors and `ports` local ports per
    /// destination.
    pub const fn new(descriptors: u64, ports: u64) -> Self {
        Self { descriptors, ports }
    }

    /// Measures this machine as it is now. Call [`raise_nofile`] first.
    pub fn measure() -> Self {
        let limit = open_files().0.unwrap_or(u64::MAX);
        let used = fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64);
        let free = limit.saturating_sub(used).saturating_sub(RESERVED_DESCRIPTORS);
        Self { descriptors: free, ports: local_ports().unwrap_or(u64::MAX) }
    }

    /// Returns the number of free descriptors; `u64::MAX` without a limit.
    pub const fn descriptors(&self) -> u64 {
        self.descriptors
    }

    /// Returns the number of local ports to one address; `u64::MAX` if it is unknown.
    pub const fn ports(&self) -> u64 {
        self.ports
    }

    /// Returns an error if `connections` to one destination exceed the capacity.
    ///
    /// ```
    /// let error = servemark_client::Capacity::new(1000, 28_232).check(4000).unwrap_err();
    /// assert!(error.to_string().starts_with("4000 connections need as many file descriptors"));
    /// ```
    pub fn check(&self, connections: u64) -> Result<(), ClientError> {
        if connections > self.descriptors {
            return Err(refuse(&format!(
                "{connections} connections need as many file descriptors and only {} are free; \
                 raise the hard limit of open files (ulimit -Hn) or lower the concurrency",
                self.descriptors
            )));
        }
        if connections > self.ports {
            return Err(refuse(&format!(
                "{connections} connections to one address need as many local ports and there are \
                 {}; widen net.ipv4.ip_local_port_range or lower the concurrency",
                self.ports
            )));
        }
        Ok(())
    }
}

fn local_ports() -> Option<u64> {
    port_count(&fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?)
}

/// Returns the number of ports in a range; both ends are usable.
fn port_count(range: &str) -> Option<u64> {
    let mut ends = range.split_whitespace().map(str::parse::<u64>);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    Some((last + 1).saturating_sub(first))
}

fn refuse(message: &str) -> ClientError {
    ClientError::new(ClientErrorKind::Capacity, message)
}

/// Maximum soft limit that is set. Containers have hard limits of about 10^9, which no kernel table
/// can hold.
const MOST_DESCRIPTORS: u64 = 1 << 20;

/// Descriptors for the run log, the runtimes and name look-ups.
const RESERVED_DESCRIPTORS: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(capacity: Capacity, connections: u64, message: &str) {
        let error = capacity.check(connections).unwrap_err();
        assert!(error.is_capacity());
        assert_eq!(error.to_string(), message);
    }

    #[test]
    fn what_fits_is_let_pass() {
        assert!(Capacity::new(100, 100).check(100).is_ok());
    }

    #[test]
    fn a_refusal_says_both_numbers_and_the_cure() {
        refused(
            Capacity::new(936, 28_232),
            1000,
            "1000 connections need as many file descriptors and only 936 are free; \
             raise the hard limit of open files (ulimit -Hn) or lower the concurrency",
        );
        refused(
            Capacity::new(100_000, 28_232),
            30_000,
            "30000 connections to one address need as many local ports and there are 28232; \
             widen net.ipv4.ip_local_port_range or lower the concurrency",
        );
    }

    #[test]
    fn the_default_range_of_ports_is_28232() {
        assert_eq!(port_count("32768\t60999\n"), Some(28_232));
        assert_eq!(port_count("1024 1023"), Some(0));
        assert_eq!(port_count("none"), None);
    }

    #[test]
    fn this_machine_can_be_measured_and_raised() {
        let raised = raise_nofile().unwrap();
        let capacity = Capacity::measure();
        assert!(capacity.descriptors > 0 && capacity.descriptors < raised);
        assert!(capacity.check(0).is_ok());
    }
}
