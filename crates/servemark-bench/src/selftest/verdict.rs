//! Verdict of a self-test, in words.

use std::fmt;

use serde::Serialize;

use super::Accuracy;

/// Verdict of a self-test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SelftestVerdict {
    /// Whether the machine can measure accurately.
    pub fitness: Fitness,
    /// Reason of the verdict.
    pub reason: String,
}

/// Whether a machine can measure accurately.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fitness {
    /// The reported latencies are within the tolerances.
    Fit,
    /// The reported latencies are off by more than the tolerances.
    Unfit,
}

impl SelftestVerdict {
    pub(super) fn of(accuracy: &Accuracy) -> Self {
        let Accuracy { p99_ttft_error_ms: ttft, p99_itl_error_ms: itl, streams, audit, .. } =
            accuracy;
        let fits = ttft.abs() <= MOST_TTFT_ERROR_MS && itl.abs() <= MOST_ITL_ERROR_MS;
        Self {
            fitness: if fits { Fitness::Fit } else { Fitness::Unfit },
            reason: format!(
                "with {streams} streams, p99 TTFT was reported {ttft:+.3} ms off and p99 ITL \
                 {itl:+.3} ms (audit: {audit})"
            ),
        }
    }
}

impl fmt::Display for Fitness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fit => "fit",
            Self::Unfit => "unfit",
        })
    }
}

/// Largest accepted error of the p99 TTFT in milliseconds; a fit machine keeps it with a thousand
/// streams.
const MOST_TTFT_ERROR_MS: f64 = 1.0;
/// Largest accepted error of the p99 ITL in milliseconds; a fit machine keeps it with a thousand
/// streams.
const MOST_ITL_ERROR_MS: f64 = 0.1;

#[cfg(test)]
mod tests {
    use servemark_core::{Header, RunFacts, RunLog};
    use servemark_metrics::Audit;

    use super::*;

    #[track_caller]
    fn check(p99_ttft_error_ms: f64, p99_itl_error_ms: f64, fitness: Fitness) {
        let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
        let accuracy = Accuracy {
            streams: 256,
            itl_ms: 20.0,
            mean_ttft_error_ms: 0.0,
            p99_ttft_error_ms,
            p99_itl_error_ms,
            audit: Audit::of(&RunLog::new(header, Vec::new(), None)),
        };
        let SelftestVerdict { fitness: found, reason } = SelftestVerdict::of(&accuracy);
        assert_eq!(found, fitness, "{reason}");
        let errors = format!(
            "with 256 streams, p99 TTFT was reported {p99_ttft_error_ms:+.3} ms off and p99 ITL \
             {p99_itl_error_ms:+.3} ms (audit: suspect: load carried, latencies in doubt: \
             no request succeeded"
        );
        assert!(reason.starts_with(&errors), "{reason}");
    }

    #[test]
    fn small_errors_are_fit_and_told() {
        check(0.02, -0.003, Fitness::Fit);
        check(-1.0, 0.1, Fitness::Fit);
    }

    #[test]
    fn either_error_makes_it_unfit() {
        check(1.5, 0.0, Fitness::Unfit);
        check(-1.5, 0.0, Fitness::Unfit);
        check(0.0, -0.2, Fitness::Unfit);
    }
}
