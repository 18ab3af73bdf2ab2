//! Metrics of the server and of its machine that are read during a run.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use servemark_target::MetricsUrl;

/// Which metrics are read before, during and after the measurement, and how often.
///
/// ```
/// use servemark_plan::TelemetrySpec;
///
/// let spec = TelemetrySpec::of_server();
/// let text = serde_json::to_string(&spec)?;
/// assert_eq!(text, r#"{"sources":["server"],"interval":1.0}"#);
/// assert_eq!(serde_json::from_str::<TelemetrySpec>(&text)?, spec);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TelemetrySpec {
    /// The sources, each of which is read by itself.
    pub sources: Vec<MetricsSource>,
    /// Time from one reading to the next.
    #[serde(with = "servemark_core::seconds")]
    pub interval: Duration,
}

impl TelemetrySpec {
    /// Default time from one reading to the next.
    pub const INTERVAL: Duration = Duration::from_secs(1);

    /// Creates a spec with these sources and the default interval.
    pub fn new(sources: Vec<MetricsSource>) -> Self {
        Self { sources, interval: Self::INTERVAL }
    }

    /// Creates a spec that reads the measured server's own metrics.
    pub fn of_server() -> Self {
        Self::new(vec![MetricsSource::Server])
    }
}

/// A source of metrics.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricsSource {
    /// The measured server, at its route `/metrics`.
    Server,
    /// Any address. Secrets in it are kept in memory only and left out of files.
    Url(MetricsUrl),
    /// NVIDIA GPUs of this machine, read through NVIDIA's management library (NVML).
    Nvml,
    /// Like [`Nvml`](Self::Nvml), but without a warning if the library cannot be loaded.
    NvmlIfPresent,
}
