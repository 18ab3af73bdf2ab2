//! `numpy.random.SeedSequence`: turns one seed into the words that a generator starts from.
//!
//! The module knows no generator, and neither entropy from the machine nor spawned children.

const POOL: usize = 4;

/// NumPy's `SeedSequence` without spawn keys.
///
/// ```
/// let sequence = servemark_rng::SeedSequence::from_seed(42);
/// assert_eq!(sequence.generate_u64::<1>(), [0x9f1e_2e6d_cd54_0ab7]);
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SeedSequence {
    pool: [u32; POOL],
}

impl SeedSequence {
    /// Creates `SeedSequence(seed)`.
    pub fn from_seed(seed: u64) -> Self {
        let mut hash = Hash { constant: 0x43b0_d7e5, multiplier: 0x931e_8875 };
        let entropy = [seed as u32, (seed >> 32) as u32, 0, 0];
        let mut pool = entropy.map(|word| hash.word(word));
        for from in 0..POOL {
            for to in (0..POOL).filter(|to| *to != from) {
                pool[to] = mix(pool[to], hash.word(pool[from]));
            }
        }
        Self { pool }
    }

    /// Returns `generate_state(N, numpy.uint64)`.
    pub fn generate_u64<const N: usize>(&self) -> [u64; N] {
        let mut hash = Hash { constant: 0x8b51_f9dd, multiplier: 0x58f3_8ded };
        let mut words = self.pool.iter().cycle().map(|word| u64::from(hash.word(*word)));
        let mut next = || words.next().unwrap_or_default();
        std::array::from_fn(|_| next() | next() << 32)
    }
}

/// Hash of `SeedSequence`; its multiplier changes with every word that is hashed.
struct Hash {
    constant: u32,
    multiplier: u32,
}

impl Hash {
    fn word(&mut self, word: u32) -> u32 {
        let word = word ^ self.constant;
        self.constant = self.constant.wrapping_mul(self.multiplier);
        let word = word.wrapping_mul(self.constant);
        word ^ (word >> 16)
    }
}

fn mix(x: u32, y: u32) -> u32 {
    let mixed = x.wrapping_mul(0xca01_f9dd).wrapping_sub(y.wrapping_mul(0x4973_f715));
    mixed ^ (mixed >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(seed: u64, words: [u64; 4]) {
        assert_eq!(SeedSequence::from_seed(seed).generate_u64(), words);
    }

    #[test]
    fn seed_0() {
        let first = [0xdb2c_d7e7_b0f4_78be, 0xabf4_641a_2c71_ba49];
        check(0, [first[0], first[1], 0x20c6_ed6d_9d7b_8d41, 0x2c40_99de_223c_39d4]);
    }

    #[test]
    fn seed_42() {
        let first = [0x9f1e_2e6d_cd54_0ab7, 0xd578_73dc_79fb_94b6];
        check(42, [first[0], first[1], 0x7d28_2a1b_64d4_20b7, 0x3365_7971_4692_d5ff]);
    }

    #[test]
    fn a_seed_of_two_words() {
        let first = [0x0d86_72e1_0e3d_1a15, 0x9aef_4ada_4ecf_a161];
        check((1 << 40) + 7, [first[0], first[1], 0x999c_1c3b_83db_a903, 0x4089_27dc_0dc8_a316]);
    }
}
