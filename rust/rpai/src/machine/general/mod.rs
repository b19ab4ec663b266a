//! The general algorithm (paper, section 4.2): any query of the grammar, by free and bound maps.
//!
//! Invariant: a *bound map* is the bag of a table on the columns that the query reads. A *free map* holds, for each
//! requested binding of a block's free columns, the block's aggregates. A block over one relation whose condition holds
//! no block is maintained by deltas: an inserted row is added where the binding's condition holds for it (figure 6 of
//! the paper). The free map of any other block is forgotten when one of its tables changes. A block that the
//! optimisation maintains, given the outer row, has its indexes instead. The result is summed over combinations of
//! rows. If all blocks over a table are equal to columns of the relations in columns of their own, a row of it changes
//! only the combinations with these values: they are subtracted before the change and added after it. Otherwise all are
//! summed again. Cost: O(combinations), O(n^k) over k relations if it must be all, and for each binding of a block one
//! result of it, O(log n) by indexes.

pub(crate) mod accumulator;
mod evaluate;
mod free;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use ringview_core::{Budget, Result};

use crate::machine::general::accumulator::Accumulator;
use crate::machine::general::evaluate::{
    Evaluation, Groups, Influence, Start, Total, bound_column, influences, order,
};
use crate::machine::general::free::{FreeMap, equality, maintain};
use crate::machine::indexed::selector::Selector;
use crate::machine::query::{Block, Cell, Plan, Row, RowAt};
use crate::machine::recognise::recognise;
use crate::machine::store::bag::Bag;
use crate::steps::Steps;

/// Path of a row to combinations, with the order of relations from there.
type Route = (Influence, Arc<[usize]>);

/// Starts of combinations, each with the order of relations from there.
type Starts = (Vec<Start>, Vec<Arc<[usize]>>);

/// The maps of a query.
#[derive(Clone, Debug)]
pub(crate) struct General {
    block: Arc<Block>,
    needed: Vec<Vec<bool>>,
    bags: Vec<Bag>,
    /// Whether the rows of a table are ever walked.
    walked: Vec<bool>,
    /// By the number of the block.
    free: Vec<FreeMap>,
    /// By the number of the block: the state that evaluates its aggregates for any binding.
    selectors: Vec<Option<Selector>>,
    /// By table: how its rows reach combinations, if they do not reach all; with the order from
    /// there.
    influences: Vec<Option<Vec<Route>>>,
    result: ResultState,
    /// The row at hand, packed.
    body: Vec<u8>,
    steps: Steps,
}

/// The result, as it was last worked out.
#[derive(Clone, Debug, Default)]
struct ResultState {
    groups: Groups,
    /// Whether rows since may have changed all of it.
    is_stale: bool,
    /// Groups as they were at the last commit.
    old: BTreeMap<Row, Option<Total>>,
    /// Whether all of it was worked out anew since.
    is_new: bool,
    /// Combinations looked at since.
    looked: u64,
}

/// The delta of a result.
#[derive(Debug)]
pub enum GroupDelta {
    /// All its groups as they are now.
    All(Vec<Group>),
    /// Some groups, with their aggregates; none for a deleted one.
    Some(Vec<(Row, Option<Vec<Cell>>)>),
}

/// A group with its aggregates.
pub type Group = (Row, Vec<Cell>);

impl General {
    /// `plain` is without indexes for the subqueries.
    pub(crate) fn new(plan: &Plan, plain: bool) -> Self {
        let needed = plan.needed();
        let bags = plan.tables.iter().zip(&needed);
        let bags = bags.map(|(types, needed)| Bag::new(types, needed));
        let bags = bags.collect();
        let mut general = Self {
            block: Arc::new(plan.block.clone()),
            needed,
            bags,
            walked: vec![false; plan.tables.len()],
            free: vec![FreeMap::default(); plan.blocks + 1],
            selectors: vec![None; plan.blocks + 1],
            influences: vec![None; plan.tables.len()],
            result: ResultState::default(),
            body: Vec::new(),
            steps: Steps::default(),
        };
        general.prepare(&plan.block, plan, (true, plain));
        // Without rows there is nothing, but for the one group of a query without GROUP BY.
        general.result.is_stale = true;
        if !plain {
            general.find_influences(&plan.block);
        }
        general
    }

    /// Finds the paths from rows of each table to combinations, and the indexes for them.
    fn find_influences(&mut self, block: &Block) {
        for table in 0..self.influences.len() {
            let Some(all) = influences(block, table) else {
                continue;
            };
            let mut routes = Vec::new();
            for influence in all {
                let order = order(block, influence.relation());
                if let Influence::Equal(relation, column, _) = influence {
                    self.bags[block.relations[relation]].index(column);
                }
                for taken in 1..order.len() {
                    if let Some((column, _)) = bound_column(block, order[taken], &order[..taken]) {
                        self.bags[block.relations[order[taken]]].index(column);
                    }
                }
                routes.push((influence, order.into()));
            }
            self.influences[table] = Some(routes);
        }
    }

    /// The maps and indexes of a block and its subqueries.
    fn prepare(&mut self, block: &Block, plan: &Plan, (is_outer, plain): (bool, bool)) {
        let number = block.number;
        let map = &mut self.free[number];
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
            self.selectors[number] = recognise(&plan.tables, block).ok();
        }
        let mut subqueries = Vec::new();
        if let Some(selector) = &self.selectors[number] {
            // Its rows are in indexes; the other side of a comparison may have blocks.
            selector.closed(&mut |value| value.blocks(&mut |block| subqueries.push(block.clone())));
        } else {
            let order = order(block, 0);
            for (taken, &at) in order.iter().enumerate() {
                let table = block.relations[at];
                self.walked[table] = true;
                if let Some((column, _)) = bound_column(block, at, &order[..taken]) {
                    self.bags[table].index(column);
                }
            }
            (block.condition).blocks(&mut |block| subqueries.push(block.clone()));
        }
        for block in &subqueries {
            self.prepare(block, plan, (false, plain));
        }
    }

    /// Inserts or deletes a row of a table. After an error only `rollback` may follow.
    pub(crate) fn change(
        &mut self,
        table: usize,
        at: &RowAt<'_>,
        (times, budget): (i64, &Budget<'_>),
    ) -> Result<()> {
        let row = at.cells(&self.needed[table]);
        let mut body = std::mem::take(&mut self.body);
        self.bags[table].pack(at, &mut body);
        let starts = self.starts(table, &row, &body);
        self.look(&starts, -1, budget)?;
        for selector in self.selectors.iter_mut().flatten() {
            selector.change(table, at, times)?;
        }
        for map in &mut self.free {
            if map.tables.contains(&table) {
                map.memo.clear();
                if !map.streams {
                    map.entries.clear();
                }
            }
        }
        if self.walked[table] {
            self.bags[table].change(at, times)?;
            let mut touched = 0;
            for_each_subquery(&self.block, &mut |block| {
                let map = &mut self.free[block.number];
                touched += maintain(block, map, (table, &row, times))?;
                Ok(())
            })?;
            self.steps.count(touched);
        }
        self.body = body;
        self.look(&starts, 1, budget)
    }

    /// Starts of the combinations that a row of a table may change; none if it may change all.
    fn starts(&mut self, table: usize, row: &Row, body: &[u8]) -> Starts {
        let all: usize = self.bags.iter().map(Bag::len).sum();
        if self.influences[table].is_none() || self.result.looked > 64 + 2 * all as u64 {
            // Rather than more of them one after the other, all of them at once.
            self.result.is_stale = true;
        }
        if self.result.is_stale {
            return Starts::default();
        }
        let routes = self.influences[table].iter().flatten();
        let start =
            |(influence, order): &Route| Some((influence.start(row, body)?, Arc::clone(order)));
        routes.filter_map(start).unzip()
    }

    /// Adds the combinations of some starts to the result, or takes them out.
    fn look(&mut self, (starts, orders): &Starts, times: i128, budget: &Budget<'_>) -> Result<()> {
        if starts.is_empty() {
            return Ok(());
        }
        let before = self.steps.total();
        let block = Arc::clone(&self.block);
        let groups = self.evaluation(budget, |evaluation| {
            let mut groups = Groups::new();
            for (at, order) in orders.iter().enumerate() {
                evaluation.add((&block, None), order, &starts[..=at], (1, &mut groups))?;
            }
            Ok(groups)
        })?;
        self.result.looked += self.steps.total() - before;
        for (group, some) in groups {
            let total = self.result.groups.get(&group);
            let old = self.result.old.entry(group.clone());
            old.or_insert_with(|| total.cloned());
            let none = || Total {
                all: vec![Accumulator::default(); block.aggregates.len()],
                rows: 0,
            };
            let total = (self.result.groups.entry(group.clone())).or_insert_with(none);
            total.rows += times * some.rows;
            for (into, of) in total.all.iter_mut().zip(&some.all) {
                into.merge(of, times)?;
            }
        }
        Ok(())
    }

    fn evaluation<R>(
        &mut self,
        budget: &Budget<'_>,
        run: impl FnOnce(&Evaluation<'_, '_>) -> Result<R>,
    ) -> Result<R> {
        let evaluation = Evaluation {
            bags: &self.bags,
            budget,
            steps: &self.steps,
            selectors: &self.selectors,
            free: RefCell::new(std::mem::take(&mut self.free)),
        };
        let done = run(&evaluation);
        self.free = evaluation.free.into_inner();
        done
    }

    pub(crate) fn commit(&mut self) {
        self.bags.iter_mut().for_each(Bag::commit);
        self.selectors
            .iter_mut()
            .flatten()
            .for_each(Selector::commit);
        for group in std::mem::take(&mut self.result.old).into_keys() {
            let total = self.result.groups.get(&group);
            if total.is_some_and(|total| !self.has_group(total)) {
                self.result.groups.remove(&group);
            }
        }
        (self.result.is_new, self.result.looked) = (false, 0);
    }

    /// Whether a group is there: a query without GROUP BY has one even without rows.
    fn has_group(&self, total: &Total) -> bool {
        total.rows != 0 || self.block.group.is_empty()
    }

    pub(crate) fn rollback(&mut self) {
        (self.selectors.iter_mut().flatten()).for_each(Selector::rollback);
        self.bags.iter_mut().for_each(Bag::rollback);
        // Sums of doubles would not be restored to the bit; a row that failed may have reached some.
        for map in &mut self.free {
            map.entries.clear();
            map.memo.clear();
        }
        let state = &mut self.result;
        for (group, total) in std::mem::take(&mut state.old) {
            match total {
                Some(total) => state.groups.insert(group, total),
                None => state.groups.remove(&group),
            };
        }
        state.is_stale |= state.is_new;
        (state.is_new, state.looked) = (false, 0);
    }

    pub(crate) fn is_vacant(&self) -> bool {
        let selectors = self.selectors.iter().flatten();
        self.bags.iter().all(|bag| bag.len() == 0)
            && selectors.into_iter().all(Selector::are_vacant)
    }

    pub(crate) fn memory_usage(&self) -> usize {
        let cells = |rows: usize, width: usize| rows * (width + 1) * size_of::<Cell>();
        let bags = self.bags.iter().map(Bag::memory_usage);
        let free = self.free.iter();
        let free = free.map(|map| cells(map.entries.len() + map.memo.len(), map.columns.len() + 2));
        let selectors = self.selectors.iter().flatten();
        let selectors = selectors.map(Selector::memory_usage);
        bags.chain(free).chain(selectors).sum()
    }

    pub(crate) fn steps(&self) -> u64 {
        let selectors = self.selectors.iter().flatten();
        self.steps.total() + selectors.map(Selector::steps).sum::<u64>()
    }

    /// The groups of the result.
    pub(crate) fn result(&mut self, budget: &Budget<'_>) -> Result<Vec<Group>> {
        self.refresh(budget)?;
        let groups = self.result.groups.iter();
        groups
            .filter(|(_, total)| self.has_group(total))
            .map(|(group, total)| Ok((group.clone(), self.values(total)?)))
            .collect()
    }

    /// The groups changed since the last commit, deleted ones without aggregates; all where
    /// they were worked out anew.
    pub(crate) fn delta(&mut self, budget: &Budget<'_>) -> Result<GroupDelta> {
        self.refresh(budget)?;
        if self.result.is_new || self.block.group.is_empty() {
            return self.result(budget).map(GroupDelta::All);
        }
        let moved = self.result.old.keys().map(|group| {
            let total = self.result.groups.get(group);
            let total = total.filter(|total| self.has_group(total));
            let all = total.map(|total| self.values(total)).transpose()?;
            Ok((group.clone(), all))
        });
        moved.collect::<Result<_>>().map(GroupDelta::Some)
    }

    fn values(&self, total: &Total) -> Result<Vec<Cell>> {
        let all = self.block.aggregates.iter().zip(&total.all);
        all.map(|(what, of)| of.value(what)).collect()
    }

    /// Works the result out anew where it may have changed as a whole.
    fn refresh(&mut self, budget: &Budget<'_>) -> Result<()> {
        if !self.result.is_stale {
            return Ok(());
        }
        let most = 64 + 4 * self.bags.iter().map(Bag::len).max().unwrap_or(0);
        for map in &mut self.free {
            // Bindings that no row has any more.
            if map.entries.len() > most {
                map.entries.clear();
            }
        }
        let block = Arc::clone(&self.block);
        self.result.groups =
            self.evaluation(budget, |evaluation| evaluation.groups(&block, None))?;
        (self.result.is_stale, self.result.is_new) = (false, true);
        self.result.old.clear();
        Ok(())
    }
}

/// Calls `visit` with all the subqueries of one.
fn for_each_subquery(block: &Block, visit: &mut dyn FnMut(&Block) -> Result<()>) -> Result<()> {
    let mut subqueries = Vec::new();
    block.condition.blocks(&mut |block| subqueries.push(block));
    subqueries.into_iter().try_for_each(|block| {
        visit(block)?;
        for_each_subquery(block, visit)
    })
}
