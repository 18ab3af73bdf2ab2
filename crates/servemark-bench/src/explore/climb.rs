//! Decides which load is measured next.

use std::num::NonZeroUsize;
use std::time::Duration;

use servemark_metrics::SloVerdict;

use super::LevelFigures;
use super::level::{Load, Role};

/// The next step of an exploration.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Next {
    /// Measure this load.
    Measure(Load),
    /// The exploration is complete.
    Done,
}

/// The loads measured so far, and what follows from them.
#[derive(Debug)]
pub(super) struct Climb {
    budget: Duration,
    most_streams: usize,
    /// Duration of the first answer, by which the first load is planned.
    first_answer: Duration,
    spent: Duration,
    levels: Vec<TriedLevel>,
    /// Number of levels whose streams were doubled: the first ones.
    doublings: usize,
    phase: Phase,
    /// Number of loads tried between a load that meets the objectives and one that does not.
    refinements: usize,
}

/// Figures of a tried load, from which the next loads are chosen.
#[derive(Clone, Copy, Debug)]
struct TriedLevel {
    streams: usize,
    tokens_per_s: f64,
    requests_per_s: f64,
    failed_share: f64,
    answer: Duration,
    slo: Option<SloVerdict>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    Doubling,
    Refining,
    Best,
    Done,
}

impl Climb {
    pub(super) fn new(
        budget: Duration,
        most_streams: NonZeroUsize,
        first_answer: Duration,
    ) -> Self {
        Self {
            budget,
            most_streams: most_streams.get(),
            first_answer,
            spent: Duration::ZERO,
            levels: Vec::new(),
            doublings: 0,
            phase: Phase::Doubling,
            refinements: 0,
        }
    }

    /// Returns the next step, given all loads measured so far.
    pub(super) fn next(&mut self) -> Next {
        if self.phase == Phase::Doubling {
            match self.doubled() {
                Some(streams) => return Next::Measure(self.load(Role::Climb, streams)),
                None => self.phase = Phase::Refining,
            }
        }
        if self.phase == Phase::Refining {
            match self.between() {
                Some(streams) => {
                    self.refinements += 1;
                    return Next::Measure(self.load(Role::Climb, streams));
                }
                None => self.phase = Phase::Best,
            }
        }
        match self.best().filter(|_| self.phase == Phase::Best) {
            Some(best) => Next::Measure(self.load(Role::Best, best.streams)),
            None => Next::Done,
        }
    }

    /// Adds the figures of a measured load.
    pub(super) fn measured(&mut self, level: &LevelFigures) {
        self.spent += level.took;
        if level.is_best {
            self.phase = Phase::Done;
            return;
        }
        self.doublings += usize::from(self.phase == Phase::Doubling);
        let all = level.requests + level.failed;
        self.levels.push(TriedLevel {
            streams: level.streams,
            tokens_per_s: level.output_tokens_per_s.unwrap_or_default(),
            requests_per_s: level.requests_per_s.unwrap_or_default(),
            failed_share: level.failed as f64 / all.max(1) as f64,
            answer: Duration::from_secs_f64(level.e2el_ms.unwrap_or_default() / 1e3),
            slo: level.slo,
        });
    }

    /// Returns whether the largest loads yielded no more tokens than smaller ones.
    pub(super) fn is_saturated(&self) -> bool {
        let doubled = &self.levels[..self.doublings];
        let Some(count) = doubled.len().checked_sub(PATIENCE) else { return false };
        let earlier = &doubled[..count];
        let best = earlier.iter().map(|level| level.tokens_per_s).fold(0.0, f64::max);
        let later = &doubled[count..];
        best > 0.0 && later.iter().all(|level| level.tokens_per_s < GROWTH * best)
    }

    /// Returns the next number of streams of the climb, or nothing if it is over.
    fn doubled(&self) -> Option<usize> {
        let Some(last) = self.levels.last() else { return Some(1) };
        let is_over = self.is_saturated()
            || last.failed_share > MOST_FAILED
            || last.streams >= self.most_streams
            || self.spent >= self.budget.mul_f64(LONGEST);
        (!is_over).then(|| (last.streams * 2).min(self.most_streams))
    }

    /// Returns a number of streams between the largest load that meets the objectives and the next
    /// larger load that was tried; absent if these are close, or if enough loads were tried
    /// between them.
    fn between(&self) -> Option<usize> {
        let holds = |level: &&TriedLevel| level.slo == Some(SloVerdict::Holds);
        let low = self.levels.iter().filter(holds).map(|level| level.streams).max()?;
        let above = self.levels.iter().filter(|level| level.streams > low);
        let high = above.map(|level| level.streams).min()?;
        let middle = low.midpoint(high);
        let is_worth = middle > low && (high - low) as f64 > PRECISION * low as f64;
        (is_worth && self.refinements < MOST_REFINEMENTS).then_some(middle)
    }

    /// Returns the smallest load that yields about as many tokens as the best one.
    fn best(&self) -> Option<TriedLevel> {
        let most = self.levels.iter().map(|level| level.tokens_per_s).fold(0.0, f64::max);
        let good = self.levels.iter().filter(|level| level.tokens_per_s >= ALIKE * most);
        good.min_by_key(|level| level.streams).copied()
    }

    /// Plans a load: how long it lasts, and how many requests suffice for that time.
    fn load(&self, role: Role, streams: usize) -> Load {
        let nearest = self.levels.iter().min_by_key(|level| level.streams.abs_diff(streams));
        let answer = nearest.map_or(self.first_answer, |level| level.answer);
        let (share, answers) = match role {
            Role::Best => (BEST_SHARE, 4),
            _ => (LEVEL_SHARE, 2),
        };
        let lasts = self.budget.mul_f64(share).max(answer * answers);
        let rate = match nearest {
            Some(level) if level.requests_per_s > 0.0 => {
                level.requests_per_s * (streams as f64 / level.streams as f64).max(1.0)
            }
            _ => streams as f64 / answer.as_secs_f64().max(1e-3),
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let requests = (SPARE * rate * lasts.as_secs_f64()) as usize + 2 * streams + 8;
        Load { role, streams, lasts, requests }
    }
}

/// Share of the budget that each load of the climb gets.
const LEVEL_SHARE: f64 = 1.0 / 15.0;
/// Share of the budget that the longer measurement of the best load gets.
const BEST_SHARE: f64 = 0.2;
/// Number of loads in a row without growth that end the climb. A single one may be an outlier.
const PATIENCE: usize = 2;
/// Factor by which the output rate must grow with twice the streams.
const GROWTH: f64 = 1.05;
/// Share of the best output rate from which on a smaller load counts as equally good.
const ALIKE: f64 = 0.98;
/// Share of failed requests above which the load is not raised any more.
const MOST_FAILED: f64 = 0.05;
/// Factor of the budget after which the load is not raised any more.
const LONGEST: f64 = 1.2;
/// Distance of the capacity's two ends, relative to the lower one, that is small enough.
const PRECISION: f64 = 0.1;
const MOST_REFINEMENTS: usize = 4;
/// Factor of requests that are drawn beyond what the server is expected to answer.
const SPARE: f64 = 1.5;

#[cfg(test)]
mod tests {
    use servemark_metrics::Verdict;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);
    const SECOND: Duration = Duration::from_secs(1);

    /// Measures a server that answers a request of 100 tokens in a second, up to `places` at once.
    /// Objectives hold up to `holds` streams, if it is given. Returns the measured loads.
    fn climbed(places: usize, holds: Option<usize>, most: usize) -> (Vec<usize>, Climb) {
        let mut climb = Climb::new(MINUTE, NonZeroUsize::new(most).unwrap(), SECOND);
        let mut streams = Vec::new();
        while let Next::Measure(load) = climb.next() {
            streams.push(load.streams);
            climb.measured(&figures(&load, places, holds));
        }
        (streams, climb)
    }

    fn figures(load: &Load, places: usize, holds: Option<usize>) -> LevelFigures {
        let rate = load.streams.min(places) as f64;
        let verdict =
            |most| if load.streams <= most { SloVerdict::Holds } else { SloVerdict::Fails };
        LevelFigures {
            streams: load.streams,
            is_best: load.role == Role::Best,
            took: load.lasts,
            requests: 100,
            failed: 0,
            requests_per_s: Some(rate),
            output_tokens_per_s: Some(100.0 * rate),
            ttft_ms: Some(50.0),
            ttft_p50_ms: Some(50.0),
            ttft_p99_ms: Some(50.0),
            tpot_ms: Some(10.0),
            e2el_ms: Some(1e3 * load.streams as f64 / rate),
            slo: holds.map(verdict),
            client: Verdict::Clean,
            run_log: None,
        }
    }

    #[test]
    fn streams_double_until_two_loads_yield_no_more_and_the_best_is_measured_again() {
        let (streams, climb) = climbed(12, None, 4096);
        assert_eq!(streams, [1, 2, 4, 8, 16, 32, 64, 16]);
        assert!(climb.is_saturated());
    }

    #[test]
    fn the_climb_ends_at_the_largest_number_of_streams() {
        let (streams, climb) = climbed(1000, None, 10);
        assert_eq!(streams, [1, 2, 4, 8, 10, 10]);
        assert!(!climb.is_saturated());
    }

    #[test]
    fn loads_between_the_last_that_holds_and_the_first_that_fails_are_tried() {
        let (streams, _) = climbed(16, Some(21), 4096);
        assert_eq!(streams, [1, 2, 4, 8, 16, 32, 64, 24, 20, 22, 16]);
    }

    #[test]
    fn smaller_loads_that_are_tried_later_are_no_sign_of_saturation() {
        let (streams, climb) = climbed(1000, Some(9), 16);
        assert_eq!(streams, [1, 2, 4, 8, 16, 12, 10, 9, 16]);
        assert!(!climb.is_saturated());
    }

    #[test]
    fn a_load_lasts_for_two_answers_and_has_requests_for_that_time() {
        let climb = Climb::new(MINUTE, NonZeroUsize::MIN, 10 * SECOND);
        let load = climb.load(Role::Climb, 1);
        assert_eq!((load.lasts, load.requests), (20 * SECOND, 13));
        let fast = Climb::new(MINUTE, NonZeroUsize::MIN, SECOND).load(Role::Climb, 1);
        assert_eq!(fast.lasts, 4 * SECOND);
    }

    #[test]
    fn failures_end_the_climb() {
        let mut climb = Climb::new(MINUTE, NonZeroUsize::new(64).unwrap(), SECOND);
        let Next::Measure(load) = climb.next() else { panic!() };
        climb.measured(&LevelFigures { failed: 10, ..figures(&load, 4, None) });
        let Next::Measure(load) = climb.next() else { panic!() };
        assert_eq!((load.role, load.streams), (Role::Best, 1));
    }
}
