//! The rows of an atom as a relation: keys by its variables, a number for each term of the query.
//!
//! Invariant: it has the rows that were applied, with their multiplicities, as far as they pass the filter;
//! between transactions each sum fits. Cost: O(rows), what expressions cost, and O(1) expected a key.

use ringview_core::{Budget, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_query::{Bound, VarId};
use ringview_relation::{Delta, GatherScratch, KeyScratch, KeyedTable, Relation};
use ringview_ring::{Groups, PayloadRing, SumProduct, SumProductShape};

use super::{AtomProgram, LiftedRows, Selection, key_column};
use crate::answer::number_kind;
use crate::fields::{Aspect, Fields};
use crate::rows::RowDelta;

/// An atom and its rows. `Bound::factors` gives the contribution of a table's rows to a term.
#[derive(Debug)]
pub struct Leaf {
    /// The fields of its variables, in the order of its keys.
    pub fields: Vec<usize>,
    /// Its rows.
    pub rows: Relation<SumProduct>,
    program: AtomProgram,
    /// Source of the fields.
    columns: Vec<(usize, Aspect)>,
    /// The fields with strings, by their place in the keys.
    texts: Vec<usize>,
    selection: Selection,
}

impl Leaf {
    /// An atom of a query without rows.
    ///
    /// # Errors
    /// What its expressions cannot be compiled for.
    pub fn new(query: &Bound, atom: usize, all: &Fields) -> Result<Self> {
        let column = |id: VarId| query.variables[id].columns.iter().find(|c| c.0 == atom);
        let found = (0..query.variables.len()).filter_map(|id| Some((id, column(id)?.1)));
        let (variables, keys): (Vec<VarId>, Vec<usize>) = found.unzip();
        let program = AtomProgram::compile_long(&query.atoms[atom], &keys, &query.factors(atom)?)?;
        let fields = all.of_all(&variables);
        let place = |&id: &usize| {
            let field = all.field(id);
            let at = variables.iter().position(|&own| own == field.variable);
            (keys[at.unwrap_or_default()], field.aspect)
        };
        let shape = SumProductShape::new(&program.kinds().map(number_kind).collect::<Vec<_>>());
        let part = KeyedTable::new(all.layout(&fields), SumProduct::stride(&shape));
        Ok(Self {
            rows: Relation::new(query.atoms[atom].alias.clone(), shape, Some(part)),
            columns: fields.iter().map(place).collect(),
            texts: all.texts(&variables),
            selection: Selection::default(),
            fields,
            program,
        })
    }

    /// Takes rows of its table.
    ///
    /// # Errors
    /// As [`View::apply`](crate::View::apply).
    pub fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        let (batch, selection) = (rows.batch, &mut self.selection);
        self.program.select(batch, rows.dictionary, selection)?;
        budget.work(selection.len() as u64)?;
        let mut delta = Delta::with_registers(self.columns.len());
        for (&(column, aspect), words) in self.columns.iter().zip(&mut delta.columns) {
            key_column(aspect, batch.column(column), selection, words);
        }
        let lifted = LiftedRows {
            batch,
            selection,
            sign: rows.sign,
            groups: Groups::Each(selection.len()),
            stride: SumProduct::stride(self.rows.shape()),
        };
        lifted.read(&mut self.program, self.rows.shape(), &mut delta.payload)?;
        (delta.rows, delta.width) = (selection.len(), lifted.stride);
        self.rows.reached_by(delta.rows);
        let keys: Vec<usize> = (0..self.columns.len()).collect();
        let (scratch, spare) = (&mut KeyScratch::default(), &mut GatherScratch::default());
        let added = self.rows.add(&mut delta, &keys, scratch, spare);
        added.map_err(|fault| self.rows.refusal(fault))
    }

    /// Its rows by slot.
    #[must_use]
    pub fn part(&self) -> &KeyedTable {
        let Some(part) = self.rows.table() else {
            unreachable!("rows are kept")
        };
        part
    }
}

impl HoldsStrings for Leaf {
    fn mark_strings(&self, held: &mut LiveIds) {
        let texts = || self.texts.iter();
        let slots = self.part().iter();
        slots.for_each(|slot| texts().for_each(|&at| held.mark(self.part().field(slot, at))));
    }

    fn string_words(&self) -> usize {
        self.part().len() * self.texts.len()
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        self.program.forget_strings(gone);
    }
}
