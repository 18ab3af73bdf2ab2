//! Measures whether rare values come in clusters.

use statrs::distribution::{ContinuousCDF, DiscreteCDF, Normal, Poisson};

/// Returns the ratio of the variance of the number of hits to that of independent hits; 1 if chance
/// explains their distribution over time.
///
/// Hits are counted in blocks of several sizes. If more pairs of them share a block than chance
/// allows, the result is the largest ratio of variance to mean of the counts. The test by pairs
/// works with three hits as with thousands, where a test of neighbours detects nothing.
pub(crate) fn clustering(hits: &[bool]) -> f64 {
    let count = hits.iter().filter(|is_hit| **is_hit).count();
    let Some(spacing) = hits.len().checked_div(count).filter(|_| count >= 2) else { return 1.0 };
    let sizes = [spacing / 16, spacing / 4, spacing, spacing * 4];
    let usable = sizes.into_iter().filter(|size| *size >= 2 && hits.len() / size >= 4);
    let blocks: Vec<Blocks> = usable.map(|size| Blocks::of(hits, size)).collect();
    let is_chance = blocks.iter().all(|blocks| blocks.chance() >= FALSE_ALARMS);
    let most = blocks.iter().map(Blocks::dispersion).fold(1.0, f64::max);
    if is_chance { 1.0 } else { most }
}

/// Number of hits in each block of consecutive values.
struct Blocks(Vec<f64>);

impl Blocks {
    fn of(hits: &[bool], size: usize) -> Self {
        let count = |block: &[bool]| block.iter().filter(|is_hit| **is_hit).count() as f64;
        Self(hits.chunks_exact(size).map(count).collect())
    }

    /// Returns the probability of at least as many pairs in one block, if hits were independent.
    fn chance(&self) -> f64 {
        let (blocks, total) = (self.0.len() as f64, self.0.iter().sum::<f64>());
        let pairs: f64 = self.0.iter().map(|count| count * (count - 1.0) / 2.0).sum();
        let expected = total * (total - 1.0) / (2.0 * blocks);
        if expected < MOST_POISSON {
            let below = Poisson::new(expected.max(f64::MIN_POSITIVE)).ok();
            let tail = |poisson: Poisson| match crate::ranks::whole(pairs) {
                0 => 1.0,
                pairs => 1.0 - poisson.cdf(pairs as u64 - 1),
            };
            return below.map_or(1.0, tail);
        }
        let deviation = (expected * (1.0 - 1.0 / blocks)).sqrt();
        1.0 - Normal::standard().cdf((pairs - expected) / deviation)
    }

    /// Returns the variance of the counts divided by their mean.
    fn dispersion(&self) -> f64 {
        let (mean, variance) = crate::moments(&self.0);
        variance / mean
    }
}

/// Share of independent samples whose hits are taken for clustered, for each block size.
const FALSE_ALARMS: f64 = 0.0005;
/// Expectation above which the normal distribution is close enough to Poisson's.
const MOST_POISSON: f64 = 30.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(count: usize, at: impl IntoIterator<Item = usize>) -> Vec<bool> {
        let mut hits = vec![false; count];
        at.into_iter().for_each(|place| hits[place] = true);
        hits
    }

    #[test]
    fn hits_far_apart_are_chance() {
        assert!(clustering(&hits(400, [10, 120, 240, 390])) <= 1.0);
        assert!(clustering(&hits(400, [10])) <= 1.0);
        assert!(clustering(&hits(400, [])) <= 1.0);
    }

    #[test]
    fn hits_side_by_side_are_a_cluster() {
        assert!(clustering(&hits(400, [100, 101, 102, 103])) > 2.0);
        assert!(clustering(&hits(5000, (0..50).map(|at| 2000 + at))) > 10.0);
    }
}
