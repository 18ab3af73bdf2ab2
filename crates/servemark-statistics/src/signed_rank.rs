//! Wilcoxon's signed-rank test of pairs, and Hodges and Lehmann's estimate of their difference.

/// The difference within pairs of values, by ranks: outliers move it no further than any other
/// value does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedShift {
    /// Hodges and Lehmann's estimate: the median of the means of all two differences.
    pub shift: f64,
    /// Lower end of the confidence interval.
    pub low: f64,
    /// Upper end of the confidence interval.
    pub high: f64,
    /// Probability of differences at least as far to one side if their distribution is symmetric
    /// about zero (two-sided).
    pub chance: f64,
}

/// Tests the differences of pairs by their signed ranks, with the exact distribution of the sum of
/// ranks. The interval has the values of the shift that the test does not reject.
///
/// Absent if there are too few pairs for an interval with this confidence: it takes six for 95 %.
///
/// ```
/// use servemark_statistics::signed_rank;
///
/// let shift = signed_rank(&[1.1, 0.9, 1.3, 0.8, 1.0, 1.2, 40.0], 0.95).unwrap();
/// assert!(shift.low > 0.5 && shift.shift < 1.5 && shift.chance < 0.02);
/// ```
pub fn signed_rank(differences: &[f64], confidence: f64) -> Option<PairedShift> {
    let means = means_of_two(differences);
    let all = means.len();
    let below = distribution(differences.len());
    let alpha = (1.0 - confidence) / 2.0;
    // The ends are the outermost means between which the sum of ranks is not too improbable.
    let outside = below.iter().take_while(|share| **share <= alpha).count();
    let low = *means.get(outside.checked_sub(1)?)?;
    let high = *means.get(all.checked_sub(outside)?)?;
    // The sum of the ranks of positive differences is the number of positive means of two. A mean
    // of zero is on neither side, so it counts against the rejection.
    let positive = means.iter().filter(|mean| **mean > 0.0).count();
    let negative = means.iter().filter(|mean| **mean < 0.0).count();
    let farther = positive.max(negative);
    let chance = (2.0 * below[all - farther]).min(1.0);
    Some(PairedShift { shift: median(&means), low, high, chance })
}

/// Returns the means of all two differences, each with itself too, in ascending order.
fn means_of_two(differences: &[f64]) -> Vec<f64> {
    let mut means = Vec::with_capacity(differences.len() * (differences.len() + 1) / 2);
    for (place, one) in differences.iter().enumerate() {
        means.extend(differences[place..].iter().map(|other| f64::midpoint(*one, *other)));
    }
    crate::sort(&mut means);
    means
}

/// Returns the probability that the sum of the ranks of positive differences is at most its
/// position, for `count` differences that are symmetric about zero.
fn distribution(count: usize) -> Vec<f64> {
    let most = count * (count + 1) / 2;
    let mut chances = vec![0.0; most + 1];
    chances[0] = 1.0;
    for rank in 1..=count {
        for sum in (0..=rank * (rank + 1) / 2).rev() {
            let with = sum.checked_sub(rank).map_or(0.0, |rest| chances[rest]);
            chances[sum] = f64::midpoint(chances[sum], with);
        }
    }
    let mut below = 0.0;
    for chance in &mut chances {
        below += *chance;
        *chance = below;
    }
    chances
}

fn median(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { f64::midpoint(sorted[half - 1], sorted[half]) }
}

#[cfg(test)]
mod tests {
    use servemark_rng::NumpyRandom;

    use super::*;

    #[test]
    fn sums_of_ranks_have_the_probabilities_of_printed_tables() {
        // Of ten pairs, a sum of up to 8 has 0.0244 and of up to 10 has 0.0420.
        let below = distribution(10);
        assert!((below[8] - 0.0244).abs() < 1e-4 && (below[10] - 0.0420).abs() < 1e-4);
        assert!((below[55] - 1.0).abs() < 1e-12);
    }

    #[test]
    #[expect(clippy::approx_constant, reason = "one of the scores happens to be 3.14")]
    fn the_interval_is_that_of_hollander_and_wolfe() {
        // Depression scores of nine patients before and after a tranquilizer: estimate -0.46, 96.1 %
        // interval from -0.786 to -0.01, two-sided chance 0.0391.
        let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let differences: Vec<f64> =
            after.iter().zip(before).map(|(after, before)| after - before).collect();
        let shift = signed_rank(&differences, 0.95).unwrap();
        assert!((shift.shift + 0.46).abs() < 1e-9, "{shift:?}");
        assert!((shift.low + 0.786).abs() < 1e-9 && (shift.high + 0.01).abs() < 1e-9, "{shift:?}");
        assert!((shift.chance - 0.0391).abs() < 1e-4, "{shift:?}");
    }

    #[test]
    fn few_pairs_have_no_interval() {
        assert!(signed_rank(&[1.0; 5], 0.95).is_none());
        assert!(signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.95).is_some());
        assert!(signed_rank(&[], 0.95).is_none());
    }

    #[test]
    fn intervals_hold_the_shift_as_often_as_they_say() {
        let mut random = NumpyRandom::seeded(7);
        let mut held = 0;
        for _ in 0..1000 {
            let differences: Vec<f64> = (0..20).map(|_| random.normal(3.0, 2.0)).collect();
            let shift = signed_rank(&differences, 0.95).unwrap();
            held += u32::from(shift.low <= 3.0 && 3.0 <= shift.high);
        }
        assert!((935..=970).contains(&held), "{held} of 1000");
    }
}
