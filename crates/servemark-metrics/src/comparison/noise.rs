//! How far a difference would go by chance alone: the bootstrap.

use servemark_rng::Pcg64;

use super::ChangeInterval;
use super::units::Units;
use crate::statistics::whole;

/// Draws two runs again and again.
#[derive(Debug)]
pub(super) struct Bootstrap<'a> {
    sides: &'a [Units; 2],
    /// The differences that each figure had, draw by draw.
    differences: Vec<Vec<f64>>,
}

impl<'a> Bootstrap<'a> {
    /// The same draws every time, so that the same two logs give the same answer.
    pub(super) fn of(sides: &'a [Units; 2]) -> Self {
        let figures = sides[0].estimators.len();
        let mut bootstrap = Self { sides, differences: vec![Vec::new(); figures] };
        let units: usize = sides.iter().map(|side| side.requests).sum();
        let rounds = (WORK / units.max(1)).clamp(FEWEST, MOST);
        let mut random = Pcg64::seeded(0);
        (0..rounds).for_each(|_| bootstrap.draw(&mut random));
        bootstrap
    }

    fn draw(&mut self, random: &mut Pcg64) {
        let times = self
            .sides
            .each_ref()
            .map(|side| (again(side.requests, random), again(side.spans, random)));
        for (figure, differences) in self.differences.iter_mut().enumerate() {
            let value = |side: usize| {
                let (requests, spans) = &times[side];
                self.sides[side].estimators[figure].value(requests, spans)
            };
            differences.extend(value(1).zip(value(0)).map(|(after, before)| after - before));
        }
    }

    /// Where each figure's difference lies; nothing where a run is too small to tell.
    pub(super) fn intervals(self) -> Vec<Option<ChangeInterval>> {
        let is_enough = self.sides.iter().all(|side| side.requests >= FEWEST_REQUESTS);
        let interval = |mut differences: Vec<f64>| {
            differences.sort_unstable_by(f64::total_cmp);
            let last = differences.len().checked_sub(1)?;
            let tail = whole((last as f64 * TAIL).round());
            Some(ChangeInterval { low: differences[tail], high: differences[last - tail] })
        };
        let intervals = self.differences.into_iter().map(interval);
        intervals.map(|interval| interval.filter(|_| is_enough)).collect()
    }
}

/// How often each of so many units was drawn, where as many are drawn as there are.
fn again(units: usize, random: &mut Pcg64) -> Vec<u32> {
    let mut times = vec![0; units];
    // The bias of a product with 64 bits is far below what can be seen in a percentile of it.
    for _ in 0..units {
        let place = (u128::from(random.next_u64()) * units as u128) >> 64;
        times[place as usize] += 1;
    }
    times
}

/// The share of the draws that is left out at either end.
const TAIL: f64 = 0.005;
/// How many units are drawn in all, about: a second's work.
const WORK: usize = 100_000_000;
const FEWEST: usize = 1000;
const MOST: usize = 2000;
/// Fewer requests than this say next to nothing of what chance does.
const FEWEST_REQUESTS: usize = 10;
