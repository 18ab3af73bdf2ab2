//! What a self-test means, in words.

use std::fmt;

use serde::Serialize;
use servemark_core::ArrivalClock;

use super::Accuracy;

/// What a self-test means.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SelftestVerdict {
    /// In a word.
    pub fitness: Fitness,
    /// Why, and what to do.
    pub reason: String,
}

/// Whether a machine can measure. Closed: more is told by the numbers.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fitness {
    /// What it reports is right.
    Fit,
    /// What it reports is off by more than it should.
    Unfit,
}

impl SelftestVerdict {
    pub(super) fn of(accuracy: &Accuracy) -> Self {
        let Accuracy { p99_ttft_error_ms: ttft, p99_itl_error_ms: itl, streams, .. } = accuracy;
        let fits = ttft.abs() <= MOST_TTFT_ERROR_MS && itl.abs() <= MOST_ITL_ERROR_MS;
        let errors = format!(
            "with {streams} streams p99 TTFT was reported {ttft:+.3} ms off and p99 ITL {itl:+.3} ms"
        );
        if fits {
            return Self { fitness: Fitness::Fit, reason: errors };
        }
        let reason = format!("{errors}: {}", why(accuracy));
        Self { fitness: Fitness::Unfit, reason }
    }
}

/// The likeliest reason, and what to do.
fn why(accuracy: &Accuracy) -> String {
    let delay = accuracy.kept_from_core.run_delay.unwrap_or_default();
    let steal = accuracy.kept_from_core.steal.unwrap_or_default();
    if accuracy.arrival_clock == Some(ArrivalClock::User) {
        "the kernel gives no receive stamps here, so the client's own delays count; measure from \
         a Linux machine"
            .to_owned()
    } else if steal > MOST_STOLEN {
        format!(
            "the hypervisor gave {:.0} % of a core to others; measure from a machine of its own",
            steal * 100.0
        )
    } else if delay > MOST_STOLEN {
        format!(
            "the client waited {:.0} % of the time for its core; end what else runs here",
            delay * 100.0
        )
    } else if accuracy.pieces_per_read > MOST_PIECES_PER_READ {
        "the client read so late that pieces came together; measure with fewer streams".to_owned()
    } else {
        "nothing that the system tells explains it; test again on a quiet machine".to_owned()
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

/// What a thousand streams can be measured to.
const MOST_TTFT_ERROR_MS: f64 = 1.0;
const MOST_ITL_ERROR_MS: f64 = 0.1;
const MOST_STOLEN: f64 = 0.05;
const MOST_PIECES_PER_READ: f64 = 1.1;

#[cfg(test)]
mod tests {
    use super::super::Disturbance;
    use super::*;

    fn accuracy() -> Accuracy {
        Accuracy {
            streams: 256,
            arrival_clock: Some(ArrivalClock::Kernel),
            p99_ttft_error_ms: 0.02,
            p99_itl_error_ms: -0.003,
            pieces_per_read: 1.0,
            ..Accuracy::default()
        }
    }

    #[track_caller]
    fn check(accuracy: &Accuracy, fitness: Fitness, words: &str) {
        let verdict = SelftestVerdict::of(accuracy);
        assert_eq!(verdict.fitness, fitness, "{verdict:?}");
        assert!(verdict.reason.contains(words), "{verdict:?}");
    }

    #[test]
    fn small_errors_are_fit_and_told() {
        let words = "with 256 streams p99 TTFT was reported +0.020 ms off and p99 ITL -0.003 ms";
        check(&accuracy(), Fitness::Fit, words);
    }

    #[test]
    fn either_error_makes_it_unfit() {
        let late = Accuracy { p99_ttft_error_ms: 1.5, ..accuracy() };
        check(&late, Fitness::Unfit, "test again on a quiet machine");
        check(&Accuracy { p99_itl_error_ms: -0.2, ..accuracy() }, Fitness::Unfit, "-0.200 ms");
    }

    #[test]
    fn the_likeliest_reason_is_told() {
        let late = Accuracy { p99_ttft_error_ms: 9.0, ..accuracy() };
        let kept = |run_delay, steal| Disturbance { run_delay, steal };
        for (accuracy, words) in [
            (
                Accuracy { arrival_clock: Some(ArrivalClock::User), ..late.clone() },
                "no receive stamps",
            ),
            (
                Accuracy { kept_from_core: kept(Some(0.3), Some(0.2)), ..late.clone() },
                "the hypervisor gave 20 % of a core to others",
            ),
            (
                Accuracy { kept_from_core: kept(Some(0.3), None), ..late.clone() },
                "waited 30 % of the time for its core",
            ),
            (Accuracy { pieces_per_read: 1.4, ..late }, "fewer streams"),
        ] {
            check(&accuracy, Fitness::Unfit, words);
        }
    }
}
