//! Maintained queries: the choice of an algorithm, rows in, results out.
//!
//! Invariant: after each change the result is the query over all rows inserted and not deleted. A
//! transaction is any number of changes, then `commit`, or `rollback`, which undoes them by the
//! inverse of each: the state is a function of the rows that are there, so it is then as before.
//! After an error only `rollback` may follow. Cost: O(log n) a row and a result where the
//! aggregate-index optimisation applies, by keys of their own where the query falls into such
//! parts; else O(n^k) a result over k relations, each of its blocks O(log n) where it is one of
//! those.
//!
//! | folder | holds |
//! |---|---|
//! | `query/` | [`Plan`]: blocks over tables; rows, and where their columns are found; kinds of keys |
//! | `recognise/` | which blocks the aggregate-index optimisation maintains, and why others are refused |
//! | `indexed/` | the optimised form: sums of products of relations, each filtered by indexes |
//! | `keyed/` | queries that fall into parts by keys |
//! | `general/` | the general algorithm: free and bound maps, combinations of rows, aggregates |
//! | `state` | [`Machine`] and what it is made of, as data |
//! | `optimised`, `partitioned`, `part` | queries maintained by indexes, or in parts; the rows of a key |
//! | `folded` | a subquery over one relation, its aggregates kept row by row |
//! | `description` | how a query is maintained, for explanations |

mod description;
mod folded;
mod general;
mod indexed;
mod keyed;
mod optimised;
mod part;
mod part_groups;
mod partitioned;
mod query;
mod recognise;
mod state;
mod store;

use std::sync::Arc;

use ringview_core::{Batch, Budget, Error, Result, Type};

use general::General;
use indexed::selector::with_scratch;
use query::{Nowhere, Row, RowAt, evaluate};
use state::{Folded, Indexed, Partitioned, State};

pub use description::{Description, Strategy};
pub use general::{Group, GroupDelta};
pub use query::plan::{ColumnType, Plan};
pub use ringview_query::Comparison;
pub use ringview_query::nested::{Aggregate, Block, Cell, Column, Condition, Quantity, Value};
pub use state::Machine;

/// Rows of a table, with verdicts on them.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The batch.
    pub batch: &'a Batch,
    /// The rows that take part; all where absent.
    pub filtered: Option<&'a [u32]>,
    /// The last columns of the table: a verdict by row of the batch.
    pub verdicts: &'a [Vec<bool>],
    /// 1 or -1, times their multiplicities.
    pub sign: i64,
}

/// Calls a method of whatever maintains the query.
macro_rules! any {
    ($state:expr, $of:ident => $result:expr) => {
        match $state {
            State::Indexed($of) => $result,
            State::Partitioned($of) => $result,
            State::General($of) => $result,
            State::Folded($of) => $result,
        }
    };
}

impl Machine {
    /// An empty machine. O(query).
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        Self::made(plan, true)
    }

    /// One without parts: it is itself the part of a key.
    pub(super) fn in_one(plan: Plan) -> Self {
        Self::made(plan, false)
    }

    /// That of a subquery that no outer row correlates.
    pub(super) fn closed(plan: Plan) -> Self {
        let folded = match recognise::recognise(&plan.tables, &plan.block) {
            Ok(_) => None,
            Err(why) => Folded::new(&plan).map(|folded| (folded, why)),
        };
        match folded {
            Some((folded, why)) => Self::of(plan, State::Folded(Box::new(folded)), Some(why)),
            None => Self::new(plan),
        }
    }

    fn made(plan: Plan, in_parts: bool) -> Self {
        match recognise::recognise(&plan.tables, &plan.block) {
            Ok(selector) => {
                let indexed = Indexed::new(&plan, selector, !in_parts);
                Self::of(plan, State::Indexed(indexed), None)
            }
            Err(why) => {
                let state = match in_parts.then(|| Partitioned::new(&plan)).flatten() {
                    Some(parts) => State::Partitioned(Box::new(parts)),
                    None => State::General(Box::new(General::new(&plan, false))),
                };
                Self::of(plan, state, Some(why))
            }
        }
    }

    /// A machine that runs the general algorithm without any index, whatever the query.
    #[must_use]
    pub fn general(plan: Plan) -> Self {
        let state = State::General(Box::new(General::new(&plan, true)));
        Self::of(plan, state, Some("it was asked for"))
    }

    fn of(plan: Plan, state: State, why: Option<&'static str>) -> Self {
        let needed = plan.needed();
        let real = |types: &[ColumnType], needed: &[bool]| {
            let columns = types.iter().zip(needed).enumerate();
            let is_real = |ty: &Type| matches!(ty, Type::Float32 | Type::Float64);
            let columns = columns.filter(|(_, (of, needed))| **needed && is_real(&of.ty));
            columns.map(|(column, _)| column).collect()
        };
        let tables = plan.tables.iter().zip(&needed);
        Self {
            reals: tables.map(|(types, needed)| real(types, needed)).collect(),
            plan: Arc::new(plan),
            state,
            why,
        }
    }

    /// Description of its maintenance. O(keys) where there are any.
    #[must_use]
    pub fn description(&self) -> Description {
        let (strategy, parts, walked) = match &self.state {
            State::Indexed(indexed) => (Strategy::Indexed, 1, usize::from(indexed.walks())),
            State::Folded(_) => (Strategy::Indexed, 1, 0),
            State::General(_) => (Strategy::General, 0, 0),
            State::Partitioned(of) => {
                let (parts, walked) = of.parts();
                match of.each().state {
                    State::Indexed(..) => (Strategy::Partitioned, parts, walked),
                    _ => (Strategy::PartitionedGeneral, parts, walked),
                }
            }
        };
        Description {
            strategy,
            why: self.why,
            parts,
            walked,
        }
    }

    /// Whether aggregates are not monotone now, so that the optimisation walks an index.
    #[must_use]
    pub fn walks(&self) -> bool {
        match &self.state {
            State::Indexed(indexed) => indexed.walks(),
            State::Partitioned(parts) => parts.parts().1 > 0,
            State::General(_) | State::Folded(_) => false,
        }
    }

    /// Applies rows of a table.
    ///
    /// # Errors
    /// `Overflow`; `Value` for a double that is no number; the errors of the budget. Only `rollback` may
    /// follow.
    pub fn take(&mut self, table: usize, rows: Rows<'_>, budget: &Budget<'_>) -> Result<()> {
        let Self {
            plan, reals, state, ..
        } = self;
        let mut row = RowAt {
            batch: rows.batch,
            at: 0,
            types: &plan.tables[table],
            verdicts: rows.verdicts,
        };
        let times = |at: usize| rows.sign * rows.batch.multiplicity(at);
        let all = (0..rows.batch.rows).filter(|_| rows.filtered.is_none());
        let some = rows.filtered.unwrap_or_default().iter();
        let each = all.chain(some.map(|&at| at as usize));
        if let State::Partitioned(parts) = state {
            let mut checked = row;
            for at in each.clone().filter(|_| !reals[table].is_empty()) {
                checked.at = at;
                check(&reals[table], &checked)?;
            }
            return parts.take(table, row, each.map(|at| (at, times(at))), budget);
        }
        for at in each {
            row.at = at;
            check(&reals[table], &row)?;
            state.change(table, &row, (times(at), budget))?;
        }
        Ok(())
    }

    /// The same of all rows of a batch.
    ///
    /// # Errors
    /// As `take`.
    pub fn apply(&mut self, table: usize, batch: &Batch, sign: i64) -> Result<()> {
        let rows = Rows {
            batch,
            filtered: None,
            verdicts: &[],
            sign,
        };
        self.take(table, rows, &Budget::free())
    }

    #[inline]
    pub(super) fn change(
        &mut self,
        table: usize,
        row: &RowAt<'_>,
        times: (i64, &Budget<'_>),
    ) -> Result<()> {
        self.state.change(table, row, times)
    }

    /// Freezes static tables, which have all their rows.
    pub fn freeze(&mut self, is_static: &[bool]) {
        if let State::Partitioned(parts) = &mut self.state {
            parts.freeze(is_static);
        }
    }

    /// Keeps the changes since the last commit.
    pub fn commit(&mut self) {
        any!(&mut self.state, of => of.commit())
    }

    /// Undoes the changes since the last commit. O(rows log n).
    pub fn rollback(&mut self) {
        any!(&mut self.state, of => of.rollback())
    }

    /// Removes all rows of a machine that never commits.
    pub(super) fn clear(&mut self) {
        match &mut self.state {
            State::Indexed(indexed) => indexed.clear(),
            _ => self.rollback(),
        }
    }

    /// The groups with their aggregates; one without a key where there is no GROUP BY.
    ///
    /// # Errors
    /// `Overflow` if a result does not fit; the errors of the budget.
    pub fn groups(&mut self, budget: &Budget<'_>) -> Result<Vec<Group>> {
        match &mut self.state {
            State::Indexed(indexed) => {
                let mut all = vec![Cell(None); indexed.len()];
                indexed.aggregates(budget, &mut all)?;
                Ok(vec![(Row::new(), all)])
            }
            State::Partitioned(parts) => parts.groups(budget),
            State::General(general) => general.result(budget),
            State::Folded(folded) => Ok(vec![(Row::new(), folded.aggregates()?)]),
        }
    }

    /// The aggregates of a query that has one group by nature, where an index maintains them; returns
    /// whether it does. Nothing is allocated where `into` has capacity.
    ///
    /// # Errors
    /// As `groups`.
    pub fn sole(&mut self, budget: &Budget<'_>, into: &mut Vec<Cell>) -> Result<bool> {
        let State::Indexed(indexed) = &mut self.state else {
            return Ok(false);
        };
        into.resize(indexed.len(), Cell(None));
        indexed.aggregates(budget, into)?;
        Ok(true)
    }

    /// The groups changed since the last commit, at least.
    ///
    /// # Errors
    /// As `groups`.
    pub fn delta(&mut self, budget: &Budget<'_>) -> Result<GroupDelta> {
        match &mut self.state {
            State::Partitioned(parts) => parts.delta(budget),
            State::General(general) => general.delta(budget),
            State::Indexed(..) | State::Folded(_) => self.groups(budget).map(GroupDelta::All),
        }
    }

    /// The groups, each with the query's outputs.
    ///
    /// # Errors
    /// As `groups`.
    pub fn result(&mut self) -> Result<Vec<(Row, Vec<Cell>)>> {
        let groups = self.groups(&Budget::free())?;
        let outputs = |all: &[Cell]| {
            let mut aggregate = |value: &Value| match value {
                Value::Aggregate(at) => Ok(all[*at]),
                _ => Ok(Cell(None)),
            };
            let outputs = self.plan.block.outputs.iter();
            outputs
                .map(|output| evaluate(output, &Nowhere, &mut aggregate))
                .collect::<Result<Vec<Cell>>>()
        };
        (groups.into_iter())
            .map(|(group, all)| Ok((group, outputs(&all)?)))
            .collect()
    }

    /// The first output of a query without groups.
    ///
    /// # Errors
    /// As `groups`.
    pub fn scalar(&mut self) -> Result<Cell> {
        self.value(&Budget::free())
    }

    pub(super) fn value(&mut self, budget: &Budget<'_>) -> Result<Cell> {
        let block = &self.plan.block;
        if let State::Indexed(indexed) = &mut self.state {
            return with_scratch::<Cell, 4, _>(indexed.len(), |all| {
                indexed.aggregates(budget, all)?;
                block.output(all)
            });
        }
        let all = self.groups(budget)?.swap_remove(0).1;
        self.plan.block.output(&all)
    }

    /// Whether no row can take part for want of rows of one of these tables.
    pub(super) fn lacks(&self, tables: &[bool]) -> bool {
        match &self.state {
            State::Indexed(indexed) => indexed.lacks(tables, &self.plan.block.relations),
            _ => false,
        }
    }

    /// Whether it holds nothing.
    pub(super) fn is_vacant(&self) -> bool {
        any!(&self.state, of => of.is_vacant())
    }

    /// Bytes that it takes, nearly.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        any!(&self.state, of => of.memory_usage())
    }

    /// Steps so far: nodes visited by the optimisation, rows and bindings walked by the general
    /// algorithm.
    #[must_use]
    pub fn steps(&self) -> u64 {
        any!(&self.state, of => of.steps())
    }
}

impl State {
    #[inline]
    pub(super) fn change(
        &mut self,
        table: usize,
        row: &RowAt<'_>,
        times: (i64, &Budget<'_>),
    ) -> Result<()> {
        match self {
            State::Indexed(indexed) => indexed.change(table, row, times),
            State::Partitioned(parts) => {
                let (times, budget) = times;
                parts.take(table, *row, std::iter::once((row.at, times)), budget)
            }
            State::General(general) => general.change(table, row, times),
            State::Folded(folded) => folded.change(table, row, times.0),
        }
    }
}

/// Checks that the doubles of a row are ordered.
fn check(columns: &[usize], row: &RowAt<'_>) -> Result<()> {
    for &column in columns {
        let number = row.quantity(column);
        if matches!(number, Some(Quantity::Real(value)) if !value.is_finite()) {
            return Err(Error::Value {
                place: "a row of a query with correlated aggregates".to_owned(),
                problem: "it has NaN or an infinity, which no comparison orders; filter such rows"
                    .to_owned(),
            });
        }
    }
    Ok(())
}
