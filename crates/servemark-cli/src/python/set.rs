//! The order in which Python iterates over a set of small numbers, which is that of its hash table.

/// Returns the numbers, each once, in the order of Python's `list(set(numbers))`.
pub(crate) fn set_order(numbers: &[u32]) -> Vec<u32> {
    let mut set = Set { table: vec![None; LEAST_SLOTS], used: 0 };
    for number in numbers {
        set.add(*number);
    }
    set.table.into_iter().flatten().collect()
}

/// A hash table with open addressing, as Python's sets. The hash of a number is the number.
struct Set {
    table: Vec<Option<u32>>,
    used: usize,
}

impl Set {
    fn add(&mut self, number: u32) {
        let slot = self.slot(number);
        if self.table[slot].is_some() {
            return;
        }
        self.table[slot] = Some(number);
        self.used += 1;
        if self.used * 5 >= (self.table.len() - 1) * 3 {
            self.grow();
        }
    }

    /// Returns the slot that a number has, or would get.
    fn slot(&self, number: u32) -> usize {
        let mask = self.table.len() - 1;
        let (mut perturb, mut start) = (number as usize, number as usize & mask);
        loop {
            let neighbours = if start + NEIGHBOURS <= mask { NEIGHBOURS } else { 0 };
            let fits = |slot: &usize| self.table[*slot].is_none_or(|known| known == number);
            if let Some(slot) = (start..=start + neighbours).find(fits) {
                return slot;
            }
            perturb >>= 5;
            start = (start * 5 + 1 + perturb) & mask;
        }
    }

    fn grow(&mut self) {
        let slots = (self.used * 4 + 1).next_power_of_two().max(LEAST_SLOTS);
        let known = std::mem::replace(&mut self.table, vec![None; slots]);
        for number in known.into_iter().flatten() {
            let slot = self.slot(number);
            self.table[slot] = Some(number);
        }
    }
}

const LEAST_SLOTS: usize = 8;
/// Number of slots after the first that are tried before the next place of the probe sequence.
const NEIGHBOURS: usize = 9;
