//! The measured server or engine, and the control requests to it.

use std::num::NonZero;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use servemark_backends::ServerKind;
use servemark_core::{Hardware, JsonObject};
#[cfg(feature = "engine")]
use servemark_engine::EngineRunSpec;
use servemark_target::MockSpec;
use servemark_target::{BaseUrl, TargetSpec};

use crate::TelemetrySpec;

/// The measured server or engine.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerSpec {
    /// A server that is already running.
    At(TargetSpec),
    /// The bundled simulator, started for the run and stopped after it.
    Simulated(MockSpec),
    /// A transport that the program supplies with the plan.
    Provided {
        /// Name of the transport, as reports show it.
        name: String,
    },
    /// An engine without a server, loaded for the run and ended after it.
    #[cfg(feature = "engine")]
    Engine(EngineRunSpec),
}

impl ServerSpec {
    /// Returns whether there is a server, not an engine alone.
    pub fn is_server(&self) -> bool {
        matches!(self, Self::At(_) | Self::Simulated(_))
    }
}

/// Control requests to the server around the measurement.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ControlSpec {
    /// Kind of the server, which determines the control requests; if absent, that of the plan's
    /// backend.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ServerKind>,
    /// How long to wait until the server is ready; zero skips the check.
    #[serde(with = "servemark_core::seconds")]
    pub ready_timeout: Duration,
    /// How long the first request is retried until it succeeds, before the warm-up; if absent, it
    /// is not tried.
    #[serde(with = "servemark_core::seconds::optional", skip_serializing_if = "Option::is_none")]
    pub first_request: Option<Duration>,
    /// How long a greeting is retried until it succeeds, before any request of the data set; if
    /// absent, none is sent. A server that refuses the greeting is not asked again.
    #[serde(with = "servemark_core::seconds::optional", skip_serializing_if = "Option::is_none")]
    pub greeting: Option<Duration>,
    /// Whether prompts are cut to their planned length by the server's own token counts, if the
    /// server counts tokens.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub align_prompts: bool,
    /// Number of prompts that the server counts first. If its counts of all these prompts equal
    /// Servemark's, the others are assumed to be equal too.
    #[serde(skip_serializing_if = "is_one")]
    pub align_sample: NonZero<u32>,
    /// How long emptying the prefix cache after the warm-up may take; if absent, it is not emptied.
    #[serde(with = "servemark_core::seconds::optional")]
    pub flush_cache: Option<Duration>,
    /// Pause between the warm-up and the measurement. SGLang's client waits a second, which is not
    /// needed: the answers to the warm-up have arrived.
    #[serde(with = "servemark_core::seconds")]
    pub settle: Duration,
    /// Whether the server's counters of its own work are read before and after the measurement. A
    /// server without counters is measured without them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub counters: bool,
    /// Whether the server is asked for its own times of each request, where it gives them only on
    /// request. Times that it gives anyway are always recorded.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub server_times: bool,
    /// Number of measured prompts with which the server's prefix cache is audited after the
    /// measurement: each is sent twice behind a prefix that no cache holds. Absent without an
    /// audit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_audit: Option<NonZero<u32>>,
    /// Metrics that are read while the run goes on; absent if none are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<TelemetrySpec>,
    /// GPUs that serve the model, and their price.
    #[serde(default, skip_serializing_if = "Hardware::is_unknown")]
    pub hardware: Hardware,
    /// Profiler that runs during the measurement; absent if none does.
    pub profile: Option<ProfileSpec>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it so")]
fn is_one(count: &NonZero<u32>) -> bool {
    *count == NonZero::<u32>::MIN
}

impl Default for ControlSpec {
    fn default() -> Self {
        Self {
            kind: None,
            ready_timeout: Duration::from_secs(60),
            first_request: None,
            greeting: None,
            align_prompts: false,
            align_sample: NonZero::<u32>::MIN,
            flush_cache: None,
            settle: Duration::ZERO,
            counters: false,
            server_times: false,
            cache_audit: None,
            telemetry: None,
            hardware: Hardware::default(),
            profile: None,
        }
    }
}

/// A profiler, and the documents that control it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProfileSpec {
    /// Process that is profiled.
    pub of: Profiled,
    /// Document of the request that starts the profiler.
    pub start: JsonObject,
    /// Document of the request that stops the profiler; if absent, the profiler stops by itself.
    pub stop: Option<JsonObject>,
    /// Whether the control requests have no document.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bare: bool,
}

impl ProfileSpec {
    /// Returns the server's profiler with control requests without a document, as vLLM's client
    /// sends them.
    pub fn bare() -> Self {
        Self { stop: Some(JsonObject::new()), bare: true, ..Self::default() }
    }
}

/// Process that is profiled. The enum is closed.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Profiled {
    /// The measured server.
    #[default]
    Server,
    /// The workers behind the server; some of them may only prefill and others only decode.
    Workers(Vec<WorkerSpec>),
}

/// A worker with a profiler of its own.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerSpec {
    /// Label of the worker, for example `Prefill-0` or `Decode-1`.
    pub label: String,
    /// Address of the worker.
    pub url: BaseUrl,
}

impl WorkerSpec {
    /// Creates a worker from its parts.
    pub fn new(label: impl Into<String>, url: BaseUrl) -> Self {
        Self { label: label.into(), url }
    }
}
