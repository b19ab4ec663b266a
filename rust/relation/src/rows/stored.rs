//! Storage of a row: each of its words in as few bytes as the values seen so far need.
//!
//! Invariant: a word that its field holds is loaded as it was stored. Fields are stored one behind the other, without
//! padding; the lowest bytes of a word are stored, and loading extends them by the sign, or by 0. Cost: a load is eight
//! bytes, a mask and two more instructions, whatever the width.

use super::words::WordRange;

/// Storage of one word of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredField {
    offset: u32,
    bytes: u32,
    /// The bits that are stored.
    mask: u64,
    /// The highest of them where it is a sign.
    sign: u64,
}

/// Storage of the rows of a page.
#[derive(Clone, Debug)]
pub(super) struct StoredLayout {
    fields: Vec<StoredField>,
    stride: usize,
}

impl StoredField {
    /// The word of a row that starts where `row` does.
    #[inline(always)]
    pub(super) fn load(self, row: &[u8]) -> u64 {
        let at = &row[self.offset as usize..];
        let bits = match at.first_chunk() {
            Some(eight) => u64::from_le_bytes(*eight),
            None => load_last(at),
        };
        self.extend(bits)
    }

    /// Forgets the bits that are not stored.
    #[inline(always)]
    fn extend(self, word: u64) -> u64 {
        ((word & self.mask) ^ self.sign).wrapping_sub(self.sign)
    }

    #[inline(always)]
    fn holds(self, word: u64) -> bool {
        self.extend(word) == word
    }

    /// Stores the words of rows of `stride` bytes.
    fn store(self, words: &[u64], stride: usize, rows: &mut [u8]) {
        let offset = self.offset as usize;
        match self.bytes {
            1 => store::<1>(words, offset, stride, rows),
            2 => store::<2>(words, offset, stride, rows),
            3 => store::<3>(words, offset, stride, rows),
            4 => store::<4>(words, offset, stride, rows),
            5 => store::<5>(words, offset, stride, rows),
            6 => store::<6>(words, offset, stride, rows),
            7 => store::<7>(words, offset, stride, rows),
            _ => store::<8>(words, offset, stride, rows),
        }
    }
}

impl StoredLayout {
    /// The layout in which each word has so many bytes.
    pub(super) fn new(ranges: &[WordRange], bytes: impl Iterator<Item = usize>) -> StoredLayout {
        let mut stride = 0;
        let fields = ranges.iter().zip(bytes).map(|(range, bytes)| {
            let offset = stride;
            stride += bytes;
            let signed = *range == WordRange::Signed;
            StoredField {
                offset: offset as u32,
                bytes: bytes as u32,
                mask: u64::MAX >> (u64::BITS as usize - 8 * bytes),
                sign: if signed { 1 << (8 * bytes - 1) } else { 0 },
            }
        });
        StoredLayout {
            fields: fields.collect(),
            stride,
        }
    }

    /// Bytes of a row.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    pub(super) fn field(&self, word: usize) -> StoredField {
        self.fields[word]
    }

    /// Bytes of each word.
    pub(super) fn bytes(&self) -> impl Iterator<Item = usize> + Clone + '_ {
        self.fields.iter().map(|field| field.bytes as usize)
    }

    /// The words of a row.
    #[inline(always)]
    pub(super) fn words<'a>(&'a self, row: &'a [u8]) -> impl Iterator<Item = u64> + 'a {
        self.fields.iter().map(|field| field.load(row))
    }

    /// Whether a row can be stored.
    pub(super) fn holds(&self, words: &[u64]) -> bool {
        let mut fields = self.fields.iter().zip(words);
        fields.all(|(field, &word)| field.holds(word))
    }

    /// Whether a row is stored there, of which some leading words may be given.
    #[inline(always)]
    pub(super) fn equals(&self, row: &[u8], words: &[u64]) -> bool {
        // Without a branch a word: rows that are compared are nearly always equal.
        let mut different = 0;
        for (field, word) in self.fields.iter().zip(words) {
            different |= field.load(row) ^ word;
        }
        different == 0
    }

    /// Stores a row; other rows may be stored behind it.
    #[inline(always)]
    pub(super) fn store(&self, words: &[u64], row: &mut [u8]) {
        let behind: Option<[u8; 8]> = row[self.stride..].first_chunk().copied();
        let Some(behind) = behind else {
            return self.store_last(words, row);
        };
        // Whole words, whose upper bytes the next one overwrites, need no branch for their width.
        for (field, word) in self.fields.iter().zip(words) {
            put(row, field.offset as usize, word.to_le_bytes());
        }
        put(row, self.stride, behind);
    }

    /// Stores a row at the end of a page.
    #[cold]
    fn store_last(&self, words: &[u64], row: &mut [u8]) {
        for (field, word) in self.fields.iter().zip(words) {
            field.store(std::slice::from_ref(word), self.stride, row);
        }
    }

    /// Stores a word of several rows.
    pub(super) fn store_word(&self, word: usize, values: &[u64], rows: &mut [u8]) {
        self.fields[word].store(values, self.stride, rows);
    }
}

/// The last bytes of a page.
#[cold]
fn load_last(at: &[u8]) -> u64 {
    let mut eight = [0; 8];
    eight[..at.len()].copy_from_slice(at);
    u64::from_le_bytes(eight)
}

#[inline(always)]
fn store<const BYTES: usize>(words: &[u64], offset: usize, stride: usize, rows: &mut [u8]) {
    if let [word] = words {
        // A single row is not worth the division that computes the number of rows.
        return put(rows, offset, lowest::<BYTES>(*word));
    }
    for (row, &word) in rows.chunks_exact_mut(stride).zip(words) {
        put(row, offset, lowest::<BYTES>(word));
    }
}

#[inline(always)]
fn put<const BYTES: usize>(row: &mut [u8], offset: usize, bytes: [u8; BYTES]) {
    let target = row.get_mut(offset..).and_then(<[u8]>::first_chunk_mut);
    if let Some(target) = target {
        *target = bytes;
    }
}

/// The lowest bytes. An array, as a slice of a length that is known is still copied by a call.
#[inline(always)]
fn lowest<const BYTES: usize>(word: u64) -> [u8; BYTES] {
    let bytes = word.to_le_bytes();
    bytes.first_chunk().copied().unwrap_or([0; BYTES])
}
