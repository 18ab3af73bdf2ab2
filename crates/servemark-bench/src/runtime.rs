//! The asynchronous runtime of a blocking call.

use std::io;
use std::pin::{Pin, pin};

use tokio::runtime::{Builder, Handle, Runtime};

use crate::ExecuteError;

/// Creates a runtime for the calling thread. Inside another runtime it returns an error, because
/// a blocking call would block a thread of that runtime.
pub(crate) fn new() -> Result<Runtime, ExecuteError> {
    if Handle::try_current().is_ok() {
        return Err(ExecuteError::InsideRuntime);
    }
    of_a_thread().map_err(ExecuteError::Machine)
}

/// Creates a runtime for a thread that has none.
pub(crate) fn of_a_thread() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// Runs `work` on the calling thread. The runtime's own code is compiled once, and not for each work.
pub(crate) fn block_on<T>(runtime: &Runtime, work: impl Future<Output = T>) -> T {
    let mut result = None;
    {
        let mut work = pin!(async { result = Some(work.await) });
        let work: Pin<&mut dyn Future<Output = ()>> = work.as_mut();
        runtime.block_on(work);
    }
    result.expect("the work is over")
}

/// Runs `work` on a new runtime on the calling thread.
pub(crate) fn on_this_thread<T>(
    work: impl Future<Output = Result<T, ExecuteError>>,
) -> Result<T, ExecuteError> {
    block_on(&new()?, work)
}
