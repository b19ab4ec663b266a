//! The values of a join column that are there: what semi-joins are made with.
//!
//! Invariant: it holds exactly the words that it was made of. Words that fill their range are bits of one array, the others
//! are in a hash table. Cost: O(words) to make, O(1) a look-up; at most [`SPREAD`] bits a word, or 16 bytes in the table.

use foldhash::quality::RandomState;
use hashbrown::HashSet;

/// Bits that a word may cost: as much as an entry of a hash table.
const SPREAD: u64 = 64;
/// Bits that are always affordable.
const FREE: u64 = 1 << 16;

/// A set of words.
///
/// ```
/// use ringview_relation::ValueSet;
/// let set = ValueSet::of(&[3, 5, 3]);
/// assert!(set.contains(5) && !set.contains(4));
/// ```
#[derive(Clone, Debug)]
pub struct ValueSet(Storage);

#[derive(Clone, Debug)]
enum Storage {
    Bits { least: u64, bits: Vec<u64> },
    Hashed(HashSet<u64, RandomState>),
}

impl ValueSet {
    /// The set of some words, which may repeat.
    #[must_use]
    pub fn of(words: &[u64]) -> Self {
        let signed = words.iter().map(|word| word.cast_signed());
        let least = signed.clone().min().unwrap_or(0).cast_unsigned();
        let most = signed.max().unwrap_or(0).cast_unsigned();
        let span = most.wrapping_sub(least);
        if span >= FREE.max((words.len() as u64).saturating_mul(SPREAD)) {
            return Self(Storage::Hashed(words.iter().copied().collect()));
        }
        let mut bits = vec![0; span as usize / 64 + 1];
        for word in words {
            let at = word.wrapping_sub(least);
            bits[at as usize / 64] |= 1 << (at % 64);
        }
        Self(Storage::Bits { least, bits })
    }

    /// Whether a word is there.
    #[inline]
    #[must_use]
    pub fn contains(&self, word: u64) -> bool {
        match &self.0 {
            Storage::Bits { least, bits } => {
                let at = word.wrapping_sub(*least);
                let found = bits.get((at / 64) as usize);
                found.is_some_and(|bits| bits >> (at % 64) & 1 == 1)
            }
            Storage::Hashed(words) => words.contains(&word),
        }
    }

    /// Keeps those of some numbers of which the word, at the same place of the other list, is there.
    pub fn retain(&self, words: &[u64], numbers: &mut Vec<u32>) {
        match &self.0 {
            Storage::Bits { least, bits } => retain(words, numbers, |word| {
                let at = word.wrapping_sub(*least);
                let found = bits.get((at / 64) as usize).copied().unwrap_or(0);
                found >> (at % 64) & 1 == 1
            }),
            Storage::Hashed(set) => retain(words, numbers, |word| set.contains(&word)),
        }
    }

    /// Bytes held on the heap.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        match &self.0 {
            Storage::Bits { bits, .. } => bits.capacity() * 8,
            Storage::Hashed(words) => words.allocation_size(),
        }
    }
}

#[inline(always)]
fn retain(words: &[u64], numbers: &mut Vec<u32>, contains: impl Fn(u64) -> bool) {
    let all = &mut numbers[..words.len()];
    let mut kept = 0;
    for (at, &word) in words.iter().enumerate() {
        // Without a branch a row: which rows pass is not foreseen.
        all[kept] = all[at];
        kept += usize::from(contains(word));
    }
    numbers.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::ValueSet;

    #[test]
    fn it_holds_its_words_and_no_others() {
        let far = [0, 1 << 40, u64::MAX, 7, 7];
        let near = [u64::MAX, 3, 0, 64, 3];
        for words in [&far[..], &near[..], &[]] {
            let set = ValueSet::of(words);
            for word in [
                0,
                1,
                3,
                7,
                63,
                64,
                65,
                1 << 40,
                1 << 63,
                u64::MAX,
                u64::MAX - 1,
            ] {
                assert_eq!(
                    set.contains(word),
                    words.contains(&word),
                    "{word} of {words:?}"
                );
            }
        }
    }

    #[test]
    fn the_whole_range_of_words_is_no_array() {
        let ends = [1 << 63, (1 << 63) - 1];
        let set = ValueSet::of(&ends);
        assert!(set.memory_usage() < 1000);
        assert!(ends.iter().all(|&end| set.contains(end)) && !set.contains(0));
    }

    #[test]
    fn numbers_stay_in_their_order() {
        let mut numbers = vec![10, 11, 12, 13];
        ValueSet::of(&[1, 2]).retain(&[2, 0, 1, 5], &mut numbers);
        assert_eq!(numbers, [10, 12]);
    }
}
