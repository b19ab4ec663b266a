//! Packing of the fields of a key into words.
//!
//! Invariant: a field lies within one word, fields keep their order within a word, and equal
//! field values give equal words: keys are compared and hashed as words. Narrow fields share a
//! word (two int32 columns take 8 bytes, not 16), which is what bounds the bytes of a view.

/// One field of a key: how many bits its values need, and whether they are sign-extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyField {
    /// Width in bits, 1 to 64.
    pub bits: u32,
    /// Whether a value is the sign extension of its `bits` lowest bits.
    pub signed: bool,
}

#[derive(Clone, Copy, Debug)]
struct FieldBits {
    word: usize,
    shift: u32,
    field: KeyField,
}

impl FieldBits {
    #[inline(always)]
    fn mask(self) -> u64 {
        u64::MAX >> (64 - self.field.bits)
    }

    #[inline(always)]
    fn get(self, words: &[u64]) -> u64 {
        let word = words[self.word];
        match self.field.signed {
            true => self.signed(word),
            false => self.unsigned(word),
        }
    }

    #[inline(always)]
    fn signed(self, word: u64) -> u64 {
        let unused = 64 - self.field.bits;
        ((word >> self.shift << unused) as i64 >> unused) as u64
    }

    #[inline(always)]
    fn unsigned(self, word: u64) -> u64 {
        word >> self.shift & self.mask()
    }
}

/// The packing of a key: fields to words, first fit.
#[derive(Clone, Debug, Default)]
pub struct KeyLayout {
    places: Vec<FieldBits>,
    words: usize,
}

impl KeyLayout {
    /// Packs `fields` into as few words as first fit needs.
    #[must_use]
    pub fn new(fields: &[KeyField]) -> Self {
        let mut used: Vec<u32> = Vec::new();
        let places = fields
            .iter()
            .map(|&field| {
                let word = used
                    .iter()
                    .position(|bits| bits + field.bits <= 64)
                    .unwrap_or_else(|| {
                        used.push(0);
                        used.len() - 1
                    });
                let shift = used[word];
                used[word] += field.bits;
                FieldBits { word, shift, field }
            })
            .collect();
        Self {
            places,
            words: used.len(),
        }
    }

    /// The number of fields.
    #[must_use]
    pub fn fields(&self) -> usize {
        self.places.len()
    }

    /// The field at `index`.
    #[must_use]
    pub fn field(&self, index: usize) -> KeyField {
        self.places[index].field
    }

    /// The number of words of a key.
    #[must_use]
    pub fn words(&self) -> usize {
        self.words
    }

    /// The layout of some of the fields, in the order given.
    #[must_use]
    pub fn project(&self, fields: &[usize]) -> Self {
        let picked: Vec<KeyField> = fields.iter().map(|&f| self.field(f)).collect();
        Self::new(&picked)
    }

    /// The value of a field in a packed key.
    #[must_use]
    #[inline(always)]
    pub fn get(&self, words: &[u64], field: usize) -> u64 {
        self.places[field].get(words)
    }

    /// Appends the values of a field in some keys of a slab.
    pub(crate) fn append_column(
        &self,
        keys: &[u64],
        slots: &[u32],
        field: usize,
        out: &mut Vec<u64>,
    ) {
        let place = self.places[field];
        let value = |word: u64| match place.field.signed {
            true => place.signed(word),
            false => place.unsigned(word),
        };
        match self.words {
            1 => out.extend(slots.iter().map(|&slot| value(keys[slot as usize]))),
            words => {
                let word = |&slot: &u32| keys[slot as usize * words + place.word];
                out.extend(slots.iter().map(|slot| value(word(slot))));
            }
        }
    }

    /// Packs one key, given field by field.
    #[inline(always)]
    pub(crate) fn pack_one(&self, field: impl Fn(usize) -> u64, out: &mut Vec<u64>) {
        out.clear();
        out.resize(self.words, 0);
        for (at, place) in self.places.iter().enumerate() {
            out[place.word] |= (field(at) & place.mask()) << place.shift;
        }
    }

    /// Packs rows given column by column; `column(f)` holds at least `rows` values of field f.
    /// `out` becomes `rows * words()` long.
    pub(crate) fn pack<'a>(
        &self,
        rows: usize,
        column: impl Fn(usize) -> &'a [u64],
        out: &mut Vec<u64>,
    ) {
        let words = self.words;
        out.clear();
        if let [only] = self.places[..] {
            let mask = only.mask();
            out.extend(column(0)[..rows].iter().map(|value| value & mask));
            return;
        }
        if words == 1 {
            // One word a key: loops over vectors.
            out.extend_from_slice(&column(0)[..rows]);
            for (field, place) in self.places.iter().enumerate() {
                let (mask, shift) = (place.mask(), place.shift);
                let values = &column(field)[..rows];
                match field {
                    0 => out.iter_mut().for_each(|key| *key = (*key & mask) << shift),
                    _ => {
                        let keys = out.iter_mut().zip(values);
                        keys.for_each(|(key, value)| *key |= (value & mask) << shift);
                    }
                }
            }
            return;
        }
        out.resize(rows * words, 0);
        for (field, place) in self.places.iter().enumerate() {
            let (mask, shift) = (place.mask(), place.shift);
            let targets = out[place.word.min(rows * words)..]
                .iter_mut()
                .step_by(words);
            for (target, value) in targets.zip(&column(field)[..rows]) {
                *target |= (value & mask) << shift;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_fields_share_words_and_come_back() {
        let field = |bits, signed| KeyField { bits, signed };
        let layout = KeyLayout::new(&[
            field(32, true),
            field(64, true),
            field(32, true),
            field(1, false),
        ]);
        assert_eq!(layout.words(), 3);
        let columns = [
            vec![-5i64 as u64, 7],
            vec![i64::MIN as u64, 9],
            vec![i32::MAX as u64, i32::MIN as i64 as u64],
            vec![1, 0],
        ];
        let mut out = Vec::new();
        layout.pack(2, |f| &columns[f], &mut out);
        for row in 0..2 {
            for (f, column) in columns.iter().enumerate() {
                assert_eq!(
                    layout.get(&out[row * 3..], f),
                    column[row],
                    "row {row}, field {f}"
                );
            }
        }
    }
}
