//! Means of correlated, clustered and skewed values.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::clustering::clustering;
use crate::dependence::Dependence;
use crate::{Bounds, Estimate, Observations, Reason, moments};

/// Estimates the mean of the process from a sample.
///
/// The interval is Student's, on the effective sample size, with Hall's correction (1992) for
/// skewness. Clusters enter as their residuals from the common mean, so that a request with many
/// values has their weight and counts as one draw.
pub(crate) fn mean(sample: &Observations, confidence: f64) -> Estimate {
    Spread::of(sample).estimate(sample.values().len(), confidence)
}

/// Estimates the rate of a process that gives `amounts[i]` in `times[i]`, for example the tokens of
/// a request in the time until the next one is sent.
pub fn rate(amounts: &[f64], times: &[f64], confidence: f64) -> Estimate {
    let all: f64 = times.iter().sum();
    let rate = amounts.iter().sum::<f64>() / all;
    let mean_time = all / times.len() as f64;
    let residual = |(amount, time): (&f64, &f64)| (amount - rate * time) / mean_time;
    let residuals: Vec<f64> = amounts.iter().zip(times).map(residual).collect();
    let (_, typical_distance) = median_and_distance(&residuals);
    let unseen = RULE_OF_THREE / residuals.len() as f64 * rate.abs();
    let spread = Spread { unseen, ..Spread::of_residuals(rate, &residuals, typical_distance) };
    let with_times = WithTimes::of(&residuals, times, mean_time, spread.deviation);
    Spread { with_times, ..spread }.estimate(residuals.len(), confidence)
}

/// How the residuals of a rate depend on the rate that they are computed with (Fieller 1954). Their
/// variance at a rate that is `x` standard deviations higher is `1 - 2 a x + b x^2` times their own.
#[derive(Clone, Copy, Debug, Default)]
struct WithTimes {
    a: f64,
    b: f64,
}

impl WithTimes {
    fn of(residuals: &[f64], times: &[f64], mean_time: f64, deviation: f64) -> Self {
        if deviation <= 0.0 {
            return Self::default();
        }
        let off = |time: &f64| time / mean_time - 1.0;
        let count = times.len() as f64;
        let products: f64 = residuals.iter().zip(times).map(|(one, time)| one * off(time)).sum();
        let squares: f64 = times.iter().map(|time| off(time).powi(2)).sum();
        Self { a: products / count / deviation, b: squares / count }
    }

    /// Returns the distance from the rate to an end of its interval, from the distance by the error
    /// at the rate itself; both are in standard deviations of a residual, and below zero for a lower
    /// end.
    fn solved(self, distance: f64) -> f64 {
        let mut end = distance;
        for _ in 0..STEPS {
            let ratio = 1.0 - 2.0 * self.a * end + self.b * end * end;
            end = distance * ratio.max(0.0).sqrt();
        }
        end
    }
}

/// Number of steps of the iteration to the end of a rate's interval. Each reduces the remaining error
/// by a factor of the relative error of the mean time, which is a few percent.
const STEPS: usize = 8;

/// Quantities from which the interval of a mean is computed. Deviations are in the unit of the
/// values.
struct Spread {
    mean: f64,
    /// Standard deviation of the residuals of clusters.
    deviation: f64,
    /// Skewness of the residuals.
    skewness: f64,
    /// Median of the values' distances from their median.
    typical_distance: f64,
    /// Contribution to the mean of rare values that no request of the sample showed.
    unseen: f64,
    /// Contribution of waits that no request of the sample met.
    waits: f64,
    /// Effective number of residuals that contribute to their variance.
    participants: f64,
    clusters: f64,
    /// Number of bursts of outliers.
    bursts: f64,
    dependence: Dependence,
    /// Effective sample size, in values.
    effective_values: f64,
    parts: KnownParts,
    /// How the residuals of a rate depend on the rate.
    with_times: WithTimes,
    /// Range of the values if they hardly differ.
    narrow: Option<NarrowRange>,
}

impl Spread {
    fn of(sample: &Observations) -> Self {
        let values = sample.values();
        let (mean, value_variance) = moments(values);
        let size = sample.mean_size();
        let residual =
            |cluster: &[f64]| (cluster.iter().sum::<f64>() - mean * cluster.len() as f64) / size;
        let residuals = sample.by_cluster(residual);
        let (median, typical_distance) = median_and_distance(values);
        let alone = Self::of_residuals(mean, &residuals, typical_distance);
        let spread = sample.parts().fold(alone, Self::with_part);
        let of_mean = spread.error().powi(2);
        let all = values.len() as f64;
        let effective_values =
            if of_mean > 0.0 { (value_variance / of_mean).min(all) } else { all };
        let at_least = RULE_OF_THREE / spread.clusters * median.abs();
        let waits = sample.unmet_waits().of_mean();
        let narrow = NarrowRange::of(values, median);
        Self { effective_values, unseen: at_least.max(waits), waits, narrow, ..spread }
    }

    /// Adds the information of a known part of the values.
    fn with_part(self, part: &[f64]) -> Self {
        let (mean, _) = moments(part);
        let residuals: Vec<f64> = part.iter().map(|value| value - mean).collect();
        let (median, distance) = median_and_distance(part);
        let of_part = Self::of_residuals(mean, &residuals, distance);
        let share = (of_part.deviation / self.deviation).powi(2);
        let dependence = self.dependence.with_part(&of_part.dependence, share);
        let too_short = of_part.too_short();
        let room = too_short.map_or(0.0, |_| ROOM_FOR_PARTS * (mean - median).max(0.0));
        let matters = of_part.error() > LEAST_PART_OF_ERROR * self.error();
        let doubt = too_short.filter(|_| matters);
        let range = doubt.and_then(|(_, reason)| NarrowRange::of(part, median)?.ends(reason));
        let margin = range.map_or(0.0, |(low, high)| (mean - low).max(high - mean));
        let parts = KnownParts {
            doubt: self.parts.doubt.or(doubt.filter(|_| range.is_none())),
            room: self.parts.room.max(room),
            margin: self.parts.margin.max(margin),
        };
        Self { dependence, parts, ..self }
    }

    /// Computes the spread of a mean from each cluster's residual.
    fn of_residuals(mean: f64, residuals: &[f64], typical_distance: f64) -> Self {
        let clusters = residuals.len() as f64;
        let (_, variance) = moments(residuals);
        let power =
            |exponent| residuals.iter().map(|off| off.powi(exponent)).sum::<f64>() / clusters;
        let bursts = Bursts::of(mean, residuals);
        let dependence = Dependence::of(residuals).at_least(bursts.size);
        let varies = variance > 0.0;
        Self {
            mean,
            deviation: variance.sqrt(),
            skewness: if varies { power(3) / variance.powf(1.5) } else { 0.0 },
            typical_distance,
            unseen: 0.0,
            waits: 0.0,
            participants: if varies { clusters * variance.powi(2) / power(4) } else { clusters },
            clusters,
            bursts: bursts.count,
            effective_values: dependence.effective(),
            dependence,
            parts: KnownParts::default(),
            with_times: WithTimes::default(),
            narrow: None,
        }
    }

    fn estimate(&self, samples: usize, confidence: f64) -> Estimate {
        let alpha = (1.0 - confidence) / 2.0;
        let bounds = match self.too_short() {
            Some((times, reason)) => {
                self.by_range(reason).unwrap_or(Bounds::TooShort { times, reason })
            }
            None => self.interval(alpha),
        };
        let (at_least, effective) = (self.at_least(alpha), self.effective_values);
        let (error, unseen) = (Some(self.error()), self.unseen);
        Estimate { value: self.mean, bounds, at_least, error, unseen, samples, effective }
    }

    /// Returns the factor by which the sample should be longer, and why; absent if it is long
    /// enough.
    fn too_short(&self) -> Option<(f64, Reason)> {
        let effective = self.dependence.effective();
        if self.clusters < FEWEST_CLUSTERS {
            return Some((FEWEST_CLUSTERS / self.clusters, Reason::FewRequests));
        }
        let fewest = if self.skewness < SYMMETRIC { FEWEST_IF_SYMMETRIC } else { FEWEST_EFFECTIVE };
        if let Some(found) = self.dependence.too_short(fewest) {
            return Some(found);
        }
        // Cochran's rule: rare slow phases determine the mean, and a short sample may have missed
        // them. The skewness of short correlations is that of the values; only longer ones show that of
        // the phases.
        let is_long = self.dependence.length > LONG_CORRELATION;
        let cochran = if is_long { COCHRAN } else { COCHRAN_IF_SHORT };
        let wanted = cochran * self.skewness.powi(2);
        if self.dependence.is_dependent() && effective < wanted {
            return Some((wanted / effective, Reason::RareValues));
        }
        // A few slow phases determine the mean.
        if self.bursts < FEWEST_CLUSTERS {
            return Some((FEWEST_CLUSTERS / self.bursts.max(1.0), Reason::RareValues));
        }
        if self.parts.doubt.is_some() {
            return self.parts.doubt;
        }
        let is_needle = self.deviation > NEEDLE * self.typical_distance && self.deviation > 0.0;
        if is_needle && self.participants < FEWEST_PARTICIPANTS {
            return Some((FEWEST_PARTICIPANTS / self.participants.max(1.0), Reason::RareValues));
        }
        // If all values are equal, there may be other values that none of these requests happened
        // to show.
        let is_constant = self.deviation <= ALIKE * self.mean.abs();
        is_constant.then_some((LONGER_IF_CONSTANT, Reason::RareValues))
    }

    fn interval(&self, alpha: f64) -> Bounds {
        let (below, above) = self.half_widths(alpha, self.free());
        let errors = self.dependence.effective().sqrt().recip();
        let end = |half: f64| self.deviation * self.with_times.solved(half * errors);
        let with_waits = end(above).hypot(self.waits);
        let KnownParts { room, margin, .. } = self.parts;
        let low = self.mean + end(-below) - margin;
        Bounds::Known { low, high: self.mean + with_waits.max(self.unseen) + room + margin }
    }

    /// Returns the interval of values that hardly differ, by their range; absent for others.
    fn by_range(&self, reason: Reason) -> Option<Bounds> {
        let (low, high) = self.narrow?.ends(reason)?;
        Some(Bounds::Known { low, high: high.max(self.mean + self.unseen) })
    }

    /// Returns a lower bound of the mean from the effective sample size, which also holds if the
    /// sample is too short for an interval; minus infinity if it is too short even for that.
    fn at_least(&self, alpha: f64) -> f64 {
        let is_significant =
            self.clusters >= FEWEST_CLUSTERS && self.dependence.effective() >= FEWEST_ROUGH;
        // A variance that a few values determine is known no better than their number allows.
        let free = self.free().min(self.participants / 4.0);
        let low = self.mean - self.half_widths(alpha, free).0 * self.error();
        if is_significant { low } else { f64::NEG_INFINITY }
    }

    fn error(&self) -> f64 {
        self.deviation / self.dependence.effective().sqrt()
    }

    /// Returns the degrees of freedom of the variance.
    fn free(&self) -> f64 {
        let effective = self.dependence.effective();
        // The variance of a dependent series is known about as well as from half as many values, and
        // no better than from as many as there are low frequencies.
        if self.dependence.is_dependent() {
            (effective / 2.0).min(MOST_FREE_IF_DEPENDENT)
        } else {
            effective - 1.0
        }
    }

    /// Returns the half-widths below and above the mean, in standard errors.
    fn half_widths(&self, alpha: f64, free: f64) -> (f64, f64) {
        let effective = self.dependence.effective();
        let Ok(student) = StudentsT::new(0.0, 1.0, free.max(1.0)) else {
            return (f64::INFINITY, f64::INFINITY);
        };
        skewed(student.inverse_cdf(1.0 - alpha), self.skewness / effective.sqrt())
    }
}

/// Range of values that hardly differ, such as the latencies of a server with constant times on a machine
/// with some noise.
///
/// Such values often depend on each other for longer than the run, so their number says little. But
/// their range does: the mean of a process would have to differ from all of its values in the run by
/// more than these differ from each other to be outside of the range widened by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NarrowRange {
    low: f64,
    high: f64,
    /// The range as a part of the typical value.
    part: f64,
}

impl NarrowRange {
    /// Returns the range of values around a typical one; absent if it is not small or there are too few
    /// values.
    pub(crate) fn of(values: &[f64], typical: f64) -> Option<Self> {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let part = (high - low) / typical.abs();
        let is_narrow = part <= NARROW && values.len() as f64 >= FEWEST_CLUSTERS;
        is_narrow.then_some(Self { low, high, part })
    }

    /// Returns the ends of the range widened by itself; absent if the values are too few, show that others
    /// are rare, or rise or fall by more than a little.
    pub(crate) fn ends(self, reason: Reason) -> Option<(f64, f64)> {
        let is_usable = match reason {
            Reason::Correlated => true,
            Reason::Trend => self.part <= NARROW_TREND,
            // Values that these requests did not show may be rare, and large.
            Reason::FewRequests | Reason::RareValues => false,
        };
        let range = self.high - self.low;
        is_usable.then_some((self.low - range, self.high + range))
    }
}

/// Largest range of values, as a part of the typical one, that bounds the mean. Values that exceed the usual
/// ones by more are outliers.
pub(crate) const NARROW: f64 = 0.1;
/// Largest such range of values that rise or fall through the run. A queue that grows without end rises
/// by more.
const NARROW_TREND: f64 = 0.02;

/// Applies Hall's transformation to a quantile, for a mean whose distribution has this skewness
/// (times a factor of three). The result is kept near the symmetric one: a single outlier must not
/// determine it.
fn skewed(quantile: f64, skewness: f64) -> (f64, f64) {
    if skewness.abs() < 1e-6 {
        return (quantile, quantile);
    }
    let inverse = |t: f64| 3.0 / skewness * ((1.0 + skewness * (t - skewness / 6.0)).cbrt() - 1.0);
    let near = |half: f64| half.clamp(0.9 * quantile, 1.5 * quantile);
    (near(inverse(quantile)), near(-inverse(-quantile)))
}

/// Bursts of outliers. Tests by ranks miss the dependence within bursts, because it is hidden in
/// the noise of all other values.
#[derive(Clone, Copy, Debug)]
struct Bursts {
    /// Size in requests; 1 if outliers come by chance.
    size: f64,
    /// Number of bursts, of the outliers of which there are fewest; infinite without any.
    count: f64,
}

impl Bursts {
    /// Returns the bursts of outliers of values around a mean. They are counted if the values are larger
    /// than usual by a part of the mean that matters.
    fn of(mean: f64, residuals: &[f64]) -> Self {
        let (median, distance) = median_and_distance(residuals);
        let mut sorted = residuals.to_vec();
        crate::sort(&mut sorted);
        let highest_tenth = sorted.get(sorted.len() * 9 / 10).copied().unwrap_or(f64::INFINITY);
        let far = [5.0, 8.0, 16.0].map(|distances| median + distances * distance);
        let all = [far[1], far[2], highest_tenth].map(|limit| Self::above(limit, residuals).size);
        let matters = median + NARROW * mean.abs();
        let counts = far.map(|limit| Self::above(limit.max(matters), residuals).count);
        Self {
            size: all.into_iter().fold(1.0, f64::max),
            count: counts.into_iter().fold(f64::INFINITY, f64::min),
        }
    }

    /// Returns the bursts of the values above a limit.
    fn above(limit: f64, residuals: &[f64]) -> Self {
        let hits: Vec<bool> = residuals.iter().map(|value| *value > limit).collect();
        let size = clustering(&hits);
        if size <= 1.0 {
            return Self { size: 1.0, count: f64::INFINITY };
        }
        Self { size, count: hits.iter().filter(|is_hit| **is_hit).count() as f64 / size }
    }
}

/// Effects of known parts of the values on the interval of their mean.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KnownParts {
    /// By how much the sample should be longer, and why, if the parts are too short for an interval of
    /// their own and matter for that of the values.
    pub(crate) doubt: Option<(f64, Reason)>,
    /// By how much the parts may be larger than they were, if they have no interval.
    pub(crate) room: f64,
    /// By how much the mean of parts that hardly differ may be off on either side, if they have no
    /// interval.
    pub(crate) margin: f64,
}

impl KnownParts {
    pub(crate) fn of(sample: &Observations) -> Self {
        if sample.parts().next().is_none() {
            return Self::default();
        }
        Spread::of(sample).parts
    }
}

/// Factor on the excess of the mean of parts over their median, which is what waits added to them. A run
/// whose parts have no interval may have been quieter than others by this factor.
const ROOM_FOR_PARTS: f64 = 3.0;
/// Share of the standard error of the values from which on that of a known part matters. A part that is
/// too short for an interval may be off by several times the error that it shows.
const LEAST_PART_OF_ERROR: f64 = 0.03;
/// Values count as equal if their deviation is less than this part of them.
const ALIKE: f64 = 1e-4;
/// Factor by which a run should be longer if all its values are equal. Such a run does not show how
/// rare other values are.
const LONGER_IF_CONSTANT: f64 = 10.0;

/// Returns the median, and the median of all distances from it.
pub(crate) fn median_and_distance(values: &[f64]) -> (f64, f64) {
    let median = |values: &mut [f64]| {
        let middle = values.len() / 2;
        *values.select_nth_unstable_by(middle, f64::total_cmp).1
    };
    if values.is_empty() {
        return (f64::NAN, f64::NAN);
    }
    let mut values = values.to_vec();
    let middle = median(&mut values);
    for value in &mut values {
        *value = (*value - middle).abs();
    }
    (middle, median(&mut values))
}

/// Least number of requests. Fewer show nothing of their spread.
const FEWEST_CLUSTERS: f64 = 20.0;
/// Least effective sample size of a dependent sample. In simulations of queues and of engines with
/// continuous batching (`docs/methodology.md`), smaller samples miss the truth too often, because
/// they contain too few slow phases.
const FEWEST_EFFECTIVE: f64 = 160.0;
/// Least effective sample size of a dependent sample that is not skewed to the right. Queues and
/// engines with rare slow phases are.
const FEWEST_IF_SYMMETRIC: f64 = 100.0;
/// Skewness below which a sample counts as not skewed.
const SYMMETRIC: f64 = 0.5;
/// Largest number of degrees of freedom for a dependent sample. Its variance is estimated from 16
/// frequencies.
const MOST_FREE_IF_DEPENDENT: f64 = 16.0;
/// Least effective sample size for a lower bound alone.
const FEWEST_ROUGH: f64 = 5.0;
/// Effective sample size needed for each unit of squared skewness. Cochran asks for 25, of
/// independent draws whose skewness is known.
const COCHRAN: f64 = 14.0;
/// Effective sample size needed for each unit of squared skewness if the correlation is short, or
/// hidden in independent noise.
const COCHRAN_IF_SHORT: f64 = 25.0;
/// Correlation length beyond which the values' skewness is that of slow phases.
const LONG_CORRELATION: f64 = 10.0;
/// Rule of three: what none of n requests met may happen to 3 in n of them, with 95 % confidence. Each is
/// allowed the size of a typical value.
const RULE_OF_THREE: f64 = 3.0;
/// Ratio of the standard deviation to the typical distance above which a few values determine the
/// deviation.
const NEEDLE: f64 = 12.0;
/// Least number of values that must contribute to a standard deviation that is far above the
/// typical distance from the median.
const FEWEST_PARTICIPANTS: f64 = 20.0;

#[cfg(test)]
mod tests {
    use servemark_rng::NumpyRandom;

    use super::*;
    use crate::UnmetWaits;

    /// Latencies of 50 ms with this scatter, and bursts of waits in which every value is 200 ms more.
    fn with_bursts(requests: usize, bursts: &[usize]) -> Observations {
        let mut random = NumpyRandom::seeded(4);
        let is_waiting = |at: usize| bursts.iter().any(|burst| (*burst..burst + 8).contains(&at));
        let mut latency =
            |at| 0.05 + random.normal(0.0, 0.0025) + if is_waiting(at) { 0.2 } else { 0.0 };
        (0..requests).map(&mut latency).collect()
    }

    #[test]
    fn a_few_bursts_of_waits_do_not_make_a_known_mean() {
        let mean = with_bursts(2000, &[300, 1400]).mean(0.95);
        assert!(matches!(mean.bounds, Bounds::TooShort { .. }), "{mean:?}");
        assert!(with_bursts(2000, &[]).mean(0.95).bounds.interval().is_some());
    }

    /// A server with constant times on a machine whose noise changes slowly: values of 50 ms that are alike
    /// for about as long as the run.
    fn slow_noise(deviation: f64, seed: u32) -> Observations {
        let mut random = NumpyRandom::seeded(seed);
        let mut noise = random.normal(0.0, 1.0);
        (0..256)
            .map(|_| {
                noise = 0.98 * noise + 0.199 * random.normal(0.0, 1.0);
                0.05 * (1.0 + deviation * noise)
            })
            .collect()
    }

    #[test]
    fn values_that_hardly_differ_are_bounded_by_their_range() {
        for seed in 0..60 {
            let quiet = slow_noise(1e-3, seed);
            for known in [quiet.mean(0.95), quiet.percentile(0.5, 0.95)] {
                let (low, high) = known.bounds.interval().unwrap();
                assert!(low <= 0.05 && 0.05 <= high, "{seed}: {low} {high}");
                assert!(0.0495 < low && high < 0.0511, "{seed}: {low} {high}");
            }
            let loud = slow_noise(0.1, seed).mean(0.95);
            assert!(loud.bounds.interval().is_none(), "{seed}: {loud:?}");
        }
    }

    /// Tokens of requests that arrive at random, 20 requests of 100 tokens per second on average.
    #[test]
    fn intervals_of_a_rate_miss_on_either_side() {
        let mut random = NumpyRandom::seeded(12);
        let (mut above, mut below) = (0, 0);
        for _ in 0..600 {
            let tokens: Vec<f64> =
                (0..400).map(|_| 100.0 * random.normal(-0.5, 1.0).exp()).collect();
            let times: Vec<f64> = (0..400).map(|_| random.exponential(0.05)).collect();
            let Some((low, high)) = rate(&tokens, &times, 0.95).bounds.interval() else { continue };
            above += u32::from(low > 2000.0);
            below += u32::from(high < 2000.0);
        }
        assert!(above <= 25 && below <= 25, "{above} {below}");
    }

    /// Waits that raise a mean by this many seconds.
    fn waits(of_mean: f64) -> UnmetWaits {
        UnmetWaits { share: 1.0, mean: of_mean }
    }

    /// Each value has a wait that is alike for about 50 requests, and a part that is independent and has
    /// twenty times the variance.
    #[test]
    fn a_known_part_shows_the_dependence_that_the_rest_hides() {
        let mut random = NumpyRandom::seeded(7);
        let mut run = || {
            let (mut whole, mut alone) = (Observations::default(), Observations::default());
            let mut wait = 0.0;
            for _ in 0..400 {
                wait = 0.96 * wait + random.normal(0.0, 0.28);
                let value = 100.0 + wait + random.normal(0.0, 4.5);
                whole.push_with_parts(value, [10.0 + wait]);
                alone.push([value]);
            }
            [whole, alone].map(|sample| sample.mean(0.95).bounds.interval().is_some())
        };
        let runs: Vec<[bool; 2]> = (0..40).map(|_| run()).collect();
        let known = |at: usize| runs.iter().filter(|run| run[at]).count();
        assert!(known(0) <= 4 && known(1) >= 20, "{} {}", known(0), known(1));
    }

    /// Each value has a part of 50 ms with slow noise of 0.1 %, and a part that is independent. The sample is
    /// just long enough for the error of the slow part to matter beside that of the other.
    #[test]
    fn slow_noise_of_a_known_part_that_hardly_differs_widens_the_interval() {
        let run = |seed| {
            let (mut whole, mut alone) = (Observations::default(), Observations::default());
            let mut random = NumpyRandom::seeded(seed + 100);
            for part in slow_noise(1e-3, seed).values() {
                let value = part + random.normal(0.05, 4e-3);
                whole.push_with_parts(value, [*part]);
                alone.push([value]);
            }
            let found = [whole, alone].map(|sample| sample.mean(0.95).bounds.interval());
            let found = found.map(|found| found.map(|(low, high)| high - low));
            found[0].map(|width| width / found[1].unwrap_or(width))
        };
        let widths: Vec<f64> = (0..40).map(|seed| run(seed).expect("an interval")).collect();
        assert!(widths.iter().all(|width| (1.0..4.0).contains(width)), "{widths:?}");
        assert!(widths.iter().any(|width| *width > 1.05), "{widths:?}");
    }

    #[test]
    fn a_sample_without_a_wait_leaves_room_for_waits() {
        let quiet = with_bursts(400, &[]);
        let (low, high) = quiet.mean(0.95).bounds.interval().unwrap();
        let of_waits = quiet.with_unmet_waits(waits(3e-3)).mean(0.95);
        let (low_of_waits, high_of_waits) = of_waits.bounds.interval().unwrap();
        assert_eq!(low.to_bits(), low_of_waits.to_bits());
        // Three in 400 may take twice as long as usual, or all wait for 3 ms on average.
        assert!((high - 0.0505).abs() < 3e-4, "{high}");
        assert!((high_of_waits - 0.0531).abs() < 3e-4, "{high_of_waits}");
        // Waits that are shorter than the interval is wide do not widen it.
        let varied: Observations = (0..400).map(|at| f64::from(at * 7919 % 400)).collect();
        let [plain, of_waits] = [varied.clone(), varied.with_unmet_waits(waits(9.0))]
            .map(|sample| sample.mean(0.95).bounds);
        assert_eq!(plain, of_waits);
    }

    /// Noise of 10 %, with bursts of five waits that are about as long as the rest.
    #[test]
    fn a_mean_that_a_few_bursts_determine_is_too_short() {
        let mut random = NumpyRandom::seeded(4);
        let waits = |at: usize, bursts: usize| at % 97 < 5 && at / 97 < bursts;
        let mut is_known = |bursts: usize| {
            let wait = |at: usize| if waits(at, bursts) { 0.05 } else { 0.0 };
            let values = (0..1000).map(|at| 0.08 + random.normal(0.0, 0.008) + wait(at));
            values.collect::<Observations>().mean(0.95).bounds.interval().is_some()
        };
        let mut known = |bursts: usize| (0..20).filter(|_| is_known(bursts)).count();
        assert_eq!((known(0), known(6)), (20, 0));
    }
}
