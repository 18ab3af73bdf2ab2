//! JPEG encoding, byte for byte as libjpeg encodes for Pillow: 4:2:0 chroma subsampling, the
//! standard's tables, and integer arithmetic throughout.

mod bits;
mod blocks;
mod tables;

use self::bits::{Bits, Book};
use self::blocks::{Block, Planes};
use self::tables::{BRIGHTNESS, COLOUR, Codes, Tables, ZIGZAG};
use crate::{PictureError, Size};

/// Encodes RGB pixels as a JPEG file, at a quality from 1 to 100: with 4:2:0 chroma subsampling and the
/// standard's Huffman tables, byte for byte as Pillow does.
pub fn encode(pixels: &[u8], size: Size, quality: u8) -> Result<Vec<u8>, PictureError> {
    let sides = size.sides()?;
    if sides.contains(&0) {
        return Err(PictureError::new("it has no pixels"));
    }
    let coders = [Coder::new(&BRIGHTNESS, quality), Coder::new(&COLOUR, quality)];
    let mut file = head(sides, &coders);
    file.extend(scan(&Planes::of(pixels, size), &coders));
    file.extend([0xff, 0xd9]);
    Ok(file)
}

/// Returns everything before the entropy-coded data.
fn head(sides: [u16; 2], coders: &[Coder; 2]) -> Vec<u8> {
    let mut head = vec![0xff, 0xd8];
    segment(&mut head, 0xe0, b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0");
    for (number, coder) in (0..).zip(coders) {
        segment(&mut head, 0xdb, &[&[number], &coder.steps[..]].concat());
    }
    let [width, height] = sides.map(u16::to_be_bytes);
    let components = [3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1];
    segment(&mut head, 0xc0, &[&[8], &height[..], &width, &components].concat());
    for (number, tables) in (0..).zip([&BRIGHTNESS, &COLOUR]) {
        segment(&mut head, 0xc4, &listed(number, &tables.direct));
        segment(&mut head, 0xc4, &listed(0x10 | number, &tables.alternating));
    }
    segment(&mut head, 0xda, &[3, 1, 0, 2, 0x11, 3, 0x11, 0, 0x3f, 0]);
    head
}

fn segment(file: &mut Vec<u8>, kind: u8, content: &[u8]) {
    let length = (content.len() + 2) as u16;
    file.extend([&[0xff, kind], &length.to_be_bytes()[..], content].concat());
}

fn listed(number: u8, codes: &Codes) -> Vec<u8> {
    [&[number], &codes.lengths[..], codes.symbols].concat()
}

/// Encodes all blocks: in each step, four luma blocks and one of each chroma component.
fn scan(planes: &Planes, coders: &[Coder; 2]) -> Vec<u8> {
    let [across, down] = planes.blocks(0);
    let size = planes.size();
    let [columns, rows] = [size.width, size.height].map(|side| (side as usize).div_ceil(16));
    let mut bits = Bits::default();
    let mut before = [0; 3];
    for (y, x) in (0..rows).flat_map(|y| (0..columns).map(move |x| (y, x))) {
        for place in
            [[2 * x, 2 * y], [2 * x + 1, 2 * y], [2 * x, 2 * y + 1], [2 * x + 1, 2 * y + 1]]
        {
            // A block beyond the image's edge that fills up the four takes the mean of the previous
            // block.
            let is_there = place[0] < across && place[1] < down;
            let block = is_there.then(|| planes.coefficients(0, place));
            coders[0].write(block.as_ref(), &mut before[0], &mut bits);
        }
        for colour in [1, 2] {
            let block = planes.coefficients(colour, [x, y]);
            coders[1].write(Some(&block), &mut before[colour], &mut bits);
        }
    }
    bits.finish()
}

/// Quantizes and encodes the blocks of one component.
struct Coder {
    /// Quantization table, in zigzag order.
    steps: [u8; 64],
    direct: Book,
    alternating: Book,
}

impl Coder {
    fn new(tables: &Tables, quality: u8) -> Self {
        let quality = i32::from(quality.clamp(1, 100));
        let scale = if quality < 50 { 5000 / quality } else { 200 - 2 * quality };
        let step = |step: u16| {
            let scaled = (i32::from(step) * scale + 50) / 100;
            u8::try_from(scaled.max(1)).unwrap_or(u8::MAX)
        };
        Self {
            steps: tables.steps.map(step),
            direct: Book::of(&tables.direct),
            alternating: Book::of(&tables.alternating),
        }
    }

    /// Encodes a block, or one without AC coefficients if `block` is `None`. The DC coefficient is
    /// coded as the difference to `before`.
    fn write(&self, block: Option<&Block>, before: &mut i32, bits: &mut Bits) {
        let mean = block.map_or(*before, |block| self.quantized(block, 0));
        let (value, size) = magnitude_bits(mean - *before);
        bits.push(&self.direct, size as u8, value, size);
        *before = mean;
        let last = block.map_or(0, |block| self.write_detail(block, bits));
        if last < 63 {
            bits.push(&self.alternating, 0, 0, 0);
        }
    }

    /// Encodes the AC coefficients and returns the index of the last non-zero one.
    fn write_detail(&self, block: &Block, bits: &mut Bits) -> usize {
        let mut last = 0;
        for place in 1..64 {
            let coefficient = self.quantized(block, place);
            if coefficient == 0 {
                continue;
            }
            let zeros = place - last - 1;
            for _ in 0..zeros / 16 {
                bits.push(&self.alternating, 0xf0, 0, 0);
            }
            let (value, size) = magnitude_bits(coefficient);
            bits.push(&self.alternating, ((zeros % 16) << 4) as u8 | size as u8, value, size);
            last = place;
        }
        last
    }

    /// Quantizes a coefficient, rounding halves away from zero. The coefficients are scaled by
    /// eight.
    fn quantized(&self, block: &Block, place: usize) -> i32 {
        let (coefficient, step) = (block[ZIGZAG[place]], 8 * i32::from(self.steps[place]));
        coefficient.signum() * ((coefficient.abs() + step / 2) / step)
    }
}

/// Returns the bits of a number and their count. A negative number is coded as its one's
/// complement.
fn magnitude_bits(number: i32) -> (u32, u32) {
    let size = 32 - number.unsigned_abs().leading_zeros();
    let bits = if number < 0 { number - 1 } else { number };
    (bits.cast_unsigned() & ((1 << size) - 1), size)
}
