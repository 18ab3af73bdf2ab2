//! Which version of evalscope's tables, and what its flags ask of them.

use serde::{Deserialize, Serialize};
use servemark_metrics::MetricPolicy;

/// Which version of evalscope's tables.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EvalscopeStyle {
    /// 1.14.1's.
    #[default]
    Newest,
    /// 1.7.1's.
    V1_7,
    /// 1.0.2's.
    V1_0,
}

impl EvalscopeStyle {
    /// The one with this name: `evalscope`, `evalscope-1.7` or `evalscope-1.0`, each of them also
    /// without its first word.
    pub fn from_name(name: &str) -> Option<Self> {
        match name.strip_prefix("evalscope-").unwrap_or(name) {
            "evalscope" | "1.14" => Some(Self::Newest),
            "1.7" => Some(Self::V1_7),
            "1.0" => Some(Self::V1_0),
            _ => None,
        }
    }

    /// The definitions that its numbers follow.
    pub fn policy(self) -> MetricPolicy {
        match self {
            Self::Newest => MetricPolicy::evalscope(),
            Self::V1_7 => MetricPolicy::evalscope_1_7(),
            Self::V1_0 => MetricPolicy::evalscope_1_0(),
        }
    }
}

/// What evalscope's flags ask of its tables and files.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct EvalscopeOptions {
    /// Which version's they are.
    pub style: EvalscopeStyle,
    /// Whether the first gap of an answer is told apart (`--enable-pd-metrics`).
    pub handoff: bool,
    /// Whether speeds are told by the length of the prompt (`--dataset speed_benchmark`).
    pub speeds: bool,
    /// Whether answers are decisions (`--api systemone`, `autotrust`).
    pub decides: bool,
}

impl EvalscopeOptions {
    /// Those of a version without any flag.
    pub fn of(style: EvalscopeStyle) -> Self {
        Self { style, ..Self::default() }
    }

    /// The same with the first gap of an answer told apart.
    #[must_use]
    pub fn with_handoff(self) -> Self {
        Self { handoff: true, ..self }
    }

    /// The same with speeds by the length of the prompt.
    #[must_use]
    pub fn with_speeds(self) -> Self {
        Self { speeds: true, ..self }
    }
}
