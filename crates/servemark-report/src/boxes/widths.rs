//! Column widths of a `rich` table.

/// Reduces column widths until their sum fits `room`. Columns that may shrink are reduced first,
/// the widest of them first; if that is not enough, all columns are reduced.
pub(super) fn narrowed(mut widths: Vec<usize>, may_shrink: &[bool], room: usize) -> Vec<usize> {
    while let Some(excess) = excess(&widths, room) {
        let shrinkable = |column: usize| may_shrink[column];
        let open = |(column, width): (usize, &usize)| shrinkable(column).then_some(*width);
        let Some(widest) = widths.iter().enumerate().filter_map(open).max() else { break };
        let next = widths.iter().enumerate().filter_map(open).filter(|width| *width < widest);
        let step = widest - next.max().unwrap_or_default();
        let is_widest = |column: usize, width: usize| shrinkable(column) && width == widest;
        let weights: Vec<usize> = (widths.iter().enumerate())
            .map(|(column, width)| usize::from(is_widest(column, *width)))
            .collect();
        take(&mut widths, excess, &weights, excess.min(step));
    }
    if let Some(excess) = excess(&widths, room) {
        let weights = vec![1; widths.len()];
        take(&mut widths, excess, &weights, usize::MAX);
    }
    widths
}

/// Increases column widths until their sum is `room`; the remaining width is shared in proportion
/// to the widths.
pub(super) fn widened(mut widths: Vec<usize>, room: usize) -> Vec<usize> {
    let left = room.saturating_sub(widths.iter().sum());
    let shares = shares(left, &widths, f64::ceil);
    widths.iter_mut().zip(shares).for_each(|(width, share)| *width += share);
    widths
}

fn excess(widths: &[usize], room: usize) -> Option<usize> {
    widths.iter().sum::<usize>().checked_sub(room).filter(|excess| *excess > 0)
}

/// Takes `total` from the columns in proportion to their weights; from each column at most `most`
/// and at most its width.
fn take(widths: &mut [usize], total: usize, weights: &[usize], most: usize) {
    let (mut left, mut weight_left) = (total, weights.iter().sum::<usize>());
    for (width, weight) in widths.iter_mut().zip(weights).filter(|(_, weight)| **weight > 0) {
        let share = share(left, *weight, weight_left, f64::round_ties_even).min(most).min(*width);
        *width -= share;
        (left, weight_left) = (left - share, weight_left - weight);
    }
}

/// Splits `total` by weights: each share is a proportion of what is left.
fn shares(total: usize, weights: &[usize], round: fn(f64) -> f64) -> Vec<usize> {
    let (mut left, mut weight_left) = (total, weights.iter().sum::<usize>());
    let one = |weight: &usize| {
        let share = share(left, *weight, weight_left, round).min(left);
        (left, weight_left) = (left - share, weight_left - weight);
        share
    };
    weights.iter().map(one).collect()
}

#[expect(clippy::cast_sign_loss, reason = "a share of a width is never below zero")]
fn share(left: usize, weight: usize, weight_left: usize, round: fn(f64) -> f64) -> usize {
    if weight_left == 0 {
        left
    } else {
        round((left * weight) as f64 / weight_left as f64) as usize
    }
}
