//! Schema and keys of a bound query, for queries that read its result as a table.
//!
//! Invariant: column `i` is the `i`-th output of those that can be read; a COFACTOR cannot. A
//! column that is not nullable is never NULL in a row of the result. If all groups are outputs,
//! they identify its rows. Cost: linear in the outputs.

use std::sync::Arc;

use ringview_core::{Field, Result, Schema};

use super::bound::{Bound, OutputKind, PlanOutput, TableInfo};
use crate::logical::{Representation, Rows};

impl Bound {
    /// The outputs that can be read, by position.
    pub fn readable(&self) -> impl Iterator<Item = usize> + '_ {
        let all = self.outputs.iter().enumerate();
        let values = all.filter(|(_, output)| output.kind != OutputKind::Cofactor);
        values.map(|(at, _)| at)
    }

    /// The result as a table, of so many rows now as far as that is known.
    ///
    /// # Errors
    /// `Exists` for two columns of one name, which no bound query has.
    pub fn as_table(&self, rows: Option<u64>) -> Result<TableInfo> {
        let field = |at: usize| {
            let output = &self.outputs[at];
            Field::new(&output.name, output.ty.clone(), self.may_be_null(output))
        };
        let cofactors = self.outputs.iter();
        let cofactors = cofactors.filter(|output| output.kind == OutputKind::Cofactor);
        Ok(TableInfo {
            schema: Arc::new(Schema::new(self.readable().map(field).collect())?),
            is_static: self.all_atoms().all(|atom| atom.is_static),
            cancels: self.cancels(),
            rows,
            unique: self.key(),
            cofactors: cofactors.map(|output| output.name.clone()).collect(),
        })
    }

    /// Whether rows are computed as they are read, some of them to be taken away.
    fn cancels(&self) -> bool {
        let Some(Rows::Map { branches, .. }) = &self.rows else {
            return false;
        };
        let mut read = branches.iter().zip(&self.atoms);
        read.any(|(branch, atom)| branch.minus || atom.cancels)
    }

    /// Columns of which no two rows of the result agree: those of all groups. A result without
    /// groups has at most one row, so its key would be empty; that case is not needed.
    fn key(&self) -> Option<Vec<usize>> {
        let once = match self.bag {
            None => true,
            Some(Representation::Factorised) => self.distinct,
            Some(Representation::Listing) => false,
        };
        let shown = |variable: usize| {
            let mut outputs = self.readable().enumerate();
            let shows = |kind: &OutputKind| *kind == OutputKind::Group { variable };
            let found = outputs.find(|&(_, at)| shows(&self.outputs[at].kind));
            found.map(|(column, _)| column)
        };
        let free = (0..self.variables.len()).filter(|&id| self.variables[id].free);
        let mut key = free.map(shown).collect::<Option<Vec<usize>>>()?;
        key.sort_unstable();
        (once && !key.is_empty()).then_some(key)
    }

    /// A group is there while it has rows, so a sum over all of them has a value.
    fn may_be_null(&self, output: &PlanOutput) -> bool {
        let grouped = self.variables.iter().any(|variable| variable.free);
        match &output.kind {
            OutputKind::Group { variable } => self.variables[*variable].nullable,
            OutputKind::Count { .. } | OutputKind::Distinct { .. } => false,
            OutputKind::Sum { nonnull, .. } | OutputKind::Avg { nonnull, .. } => {
                !grouped || *nonnull != 0
            }
            OutputKind::Row { nullable } => *nullable,
            _ => true,
        }
    }
}
