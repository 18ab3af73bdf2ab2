//! Whether connections carry more than one request.

use serde::{Deserialize, Serialize};

/// How connections to a target are reused.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReuseSpec {
    /// Whether an HTTP/1.1 connection carries more than one request. If not, each request has the
    /// header `connection: close`.
    pub keep_alive: bool,
    /// Whether a request that the server did not process is sent once more, on a new connection.
    pub resend: bool,
}

impl ReuseSpec {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands fields by reference")]
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for ReuseSpec {
    fn default() -> Self {
        Self { keep_alive: true, resend: true }
    }
}
