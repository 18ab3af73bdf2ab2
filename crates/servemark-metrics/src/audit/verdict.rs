//! What the evidence comes to, and why.

use std::fmt;

use serde::{Deserialize, Serialize};
use servemark_core::ArrivalClock;

use super::machine::{Machine, ShardLoad};
use super::reading::{Reading, Yardstick};
use super::words::{percent, time};
use super::{Audit, limits};

/// Whether a run's numbers are the server's or the client's, from the best to the worst. Closed:
/// scripts may rely on these four.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The client was in time.
    Clean,
    /// It looked late, and the kernel's stamps say when arrivals really were.
    Corrected,
    /// Latencies may be the client's, and nobody can say by how much.
    Suspect,
    /// It could not do what it was asked to do.
    ClientLimited,
}

impl Verdict {
    /// From the best to the worst.
    pub const ALL: [Self; 4] = [Self::Clean, Self::Corrected, Self::Suspect, Self::ClientLimited];

    /// How it is written in logs, reports and command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Corrected => "corrected",
            Self::Suspect => "suspect",
            Self::ClientLimited => "client-limited",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A reason for a verdict, in words with its numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The best verdict that it leaves.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
}

/// All that was found, the worst first; of a clean run the one thing that makes it so.
pub(super) fn findings(audit: &Audit) -> Vec<Finding> {
    let of = |verdict: Verdict, rules: &[Rule]| -> Vec<Finding> {
        let reasons = rules.iter().filter_map(|rule| rule(audit));
        reasons.map(|reason| Finding { verdict, reason }).collect()
    };
    let mut findings = of(Verdict::ClientLimited, &[behind, late, busy, log_wait]);
    let doubts: [Rule; 7] = [fruitless, shared, user_clock, bound, crowd, steal, little];
    findings.extend(of(Verdict::Suspect, &doubts));
    findings.extend(of(Verdict::Corrected, &[lagging]));
    if findings.is_empty() {
        findings.extend(of(Verdict::Clean, &[prompt]));
    }
    findings
}

/// Whether the load was offered and its answers could be read.
pub(super) fn keeps_up(audit: &Audit) -> bool {
    let rules: [Rule; 3] = [behind, busy, log_wait];
    rules.iter().all(|rule| rule(audit).is_none())
}

/// What speaks against a run, or for it, if anything does.
type Rule = fn(&Audit) -> Option<String>;

fn behind(audit: &Audit) -> Option<String> {
    let sending = &audit.sending;
    let share = sending.behind_share.filter(|&share| share > limits::BEHIND)?;
    let (achieved, asked) = (sending.achieved_per_s?, sending.let_through_per_s?);
    (sending.behind_us > limits::BEHIND_US).then(|| {
        format!(
            "it sent {achieved:.1} requests/s where {asked:.1} were due: from the first to the last \
             it took {} longer",
            percent(share)
        )
    })
}

fn late(audit: &Audit) -> Option<String> {
    let sending = &audit.sending;
    let is_habit = sending.late >= limits::LATE_SENDS_LEAST;
    let share = sending.late_share().filter(|&share| is_habit && share >= limits::LATE_SENDS)?;
    let (share, limit) = (percent(share), time(sending.late_from_us));
    Some(format!("{share} of the sends were more than {limit} late"))
}

fn busy(audit: &Audit) -> Option<String> {
    let shards = &audit.machine.as_ref()?.shards;
    let shares = shards.iter().map(ShardLoad::busy_share).enumerate();
    let (index, share) = shares.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    (share >= limits::BUSY).then(|| {
        let number = index + 1;
        format!("shard {number} ran, or waited for a core, for {} of the time", percent(share))
    })
}

fn log_wait(audit: &Audit) -> Option<String> {
    let share = audit.machine.as_ref()?.log_wait_share;
    (share >= limits::LOG_WAIT).then(|| {
        format!("it waited for the writer of the run log for {} of the time", percent(share))
    })
}

fn fruitless(audit: &Audit) -> Option<String> {
    let is_fruitless = audit.reading.yardstick.is_none();
    is_fruitless
        .then(|| "no request succeeded, so there is nothing to hold a lag against".to_owned())
}

fn shared(audit: &Audit) -> Option<String> {
    let (reading, shared) = (&audit.reading, audit.reading.shared);
    let share = reading.share_of_pieces(shared.by_client + shared.unknown);
    (share >= limits::SHARED).then(|| {
        let who = match shared.unknown {
            0 => "",
            _ => ", and of some the kernel did not say that they came apart",
        };
        format!("{} of the pieces lay unread until a later one came{who}", percent(share))
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

fn bound(audit: &Audit) -> Option<String> {
    let (share, lag) = Lag::of(&audit.reading).filter(|_| is_bound(audit))?.in_words();
    (share >= limits::LAG).then(|| format!("{lag}{BOUND}"))
}

fn is_bound(audit: &Audit) -> bool {
    audit.reading.answered_by_kernel_bound > 0
}

/// An engine without a server is on this machine, and works for as long as it can.
fn crowd(audit: &Audit) -> Option<String> {
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
        "{swept:.1} requests were in flight, where throughput x mean latency of the successes \
         gives {expected:.1}"
    ))
}

fn lagging(audit: &Audit) -> Option<String> {
    let is_stamped_exactly = !is_bound(audit) && !is_stamped_by_engine(audit);
    let (share, lag) = Lag::of(&audit.reading).filter(|_| is_stamped_exactly)?.in_words();
    // The stamp of pieces that lay unread is that of the last: the first lay longer.
    let cure = match shared(audit) {
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
    Some(if is_bound(audit) { lag + BOUND } else { lag })
}

const BOUND: &str = ", and on HTTP/2 the kernel's stamps are an upper bound";

/// The client's lag and what it is held against.
struct Lag {
    p99_us: f64,
    yardstick: Yardstick,
}

impl Lag {
    fn of(reading: &Reading) -> Option<Self> {
        Some(Self { p99_us: reading.lag.p99_us?, yardstick: reading.yardstick? })
    }

    /// Its share of the yardstick, and both in words.
    fn in_words(&self) -> (f64, String) {
        let median = self.yardstick.median_us();
        let share = self.p99_us / median;
        let (lag, name) = (time(self.p99_us), self.yardstick.name());
        let (part, median) = (percent(share), time(median));
        (share, format!("the p99 lag of {lag} is {part} of the median {name} of {median}"))
    }
}
