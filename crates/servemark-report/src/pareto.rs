//! What nothing else beats on both sides.

/// The indices of those of `items` whose two sides no other one beats at once, from the largest
/// first side to the smallest. One that is worse on the second side by no more than a rounding
/// error stays, as vLLM's plot has it.
pub fn frontier<T>(items: &[T], sides: impl Fn(&T) -> (f64, f64)) -> Vec<usize> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by(|one, other| {
        let (one, other) = (sides(&items[*one]), sides(&items[*other]));
        other.0.total_cmp(&one.0).then(other.1.total_cmp(&one.1))
    });
    let mut best = f64::NEG_INFINITY;
    order.retain(|index| {
        let (_, side) = sides(&items[*index]);
        let stays = side >= best - ROUNDING;
        best = best.max(side);
        stays
    });
    order
}

const ROUNDING: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frontier_is_what_nothing_beats() {
        let items = [(1.0, 9.0), (2.0, 5.0), (1.5, 4.0), (3.0, 1.0), (2.0, 5.0), (0.5, 9.0)];
        assert_eq!(frontier(&items, |item| *item), [3, 1, 4, 0, 5]);
        assert_eq!(frontier(&[(); 0], |()| (0.0, 0.0)), [0; 0]);
    }
}
