//! The pixels of filled shapes, as Pillow chooses them.

/// A horizontal run of pixels, both ends included. It may extend beyond the image.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Run {
    pub(super) y: i64,
    pub(super) from: i64,
    pub(super) to: i64,
}

/// The upper left and the lower right pixel of a shape.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Bounds {
    pub(super) left: i64,
    pub(super) top: i64,
    pub(super) right: i64,
    pub(super) bottom: i64,
}

impl Bounds {
    fn width(self) -> i64 {
        self.right - self.left
    }

    fn height(self) -> i64 {
        self.bottom - self.top
    }
}

pub(super) fn rectangle(of: Bounds) -> Vec<Run> {
    (of.top..=of.bottom).map(|y| Run { y, from: of.left, to: of.right }).collect()
}

/// Returns the ellipse that touches all sides of its bounds; nothing if they are one pixel.
///
/// Coordinates are relative to the centre and doubled, so that they are whole numbers. One quarter
/// of the outline is followed from the widest row outwards; each step goes to the neighbour that
/// is closest to the ellipse.
pub(super) fn ellipse(of: Bounds) -> Vec<Run> {
    let (width, height) = (of.width(), of.height());
    if (width, height) == (0, 0) {
        return Vec::new();
    }
    let [across, along] = [width, height].map(i128::from);
    let distance = |(x, y): (i64, i64)| {
        let (x, y) = (i128::from(x), i128::from(y));
        let (across, along) = (across * across, along * along);
        (across * y * y + along * x * x - across * along).abs()
    };
    let mut runs = Vec::new();
    let (mut x, mut y) = (width, height % 2);
    loop {
        let beside = (width - x) / 2;
        let (from, to) = (of.left + beside, of.right - beside);
        let beyond = (height - y) / 2;
        runs.push(Run { y: of.top + beyond, from, to });
        runs.push(Run { y: of.bottom - beyond, from, to });
        let row = y;
        while y == row {
            if (x, y) == (width % 2, height) {
                return runs;
            }
            let outwards = (x, y + 2);
            let neighbours = [outwards, (x - 2, y + 2), (x - 2, y)].into_iter();
            let nearest =
                neighbours.filter(|&(next, _)| next == x || x > 1).min_by_key(|&at| distance(at));
            (x, y) = nearest.unwrap_or(outwards);
        }
    }
}

/// Returns the line from the upper left to the lower right pixel of its bounds.
pub(super) fn line(of: Bounds, width: i64) -> Vec<Run> {
    if width <= 1 || (of.width(), of.height()) == (0, 0) { thin(of) } else { wide(of, width) }
}

/// Returns one pixel for each step along the longer side.
fn thin(of: Bounds) -> Vec<Run> {
    let is_flat = of.width() > of.height();
    let (long, short) = if is_flat { (of.width(), of.height()) } else { (of.height(), of.width()) };
    let mut beside = 0;
    let mut error = 2 * short - long;
    let pixel = |step: i64| {
        let (x, y) = if is_flat { (step, beside) } else { (beside, step) };
        if error >= 0 {
            beside += 1;
            error -= 2 * long;
        }
        error += 2 * short;
        Run { y: of.top + y, from: of.left + x, to: of.left + x }
    };
    (0..=long).map(pixel).collect()
}

/// Returns the quadrilateral whose corners are half of the width beside the ends of the line.
fn wide(of: Bounds, width: i64) -> Vec<Run> {
    let (run, rise) = (of.width() as f64, of.height() as f64);
    let length = run.hypot(rise);
    let half = (width - 1) as f64 / 2.0;
    let [inner, outer] = [half_down(half), half_up(half)].map(|half| half as f64 / length);
    let (left, right) = (half_down(inner * rise), half_down(outer * rise));
    let (above, below) = (half_up(inner * run), half_up(outer * run));
    let corners = [
        (of.left - left, of.top + below),
        (of.right - left, of.bottom + below),
        (of.right + right, of.bottom - above),
        (of.left + right, of.top - above),
    ];
    filled(corners)
}

/// Returns the pixels of a convex quadrilateral, its outline included.
fn filled(corners: [(i64, i64); 4]) -> Vec<Run> {
    let edges = [0, 1, 2, 3].map(|at| (corners[at], corners[(at + 1) % 4]));
    let (flat, steep): (Vec<_>, Vec<_>) =
        edges.into_iter().partition(|((_, y), (_, other))| y == other);
    let mut runs: Vec<Run> = (flat.into_iter())
        .map(|((x, y), (other, _))| Run { y, from: x.min(other), to: x.max(other) })
        .collect();
    let rows = corners.map(|(_, y)| y);
    let (first, last) = (rows.into_iter().min(), rows.into_iter().max());
    for y in first.unwrap_or_default()..=last.unwrap_or_default() {
        let crosses = |((_, one), (_, other)): &&((i64, i64), (i64, i64))| {
            (*one.min(other)..=*one.max(other)).contains(&y)
        };
        let crossings = steep.iter().filter(crosses).map(|&(from, to)| at_row(from, to, y));
        let crossings: Vec<f64> = crossings.collect();
        let leftmost = crossings.iter().copied().fold(f64::INFINITY, f64::min);
        let rightmost = crossings.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if crossings.len() > 1 {
            runs.push(Run { y, from: half_up(leftmost), to: half_down(rightmost) });
        }
    }
    runs
}

/// Returns where an edge crosses a row, in single precision as in Pillow.
fn at_row(from: (i64, i64), to: (i64, i64), y: i64) -> f64 {
    let slope = (to.0 - from.0) as f32 / (to.1 - from.1) as f32;
    f64::from((y - from.1) as f32 * slope + from.0 as f32)
}

/// Rounds to the nearest integer; halves away from zero.
fn half_up(value: f64) -> i64 {
    value.round() as i64
}

/// Rounds to the nearest integer; halves towards zero.
fn half_down(value: f64) -> i64 {
    let size = (value.abs() - 0.5).ceil();
    (size * value.signum()) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paints runs with `#`.
    fn painted(width: usize, height: usize, runs: &[Run]) -> String {
        let mut rows = vec![vec!['.'; width]; height];
        for run in runs {
            let Some(row) = usize::try_from(run.y).ok().and_then(|y| rows.get_mut(y)) else {
                continue;
            };
            for (x, pixel) in (0..).zip(row) {
                if (run.from..=run.to).contains(&x) {
                    *pixel = '#';
                }
            }
        }
        rows.into_iter().map(|row| row.into_iter().collect::<String>() + "\n").collect()
    }

    fn bounds(left: i64, top: i64, right: i64, bottom: i64) -> Bounds {
        Bounds { left, top, right, bottom }
    }

    #[test]
    fn ellipses_are_pillows() {
        let odd = "...###...\n.#######.\n.#######.\n.#######.\n...###...\n.........\n";
        assert_eq!(painted(9, 6, &ellipse(bounds(1, 0, 7, 4))), odd);
        let even = "..####..\n########\n########\n..####..\n........\n";
        assert_eq!(painted(8, 5, &ellipse(bounds(0, 0, 7, 3))), even);
        assert_eq!(painted(2, 1, &ellipse(bounds(0, 0, 1, 0))), "##\n");
        assert_eq!(ellipse(bounds(0, 0, 0, 0)), []);
    }

    #[test]
    fn lines_are_pillows() {
        let one = "##.......\n..##.....\n....###..\n.......##\n.........\n";
        assert_eq!(painted(9, 5, &line(bounds(0, 0, 8, 3), 1)), one);
        let three = ".#........\n.###......\n.######...\n...######.\n......###.\n........#.\n";
        assert_eq!(painted(10, 6, &line(bounds(1, 1, 8, 4), 3)), three);
        let four = "........\n....#...\n.####...\n..####..\n..####..\n...####.\n";
        assert_eq!(painted(8, 6, &line(bounds(2, 1, 4, 5), 4)), four);
        assert_eq!(painted(3, 1, &line(bounds(1, 0, 1, 0), 5)), ".#.\n");
    }
}
