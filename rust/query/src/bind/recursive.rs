//! Binding of recursions: the result has the types of the seed.
//!
//! Invariant: an atom's columns are those that the seed or the step reads; the step itself is bound by whoever keeps it.
//! Cost: O(columns).

use ringview_core::{Field, Result, Schema, Type};

use super::bound::{OutputKind, PlanAtom, PlanOutput, TableInfo};
use super::shown::{Shown, shape};
use crate::logical::{Recursion, StepTable};

impl Recursion {
    /// The tables that the step reads, by their names: the rows so far, then what its other atoms have of the columns that
    /// it reads. O(columns).
    ///
    /// # Errors
    /// `UnknownColumn`; `Value` for another number of atoms.
    pub fn tables(&self, atoms: &[PlanAtom]) -> Result<Vec<(String, Schema)>> {
        let Some((seed, others)) = atoms.split_first() else {
            return Err(unfit());
        };
        let mut rows = Vec::with_capacity(self.names.len() + 1);
        for (name, of) in self.names.iter().zip(&self.seed) {
            let field = &seed.schema.fields()[seed.schema.index_of(of)?];
            rows.push(Field::new(name, field.ty.clone(), true));
        }
        let level = self.strategy.level();
        rows.extend(level.map(|name| Field::new(name, Type::Int64, false)));
        let mut tables = vec![(self.table.clone(), Schema::new(rows)?)];
        for (of, atom) in self.reads.iter().zip(others) {
            let places = of.column_indices(&atom.schema)?.into_iter();
            let fields = places.map(|at| atom.schema.fields()[at].clone());
            tables.push((of.table.clone(), Schema::new(fields.collect())?));
        }
        Ok(tables)
    }
}

impl StepTable {
    /// The places of its columns.
    ///
    /// # Errors
    /// `UnknownColumn`.
    pub fn column_indices(&self, schema: &Schema) -> Result<Vec<usize>> {
        self.columns
            .iter()
            .map(|name| schema.index_of(name))
            .collect()
    }
}

/// Columns read of each atom, and the outputs.
pub(super) fn bound(recursion: &Recursion, tables: &[TableInfo]) -> Result<Shown> {
    let fits = tables.len() == recursion.reads.len() + 1
        && recursion.names.len() == recursion.seed.len()
        && !recursion.names.is_empty();
    let Some((seed, others)) = tables.split_first().filter(|_| fits) else {
        return Err(unfit());
    };
    let places = recursion.seed.iter().map(|name| seed.schema.index_of(name));
    let places = places.collect::<Result<Vec<usize>>>()?;
    let output = |(name, &at): (&String, &usize)| PlanOutput {
        name: name.clone(),
        ty: seed.schema.fields()[at].ty.clone(),
        kind: OutputKind::Row { nullable: true },
    };
    let outputs = recursion.names.iter().zip(&places).map(output).collect();
    let mut read = vec![places];
    for (of, table) in recursion.reads.iter().zip(others) {
        read.push(of.column_indices(&table.schema)?);
    }
    for columns in &mut read {
        columns.sort_unstable();
        columns.dedup();
    }
    Ok((read, outputs))
}

fn unfit() -> ringview_core::Error {
    shape(
        "a recursion has an atom for its seed and one for each table of its step, and a name for each column",
    )
}
