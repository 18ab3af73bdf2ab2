//! The asynchronous runtime of a blocking call.

use tokio::runtime::{Builder, Handle, Runtime};

use crate::ExecuteError;

/// Creates a runtime for the calling thread. Inside another runtime it returns an error, because
/// a blocking call would block a thread of that runtime.
pub(crate) fn new() -> Result<Runtime, ExecuteError> {
    if Handle::try_current().is_ok() {
        return Err(ExecuteError::InsideRuntime);
    }
    Builder::new_current_thread().enable_all().build().map_err(ExecuteError::Machine)
}

/// Runs `work` on a new runtime on the calling thread.
pub(crate) fn on_this_thread<T>(
    work: impl Future<Output = Result<T, ExecuteError>>,
) -> Result<T, ExecuteError> {
    new()?.block_on(work)
}
