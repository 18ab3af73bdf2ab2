//! The Pareto frontier of items with two values each.

/// Returns the indices of the items on the Pareto frontier, where both values are better if larger,
/// sorted by the first value from large to small. An item whose second value is lower by no more
/// than 1e-9 stays, as in vLLM's plot.
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
