//! Partition of a query by keys: rows with equal keys meet each other, and no others.
//!
//! Invariant: relations of the outermost block are joined by equal columns, and every subquery
//! is correlated with them by the same: so a row of one key changes the result of that key alone.
//! Every relation has a column of its own that is the key. The query of one key is the query
//! without the equalities between such columns (the local plan), over tables that are a table and
//! which of its columns are the key. Cost: linear in the query.

use crate::machine::query::{
    Aggregate, Block, Column, ColumnType, Comparison, Condition, Kind, Plan, Value,
};

/// A table as the local plan has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LocalTable {
    pub(crate) table: usize,
    /// The columns that are the key, in its order.
    pub(crate) columns: Vec<usize>,
    /// Of which of them NULL is a key, too: a row with it joins nothing of subqueries, but is
    /// there.
    pub(crate) nulls: Vec<bool>,
}

/// The parts of a query.
#[derive(Debug)]
pub(crate) struct Local {
    pub(crate) plan: Plan,
    pub(crate) tables: Vec<LocalTable>,
    /// Of each column of a group, where it is.
    pub(crate) group: Vec<GroupColumn>,
}

/// Position of a column of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupColumn {
    /// In the key, which may have a finer scale than the column's own.
    Key(usize, u8),
    /// Among those of the local plan.
    Rest(usize),
}

/// Columns that equal the key wherever their rows count, as seen from a block: of its own relations
/// and of outer blocks. All of them are exact: `=` between an exact number and a double is not
/// transitive.
type Class = Vec<Column>;

/// The columns of all tables.
type Types<'a> = &'a [Vec<ColumnType>];

/// The parts of a query, if it has any. The first aggregate of the local plan counts rows.
pub(crate) fn local(plan: &Plan) -> Option<Local> {
    let block = &plan.block;
    let additive = |one: &Aggregate| matches!(one, Aggregate::Count | Aggregate::Sum(_));
    if !block.aggregates.iter().all(additive) || block.relations.is_empty() {
        return None;
    }
    let types = &plan.tables[..];
    let mut classes = joined(block, candidates(block, types));
    let mut nested = false;
    block.condition.blocks(&mut |_| nested = true);
    // A class without equalities would split rows that need no part of their own.
    let is_used = |class: &Class| nested || class.len() > 1;
    classes.retain(|class| {
        is_used(class) && covers(class, block) && covers_subqueries(block, class, types)
    });
    if classes.is_empty() {
        return None;
    }
    let mut tables = Vec::new();
    let mut inner = block.clone();
    let alone: Vec<bool> = classes.iter().map(|class| class.len() == 1).collect();
    rewrite(&mut inner, &classes, &alone, (types, &mut tables));
    let mut group = Vec::new();
    inner.group.clear();
    for column in &block.group {
        let key = classes.iter().position(|class| class.contains(column));
        group.push(match key {
            Some(at) => GroupColumn::Key(at, scale_of(*column, block, types)?),
            None => {
                inner.group.push(*column);
                GroupColumn::Rest(inner.group.len() - 1)
            }
        });
    }
    inner.aggregates.insert(0, Aggregate::Count);
    inner.outputs = (0..inner.aggregates.len()).map(Value::Aggregate).collect();
    let types = tables
        .iter()
        .map(|of: &LocalTable| plan.tables[of.table].clone());
    Some(Local {
        plan: Plan::new(types.collect(), inner),
        tables,
        group,
    })
}

/// The exact columns of the outermost block that subqueries may be correlated by, each alone.
fn candidates(block: &Block, types: Types<'_>) -> Vec<Class> {
    let mut all: Vec<Class> = Vec::new();
    let mut note = |column: Column| {
        let found = all.iter().any(|class| class[0] == column);
        if !found && is_key(column, block, types) {
            all.push(vec![column]);
        }
    };
    block.condition.columns(&mut note);
    all
}

/// Whether a column is of a block itself and may be part of a key.
fn is_key(column: Column, block: &Block, types: Types<'_>) -> bool {
    column.depth == 0 && scale_of(column, block, types).is_some()
}

/// The scale of a block's own column, if it is exact.
fn scale_of(column: Column, block: &Block, types: Types<'_>) -> Option<u8> {
    match Kind::of(&types[block.relations[column.relation]][column.column].ty) {
        Kind::Exact(scale) => Some(scale),
        Kind::Real => None,
    }
}

/// The two columns of an equality.
fn equality(one: &Condition) -> Option<(Column, Column)> {
    match one {
        Condition::Compare(Value::Column(a), Comparison::Eq, Value::Column(b)) => Some((*a, *b)),
        _ => None,
    }
}

/// Classes of the outermost block, joined where its condition equates their columns.
fn joined(block: &Block, mut classes: Vec<Class>) -> Vec<Class> {
    let conjuncts = block.condition.conjuncts().into_iter();
    for (a, b) in conjuncts.filter_map(equality) {
        let find = |column: &Column| classes.iter().position(|class| class.contains(column));
        if let (Some(a), Some(b)) = (find(&a), find(&b))
            && a != b
        {
            let more = classes.remove(a.max(b));
            classes[a.min(b)].extend(more);
        }
    }
    classes
}

/// Whether every relation of a block has a column of a class.
fn covers(class: &Class, block: &Block) -> bool {
    (0..block.relations.len()).all(|relation| own(class, relation).is_some())
}

/// The column of a relation in a class.
fn own(class: &Class, relation: usize) -> Option<usize> {
    let is_own = |column: &&Column| column.depth == 0 && column.relation == relation;
    let own = class.iter().filter(is_own).map(|column| column.column);
    own.min()
}

/// A class as it is seen one block further in, with the block's own columns that are equal to it. A
/// column of the outer blocks does not join the class here: its row is there whatever this block
/// equates it with.
fn in_subquery(class: &Class, block: &Block, types: Types<'_>) -> Class {
    let deeper = |column: &Column| Column {
        depth: column.depth + 1,
        ..*column
    };
    let mut class: Class = class.iter().map(deeper).collect();
    let conjuncts = block.condition.conjuncts().into_iter();
    let pairs: Vec<(Column, Column)> = conjuncts.filter_map(equality).collect();
    loop {
        let joins = |(one, other): (Column, Column)| {
            let is_new = class.contains(&other) && !class.contains(&one);
            (is_new && is_key(one, block, types)).then_some(one)
        };
        let mut pairs = pairs.iter();
        match pairs.find_map(|&(a, b)| joins((a, b)).or_else(|| joins((b, a)))) {
            Some(column) => class.push(column),
            None => return class,
        }
    }
}

/// Whether all subqueries of one read only rows that are equal to a class.
fn covers_subqueries(block: &Block, class: &Class, types: Types<'_>) -> bool {
    let mut all = true;
    block.condition.blocks(&mut |inner| {
        let class = in_subquery(class, inner, types);
        all = all && covers(&class, inner) && covers_subqueries(inner, &class, types);
    });
    all
}

/// Gives a block and its subqueries their local tables, and leaves out the equalities that the key
/// implies. `alone` marks the classes of which no column of the block itself must be equal to a
/// column.
fn rewrite(
    block: &mut Block,
    classes: &[Class],
    alone: &[bool],
    (types, tables): (Types<'_>, &mut Vec<LocalTable>),
) {
    // Outer columns are equal to the key where their row counts; an own one, where its rows are
    // distinguished by it.
    let is_key = |class: &Class, column: Column| {
        class.contains(&column)
            && (column.depth > 0 || own(class, column.relation) == Some(column.column))
    };
    // A column equals itself unless it is NULL.
    let is_kept = |(a, b): (Column, Column)| {
        a == b || !(classes.iter()).any(|class| is_key(class, a) && is_key(class, b))
    };
    let conjuncts = block.condition.conjuncts().into_iter();
    let kept = conjuncts.filter(|one| equality(one).is_none_or(is_kept));
    block.condition = Condition::And(kept.cloned().collect());
    for (relation, table) in block.relations.iter_mut().enumerate() {
        let columns = classes.iter().filter_map(|class| own(class, relation));
        let columns: Vec<usize> = columns.collect();
        let may_be_null =
            |(&column, &alone): (&usize, &bool)| alone && types[*table][column].nullable;
        let local = LocalTable {
            table: *table,
            nulls: columns.iter().zip(alone).map(may_be_null).collect(),
            columns,
        };
        let found = tables.iter().position(|other| *other == local);
        *table = found.unwrap_or_else(|| {
            tables.push(local);
            tables.len() - 1
        });
    }
    block.condition.blocks_mut(&mut |inner| {
        let classes = classes.iter().map(|class| in_subquery(class, inner, types));
        let classes: Vec<Class> = classes.collect();
        rewrite(
            inner,
            &classes,
            &vec![false; classes.len()],
            (types, &mut *tables),
        );
    });
}
