//! Variable-length encoding of whole numbers: seven bits per byte, lowest first; the eighth bit
//! says that another byte follows.

/// Appends `number` to `bytes`.
pub(crate) fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number > LAST {
        bytes.push(number as u8 | MORE);
        number >>= BITS;
    }
    bytes.push(number as u8);
}

/// Removes the number at the front of `bytes` and returns it; `None` if there is no complete
/// number.
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for (place, &byte) in bytes.iter().enumerate() {
        number |= u64::from(byte & !MORE) << (BITS * place as u32);
        if byte & MORE == 0 {
            *bytes = &bytes[place + 1..];
            return Some(number);
        }
    }
    None
}

const BITS: u32 = 7;
const MORE: u8 = 1 << BITS;
const LAST: u64 = MORE as u64 - 1;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_number_comes_back(
            numbers in prop::collection::vec((any::<u64>(), 0u32..64), 0..50),
        ) {
            let numbers: Vec<u64> = numbers.into_iter().map(|(n, less)| n >> less).collect();
            let mut bytes = Vec::new();
            for &number in &numbers {
                push(&mut bytes, number);
            }
            let mut rest = bytes.as_slice();
            let back: Vec<u64> = std::iter::from_fn(|| take(&mut rest)).collect();
            prop_assert_eq!(back, numbers);
        }
    }

    #[test]
    fn twenty_milliseconds_of_nanoseconds_are_four_bytes() {
        let lengths = [0, 127, 128, 20_000_000, u64::MAX].map(|number| {
            let mut bytes = Vec::new();
            push(&mut bytes, number);
            bytes.len()
        });
        assert_eq!(lengths, [1, 1, 2, 4, 10]);
    }
}
