//! The general algorithm (paper, section 4.2): any query of the grammar, by free and bound maps.
//!
//! Invariant: a *bound map* is the bag of a table on the columns that the query reads. A *free map* holds, for
//! each binding of a block's free columns that was asked for, the block's aggregates. A block over one
//! relation whose condition holds no block is kept by deltas: a row that comes is added where the binding's
//! condition holds for it (figure 6 of the paper). The free map of any other block is forgotten when one of its
//! tables changes. The result is summed over all combinations of rows, those of a relation that is equal to
//! something known found by an index. Cost: O(n) a change and O(n^k) a result over k relations; a block
//! within a block is worked out once a binding.

use std::cell::RefCell;
use std::collections::BTreeMap;

use ringview_core::Result;

use super::accumulator::Accumulator;
use super::plan::{Block, Column, Comparison, Condition, Plan, Value};
use super::row::{Bag, Cell, Row};
use super::scope::{Binding, Frame, Scope, holds, simple, simple_condition};
use crate::steps::Steps;

/// The aggregates of a block by binding.
#[derive(Clone, Debug, Default)]
struct FreeMap {
    /// As the block around sees them.
    columns: Vec<Column>,
    tables: Vec<usize>,
    /// Whether it is kept by deltas.
    streams: bool,
    entries: BTreeMap<Row, Vec<Accumulator>>,
}

/// The maps of a query.
#[derive(Clone, Debug)]
pub(super) struct General {
    block: Block,
    bags: Vec<Bag>,
    /// By the number of the block.
    free: Vec<FreeMap>,
    steps: Steps,
}

/// A group with its outputs.
pub(super) type Output = (Row, Vec<Cell>);

impl General {
    pub(super) fn new(plan: &Plan) -> Self {
        let mut general = Self {
            block: plan.block.clone(),
            bags: vec![Bag::default(); plan.tables.len()],
            free: vec![FreeMap::default(); plan.blocks + 1],
            steps: Steps::default(),
        };
        general.prepare(&plan.block);
        general
    }

    /// The maps and indexes of a block and those within it.
    fn prepare(&mut self, block: &Block) {
        let map = &mut self.free[block.place()];
        block.free(&mut |column| {
            if !map.columns.contains(&column) {
                map.columns.push(column);
            }
        });
        block.tables(&mut |table| map.tables.push(table));
        map.streams = block.relations.len() == 1 && !block.condition.is_nested();
        for at in 0..block.relations.len() {
            if let Some((column, _)) = known(block, at) {
                self.bags[block.relations[at]].index(column);
            }
        }
        block.condition.blocks(&mut |within| self.prepare(within));
    }

    /// A row of a table comes or goes.
    pub(super) fn change(&mut self, table: usize, row: &Row, times: i64) -> Result<()> {
        self.bags[table].change(row, times)?;
        let mut outermost = Vec::new();
        self.block
            .condition
            .blocks(&mut |block| outermost.push(block));
        let result = outermost
            .iter()
            .try_for_each(|block| maintain(block, &mut self.free, (table, row, times)));
        self.steps
            .count(self.free.iter().map(|map| map.entries.len()).sum());
        if result.is_err() {
            self.bags[table].change(row, -times)?;
            for map in &mut self.free {
                map.entries.clear();
            }
        }
        result
    }

    pub(super) fn memory_usage(&self) -> usize {
        let cells = |rows: usize, width: usize| rows * (width + 1) * size_of::<Cell>();
        let bags = self.bags.iter().map(|bag| cells(bag.len(), bag.width()));
        let free = self.free.iter();
        let free = free.map(|map| cells(map.entries.len(), map.columns.len() + 2));
        bags.chain(free).sum()
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps.total()
    }

    /// The groups of the result.
    pub(super) fn result(&mut self) -> Result<Vec<Output>> {
        let most = 64 + 4 * self.bags.iter().map(Bag::len).max().unwrap_or(0);
        for map in &mut self.free {
            // Bindings that no row has any more.
            if map.entries.len() > most {
                map.entries.clear();
            }
        }
        let work = Work {
            bags: &self.bags,
            steps: &self.steps,
            free: RefCell::new(std::mem::take(&mut self.free)),
        };
        let groups = work.groups(&self.block, None);
        self.free = work.free.into_inner();
        let groups = groups?;
        groups
            .into_iter()
            .map(|(group, all)| Ok((group, outputs(&self.block, &all)?)))
            .collect()
    }
}

/// Brings the free maps of a block and those within it up to a row that came or went.
fn maintain(block: &Block, free: &mut [FreeMap], change: (usize, &Row, i64)) -> Result<()> {
    let (table, row, times) = change;
    let map = &mut free[block.place()];
    if map.streams && block.relations[0] == table {
        for (cells, all) in &mut map.entries {
            let columns = &map.columns;
            let binding = Binding { columns, cells };
            let frame = Frame {
                rows: vec![row],
                outer: Some(&binding),
            };
            // No block stands in it, so nothing has to be worked out.
            if simple_condition(&block.condition, &frame)? {
                take(block, all, &frame, i128::from(times))?;
            }
        }
    } else if !map.streams && map.tables.contains(&table) {
        map.entries.clear();
    }
    let mut within = Vec::new();
    block.condition.blocks(&mut |block| within.push(block));
    within
        .into_iter()
        .try_for_each(|block| maintain(block, free, change))
}

/// A column of a relation that must equal something known before its rows are.
fn known(block: &Block, relation: usize) -> Option<(usize, &Value)> {
    let is_known = |value: &Value| {
        let mut known = !value.is_nested();
        value.columns(&mut |column| known &= column.depth > 0 || column.relation < relation);
        known
    };
    block
        .condition
        .conjuncts()
        .into_iter()
        .find_map(|one| match one {
            Condition::Compare(Value::Column(own), Comparison::Equal, value)
            | Condition::Compare(value, Comparison::Equal, Value::Column(own))
                if own.depth == 0 && own.relation == relation && is_known(value) =>
            {
                Some((own.column, value))
            }
            _ => None,
        })
}

/// Takes a combination of rows into aggregates.
fn take(block: &Block, all: &mut [Accumulator], scope: &dyn Scope, times: i128) -> Result<()> {
    for (aggregate, accumulator) in block.aggregates.iter().zip(all) {
        let value = match aggregate.argument() {
            Some(value) => simple(value, scope, &mut |_| Ok(Cell(None)))?,
            None => Cell(None),
        };
        accumulator.take(aggregate, value, times)?;
    }
    Ok(())
}

/// The outputs of a block.
fn outputs(block: &Block, all: &[Accumulator]) -> Result<Vec<Cell>> {
    let values = block.aggregates.iter().zip(all);
    let values: Vec<Cell> = values
        .map(|(what, of)| of.value(what))
        .collect::<Result<_>>()?;
    let nowhere = Binding {
        columns: &[],
        cells: &[],
    };
    let shown = |output: &Value| {
        simple(output, &nowhere, &mut |value| match value {
            Value::Aggregate(at) => Ok(values[*at]),
            _ => Ok(Cell(None)),
        })
    };
    block.outputs.iter().map(shown).collect()
}

/// The maps while a result is worked out.
struct Work<'a> {
    bags: &'a [Bag],
    steps: &'a Steps,
    free: RefCell<Vec<FreeMap>>,
}

impl Work<'_> {
    /// The aggregates of a block by group.
    fn groups(
        &self,
        block: &Block,
        outer: Option<&dyn Scope>,
    ) -> Result<BTreeMap<Row, Vec<Accumulator>>> {
        let mut groups = BTreeMap::new();
        if block.group.is_empty() {
            let none = vec![Accumulator::default(); block.aggregates.len()];
            groups.insert(Row::new(), none);
        }
        let conjuncts = block.condition.conjuncts();
        let combination = Combination {
            work: self,
            block,
            conjuncts: &conjuncts,
        };
        combination.extend(
            Frame {
                rows: Vec::new(),
                outer,
            },
            1,
            &mut groups,
        )?;
        Ok(groups)
    }

    fn value(&self, value: &Value, scope: &dyn Scope) -> Result<Cell> {
        simple(value, scope, &mut |value| match value {
            Value::Block(block) => self.block(block, scope),
            _ => Ok(Cell(None)),
        })
    }

    /// The value of a block within a scope, from its free map.
    fn block(&self, block: &Block, scope: &dyn Scope) -> Result<Cell> {
        let binding: Row = {
            let free = self.free.borrow();
            let map = &free[block.place()];
            let binding: Row = map
                .columns
                .iter()
                .map(|&column| scope.cell(column))
                .collect();
            if let Some(all) = map.entries.get(&binding) {
                return Ok(outputs(block, all)?[0]);
            }
            binding
        };
        let all = self
            .groups(block, Some(scope))?
            .remove(&Row::new())
            .unwrap_or_default();
        let value = outputs(block, &all)?[0];
        self.free.borrow_mut()[block.place()]
            .entries
            .insert(binding, all);
        Ok(value)
    }
}

/// All combinations of rows of a block's relations.
struct Combination<'a> {
    work: &'a Work<'a>,
    block: &'a Block,
    conjuncts: &'a [&'a Condition],
}

impl Combination<'_> {
    /// Extends a combination by the rows of its next relation.
    fn extend(
        &self,
        frame: Frame<'_>,
        times: i128,
        groups: &mut BTreeMap<Row, Vec<Accumulator>>,
    ) -> Result<()> {
        let at = frame.rows.len();
        if at == self.block.relations.len() {
            let group = self
                .block
                .group
                .iter()
                .map(|&column| frame.cell(column))
                .collect();
            let none = || vec![Accumulator::default(); self.block.aggregates.len()];
            return take(
                self.block,
                groups.entry(group).or_insert_with(none),
                &frame,
                times,
            );
        }
        let bag = &self.work.bags[self.block.relations[at]];
        let rows = match known(self.block, at) {
            None => Some(bag.all()),
            Some((column, value)) => {
                let value = self.work.value(value, &frame)?;
                // NULL equals nothing.
                value.0.and_then(|_| bag.with(column, value))
            }
        };
        for (row, &multiplicity) in rows.into_iter().flatten() {
            self.work.steps.count(1);
            let mut rows = frame.rows.clone();
            rows.push(row);
            let next = Frame {
                rows,
                outer: frame.outer,
            };
            if self.holds(at, &next)? {
                self.extend(next, times * i128::from(multiplicity), groups)?;
            }
        }
        Ok(())
    }

    /// Whether the conjuncts hold that speak of a relation, and of none after it.
    fn holds(&self, at: usize, scope: &dyn Scope) -> Result<bool> {
        for one in self.conjuncts {
            let mut last = 0;
            one.columns(&mut |column| {
                if column.depth == 0 {
                    last = last.max(column.relation);
                }
            });
            if last == at && !holds(one, &mut |value| self.work.value(value, scope))? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
