//! Conversion of pixels to DCT coefficients of 8 by 8 blocks.

use crate::Size;

/// Samples or coefficients of a block, row by row.
pub(super) type Block = [i32; 64];

/// An image's luma plane and its chroma planes, which have half the width and height.
pub(super) struct Planes {
    size: Size,
    /// Luma, then blue and red chroma.
    planes: [Plane; 3],
}

struct Plane {
    width: usize,
    height: usize,
    samples: Vec<u8>,
}

impl Planes {
    /// Converts RGB pixels to planes.
    pub(super) fn of(pixels: &[u8], size: Size) -> Self {
        let (width, height) = (size.width as usize, size.height as usize);
        let part = |share: fn([i32; 3]) -> i32| {
            let pixels = pixels.chunks_exact(3);
            let samples = pixels.map(|rgb| share([rgb[0], rgb[1], rgb[2]].map(i32::from)));
            #[expect(clippy::cast_sign_loss, reason = "a share of bytes is one")]
            let samples = samples.map(|sample| sample as u8).collect();
            Plane { width, height, samples }
        };
        Self { size, planes: [part(brightness), part(blueness).halved(), part(redness).halved()] }
    }

    /// Returns the size of the image.
    pub(super) fn size(&self) -> Size {
        self.size
    }

    /// Returns the number of blocks of a plane, horizontally and vertically.
    pub(super) fn blocks(&self, plane: usize) -> [usize; 2] {
        let plane = &self.planes[plane];
        [plane.width, plane.height].map(|side| side.div_ceil(8))
    }

    /// Returns the coefficients of a block. Beyond the image, its last row and column are repeated.
    pub(super) fn coefficients(&self, plane: usize, [x, y]: [usize; 2]) -> Block {
        let plane = &self.planes[plane];
        let mut block = [0; 64];
        for (row, line) in block.chunks_exact_mut(8).enumerate() {
            let start = (y * 8 + row).min(plane.height - 1) * plane.width;
            for (column, sample) in line.iter_mut().enumerate() {
                let at = (x * 8 + column).min(plane.width - 1);
                *sample = i32::from(plane.samples[start + at]) - 128;
            }
        }
        transformed(block)
    }
}

impl Plane {
    /// Averages 2 by 2 samples into one, on whole blocks. As in libjpeg, the last column is
    /// repeated before averaging and the last row after it, and halves are rounded down and up
    /// alternately.
    fn halved(&self) -> Self {
        let (width, height) = (self.width.div_ceil(16) * 8, self.height.div_ceil(2));
        let sample = |place: usize| {
            let (x, y) = (place % width, place / width);
            let [left, right] = [2 * x, 2 * x + 1].map(|x| x.min(self.width - 1));
            let [above, below] = [2 * y, 2 * y + 1].map(|y| y.min(self.height - 1) * self.width);
            let four = [above + left, above + right, below + left, below + right];
            let sum: u32 = four.iter().map(|at| u32::from(self.samples[*at])).sum();
            ((sum + 1 + x as u32 % 2) / 4) as u8
        };
        Self { width, height, samples: (0..width * height).map(sample).collect() }
    }
}

/// Weights of red, green and blue, in units of 1/65536.
fn brightness([red, green, blue]: [i32; 3]) -> i32 {
    (19_595 * red + 38_470 * green + 7_471 * blue + HALF) >> 16
}

fn blueness([red, green, blue]: [i32; 3]) -> i32 {
    (MIDDLE - 11_059 * red - 21_709 * green + 32_768 * blue + HALF - 1) >> 16
}

fn redness([red, green, blue]: [i32; 3]) -> i32 {
    (MIDDLE + 32_768 * red - 27_439 * green - 5_329 * blue + HALF - 1) >> 16
}

const HALF: i32 = 1 << 15;
const MIDDLE: i32 = 128 << 16;

/// Returns the discrete cosine transform of the rows and then of the columns, scaled by eight. It
/// uses integers, with two additional bits between the two passes.
fn transformed(mut block: Block) -> Block {
    for line in 0..8 {
        transform(&mut block, line * 8, 1, |sum| sum << 2, |sum| rounded(sum, 11));
    }
    for column in 0..8 {
        transform(&mut block, column, 8, |sum| rounded(sum, 2), |sum| rounded(sum, 15));
    }
    block
}

/// Transforms one row or column of eight values.
fn transform(
    block: &mut Block,
    start: usize,
    step: usize,
    plain: impl Fn(i32) -> i32,
    scaled: impl Fn(i32) -> i32,
) {
    let value = |place: usize| block[start + place * step];
    let sums: [i32; 4] = std::array::from_fn(|place| value(place) + value(7 - place));
    let odd: [i32; 4] = std::array::from_fn(|place| value(place) - value(7 - place));
    let even = [sums[0] - sums[3], sums[1] - sums[2]];
    let both = [sums[0] + sums[3], sums[1] + sums[2]];
    let times = |cosines: &[i32], values: &[i32]| -> i32 {
        scaled(cosines.iter().zip(values).map(|(cosine, value)| cosine * value).sum())
    };
    let transformed = [
        plain(both[0] + both[1]),
        times(&ODD[0], &odd),
        times(&EVEN[0], &even),
        times(&ODD[1], &odd),
        plain(both[0] - both[1]),
        times(&ODD[2], &odd),
        times(&EVEN[1], &even),
        times(&ODD[3], &odd),
    ];
    for (place, value) in transformed.into_iter().enumerate() {
        block[start + place * step] = value;
    }
}

fn rounded(sum: i32, bits: u32) -> i32 {
    (sum + (1 << (bits - 1))) >> bits
}

/// Cosines with 13 fractional bits, times the square root of two. Some are off by one, like the
/// sums from which libjpeg derives them.
const EVEN: [[i32; 2]; 2] = [[10_703, 4_433], [4_433, -10_704]];
const ODD: [[i32; 4]; 4] = [
    [11_363, 9_633, 6_437, 2_260],
    [9_633, -2_259, -11_362, -6_436],
    [6_437, -11_362, 2_261, 9_633],
    [2_260, -6_436, 9_633, -11_363],
];
