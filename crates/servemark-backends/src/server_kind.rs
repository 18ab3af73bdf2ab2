//! What a server can do beside its routes.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use servemark_core::ServerCounters;

use crate::{sglang_counters, vllm_counters};

/// A kind of server, which determines the control requests of a run: readiness, information,
/// counters and the prefix cache.
///
/// ```
/// use std::time::Duration;
///
/// use servemark_backends::ServerKind;
///
/// assert_eq!(ServerKind::Vllm.flush_path(Duration::ZERO), "/reset_prefix_cache");
/// assert!(ServerKind::Sglang.has_info());
/// ```
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerKind {
    /// SGLang's server.
    Sglang,
    /// vLLM's server.
    Vllm,
    /// Triton's server.
    Triton,
    /// Any other server.
    #[default]
    Other,
}

impl ServerKind {
    /// Returns the path of a GET that succeeds once the server is ready. SGLang's client requests
    /// `/` of Triton, which does not exist there: it answers 404 as soon as it takes requests.
    pub const fn ready_path(self) -> &'static str {
        match self {
            Self::Triton => "/",
            Self::Sglang | Self::Vllm | Self::Other => "/v1/models",
        }
    }

    /// Returns whether the server describes itself on `/server_info`: its model, its settings and
    /// the accepted length of speculative decoding.
    pub const fn has_info(self) -> bool {
        matches!(self, Self::Sglang)
    }

    /// Returns the path and query of the POST that flushes the prefix cache. Only SGLang accepts a
    /// limit on the wait for running requests.
    pub fn flush_path(self, timeout: Duration) -> String {
        match self {
            // Python writes a whole number of seconds as `60.0`; so does `{:?}`.
            Self::Sglang => format!("/flush_cache?timeout={:?}", timeout.as_secs_f64()),
            Self::Vllm => "/reset_prefix_cache".to_owned(),
            Self::Triton | Self::Other => "/flush_cache".to_owned(),
        }
    }

    /// Reads the counters of the server's work from its `/metrics`. A server of another kind has
    /// counters only if they have vLLM's names.
    pub fn counters(self, metrics: &str) -> ServerCounters {
        match self {
            Self::Sglang => sglang_counters(metrics),
            Self::Vllm | Self::Triton | Self::Other => vllm_counters(metrics),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flush_time_out_is_written_as_python_writes_it() {
        let path = ServerKind::Sglang.flush_path(Duration::from_millis(7250));
        assert_eq!(path, "/flush_cache?timeout=7.25");
    }
}
