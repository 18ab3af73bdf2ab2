//! Accuracy of the latencies.

use std::fmt;

use serde::Serialize;
use servemark_core::ArrivalClock;

use super::format::{milliseconds, percent, time};
use super::machine::Machine;
use super::reading::{LagReference, Reading};
use super::verdict::{AccuracyVerdict, Finding, LoadVerdict, Verdict};
use super::{Audit, limits};

/// Accuracy of the latencies of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LatencyAccuracy {
    /// Overall verdict on the latencies.
    pub verdict: AccuracyVerdict,
    /// Bound on the error of a latency at the 99th percentile, in microseconds. It adds what stamps
    /// cannot remove, the error of the stamps themselves, and the waits of a thread that lost its
    /// core while it sent. Absent if no bound is known.
    pub right_to_us: Option<f64>,
    /// Whether the client's threads had to wait for a core; absent where the system does not report
    /// it.
    pub core_was_shared: Option<bool>,
    /// Reasons for the verdict, the worst first.
    pub reasons: Vec<Finding>,
    /// Whether the only doubt is that the client's own clock timed the answers, on cores that it did not
    /// have to wait for as far as the log shows.
    #[serde(skip)]
    pub is_by_client_clock_alone: bool,
}

/// Displays the accuracy as the verdict line words it, for example "right to 0.03 ms".
impl fmt::Display for LatencyAccuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.verdict, self.right_to_us) {
            (AccuracyVerdict::Uncertain, None) => f.write_str("in doubt")?,
            (AccuracyVerdict::Uncertain, Some(bound)) => {
                write!(f, "in doubt, stamps right to {}", milliseconds(bound))?;
            }
            (_, None) => f.write_str("right")?,
            (_, Some(bound)) => write!(f, "right to {}", milliseconds(bound))?,
        }
        if self.verdict != AccuracyVerdict::Uncertain && self.core_was_shared == Some(true) {
            f.write_str(" although the core was shared")?;
        }
        Ok(())
    }
}

impl LatencyAccuracy {
    /// Judges the accuracy of a run's stamps.
    pub(super) fn of(audit: &Audit) -> Self {
        let blind: [Rule; 4] = [no_success, user_clock, shares_machine, steal];
        let bounded: [Rule; 3] = [shared, inexact, little];
        let core_was_shared = audit.machine.as_ref().and_then(Machine::core_is_shared);
        let findings = |verdict: AccuracyVerdict, rules: &[Rule]| -> Vec<Finding> {
            let verdict = Verdict::of(LoadVerdict::Carried, verdict);
            let reasons = rules.iter().filter_map(|rule| rule(audit));
            reasons.map(|reason| Finding { verdict, reason }).collect()
        };
        let mut reasons = findings(AccuracyVerdict::Uncertain, &blind);
        let bound_is_known = reasons.is_empty();
        reasons.extend(findings(AccuracyVerdict::Uncertain, &bounded));
        let is_uncertain = !reasons.is_empty();
        let is_by_client_clock_alone =
            reasons.len() == 1 && user_clock(audit).is_some() && core_was_shared != Some(true);
        reasons.extend(findings(AccuracyVerdict::Corrected, &[lagging]));
        let verdict = match (is_uncertain, reasons.is_empty()) {
            (true, _) => AccuracyVerdict::Uncertain,
            (false, false) => AccuracyVerdict::Corrected,
            (false, true) => AccuracyVerdict::Exact,
        };
        if reasons.is_empty() {
            reasons = findings(AccuracyVerdict::Exact, &[prompt]);
        }
        let right_to_us = right_to_us(audit).filter(|_| bound_is_known);
        Self { verdict, right_to_us, core_was_shared, reasons, is_by_client_clock_alone }
    }
}

/// Returns an upper bound on the error of a latency at the 99th percentile, in microseconds, as far
/// as the log shows it.
fn right_to_us(audit: &Audit) -> Option<f64> {
    let stamps = audit.reading.stamp_error.p99_us;
    let ends = (audit.reading.pieces == 0 && audit.reading.lag.samples > 0).then_some(0.0);
    let stamps = stamps.or(ends).filter(|_| !is_stamped_by_engine(audit))?;
    Some(limits::STAMP_FLOOR_US + stamps + displacement_us(audit).unwrap_or_default())
}

/// Returns how long a thread waits, in microseconds, if it loses its core between reading the clock
/// and sending a request. Absent if that hits too few sends to reach the 99th percentile.
fn displacement_us(audit: &Audit) -> Option<f64> {
    let machine = audit.machine.as_ref()?;
    let waits = machine.shards.iter().filter_map(|shard| {
        let (switches, delay) = (shard.involuntary_switches? as f64, shard.run_delay_share?);
        let per_cpu_second = switches / (shard.cpu_share * machine.wall_s);
        let hit = per_cpu_second * limits::SEND_PATH_S;
        (hit >= limits::DISPLACED_SENDS).then(|| delay * machine.wall_s * 1e6 / switches)
    });
    waits.max_by(f64::total_cmp)
}

/// A rule that returns its reason if it applies to a run.
type Rule = fn(&Audit) -> Option<String>;

fn no_success(audit: &Audit) -> Option<String> {
    let is_fruitless = audit.reading.reference.is_none();
    is_fruitless
        .then(|| "no request succeeded, so there is nothing to hold a lag against".to_owned())
}

fn shared(audit: &Audit) -> Option<String> {
    // Where streams share a connection, a stream's segments are not counted; `inexact` judges
    // those.
    let reading = Some(&audit.reading).filter(|_| !is_bound(audit))?;
    let shared = reading.shared;
    let share = reading.share_of_pieces(shared.by_client + shared.unknown);
    (share >= limits::SHARED).then(|| {
        let who = match shared.unknown {
            0 => "",
            _ => ", and the kernel did not say of all that they arrived apart",
        };
        format!("{} of the pieces were queued unread until a later one came{who}", percent(share))
    })
}

fn user_clock(audit: &Audit) -> Option<String> {
    let Reading { answered, answered_by_user_clock, .. } = audit.reading;
    let share = answered_by_user_clock as f64 / answered.max(1) as f64;
    let delay = audit.machine.as_ref().and_then(Machine::longest_run_delay);
    let starved = delay.map_or_else(String::new, |share| {
        format!(", and it waited for a core for {} of the time", percent(share))
    });
    (share >= limits::USER_CLOCK).then(|| {
        let share = percent(share);
        format!("{share} of the answers are timed by the client's clock, its lag included{starved}")
    })
}

/// Applies if the error bound is too large a share of the typical latency.
fn inexact(audit: &Audit) -> Option<String> {
    let (bound, reference) = (right_to_us(audit)?, audit.reading.reference?);
    let error = audit.reading.stamp_error;
    let shared = (error.p99_us > Some(0.0)).then(|| {
        let share = percent(audit.reading.share_of_pieces(error.doubtful));
        format!("{share} of the pieces were read together with later bytes")
    });
    let displaced = displacement_us(audit)
        .map(|_| "the client's thread often lost its core while it sent".to_owned());
    let causes: Vec<String> = shared.into_iter().chain(displaced).collect();
    let share = bound / reference.median_us();
    // The floor alone is no finding: a server that is so fast is measured as well as possible.
    (!causes.is_empty() && share >= limits::STAMP_ERROR).then(|| {
        let (bound, median) = (time(bound), time(reference.median_us()));
        let (share, name, causes) = (percent(share), reference.name(), causes.join(", and "));
        format!(
            "latencies are known to {bound}, {share} of the median {name} of {median}: {causes}"
        )
    })
}

fn is_bound(audit: &Audit) -> bool {
    audit.reading.answered_by_kernel_bound > 0
}

/// Applies if an engine without a server shares this machine with a busy client.
fn shares_machine(audit: &Audit) -> Option<String> {
    let share = audit.machine.as_ref().filter(|_| is_stamped_by_engine(audit))?.cores_share;
    (share >= limits::CROWD).then(|| {
        format!(
            "the client took {} of this machine's cores, which the engine is on",
            percent(share)
        )
    })
}

fn is_stamped_by_engine(audit: &Audit) -> bool {
    audit.reading.arrival_clock == Some(ArrivalClock::Engine)
}

fn steal(audit: &Audit) -> Option<String> {
    let share = audit.machine.as_ref()?.steal_share?;
    let whose = if is_stamped_by_engine(audit) { "the engine's" } else { "its kernel's stamps" };
    (share >= limits::STEAL).then(|| {
        let share = percent(share);
        format!("the hypervisor took {share} of the machine's time, {whose} included")
    })
}

fn little(audit: &Audit) -> Option<String> {
    let law = audit.littles_law.filter(|law| law.difference.abs() > limits::LITTLE)?;
    let (swept, expected) = (law.concurrency, law.expected_concurrency);
    Some(format!(
        "{swept:.1} requests were in flight, where throughput x mean latency of all that ended \
         gives {expected:.1}"
    ))
}

fn lagging(audit: &Audit) -> Option<String> {
    let is_stamped = !is_stamped_by_engine(audit);
    let (share, lag) = Lag::of(&audit.reading).filter(|_| is_stamped)?.in_words();
    // Pieces that were queued unread have the stamp of the last one, so the first waited longer
    // than its lag says.
    let cure = match shared(audit).or_else(|| inexact(audit)) {
        None => ", and the kernel's stamps took it out",
        Some(_) => ", at least",
    };
    (share >= limits::LAG).then(|| format!("{lag}{cure}"))
}

fn prompt(audit: &Audit) -> Option<String> {
    if is_stamped_by_engine(audit) {
        return Some(
            "the engine stamps its own answers, so the client is in no latency".to_owned(),
        );
    }
    let (_, lag) = Lag::of(&audit.reading)?.in_words();
    Some(lag)
}

/// The client's lag and the typical latency that it is compared with.
struct Lag {
    p99_us: f64,
    reference: LagReference,
}

impl Lag {
    fn of(reading: &Reading) -> Option<Self> {
        Some(Self { p99_us: reading.lag.p99_us?, reference: reading.reference? })
    }

    /// Returns the lag as a share of the median that it is compared with, and a description of
    /// both.
    fn in_words(&self) -> (f64, String) {
        let median = self.reference.median_us();
        let share = self.p99_us / median;
        let (lag, name) = (time(self.p99_us), self.reference.name());
        let (part, median) = (percent(share), time(median));
        (share, format!("the p99 lag of {lag} is {part} of the median {name} of {median}"))
    }
}
