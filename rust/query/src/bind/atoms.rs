//! The atoms of a query, bound: their tables, their names, their filters.
//!
//! Invariant: a query has atoms and outputs, each of a name of its own. Cost: linear in the query.

use std::collections::BTreeSet;
use std::sync::Arc;

use ringview_core::{Error, Result};

use crate::bind::bound::{Catalog, PlanAtom, TableInfo};
use crate::bind::polynomial::Predicate;
use crate::bind::predicate::all;
use crate::bind::scalar::Scope;
use crate::bind::variables::Variables;
use crate::graph::set::Set;
use crate::logical::{Atom, Query};

pub(crate) fn check_shape(query: &Query) -> Result<()> {
    let wrong = |problem: &str| Error::Value {
        place: "the query".to_owned(),
        problem: problem.to_owned(),
    };
    if query.atoms.is_empty() {
        return Err(wrong("it reads no table; name at least one"));
    }
    if query.outputs.is_empty() {
        return Err(wrong("it has no outputs; select at least one"));
    }
    if query.atoms.len() > Set::CAPACITY {
        return Err(wrong(&format!(
            "it joins more than {} tables",
            Set::CAPACITY
        )));
    }
    let mut aliases = BTreeSet::new();
    for atom in &query.atoms {
        if !aliases.insert(&atom.alias) {
            let name = atom.alias.clone();
            return Err(Error::Exists {
                kind: "alias",
                name,
            });
        }
    }
    let mut names = BTreeSet::new();
    for output in &query.outputs {
        if !names.insert(output.name()) {
            let name = output.name().to_owned();
            return Err(Error::Exists {
                kind: "output column",
                name,
            });
        }
    }
    Ok(())
}

pub(crate) fn tables(query: &Query, catalog: &dyn Catalog) -> Result<Vec<TableInfo>> {
    let tables = query.atoms.iter().map(|atom| catalog.table(&atom.table));
    tables.collect()
}

pub(crate) fn scopes<'a>(query: &'a Query, tables: &'a [TableInfo]) -> Vec<Scope<'a>> {
    let scope = |(id, (atom, table)): (usize, (&'a Atom, &'a TableInfo))| Scope {
        atom: id,
        table: &atom.table,
        alias: &atom.alias,
        schema: &table.schema,
        cofactors: &table.cofactors,
    };
    query
        .atoms
        .iter()
        .zip(tables)
        .enumerate()
        .map(scope)
        .collect()
}

pub(crate) fn bind_atoms(
    query: &Query,
    tables: &[TableInfo],
    scopes: &[Scope<'_>],
    variables: &Variables,
) -> Result<Vec<PlanAtom>> {
    let mut atoms = Vec::with_capacity(query.atoms.len());
    for (id, ((atom, table), scope)) in query.atoms.iter().zip(tables).zip(scopes).enumerate() {
        let mut conditions = Vec::new();
        for (of, left, right) in &variables.equal {
            if *of == id {
                conditions.push(scope.equal(*left, *right)?);
            }
        }
        for (of, column, ty) in &variables.whole {
            if *of == id {
                conditions.push(scope.fits(*column, ty)?);
            }
        }
        if let Some(filter) = &atom.filter {
            conditions.push(scope.predicate(&scope.read(filter)?)?);
        }
        let filter = all(conditions);
        let mut not_null = variables.not_null[id].clone();
        not_null.sort_unstable();
        atoms.push(PlanAtom {
            table: atom.table.clone(),
            alias: atom.alias.clone(),
            filter: (!filter.is_true()).then_some(filter),
            columns: Vec::new(),
            join_columns_not_null: not_null,
            is_static: table.is_static,
            cancels: table.cancels,
            unique: table.unique.clone(),
            schema: Arc::clone(&table.schema),
            rows: table.rows,
        });
    }
    Ok(atoms)
}

/// Lets only rows take part for which more holds.
pub(crate) fn restrict(atom: &mut PlanAtom, more: Predicate) {
    let filter = atom.filter.take();
    atom.filter = Some(all(filter.into_iter().chain([more]).collect()));
}
