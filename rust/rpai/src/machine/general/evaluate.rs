//! Combinations of rows of a block, and the values of subqueries for each.
//!
//! Invariant: relations are taken in an order in which as many as can be are found by an index:
//! equal to something that is bound by then. Each condition is looked at once all its relations are
//! there. Cost: the rows that are found, and for each binding of a block's free columns one result
//! of it.

use std::cell::RefCell;
use std::collections::BTreeMap;

use ringview_core::{Budget, Result};

use crate::machine::general::accumulator::{Accumulator, take};
use crate::machine::general::free::FreeMap;
use crate::machine::indexed::selector::{Selector, with_scratch};
use crate::machine::query::{
    Block, Cell, Column, Comparison, Condition, Frame, Row, Scope, Value, evaluate, holds,
};
use crate::machine::store::bag::{Bag, Which};
use crate::steps::Steps;

/// The aggregates of a group, and how many combinations are in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Total {
    pub(crate) all: Vec<Accumulator>,
    pub(crate) rows: i128,
}

pub(crate) type Groups = BTreeMap<Row, Total>;

/// Results of a block that are memoised at most.
const MEMOISED: usize = 1 << 12;

/// Rows of one relation, from which combinations are to be extended.
#[derive(Clone, Debug)]
pub(crate) enum Start {
    /// One row, also packed.
    Row(usize, Row, Vec<u8>),
    /// Those with a value in a column.
    With(usize, usize, Cell),
}

impl Start {
    /// Whether a combination is one of these.
    fn has(&self, frame: &Frame<'_>) -> bool {
        match self {
            Start::Row(relation, row, _) => frame.rows[*relation] == Some(row),
            Start::With(relation, column, value) => {
                frame.rows[*relation].is_some_and(|row| row[*column] == *value)
            }
        }
    }
}

/// In which order the relations of a block are taken, from one on.
pub(crate) fn order(block: &Block, first: usize) -> Vec<usize> {
    let mut order = vec![first];
    while order.len() < block.relations.len() {
        let rest = || (0..block.relations.len()).filter(|at| !order.contains(at));
        let next = rest().find(|&at| bound_column(block, at, &order).is_some());
        let Some(next) = next.or_else(|| rest().next()) else {
            break;
        };
        order.push(next);
    }
    order
}

/// A column of a relation that must equal something bound once those before it are there.
pub(crate) fn bound_column<'b>(
    block: &'b Block,
    relation: usize,
    before: &[usize],
) -> Option<(usize, &'b Value)> {
    let is_bound = |value: &Value| {
        let mut bound = !value.is_nested();
        value.columns(&mut |column| {
            bound &= column.depth > 0 || before.contains(&column.relation);
        });
        bound
    };
    let mut found = block.condition.conjuncts().into_iter();
    found.find_map(|one| match one {
        Condition::Compare(left, Comparison::Eq, right) => {
            let pair = |own: &'b Value, value: &'b Value| match own {
                Value::Column(own) if own.depth == 0 && own.relation == relation => {
                    is_bound(value).then_some((own.column, value))
                }
                _ => None,
            };
            pair(left, right).or_else(|| pair(right, left))
        }
        _ => None,
    })
}

/// The value of a block, from its aggregates.
pub(crate) fn output(block: &Block, all: &[Accumulator]) -> Result<Cell> {
    let values = block.aggregates.iter().zip(all);
    let values: Vec<Cell> = values
        .map(|(what, of)| of.value(what))
        .collect::<Result<_>>()?;
    block.output(&values)
}

/// The maps while a result is worked out.
pub(crate) struct Evaluation<'a, 'm> {
    pub(crate) bags: &'a [Bag],
    pub(crate) budget: &'a Budget<'m>,
    pub(crate) steps: &'a Steps,
    pub(crate) selectors: &'a [Option<Selector>],
    pub(crate) free: RefCell<Vec<FreeMap>>,
}

impl Evaluation<'_, '_> {
    /// The groups of a block.
    pub(crate) fn groups(&self, block: &Block, outer: Option<&dyn Scope>) -> Result<Groups> {
        let mut groups = Groups::new();
        if block.group.is_empty() {
            let all = vec![Accumulator::default(); block.aggregates.len()];
            groups.insert(Row::new(), Total { all, rows: 0 });
        }
        self.add((block, outer), &order(block, 0), &[], (1, &mut groups))?;
        Ok(groups)
    }

    /// Adds combinations to groups, so many times: all, or those of the last of some starts that
    /// are not of those before it. The order begins with that one's relation.
    pub(crate) fn add(
        &self,
        (block, outer): (&Block, Option<&dyn Scope>),
        order: &[usize],
        starts: &[Start],
        (times, groups): (i128, &mut Groups),
    ) -> Result<()> {
        let conjuncts = block.condition.conjuncts();
        let combination = Combination {
            evaluation: self,
            block,
            order,
            starts,
            conjuncts: &conjuncts,
        };
        let rows = vec![None; block.relations.len()];
        combination.extend((Frame { rows, outer }, 0), times, groups)
    }

    fn value(&self, value: &Value, scope: &dyn Scope) -> Result<Cell> {
        evaluate(value, scope, &mut |value| match value {
            Value::Block(block) => self.block(block, scope),
            _ => Ok(Cell(None)),
        })
    }

    /// The value of a subquery a scope, from its free map.
    fn block(&self, block: &Block, scope: &dyn Scope) -> Result<Cell> {
        let binding: Row = {
            let free = self.free.borrow();
            let map = &free[block.number];
            let columns = map.columns.iter();
            let binding: Row = columns.map(|&column| scope.cell(column)).collect();
            if let Some(value) = map.memo.get(&binding) {
                return Ok(*value);
            }
            if let Some(all) = map.entries.get(&binding) {
                return output(block, all);
            }
            binding
        };
        if let Some(selector) = &self.selectors[block.number] {
            let frame = Frame {
                rows: Vec::new(),
                outer: Some(scope),
            };
            let value = with_scratch::<Cell, 4, _>(selector.len(), |all| {
                selector.aggregates(&mut |value| self.value(value, &frame), None, all)?;
                block.output(all)
            })?;
            self.steps.count(1);
            let memo = &mut self.free.borrow_mut()[block.number].memo;
            if memo.len() >= MEMOISED {
                memo.clear();
            }
            memo.insert(binding, value);
            return Ok(value);
        }
        let all = self.groups(block, Some(scope))?;
        let all = all.into_values().next().unwrap_or_default().all;
        let value = output(block, &all)?;
        self.free.borrow_mut()[block.number]
            .entries
            .insert(binding, all);
        Ok(value)
    }
}

/// Combinations of rows of a block's relations.
struct Combination<'a, 'm> {
    evaluation: &'a Evaluation<'a, 'm>,
    block: &'a Block,
    order: &'a [usize],
    starts: &'a [Start],
    conjuncts: &'a [&'a Condition],
}

impl Combination<'_, '_> {
    /// Extends a combination of so many relations by the rows of the next.
    fn extend(
        &self,
        (frame, taken): (Frame<'_>, usize),
        times: i128,
        groups: &mut Groups,
    ) -> Result<()> {
        let Some(&at) = self.order.get(taken) else {
            return self.whole(&frame, times, groups);
        };
        let bag = &self.evaluation.bags[self.block.relations[at]];
        let start = self.starts.last().filter(|_| taken == 0);
        let (which, equal) = match start {
            Some(Start::Row(_, row, body)) => (Which::Row(row, body), None),
            Some(Start::With(_, column, value)) => {
                let Some(number) = value.0 else { return Ok(()) };
                (Which::With(*column, number), Some((*column, *value)))
            }
            None => match bound_column(self.block, at, &self.order[..taken]) {
                None => (Which::All, None),
                Some((column, value)) => match self.evaluation.value(value, &frame)?.0 {
                    Some(number) => (Which::With(column, number), None),
                    // NULL equals nothing.
                    None => return Ok(()),
                },
            },
        };
        bag.each(which, &mut |row, multiplicity| {
            if equal.is_some_and(|(column, value)| row[column] != value) {
                return Ok(());
            }
            self.evaluation.steps.count(1);
            // A row of a combination is as much work as several of a table.
            self.evaluation.budget.work(8)?;
            let mut rows = frame.rows.clone();
            rows[at] = Some(row);
            let next = Frame {
                rows,
                outer: frame.outer,
            };
            if self.holds(taken, &next)? {
                let times = times * i128::from(multiplicity);
                self.extend((next, taken + 1), times, groups)?;
            }
            Ok(())
        })
    }

    /// A whole combination.
    fn whole(&self, frame: &Frame<'_>, times: i128, groups: &mut Groups) -> Result<()> {
        if let [before @ .., _] = self.starts
            && before.iter().any(|start| start.has(frame))
        {
            return Ok(());
        }
        let group = self.block.group.iter();
        let group = group.map(|&column| frame.cell(column)).collect();
        let none = || Total {
            all: vec![Accumulator::default(); self.block.aggregates.len()],
            rows: 0,
        };
        let total = groups.entry(group).or_insert_with(none);
        total.rows += times;
        take(self.block, &mut total.all, frame, times)
    }

    /// Whether the conjuncts hold whose last relation in the order was just taken.
    fn holds(&self, taken: usize, scope: &dyn Scope) -> Result<bool> {
        for one in self.conjuncts {
            let mut last = 0;
            one.columns(&mut |column| {
                if column.depth == 0 {
                    let place = self.order.iter().position(|&at| at == column.relation);
                    last = last.max(place.unwrap_or(0));
                }
            });
            if last == taken && !holds(one, &mut |value| self.evaluation.value(value, scope))? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Path by which a row of a table affects combinations.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Influence {
    /// As a row of a relation.
    Own(usize),
    /// Through blocks that are equal to a column of a relation in one of their own: relation, its
    /// column, the own.
    Equal(usize, usize, usize),
}

impl Influence {
    /// Start of a row; `None` for NULL, which equals nothing.
    pub(crate) fn start(self, row: &Row, body: &[u8]) -> Option<Start> {
        match self {
            Influence::Own(relation) => Some(Start::Row(relation, row.clone(), body.to_vec())),
            Influence::Equal(relation, column, own) => {
                let value = row[own];
                value.0.map(|_| Start::With(relation, column, value))
            }
        }
    }

    pub(crate) fn relation(self) -> usize {
        match self {
            Influence::Own(relation) | Influence::Equal(relation, ..) => relation,
        }
    }
}

/// Paths by which rows of a table affect combinations of a block; `None` where they may affect all.
pub(crate) fn influences(block: &Block, table: usize) -> Option<Vec<Influence>> {
    let own = block.relations.iter().enumerate();
    let own = own.filter(|(_, of)| **of == table);
    let mut all: Vec<Influence> = own.map(|(at, _)| Influence::Own(at)).collect();
    let mut subqueries = Vec::new();
    block.condition.blocks(&mut |block| subqueries.push(block));
    for inner in subqueries {
        let mut tables = Vec::new();
        inner.tables(&mut |table| tables.push(table));
        if !tables.contains(&table) {
            continue;
        }
        let mut deeper = false;
        inner.condition.blocks(&mut |block| {
            block.tables(&mut |of| deeper |= of == table);
        });
        if deeper {
            return None;
        }
        for (at, _) in inner
            .relations
            .iter()
            .enumerate()
            .filter(|(_, of)| **of == table)
        {
            let conjuncts = inner.condition.conjuncts();
            all.push(conjuncts.into_iter().find_map(|one| equal(one, at))?);
        }
    }
    Some(all)
}

/// An equality of a relation of a block with a column of the outer block.
fn equal(one: &Condition, relation: usize) -> Option<Influence> {
    let Condition::Compare(Value::Column(a), Comparison::Eq, Value::Column(b)) = one else {
        return None;
    };
    let pair = |own: &Column, other: &Column| {
        let is_pair = own.depth == 0 && own.relation == relation && other.depth == 1;
        is_pair.then_some(Influence::Equal(other.relation, other.column, own.column))
    };
    pair(a, b).or_else(|| pair(b, a))
}
