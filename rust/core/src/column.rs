//! Encoded rows, column by column: what the encoder fills, and what base rows and views read.
//!
//! Invariant: `words` has one word a row; `high` is empty except for decimals, where it holds the
//! upper halves; a NULL has word (and high) 0 and `valid` false. So equal (valid, high, word) mean
//! equal values. A batch can be cleared and refilled without allocating.
//!
//! | type | word |
//! |---|---|
//! | bool | 0 or 1 |
//! | signed integers, date32, timestamp | sign-extended two's complement |
//! | unsigned integers | zero-extended |
//! | float32, float64 | bits of the f64; -0.0 becomes 0.0, every NaN the same NaN |
//! | string | id in the [`Dictionary`](crate::Dictionary) |
//! | decimal | low half of the i128 of units, high half in `high` |

/// The values of one column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// One word a row.
    pub words: Vec<u64>,
    /// Upper halves of decimals; empty for every other type.
    pub high: Vec<u64>,
    /// Marks rows that are not NULL; `None` if all are.
    pub valid: Option<Vec<bool>>,
}

impl Column {
    /// Forgets the values, keeps the memory of the words.
    pub fn clear(&mut self) {
        self.words.clear();
        self.high.clear();
        self.valid = None;
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether the value of `row` is NULL.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        self.valid.as_ref().is_some_and(|valid| !valid[row])
    }

    /// The upper half of the value of `row`; 0 for types of one word.
    #[inline]
    pub fn high(&self, row: usize) -> u64 {
        self.high.get(row).copied().unwrap_or(0)
    }

    /// The decimal of `row`, in units of its scale.
    #[inline]
    pub fn decimal(&self, row: usize) -> i128 {
        join_halves(self.words[row], self.high(row))
    }

    /// Refills `into` with the values at `rows`, in that order.
    pub fn gather_into(&self, rows: &[u32], into: &mut Column) {
        into.clear();
        into.words
            .extend(rows.iter().map(|&row| self.words[row as usize]));
        if !self.high.is_empty() {
            into.high
                .extend(rows.iter().map(|&row| self.high[row as usize]));
        }
        if let Some(valid) = &self.valid {
            into.valid = Some(rows.iter().map(|&row| valid[row as usize]).collect());
        }
    }
}

/// The two halves of a decimal as one number.
#[inline]
pub(crate) fn join_halves(low: u64, high: u64) -> i128 {
    ((u128::from(high) << 64) | u128::from(low)) as i128
}

/// The upper half of a decimal; the lower one is `value as u64`.
#[inline]
pub(crate) fn high_half(value: i128) -> u64 {
    (value >> 64) as u64
}

/// Rows of one table, with their multiplicities.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Number of rows.
    pub rows: usize,
    /// By column of the table; `None` where nobody needs the column.
    pub columns: Vec<Option<Column>>,
    /// Multiplicity of each row, negative for deletes; `None` means once each.
    pub multiplicity: Option<Vec<i64>>,
}

impl Batch {
    /// An empty batch; the encoder shapes it.
    pub fn new() -> Self {
        Self::default()
    }

    /// The column at `index` of the table.
    ///
    /// # Panics
    /// If the batch was encoded without it: a column must be in `needed` to be read.
    #[inline]
    pub fn column(&self, index: usize) -> &Column {
        match &self.columns[index] {
            Some(column) => column,
            None => panic!("column {index} was not asked for when the batch was encoded"),
        }
    }

    /// The multiplicity of `row`.
    #[inline]
    pub fn multiplicity(&self, row: usize) -> i64 {
        self.multiplicity.as_ref().map_or(1, |all| all[row])
    }

    /// Forgets the rows, keeps the memory.
    pub fn clear(&mut self) {
        self.rows = 0;
        self.columns.iter_mut().flatten().for_each(Column::clear);
        self.multiplicity = None;
    }

    /// Clears the batch and gives it a column wherever `needed` says so.
    pub fn reset(&mut self, needed: &[bool]) {
        self.clear();
        self.columns.resize_with(needed.len(), || None);
        for (column, &needed) in self.columns.iter_mut().zip(needed) {
            match (&column, needed) {
                (None, true) => *column = Some(Column::default()),
                (Some(_), false) => *column = None,
                _ => {}
            }
        }
    }

    /// A copy of the rows `start..start + rows`.
    pub fn slice(&self, start: usize, rows: usize) -> Batch {
        let range = start..start + rows;
        let column = |column: &Column| Column {
            words: column.words[range.clone()].to_vec(),
            high: column.high.get(range.clone()).unwrap_or_default().to_vec(),
            valid: column
                .valid
                .as_ref()
                .map(|valid| valid[range.clone()].to_vec()),
        };
        Batch {
            rows,
            columns: self
                .columns
                .iter()
                .map(|c| c.as_ref().map(column))
                .collect(),
            multiplicity: self
                .multiplicity
                .as_ref()
                .map(|all| all[range.clone()].to_vec()),
        }
    }

    /// Refills `into` with the given rows, in that order.
    pub fn gather_into(&self, rows: &[u32], into: &mut Batch) {
        into.rows = rows.len();
        into.columns.resize_with(self.columns.len(), || None);
        for (from, to) in self.columns.iter().zip(&mut into.columns) {
            match from {
                Some(from) => from.gather_into(rows, to.get_or_insert_default()),
                None => *to = None,
            }
        }
        let all = self.multiplicity.as_ref();
        into.multiplicity = all.map(|all| rows.iter().map(|&row| all[row as usize]).collect());
    }

    /// Appends rows that are encoded in the same columns.
    pub fn append(&mut self, more: &Batch) {
        for (to, from) in self.columns.iter_mut().zip(&more.columns) {
            let (Some(to), Some(from)) = (to, from) else {
                continue;
            };
            if to.valid.is_some() || from.valid.is_some() {
                let known = to.valid.get_or_insert_with(|| vec![true; self.rows]);
                match &from.valid {
                    Some(valid) => known.extend(valid),
                    None => known.resize(self.rows + more.rows, true),
                }
            }
            to.words.extend(&from.words);
            to.high.extend(&from.high);
        }
        if self.multiplicity.is_some() || more.multiplicity.is_some() {
            let all = self.multiplicity.get_or_insert_with(|| vec![1; self.rows]);
            match &more.multiplicity {
                Some(own) => all.extend(own),
                None => all.resize(self.rows + more.rows, 1),
            }
        }
        self.rows += more.rows;
    }

    /// The given rows, in that order.
    pub fn gather(&self, rows: &[u32]) -> Batch {
        let mut into = Batch::new();
        self.gather_into(rows, &mut into);
        into
    }

    /// Bytes held on the heap.
    pub fn memory_usage(&self) -> usize {
        let column = |column: &Column| {
            (column.words.capacity() + column.high.capacity()) * 8
                + column.valid.as_ref().map_or(0, Vec::capacity)
        };
        self.columns.iter().flatten().map(column).sum::<usize>()
            + self
                .multiplicity
                .as_ref()
                .map_or(0, |all| all.capacity() * 8)
    }
}
