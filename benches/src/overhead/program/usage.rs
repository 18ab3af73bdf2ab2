//! CPU time of a program, recorded while it runs.

use std::time::Duration;

use servemark::core::{Clock, Stamp};
use servemark::pacer::MachineClock;

use super::super::noise::millis;
use super::super::proc;

/// CPU time of a process and its children, recorded while it runs.
#[derive(Debug)]
pub(super) struct Usage {
    process: String,
    notes: Vec<(Stamp, Duration)>,
    waited: Duration,
    switches: u64,
}

impl Usage {
    pub(super) fn of(process: u32) -> Self {
        let process = process.to_string();
        Self { process, notes: Vec::new(), waited: Duration::ZERO, switches: 0 }
    }

    /// Records the CPU time used so far. Waits of a thread that has ended are no longer reported,
    /// so the largest total is kept.
    pub(super) fn note(&mut self) {
        let family = proc::family(&self.process);
        let cpu = family.iter().map(|member| proc::cpu(member)).sum();
        self.notes.push((MachineClock.now(), cpu));
        let waited = family.iter().map(|member| proc::waited(member)).sum();
        self.waited = self.waited.max(waited);
        let switches = family.iter().map(|member| proc::switches(member)).sum();
        self.switches = self.switches.max(switches);
    }

    /// Returns the CPU time used between two instants.
    pub(super) fn between(&self, from: Stamp, to: Stamp) -> Duration {
        self.until(to).saturating_sub(self.until(from))
    }

    /// Returns for how many milliseconds the process waited for a core, and the number of its
    /// involuntary context switches, both over its whole life.
    pub(super) fn noise(&self) -> (f64, u64) {
        (millis(self.waited), self.switches)
    }

    /// Returns the CPU time used up to an instant, interpolated linearly between two recordings.
    fn until(&self, at: Stamp) -> Duration {
        let next = self.notes.partition_point(|(noted, _)| *noted <= at);
        let before = next.checked_sub(1).map(|index| self.notes[index]);
        match (before, self.notes.get(next).copied()) {
            (Some(before), Some(after)) => {
                let share = at.since(before.0).div_duration_f64(after.0.since(before.0));
                before.1 + after.1.saturating_sub(before.1).mul_f64(share)
            }
            (Some((_, cpu)), None) => cpu,
            (None, _) => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_notes_it_is_used_evenly() {
        let at = |ms: u64| Stamp::from_nanos(ms * 1_000_000);
        let ms = Duration::from_millis;
        let mut usage = Usage::of(1);
        usage.notes = vec![(at(10), ms(100)), (at(20), ms(110)), (at(30), ms(150))];
        assert_eq!(usage.between(at(15), at(25)), ms(25));
        assert_eq!(usage.between(at(20), at(90)), ms(40));
        assert_eq!(usage.between(at(0), at(10)), ms(100));
    }
}
