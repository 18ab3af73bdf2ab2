//! Pauses between two tries.

use std::time::Duration;

/// Waits. No measured time depends on it.
#[expect(clippy::disallowed_methods, reason = "a pause between two tries, of which none adds up")]
pub(crate) async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
}
