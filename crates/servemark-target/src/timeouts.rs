//! Time-outs of the stages of a request.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Time-outs of the stages of a request. Every wait has one.
///
/// The defaults are long on purpose: under an overload that is to be measured, a request may queue
/// for long, and a time-out would turn the measured wait into a failure. A plan file gives them in
/// seconds.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timeouts {
    /// Name look-up, TCP and TLS together; 30 s, which leaves time for four lost SYNs.
    #[serde(with = "servemark_core::seconds")]
    pub connect: Duration,
    /// From the sending of the request to the first byte of the answer's body; 1 h.
    #[serde(with = "servemark_core::seconds")]
    pub first_byte: Duration,
    /// Between two reads of the body; 10 min.
    #[serde(with = "servemark_core::seconds")]
    pub idle: Duration,
    /// The whole request; 6 h, as SGLang's and vLLM's clients allow.
    #[serde(with = "servemark_core::seconds")]
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            first_byte: Duration::from_secs(60 * 60),
            idle: Duration::from_secs(10 * 60),
            total: Duration::from_secs(6 * 60 * 60),
        }
    }
}

impl Timeouts {
    /// Creates time-outs with one limit for all stages, for calls that are not measured.
    pub fn all(limit: Duration) -> Self {
        Self { connect: limit, first_byte: limit, idle: limit, total: limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_says_seconds() {
        let timeouts: Timeouts = serde_json::from_str(r#"{"connect": 1.5}"#).unwrap();
        assert_eq!(timeouts.connect, Duration::from_millis(1500));
        assert_eq!(timeouts.total, Timeouts::default().total);
        let text = serde_json::to_string(&timeouts).unwrap();
        assert_eq!(text, r#"{"connect":1.5,"first_byte":3600.0,"idle":600.0,"total":21600.0}"#);
    }

    #[test]
    fn a_negative_time_is_refused() {
        assert!(serde_json::from_str::<Timeouts>(r#"{"idle": -1}"#).is_err());
    }
}
