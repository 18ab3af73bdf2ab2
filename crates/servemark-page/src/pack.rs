//! Packs lists of numbers for a page's script.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Packs integers as base64 of their differences. Each difference is zigzag-coded, increased by one
/// and written in groups of seven bits, the lowest first; code 0 is a missing value.
pub(crate) fn pack(values: impl IntoIterator<Item = Option<i64>>) -> String {
    let mut bytes = Vec::new();
    let mut last = 0_i64;
    for value in values {
        // The script computes with 53 bits.
        match value.map(|value| value.clamp(-MOST, MOST)) {
            None => bytes.push(0),
            Some(value) => {
                push(&mut bytes, zigzag(value - last) + 1);
                last = value;
            }
        }
    }
    STANDARD.encode(bytes)
}

/// Packs numbers as multiples of a quantum; values that are not finite are missing.
pub(crate) fn pack_scaled(values: impl IntoIterator<Item = f64>, quantum: f64) -> String {
    let whole = |value: f64| value.is_finite().then(|| (value / quantum).round() as i64);
    pack(values.into_iter().map(whole))
}

/// Packs times in seconds as microseconds.
pub(crate) fn pack_seconds(values: impl IntoIterator<Item = f64>) -> String {
    pack_scaled(values, 1e-6)
}

/// Rounds a number to nine digits, so that the last bit of a logarithm changes no page.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.8e}").parse().unwrap_or(value)
}

/// Returns a quantum for values of up to this size: a power of ten that keeps five digits of the
/// largest.
pub(crate) fn quantum(largest: f64) -> f64 {
    if largest.is_finite() && largest > 0.0 {
        10_f64.powf((largest.log10().floor() - 5.0).max(-9.0))
    } else {
        1.0
    }
}

fn zigzag(value: i64) -> u64 {
    (value.wrapping_shl(1) ^ (value >> 63)).cast_unsigned()
}

fn push(bytes: &mut Vec<u8>, mut code: u64) {
    while code >= 128 {
        bytes.push((code & 127) as u8 | 128);
        code >>= 7;
    }
    bytes.push(code as u8);
}

/// Largest absolute value: differences of two values stay exact in 53 bits.
const MOST: i64 = 1 << 50;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unpack(text: &str) -> Vec<Option<i64>> {
        let bytes = STANDARD.decode(text).unwrap();
        let (mut values, mut last, mut at) = (Vec::new(), 0_i64, 0);
        while at < bytes.len() {
            let (mut code, mut shift) = (0_u64, 0);
            loop {
                code |= u64::from(bytes[at] & 127) << shift;
                shift += 7;
                at += 1;
                if bytes[at - 1] < 128 {
                    break;
                }
            }
            values.push(code.checked_sub(1).map(|code| {
                last += (code >> 1).cast_signed() ^ -((code & 1).cast_signed());
                last
            }));
        }
        values
    }

    proptest! {
        #[test]
        fn what_is_packed_can_be_unpacked(
            values in prop::collection::vec(prop::option::of(-MOST..=MOST), 0..50),
        ) {
            prop_assert_eq!(unpack(&pack(values.clone())), values);
        }
    }

    #[test]
    fn small_steps_take_a_byte_each() {
        assert_eq!(pack([Some(5), Some(6), None, Some(4)]), "CwMABA==");
        assert_eq!(pack_scaled([0.5, f64::NAN, f64::INFINITY, 0.6], 0.1), "CwAAAw==");
        assert_eq!(pack_seconds([1e300]), pack([Some(MOST)]));
    }

    #[test]
    fn a_quantum_keeps_five_digits() {
        assert!((quantum(12_345.6) - 0.1).abs() < 1e-12);
        assert!((quantum(0.0) - 1.0).abs() < 1e-12);
        assert!((quantum(f64::NAN) - 1.0).abs() < 1e-12);
    }
}
