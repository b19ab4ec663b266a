//! Queries kept fresh: which algorithm keeps one, rows in, results out.
//!
//! Invariant: after each change the result is the query over all rows that came and did not go. A change that
//! fails, of any number of rows, is undone by the inverse of each row taken: the state is a function of the
//! rows that are there, so it is then what it was. Cost: O(log n) a row and a result where the aggregate-index
//! optimisation applies, else O(n) a row and O(n^k) a result over k relations.
//!
//! | file | holds |
//! |---|---|
//! | `plan` | [`Plan`]: blocks, values, conditions |
//! | `number`, `row` | numbers, rows and bags of them |
//! | `scope` | values and conditions worked out |
//! | `recognise` | which queries the optimisation keeps, and why others are not |
//! | `indexed`, `products` | the optimised form: sums of products of relations |
//! | `running`, `grouped`, `threshold` | a relation chosen by a chain of inequalities, by equalities, or by a column |
//! | `general` | the general algorithm |
//! | `accumulator` | its aggregates |

mod accumulator;
mod general;
mod grouped;
mod indexed;
mod number;
mod plan;
mod products;
mod recognise;
mod row;
mod running;
mod scope;
mod threshold;

use ringview_core::{Batch, Error, Result};

use general::General;
use indexed::Indexed;
use row::Row;

pub use number::{Kind, Quantity};
pub use plan::{Aggregate, Block, Column, ColumnType, Comparison, Condition, Plan, Value};
pub use row::Cell;

#[derive(Clone, Debug)]
enum Form {
    Indexed(Indexed),
    General(General, &'static str),
}

/// A query that is kept up to date.
#[derive(Clone, Debug)]
pub struct Machine {
    plan: Plan,
    /// The columns of each table that the query reads.
    needed: Vec<Vec<bool>>,
    form: Form,
    /// The rows taken since `begin`.
    journal: Option<Vec<(usize, Row, i64)>>,
    row: Row,
}

impl Machine {
    /// An empty machine. O(query).
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        let form = match recognise::recognise(&plan) {
            Ok(indexed) => Form::Indexed(indexed),
            Err(why) => Form::General(General::new(&plan), why),
        };
        let mut machine = Self::general(plan);
        machine.form = form;
        machine
    }

    /// A machine that runs the general algorithm, whatever the query.
    #[must_use]
    pub fn general(plan: Plan) -> Self {
        let mut needed: Vec<_> = plan
            .tables
            .iter()
            .map(|all| vec![false; all.len()])
            .collect();
        plan.block.needs(&mut Vec::new(), &mut needed);
        let form = Form::General(General::new(&plan), "it was asked for");
        Self {
            plan,
            needed,
            form,
            journal: None,
            row: Row::new(),
        }
    }

    /// Why the general algorithm keeps it; `None` if the optimisation does.
    #[must_use]
    pub fn why_general(&self) -> Option<&'static str> {
        match &self.form {
            Form::Indexed(_) => None,
            Form::General(_, why) => Some(why),
        }
    }

    /// Whether aggregates go up and down now, so that the optimisation walks its trees.
    #[must_use]
    pub fn walks(&self) -> bool {
        match &self.form {
            Form::Indexed(indexed) => indexed.walks(),
            Form::General(..) => false,
        }
    }

    /// Takes rows of a table: what a sign and their multiplicities say of each.
    ///
    /// # Errors
    /// `Overflow`; `Value` for a double that is no number. Nothing of the batch is taken then.
    pub fn apply(&mut self, table: usize, batch: &Batch, sign: i64) -> Result<()> {
        let mut row = std::mem::take(&mut self.row);
        for at in 0..batch.rows {
            row::row(
                batch,
                at,
                &self.plan.tables[table],
                &self.needed[table],
                &mut row,
            );
            let times = sign * batch.multiplicity(at);
            let changed = check(&row).and_then(|()| self.change(table, &row, times));
            if let Err(error) = changed {
                for done in 0..at {
                    row::row(
                        batch,
                        done,
                        &self.plan.tables[table],
                        &self.needed[table],
                        &mut row,
                    );
                    self.change(table, &row, -sign * batch.multiplicity(done))?;
                }
                return Err(error);
            }
        }
        self.row = row;
        Ok(())
    }

    fn change(&mut self, table: usize, row: &Row, times: i64) -> Result<()> {
        match &mut self.form {
            Form::Indexed(indexed) => indexed.change(table, row, times)?,
            Form::General(general, _) => general.change(table, row, times)?,
        }
        if let Some(journal) = &mut self.journal {
            journal.push((table, row.clone(), times));
        }
        Ok(())
    }

    /// Notes rows from now on, until a commit or a rollback.
    pub fn begin(&mut self) {
        self.journal.get_or_insert_default();
    }

    /// What came since `begin` stays.
    pub fn commit(&mut self) {
        self.journal = None;
    }

    /// What came since `begin` goes, in reverse order. O(rows log n).
    ///
    /// # Errors
    /// None that a state which was reached by these rows could give.
    pub fn rollback(&mut self) -> Result<()> {
        let journal = self.journal.take().unwrap_or_default();
        journal
            .iter()
            .rev()
            .try_for_each(|(table, row, times)| self.change(*table, row, -times))
    }

    /// The groups, each with the query's outputs; one without a key where there is no GROUP BY.
    ///
    /// # Errors
    /// `Overflow` if a result does not fit.
    pub fn result(&mut self) -> Result<Vec<(Vec<Cell>, Vec<Cell>)>> {
        match &mut self.form {
            Form::Indexed(indexed) => Ok(vec![(Row::new(), indexed.outputs()?)]),
            Form::General(general, _) => general.result(),
        }
    }

    /// The first output of a query without groups.
    ///
    /// # Errors
    /// As `result`.
    pub fn scalar(&mut self) -> Result<Cell> {
        let outputs = match &mut self.form {
            Form::Indexed(indexed) => indexed.outputs()?,
            Form::General(general, _) => general.result()?.swap_remove(0).1,
        };
        Ok(outputs[0])
    }

    /// Bytes of its trees.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        match &self.form {
            Form::Indexed(indexed) => indexed.memory_usage(),
            Form::General(general, _) => general.memory_usage(),
        }
    }

    /// Steps so far: nodes visited by the optimisation, rows and bindings walked by the general algorithm.
    #[must_use]
    pub fn steps(&self) -> u64 {
        match &self.form {
            Form::Indexed(indexed) => indexed.steps(),
            Form::General(general, _) => general.steps(),
        }
    }
}

fn check(row: &Row) -> Result<()> {
    let finite = |cell: &Cell| !matches!(cell.0, Some(Quantity::Real(value)) if !value.is_finite());
    if row.iter().all(finite) {
        return Ok(());
    }
    Err(Error::Value {
        place: "a row of a query with correlated aggregates".to_owned(),
        problem: "it has NaN or an infinity, which no comparison orders; filter such rows"
            .to_owned(),
    })
}
