//! Conditions on one string column, decided once for each distinct string.
//!
//! The strings of a batch that are new are decided together, as vectors over Arrow. Invariant: `known[id]` is the
//! verdict on the string with that id, or `UNSEEN`. A verdict holds as long as the string has the id: freed ids are
//! passed to `forget` before they are reused. Cost: O(1) a row, and of the new strings a pass of vector kernels a node
//! of the condition.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringArray};
use ringview_core::{Batch, Dictionary, Field, FreedIds, Result, Schema};
use ringview_expr::{Projection, Scalar};

use super::verdict::{UNKNOWN, constant};

const UNSEEN: u8 = u8::MAX;

/// A condition on one string column.
#[derive(Clone, Debug)]
pub(crate) struct TextCheck {
    column: usize,
    condition: Arc<Projection>,
    of_null: u8,
    known: Vec<u8>,
    unseen: Vec<u64>,
}

impl TextCheck {
    /// Compiles a condition that reads one string column of a table and nothing else.
    pub(crate) fn compile(column: usize, condition: &Scalar, schema: &Schema) -> Result<TextCheck> {
        let field = &schema.fields()[column];
        let only = Schema::new(vec![Field::new(&field.name, field.ty.clone(), true)])?;
        let condition = Projection::bind(None, &[condition], &only)?;
        let mut check = TextCheck {
            column,
            condition: Arc::new(condition),
            of_null: UNKNOWN,
            known: Vec::new(),
            unseen: Vec::new(),
        };
        let of_null = check.verdicts(StringArray::new_null(1))?;
        check.of_null = of_null.first().copied().unwrap_or(UNKNOWN);
        Ok(check)
    }

    /// The verdict on every row.
    pub(crate) fn evaluate(
        &mut self,
        batch: &Batch,
        dictionary: &Dictionary,
        into: &mut Vec<u8>,
    ) -> Result<()> {
        let column = batch.column(self.column);
        if self.known.len() < dictionary.limit() {
            self.known.resize(dictionary.limit(), UNSEEN);
        }
        let verdict = |known: &[u8], id: u64| known.get(id as usize).copied().unwrap_or(UNSEEN);
        let mut is_seen = true;
        into.clear();
        into.extend(column.words.iter().map(|&id| {
            let verdict = verdict(&self.known, id);
            is_seen &= verdict != UNSEEN;
            verdict
        }));
        if !is_seen {
            self.decide(&column.words, dictionary)?;
            for (to, &id) in into.iter_mut().zip(&column.words) {
                let verdict = verdict(&self.known, id);
                // A NULL has id 0, of which there need be no string.
                *to = if verdict == UNSEEN {
                    self.of_null
                } else {
                    verdict
                };
            }
        }
        if let Some(valid) = &column.valid {
            for (verdict, _) in into.iter_mut().zip(valid).filter(|(_, valid)| !**valid) {
                *verdict = self.of_null;
            }
        }
        Ok(())
    }

    /// Decides the strings among some that are new.
    fn decide(&mut self, ids: &[u64], dictionary: &Dictionary) -> Result<()> {
        let mut unseen = std::mem::take(&mut self.unseen);
        unseen.clear();
        for &id in ids {
            if let Some(known) = self.known.get_mut(id as usize)
                && *known == UNSEEN
                && dictionary.get(id).is_some()
            {
                // Each once; its verdict follows.
                *known = UNKNOWN;
                unseen.push(id);
            }
        }
        let texts: StringArray = unseen.iter().map(|&id| dictionary.get(id)).collect();
        let verdicts = self.verdicts(texts);
        for (at, &id) in unseen.iter().enumerate() {
            let verdict = verdicts.as_ref().map_or(UNSEEN, |verdicts| verdicts[at]);
            self.known[id as usize] = verdict;
        }
        self.unseen = unseen;
        verdicts.map(drop)
    }

    /// The verdicts on some strings.
    fn verdicts(&self, texts: StringArray) -> Result<Vec<u8>> {
        let rows = texts.len();
        let texts: ArrayRef = Arc::new(texts);
        let inputs = self.condition.inputs().iter().map(|_| Arc::clone(&texts));
        let batch = self.condition.batch(inputs.collect(), rows)?;
        let found = self.condition.column(0, &batch)?;
        Ok(found.as_boolean().iter().map(constant).collect())
    }

    /// Drops the verdicts on freed strings.
    pub(crate) fn forget(&mut self, gone: &FreedIds) {
        for &id in &gone.ids {
            if let Some(known) = self.known.get_mut(id as usize) {
                *known = UNSEEN;
            }
        }
        self.known.truncate(gone.limit);
        if self.known.capacity() / 4 > self.known.len() {
            self.known.shrink_to(self.known.len() * 2);
        }
    }

    /// Bytes held on the heap.
    pub(crate) fn memory_usage(&self) -> usize {
        self.known.capacity()
    }
}
