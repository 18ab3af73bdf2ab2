//! A quantity over time, from readings at single instants.

/// Readings of a quantity, connected by straight lines. Before the first and after the last reading
/// the nearest one holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Curve {
    /// Pairs of seconds and values, in ascending order of time. Two points of one time are a step.
    points: Vec<(f64, f64)>,
    /// Integral from the first point to each point.
    integrals: Vec<f64>,
}

impl Curve {
    /// Creates a curve from points in ascending order of time.
    pub(super) fn new(points: Vec<(f64, f64)>) -> Self {
        let mut sum = 0.0;
        let trapezoids = points.windows(2).map(|pair| {
            sum += (pair[1].0 - pair[0].0) * (pair[0].1 + pair[1].1) / 2.0;
            sum
        });
        let integrals = std::iter::once(0.0).chain(trapezoids).take(points.len()).collect();
        Self { points, integrals }
    }

    /// Returns the sum of several curves.
    pub(super) fn sum(curves: &[&Self]) -> Self {
        let mut times: Vec<f64> =
            curves.iter().flat_map(|curve| curve.points.iter().map(|(at, _)| *at)).collect();
        servemark_statistics::sort(&mut times);
        // A step of any curve has two points of one time, before it and after it.
        times.dedup();
        let before = |at: f64| curves.iter().map(|curve| curve.value_before(at)).sum::<f64>();
        let after = |at: f64| curves.iter().map(|curve| curve.value_after(at)).sum::<f64>();
        let points = times.iter().flat_map(|&at| [(at, before(at)), (at, after(at))]);
        Self::new(points.collect())
    }

    pub(super) fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// Returns the integral from one time to a later one.
    pub(super) fn joules(&self, from: f64, to: f64) -> f64 {
        self.integral(to) - self.integral(from)
    }

    /// Returns the integral from the first point to a time; negative before that point.
    pub(super) fn integral(&self, to: f64) -> f64 {
        let index = self.points.partition_point(|(at, _)| *at <= to);
        match (index.checked_sub(1), self.points.get(index)) {
            (None, None) => 0.0,
            (None, Some((first, value))) => (to - first) * value,
            (Some(last), next) => {
                let (at, value) = self.points[last];
                let now = next.map_or(value, |next| between((at, value), *next, to));
                self.integrals[last] + (to - at) * (value + now) / 2.0
            }
        }
    }

    /// Returns the mean over the readings before a time; absent with fewer than two.
    pub(super) fn mean_before(&self, end: f64) -> Option<f64> {
        let count = self.points.partition_point(|(at, _)| *at <= end);
        let [(first, _), .., (last, _)] = self.points[..count] else { return None };
        (last > first).then(|| self.joules(first, last) / (last - first))
    }

    /// Returns the value at a time, of the two at a step the earlier one.
    fn value_before(&self, at: f64) -> f64 {
        self.value(at, self.points.partition_point(|(time, _)| *time < at))
    }

    /// Returns the value at a time, of the two at a step the later one.
    fn value_after(&self, at: f64) -> f64 {
        self.value(at, self.points.partition_point(|(time, _)| *time <= at))
    }

    /// Returns the value at a time that lies between the points before and from `index` on.
    fn value(&self, at: f64, index: usize) -> f64 {
        match (index.checked_sub(1).map(|last| self.points[last]), self.points.get(index).copied())
        {
            (None, None) => 0.0,
            (None, Some((_, value))) | (Some((_, value)), None) => value,
            (Some(last), Some(next)) => between(last, next, at),
        }
    }
}

fn between(one: (f64, f64), other: (f64, f64), at: f64) -> f64 {
    let span = other.0 - one.0;
    if span > 0.0 { one.1 + (other.1 - one.1) * (at - one.0) / span } else { one.1 }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "all of these numbers are exact")]
mod tests {
    use super::*;

    #[test]
    fn integrals_are_trapezoids_and_the_ends_go_on() {
        let curve = Curve::new(vec![(0.0, 100.0), (2.0, 200.0)]);
        let joules = [(0.0, 2.0), (0.0, 1.0), (-1.0, 0.0), (2.0, 4.0)];
        let joules = joules.map(|(from, to)| curve.joules(from, to));
        assert_eq!(joules, [300.0, 125.0, 100.0, 400.0]);
        assert_eq!(curve.mean_before(2.0), Some(150.0));
        assert_eq!(curve.mean_before(1.0), None);
    }

    #[test]
    fn a_sum_keeps_steps() {
        let steps = Curve::new(vec![(0.0, 10.0), (1.0, 10.0), (1.0, 30.0), (2.0, 30.0)]);
        let flat = Curve::new(vec![(0.5, 5.0)]);
        let sum = Curve::sum(&[&steps, &flat]);
        assert_eq!([sum.joules(0.0, 1.0), sum.joules(1.0, 2.0)], [15.0, 35.0]);
        assert_eq!(Curve::sum(&[]).joules(0.0, 1.0), 0.0);
    }
}
