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
use super::recognise::recognise;
use super::row::{Bag, Cell, Row, RowAt};
use super::scope::{Binding, Frame, Scope, holds, simple, simple_condition};
use super::selector::Selector;
use crate::steps::Steps;

/// The aggregates of a block by binding.
#[derive(Clone, Debug, Default)]
struct FreeMap {
    /// As the block around sees them; those that own columns must equal first.
    columns: Vec<Column>,
    /// The columns that must equal the first of those.
    equal: Vec<usize>,
    tables: Vec<usize>,
    /// Whether it is kept by deltas.
    streams: bool,
    entries: BTreeMap<Row, Vec<Accumulator>>,
    /// What the block's selector said, until one of its tables changes.
    told: BTreeMap<Row, Cell>,
}

/// The maps of a query.
#[derive(Clone, Debug)]
pub(super) struct General {
    block: Block,
    needed: Vec<Vec<bool>>,
    bags: Vec<Bag>,
    /// Whether the rows of a table are ever walked.
    walked: Vec<bool>,
    /// By the number of the block.
    free: Vec<FreeMap>,
    /// By the number of the block: what finds its aggregates for any binding.
    selectors: Vec<Option<Selector>>,
    /// Rows since the last commit.
    undo: Vec<(usize, Row, i64)>,
    steps: Steps,
}

/// A group with its aggregates.
pub type Group = (Row, Vec<Cell>);

impl General {
    /// `plain` is without indexes for the blocks within.
    pub(super) fn new(plan: &Plan, plain: bool) -> Self {
        let mut needed: Vec<_> = (plan.tables.iter())
            .map(|all| vec![false; all.len()])
            .collect();
        plan.block.needs(&mut Vec::new(), &mut needed);
        let mut general = Self {
            block: plan.block.clone(),
            needed,
            bags: vec![Bag::default(); plan.tables.len()],
            walked: vec![false; plan.tables.len()],
            free: vec![FreeMap::default(); plan.blocks + 1],
            selectors: vec![None; plan.blocks + 1],
            undo: Vec::new(),
            steps: Steps::default(),
        };
        general.prepare(&plan.block, plan, (true, plain));
        general
    }

    /// The maps and indexes of a block and those within it.
    fn prepare(&mut self, block: &Block, plan: &Plan, (is_outer, plain): (bool, bool)) {
        let place = block.place();
        let map = &mut self.free[place];
        for one in block.condition.conjuncts() {
            if let Some((own, free)) = equality(one)
                && !map.columns.contains(&free)
            {
                map.columns.push(free);
                map.equal.push(own);
            }
        }
        block.free(&mut |column| {
            if !map.columns.contains(&column) {
                map.columns.push(column);
            }
        });
        block.tables(&mut |table| map.tables.push(table));
        map.streams = block.relations.len() == 1 && !block.condition.is_nested();
        if !is_outer && !plain {
            self.selectors[place] = recognise(&plan.tables, block).ok();
        }
        let mut within = Vec::new();
        if let Some(selector) = &self.selectors[place] {
            // Its rows are in indexes; what it is compared with may hold blocks.
            selector.closed(&mut |value| value.blocks(&mut |block| within.push(block.clone())));
        } else {
            for (at, &table) in block.relations.iter().enumerate() {
                self.walked[table] = true;
                if let Some((column, _)) = known(block, at) {
                    self.bags[table].index(column);
                }
            }
            (block.condition).blocks(&mut |block| within.push(block.clone()));
        }
        for block in &within {
            self.prepare(block, plan, (false, plain));
        }
    }

    /// A row of a table comes or goes. After an error only `rollback` may follow.
    pub(super) fn change(&mut self, table: usize, at: &RowAt<'_>, times: i64) -> Result<()> {
        for selector in self.selectors.iter_mut().flatten() {
            selector.change(table, at, times)?;
        }
        for map in &mut self.free {
            if map.tables.contains(&table) {
                map.told.clear();
                if !map.streams {
                    map.entries.clear();
                }
            }
        }
        if !self.walked[table] {
            return Ok(());
        }
        let row = at.cells(&self.needed[table]);
        self.bags[table].change(&row, times)?;
        let mut touched = 0;
        for_each_within(&self.block, &mut |block| {
            let map = &mut self.free[block.place()];
            touched += maintain(block, map, (table, &row, times))?;
            Ok(())
        })?;
        self.steps.count(touched);
        self.undo.push((table, row, times));
        Ok(())
    }

    pub(super) fn commit(&mut self) {
        self.undo.clear();
        self.selectors
            .iter_mut()
            .flatten()
            .for_each(Selector::commit);
    }

    pub(super) fn rollback(&mut self) {
        (self.selectors.iter_mut().flatten()).for_each(Selector::rollback);
        for (table, row, times) in self.undo.drain(..).rev() {
            let undone = self.bags[table].change(&row, -times);
            debug_assert!(undone.is_ok(), "what fitted fits again");
        }
        // Sums of doubles would not come back to the bit; a row that failed may have reached some.
        for map in &mut self.free {
            map.entries.clear();
            map.told.clear();
        }
    }

    pub(super) fn is_vacant(&self) -> bool {
        let selectors = self.selectors.iter().flatten();
        self.bags.iter().all(|bag| bag.len() == 0)
            && selectors.into_iter().all(Selector::are_vacant)
    }

    pub(super) fn memory_usage(&self) -> usize {
        let cells = |rows: usize, width: usize| rows * (width + 1) * size_of::<Cell>();
        let bags = self.bags.iter().map(|bag| cells(bag.len(), bag.width()));
        let free = self.free.iter();
        let free = free.map(|map| cells(map.entries.len() + map.told.len(), map.columns.len() + 2));
        let selectors = self.selectors.iter().flatten();
        let selectors = selectors.map(Selector::memory_usage);
        bags.chain(free).chain(selectors).sum()
    }

    pub(super) fn steps(&self) -> u64 {
        let selectors = self.selectors.iter().flatten();
        self.steps.total() + selectors.map(Selector::steps).sum::<u64>()
    }

    /// The groups of the result.
    pub(super) fn result(&mut self) -> Result<Vec<Group>> {
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
            selectors: &self.selectors,
            free: RefCell::new(std::mem::take(&mut self.free)),
        };
        let groups = work.groups(&self.block, None);
        self.free = work.free.into_inner();
        let all = &self.block.aggregates;
        (groups?.into_iter())
            .map(|(group, of)| {
                let values = all.iter().zip(&of).map(|(what, of)| of.value(what));
                Ok((group, values.collect::<Result<_>>()?))
            })
            .collect()
    }
}

/// Calls `visit` with all blocks within one.
fn for_each_within(block: &Block, visit: &mut dyn FnMut(&Block) -> Result<()>) -> Result<()> {
    let mut within = Vec::new();
    block.condition.blocks(&mut |block| within.push(block));
    within.into_iter().try_for_each(|block| {
        visit(block)?;
        for_each_within(block, visit)
    })
}

/// Brings the free map of a block up to a row that came or went; how many bindings it reached.
fn maintain(block: &Block, map: &mut FreeMap, change: (usize, &Row, i64)) -> Result<usize> {
    let (table, row, times) = change;
    if !map.streams || !map.tables.contains(&table) {
        return Ok(0);
    }
    let (columns, mut touched) = (&map.columns, 0);
    let first: Row = map.equal.iter().map(|&column| row[column]).collect();
    let alike = map.entries.range_mut(first.clone()..);
    for (cells, all) in alike.take_while(|(cells, _)| cells.starts_with(&first)) {
        touched += 1;
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
    Ok(touched)
}

/// A column of the one relation that must equal one of the block around.
fn equality(one: &Condition) -> Option<(usize, Column)> {
    let Condition::Compare(Value::Column(a), Comparison::Equal, Value::Column(b)) = one else {
        return None;
    };
    let (own, free) = match (a.depth, b.depth) {
        (0, 1..) => (a, b),
        (1.., 0) => (b, a),
        _ => return None,
    };
    let depth = free.depth - 1;
    (own.relation == 0).then_some((own.column, Column { depth, ..*free }))
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

/// The value of a block, from its aggregates.
fn output(block: &Block, all: &[Accumulator]) -> Result<Cell> {
    let values = block.aggregates.iter().zip(all);
    let values: Vec<Cell> = values
        .map(|(what, of)| of.value(what))
        .collect::<Result<_>>()?;
    block.output(&values)
}

/// The maps while a result is worked out.
struct Work<'a> {
    bags: &'a [Bag],
    steps: &'a Steps,
    selectors: &'a [Option<Selector>],
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
            let columns = map.columns.iter();
            let binding: Row = columns.map(|&column| scope.cell(column)).collect();
            if let Some(value) = map.told.get(&binding) {
                return Ok(*value);
            }
            if let Some(all) = map.entries.get(&binding) {
                return output(block, all);
            }
            binding
        };
        if let Some(selector) = &self.selectors[block.place()] {
            let frame = Frame {
                rows: Vec::new(),
                outer: Some(scope),
            };
            let all = selector.aggregates(&mut |value| self.value(value, &frame))?;
            let value = block.output(&all)?;
            self.steps.count(1);
            let told = &mut self.free.borrow_mut()[block.place()].told;
            told.insert(binding, value);
            return Ok(value);
        }
        let all = self
            .groups(block, Some(scope))?
            .remove(&Row::new())
            .unwrap_or_default();
        let value = output(block, &all)?;
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
