//! How many connections a machine can hold.

use serde::Serialize;
use servemark_client::{Capacity, open_files, raise_nofile};

use crate::ExecuteError;

/// How many connections a machine can hold. What is absent has no limit.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MachineLimits {
    /// The soft limit of open files when the program was started.
    pub descriptors_soft: Option<u64>,
    /// The hard limit, to which a run raises the soft one.
    pub descriptors_hard: Option<u64>,
    /// Descriptors that are free for connections, of which each is one.
    pub descriptors_free: Option<u64>,
    /// Local ports from which one address can be reached.
    pub ports: Option<u64>,
}

impl MachineLimits {
    /// Raises what can be raised and says what it was and is.
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
