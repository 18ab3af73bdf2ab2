//! Who is asked, and what is asked of it besides answers.

use std::num::NonZero;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use servemark_client::{BaseUrl, TargetSpec};
use servemark_core::JsonObject;
#[cfg(feature = "engine")]
use servemark_engine::EngineRunSpec;
use servemark_mock::MockSpec;

/// Who is asked.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ServerSpec {
    /// A server that runs already.
    At(TargetSpec),
    /// The bundled simulator, started for the run and stopped after it.
    Simulated(MockSpec),
    /// No server: an engine, loaded for the run and ended after it.
    #[cfg(feature = "engine")]
    Engine(EngineRunSpec),
}

impl ServerSpec {
    /// Whether there is a server at all, and not an engine alone.
    pub fn is_server(&self) -> bool {
        matches!(self, Self::At(_) | Self::Simulated(_))
    }
}

/// What is asked of the server around the measurement.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ControlSpec {
    /// How long to wait until it is ready; zero does not ask.
    #[serde(with = "servemark_core::seconds")]
    pub ready_timeout: Duration,
    /// How long the first request is tried until it is answered well, before the warm-up; it is
    /// not tried without.
    #[serde(with = "servemark_core::seconds::optional", skip_serializing_if = "Option::is_none")]
    pub first_request: Option<Duration>,
    /// How long a greeting is tried until it is answered well, before anything of the data set is
    /// sent; there is none without. A server that refuses it is not asked again.
    #[serde(with = "servemark_core::seconds::optional", skip_serializing_if = "Option::is_none")]
    pub greeting: Option<Duration>,
    /// Whether prompts are cut to the length that they are to have by the server's own count of
    /// their tokens, if it counts them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub align_prompts: bool,
    /// How many prompts it is asked about first; if it counts all of them as we do, it is believed
    /// to do so with the others.
    #[serde(skip_serializing_if = "is_one")]
    pub align_sample: NonZero<u32>,
    /// Whether its prefix cache is emptied after the warm-up, and how long that may take.
    #[serde(with = "servemark_core::seconds::optional")]
    pub flush_cache: Option<Duration>,
    /// How long to let it rest between the warm-up and the measurement. SGLang's client waits a
    /// second, which nobody needs: the answers to the warm-up are in.
    #[serde(with = "servemark_core::seconds")]
    pub settle: Duration,
    /// Whether it is asked what it has counted of its own work, before the measurement and after
    /// it. A server that does not count is measured without.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub counters: bool,
    /// Whether its profiler runs during the measurement.
    pub profile: Option<ProfileSpec>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it so")]
fn is_one(count: &NonZero<u32>) -> bool {
    *count == NonZero::<u32>::MIN
}

impl Default for ControlSpec {
    fn default() -> Self {
        Self {
            ready_timeout: Duration::from_secs(60),
            first_request: None,
            greeting: None,
            align_prompts: false,
            align_sample: NonZero::<u32>::MIN,
            flush_cache: None,
            settle: Duration::ZERO,
            counters: false,
            profile: None,
        }
    }
}

/// Which profiler runs, and what it is told.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ProfileSpec {
    /// Whose it is.
    pub of: Profiled,
    /// When it is started.
    pub start: JsonObject,
    /// When it is stopped; it stops by itself where this is absent.
    pub stop: Option<JsonObject>,
    /// Whether it is told by the route alone, without a document.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bare: bool,
}

impl ProfileSpec {
    /// The server's profiler, told by the routes alone, as vLLM's client tells it.
    pub fn bare() -> Self {
        Self { stop: Some(JsonObject::new()), bare: true, ..Self::default() }
    }
}

/// Whose profiler runs. Closed: there is no third place where one could be.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Profiled {
    /// The server's that is measured.
    #[default]
    Server,
    /// Those of the workers behind it, of which some only prefill and others only decode.
    Workers(Vec<WorkerSpec>),
}

/// A worker with a profiler of its own.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct WorkerSpec {
    /// What it is called: `Prefill-0`, `Decode-1`.
    pub label: String,
    /// Where it is.
    pub url: BaseUrl,
}

impl WorkerSpec {
    /// A worker of its parts.
    pub fn new(label: impl Into<String>, url: BaseUrl) -> Self {
        Self { label: label.into(), url }
    }
}
