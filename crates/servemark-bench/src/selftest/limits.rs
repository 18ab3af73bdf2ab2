//! Limits on the number of connections of this machine.

use serde::Serialize;
use servemark_client::{Capacity, open_files, raise_nofile};

use crate::ExecuteError;

/// Limits on the number of connections of a machine. `None` stands for no limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct MachineLimits {
    /// Soft limit of open files when the program was started.
    pub descriptors_soft: Option<u64>,
    /// Hard limit of open files, to which a run raises the soft limit.
    pub descriptors_hard: Option<u64>,
    /// Free file descriptors; a connection needs one.
    pub descriptors_free: Option<u64>,
    /// Local ports available for connections to one address.
    pub ports: Option<u64>,
}

impl MachineLimits {
    /// Raises the soft limit of open files and returns the limits.
    pub(super) fn raise() -> Result<Self, ExecuteError> {
        let (descriptors_soft, descriptors_hard) = open_files();
        raise_nofile().map_err(ExecuteError::Target)?;
        let capacity = Capacity::measure();
        let limited = |limit: u64| Some(limit).filter(|limit| *limit != u64::MAX);
        Ok(Self {
            descriptors_soft,
            descriptors_hard,
            descriptors_free: limited(capacity.descriptors()),
            ports: limited(capacity.ports()),
        })
    }
}
