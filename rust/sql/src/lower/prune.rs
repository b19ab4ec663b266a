//! Columns that nobody reads leave the blocks that list or map rows.
//!
//! The binder's plan hands on every column of a join until a projection drops it, and so do the blocks: without this a
//! block below an outer or anti join would store whole rows. Invariant: each reader finds the columns that it reads, and
//! a block has at least one; rows keep their multiplicities, as these blocks are bags. Cost: binding each block once.

use std::collections::{BTreeMap, BTreeSet};

use ringview_expr::Scalar;
use ringview_query::{Block, Branch, Named, Output, Query, Rows};

use super::state::Lowering;

/// By block, the columns that are read; all of them where it is absent.
type Read = BTreeMap<String, BTreeSet<String>>;

impl Lowering<'_> {
    /// The blocks of a query, in their order, with the columns alone that are read.
    pub(crate) fn pruned(&self, query: &Query, mut blocks: Vec<Block>) -> Vec<Block> {
        let mut read = Read::new();
        let mut whole = BTreeSet::new();
        self.note(query, &mut read, &mut whole);
        // Readers of a block are behind it.
        for block in blocks.iter_mut().rev() {
            if let Some(columns) = read.get(&block.name)
                && !whole.contains(&block.name)
            {
                narrow(&mut block.query, columns);
            }
            self.note(&block.query, &mut read, &mut whole);
        }
        blocks
    }

    /// Notes what a query reads of its tables; all of them where it cannot be bound alone.
    pub(super) fn note(&self, query: &Query, read: &mut Read, whole: &mut BTreeSet<String>) {
        let Ok(bound) = self.bound(query) else {
            let atoms = query.all_atoms().into_iter();
            whole.extend(atoms.map(|atom| atom.table.clone()));
            return;
        };
        for (atom, plan) in query.all_atoms().into_iter().zip(bound.all_atoms()) {
            let fields = plan.schema.fields();
            let names = plan.columns.iter().map(|&at| fields[at].name.clone());
            read.entry(atom.table.clone()).or_default().extend(names);
        }
        // An expression may name a column that cannot affect the engine's result, as one in a test for NULL that is
        // never NULL.
        if let Some(Rows::Map { branches, .. }) = &query.rows {
            for (atom, branch) in query.atoms.iter().zip(branches) {
                let names = read_by(branch);
                read.entry(atom.table.clone()).or_default().extend(names);
            }
        }
        note_expressions(query, &[], read);
    }
}

/// Notes the columns that the expressions of a query and its subqueries name: `a OR TRUE` names one that decides nothing,
/// and what an aggregate is of is named even where the engine need not read it.
fn note_expressions(query: &Query, outer: &[&Query], read: &mut Read) {
    let mut scopes = outer.to_vec();
    scopes.push(query);
    for (atom, name) in query.outputs.iter().flat_map(arguments) {
        if let Some(atom) = query.atoms.get(atom) {
            read.entry(atom.table.clone()).or_default().insert(name);
        }
    }
    let columns = query.condition.iter().flat_map(Scalar::columns);
    for named in columns.filter_map(Named::meant) {
        let Named::Column {
            depth,
            atom,
            column,
        } = named
        else {
            continue;
        };
        let scope = scopes.iter().rev().nth(depth);
        if let Some(atom) = scope.and_then(|scope| scope.atoms.get(atom)) {
            read.entry(atom.table.clone()).or_default().insert(column);
        }
    }
    let subqueries = query.subqueries.iter();
    subqueries.for_each(|one| note_expressions(one, &scopes, read));
}

/// The columns that an output names.
fn arguments(of: &Output) -> Vec<(usize, String)> {
    let value = match of {
        Output::Aggregate { argument, .. } => argument.as_ref(),
        Output::Expression { value, .. } => Some(value),
        _ => None,
    };
    let columns = value.into_iter().flat_map(Scalar::columns);
    let columns = columns
        .filter_map(Named::meant)
        .filter_map(|one| match one {
            Named::Column { atom, column, .. } => Some((atom, column)),
            Named::Subquery(_) => None,
        });
    columns.collect()
}

/// The columns that a branch reads.
pub(super) fn read_by(branch: &Branch) -> BTreeSet<String> {
    let computed = branch.computed().map(|(_, one)| one);
    let all = computed.chain(&branch.filter).flat_map(Scalar::columns);
    all.map(|column| column.name.clone()).collect()
}

/// Drops the other columns of a block that lists or maps rows; one of them stays where none is read.
pub(super) fn narrow(query: &mut Query, read: &BTreeSet<String>) {
    match &mut query.rows {
        Some(Rows::Map { names, branches }) => {
            let unnested = branches.iter().flat_map(|branch| &branch.unnested);
            let read = read.iter().chain(unnested).cloned().collect();
            let kept: Vec<bool> = retained(names.iter(), &read);
            retain(names, &kept);
            for branch in branches {
                retain(&mut branch.columns, &kept);
            }
        }
        Some(Rows::Latest(latest)) => {
            let mut stay = retained(latest.names.iter(), read);
            retain(&mut latest.names, &stay);
            let of_second = stay.split_off(latest.sides[0].shown.len());
            retain(&mut latest.sides[0].shown, &stay);
            retain(&mut latest.sides[1].shown, &of_second);
        }
        None if query.bag.as_ref().is_some_and(|bag| !bag.distinct) => {
            let is_listed = |output: &Output| match output {
                Output::Group { column, .. } => query.group_by.contains(column),
                _ => false,
            };
            // A condition with subqueries may be kept by the columns that are shown.
            let has_subqueries = query.all_atoms().len() > query.atoms.len();
            let is_plain = !has_subqueries && query.having.is_none();
            if !is_plain || query.is_chosen || !query.outputs.iter().all(is_listed) {
                return;
            }
            let names: Vec<String> = query
                .outputs
                .iter()
                .map(|one| one.name().to_owned())
                .collect();
            retain(&mut query.outputs, &retained(names.iter(), read));
            let outputs = &query.outputs;
            let is_shown = |of: &ringview_query::ColumnRef| {
                let mut shown = outputs.iter();
                shown.any(|output| matches!(output, Output::Group { column, .. } if column == of))
            };
            query.group_by.retain(is_shown);
        }
        _ => {}
    }
}

/// By column, whether it stays.
fn retained<'n>(names: impl Iterator<Item = &'n String>, read: &BTreeSet<String>) -> Vec<bool> {
    let mut kept: Vec<bool> = names.map(|name| read.contains(name)).collect();
    if !kept.contains(&true)
        && let Some(first) = kept.first_mut()
    {
        *first = true;
    }
    kept
}

fn retain<T>(all: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    all.retain(|_| kept.next().is_some_and(|&stays| stays));
}
