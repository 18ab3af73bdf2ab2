//! The versions of evalscope's tables and the flags that change them.

use serde::{Deserialize, Serialize};
use servemark_metrics::MetricPolicy;

/// The evalscope version whose tables and files are written.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EvalscopeStyle {
    /// Version 1.14.1.
    #[default]
    Newest,
    /// Version 1.7.1.
    V1_7,
    /// Version 1.0.2.
    V1_0,
}

impl EvalscopeStyle {
    /// Returns the style with this name: `evalscope`, `evalscope-1.7` or `evalscope-1.0`. The
    /// prefix may be left out: `1.14`, `1.7`, `1.0`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name.strip_prefix("evalscope-").unwrap_or(name) {
            "evalscope" | "1.14" => Some(Self::Newest),
            "1.7" => Some(Self::V1_7),
            "1.0" => Some(Self::V1_0),
            _ => None,
        }
    }

    /// Returns the metric policy of the version.
    pub fn policy(self) -> MetricPolicy {
        match self {
            Self::Newest => MetricPolicy::evalscope(),
            Self::V1_7 => MetricPolicy::evalscope_1_7(),
            Self::V1_0 => MetricPolicy::evalscope_1_0(),
        }
    }
}

/// Options of evalscope's tables and files, from its flags.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvalscopeOptions {
    /// The evalscope version whose layout is used.
    pub style: EvalscopeStyle,
    /// Whether the first gap of an answer is reported separately (`--enable-pd-metrics`).
    pub handoff: bool,
    /// Whether speeds are reported by prompt length (`--dataset speed_benchmark`).
    pub speeds: bool,
    /// Whether answers are decisions (`--api systemone`, `autotrust`).
    pub decides: bool,
}

impl EvalscopeOptions {
    /// Returns the options of a version without any flag.
    pub fn of(style: EvalscopeStyle) -> Self {
        Self { style, ..Self::default() }
    }

    /// Reports the first gap of an answer separately.
    #[must_use]
    pub fn with_handoff(self) -> Self {
        Self { handoff: true, ..self }
    }

    /// Reports speeds by prompt length.
    #[must_use]
    pub fn with_speeds(self) -> Self {
        Self { speeds: true, ..self }
    }
}
