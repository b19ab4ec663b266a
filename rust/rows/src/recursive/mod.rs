//! Recursion: the rows of a seed, and all that a step makes of them, of what it made, and so on, to the fixpoint.
//!
//! The step is a query over a table of the rows so far and over other tables, and whoever makes the view keeps it
//! incrementally ([`Step`]): rows that enter or leave the table give the change of what is derived from them, so the
//! fixpoint is followed by semi-naive evaluation. The table itself is not kept twice: here are the rows with the counts
//! of their derivations (`facts`), there what joins need. The strategy decides how rows are deleted: `ranked` deletes
//! and derives again, by levels where the step hands them on; `levels` counts, level by level; `anew` starts from the
//! seed.
//!
//! Invariant: between transactions the rows are the least fixpoint (`UNION`), or the bag of all levels (`UNION ALL`). A
//! transaction that fails undoes what it applied to the step, in reverse, as the step's result follows from its tables
//! alone. If an expression cannot be computed on the way, for rows that may exist for that moment alone, all is
//! computed once more from the seed, which meets only rows of the result. Cost: the join of the rows that enter and
//! leave, rows that are deleted and derived again among them.

mod anew;
mod encoding;
mod facts;
mod levels;
mod ranked;
mod step;

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use ringview_core::{Budget, Error, Result, Schema, reserve};
use ringview_query::{Bound, Recursion, Rows, Strategy};
use ringview_view::RowDelta;

use crate::block::{Block, BlockView, Changes, other_rows, repeated};
use crate::codec::{array, refused, schema_of};
use crate::partitions::CHUNK;
use encoding::Encoding;
use facts::{Facts, SEED};
pub use step::{Step, TableChange};

/// The levels, or rounds, after which a recursion is held for endless.
const MOST: i64 = 100_000;

/// Columns that an atom reads of its table.
#[derive(Debug)]
struct Read {
    schema: Arc<Schema>,
    places: Vec<usize>,
}

/// See the module.
#[derive(Debug)]
pub struct Recursive {
    definition: Recursion,
    reads: Vec<Read>,
    encoding: Encoding,
    schema: SchemaRef,
    facts: Facts,
    /// The seed, where the facts are computed anew.
    seeds: Facts,
    step: Option<Box<dyn Step>>,
    /// Changes of the transaction to the seed, and to the tables of the step.
    seeded: Vec<(Box<[u8]>, i64)>,
    pending: Vec<TableChange>,
    /// Changes that it has applied to the step, to be undone.
    applied: Vec<Vec<TableChange>>,
    /// Whether it was filled: until then nothing is undone.
    is_born: bool,
    /// Whether the step could not be undone.
    is_broken: bool,
    /// Bytes that the budget has counted.
    counted: usize,
    steps: u64,
}

impl Recursive {
    /// The recursion of a bound query, without rows; it is given its step before the first of them.
    pub(crate) fn new(query: &Bound) -> Result<Self> {
        let Some(Rows::Recursive(definition)) = query.rows.clone() else {
            return Err(other_rows());
        };
        let mut reads = Vec::with_capacity(query.atoms.len());
        for (at, atom) in query.atoms.iter().enumerate() {
            let names = match at.checked_sub(1) {
                None => &definition.seed,
                Some(at) => &definition.reads[at].columns,
            };
            let places = names.iter().map(|name| atom.schema.index_of(name));
            reads.push(Read {
                places: places.collect::<Result<_>>()?,
                schema: Arc::clone(&atom.schema),
            });
        }
        let schema = schema_of(query);
        Ok(Self {
            facts: Facts::new(!matches!(
                definition.strategy,
                Strategy::Ranked { .. } | Strategy::Rederived
            )),
            seeds: Facts::new(true),
            encoding: Encoding::new(&schema)?,
            definition,
            reads,
            schema,
            step: None,
            seeded: Vec::new(),
            pending: Vec::new(),
            applied: Vec::new(),
            is_born: false,
            is_broken: false,
            counted: 0,
            steps: 0,
        })
    }

    /// Applies changes to the step, to be undone with the transaction, and gives what is derived.
    fn run(&mut self, changes: Vec<TableChange>, budget: &Budget<'_>) -> Result<Changes> {
        let changes: Vec<TableChange> = changes
            .into_iter()
            .filter(|(_, (_, often))| !often.is_empty())
            .collect();
        let Some(step) = self.step.as_mut().filter(|_| !self.is_broken) else {
            return Err(stepless(&self.definition.table));
        };
        if changes.is_empty() {
            return Ok(Changes::default());
        }
        let derived = step.apply(&changes, budget)?;
        if self.is_born {
            self.applied.push(changes);
        }
        self.steps += derived.1.len() as u64;
        let now = self.memory_usage();
        let grown = now.saturating_sub(self.counted);
        self.counted = self.counted.max(now);
        budget.work(derived.1.len() as u64)?;
        budget.grown(grown as u64)?;
        Ok(derived)
    }

    /// Undoes what was applied to the step.
    fn unwind(&mut self) {
        let Some(step) = &mut self.step else { return };
        for changes in self.applied.drain(..).rev() {
            let turned = changes.into_iter().rev().map(|(table, (columns, often))| {
                (table, (columns, often.iter().map(|often| -often).collect()))
            });
            let turned: Vec<TableChange> = turned.collect();
            self.is_broken |= step.apply(&turned, &Budget::free()).is_err();
        }
    }

    /// Some rows, with the given multiplicities, for the table of the step; with their levels if it has them.
    fn change(&self, rows: &[(usize, i64, i64)]) -> Result<TableChange> {
        let own = rows.iter().map(|(place, ..)| self.facts.at(*place).0);
        let mut columns = self.encoding.decode(own)?;
        if self.definition.strategy.level().is_some() {
            let levels = rows.iter().map(|(_, level, _)| *level);
            columns.push(Arc::new(arrow_array::Int64Array::from_iter_values(levels)));
        }
        let often = rows.iter().map(|(.., often)| *often).collect();
        Ok((0, (columns, often)))
    }

    fn fixpoint(&mut self, seeded: &[(Box<[u8]>, i64)], budget: &Budget<'_>) -> Result<()> {
        let base = std::mem::take(&mut self.pending);
        match self.definition.strategy {
            Strategy::Ranked { .. } | Strategy::Rederived => self.ranked(seeded, base, budget),
            Strategy::Levels { .. } => self.levels(seeded, base, budget),
            Strategy::Anew { distinct } => self.anew(seeded, base, distinct, budget),
        }
    }

    /// The same after all rows so far have left.
    fn restart(
        &mut self,
        seeded: &[(Box<[u8]>, i64)],
        base: Vec<TableChange>,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let mut rows = Vec::new();
        for place in 0..self.facts.len() {
            let fact = self.facts.at(place).1;
            match (&self.definition.strategy, fact.rank) {
                (Strategy::Levels { .. }, _) => {
                    let support = fact.support().iter();
                    rows.extend(support.map(|(level, count)| (place, level + 1, -count)));
                }
                (_, Some(rank)) => rows.push((place, rank, -1)),
                (_, None) => {}
            }
        }
        let mut changes = vec![self.change(&rows)?];
        changes.extend(base);
        self.facts.restart();
        // The step derives nothing from no rows.
        self.run(changes, budget)?;
        let mut seeds = Vec::new();
        for (row, often) in seeded {
            let place = self.facts.position(row.clone());
            self.facts.note(place, SEED, *often)?;
        }
        for place in 0..self.facts.len() {
            let often = self.facts.at(place).1.total();
            if often != 0 {
                seeds.push((place, often));
            }
        }
        match self.definition.strategy {
            Strategy::Levels { .. } => self.raise(seeds, budget),
            _ => self.extend(seeds.into_iter().map(|(place, _)| place).collect(), budget),
        }
    }
}

impl BlockView<Recursive> {
    /// Definition of the recursion.
    #[must_use]
    pub fn definition(&self) -> &Recursion {
        &self.block.definition
    }

    /// Gives it whatever keeps its step, before the first of its rows.
    pub fn begin(&mut self, step: Box<dyn Step>) {
        self.block.step = Some(step);
    }
}

impl Block for Recursive {
    fn apply(&mut self, rows: &RowDelta<'_>, _asked: bool) -> Result<()> {
        let read = &self.reads[rows.atom];
        let columns = read.places.iter().map(|&at| array(rows, &read.schema, at));
        let columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
        let often: Vec<i64> = match &rows.batch.multiplicity {
            Some(often) => often.iter().map(|often| often * rows.sign).collect(),
            None => vec![rows.sign; rows.batch.rows],
        };
        if rows.atom == 0 {
            let own = self.encoding.encode(&columns)?;
            self.seeded.extend(own.into_iter().zip(often));
            return Ok(());
        }
        let change = (rows.atom, (columns, often));
        match &mut self.step {
            // As it is filled there are no rows yet that the step would make others of.
            Some(step) if !self.is_born => step.apply(&[change], &Budget::free()).map(drop),
            _ => {
                self.pending.push(change);
                Ok(())
            }
        }
    }

    fn evaluate(&mut self, budget: &Budget<'_>) -> Result<()> {
        let seeded = std::mem::take(&mut self.seeded);
        if self.is_born && seeded.is_empty() && self.pending.is_empty() {
            return Ok(());
        }
        self.counted = self.memory_usage();
        let base = self.pending.clone();
        let done = self.fixpoint(&seeded, budget);
        match done {
            Err(problem) if self.is_born && self.may_pass(&problem) => {
                self.unwind();
                self.facts.rollback();
                self.restart(&seeded, base, budget)
            }
            done => done,
        }
    }

    fn changes(&mut self, asked: bool) -> Result<Changes> {
        if !asked {
            return Ok(Changes::default());
        }
        let changes = self.facts.changes();
        let columns = self.encoding.decode(changes.iter().map(|(row, _)| *row))?;
        Ok((columns, changes.iter().map(|(_, often)| *often).collect()))
    }

    fn commit(&mut self) {
        self.facts.commit();
        self.seeds.commit();
        self.applied.clear();
        self.is_born = true;
    }

    fn rollback(&mut self) {
        self.unwind();
        self.facts.rollback();
        self.seeds.rollback();
        self.seeded.clear();
        self.pending.clear();
    }

    fn len(&self) -> Result<u64> {
        Ok(self.facts.shown())
    }

    fn rows(&self) -> Result<RecordBatch> {
        let (rows, _) = self.facts.page(0, usize::MAX);
        let columns = self.encoding.decode(rows.iter().map(|(row, _)| *row))?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options);
        let mut places = Vec::new();
        for (at, (_, often)) in rows.iter().enumerate() {
            let often = usize::try_from(*often).unwrap_or(usize::MAX);
            reserve(&mut places, often, || "the rows of a recursion".to_owned())?;
            places.extend(std::iter::repeat_n(at as u32, often));
        }
        repeated(batch.map_err(refused)?, places)
    }

    fn scan(&self, place: u64) -> Result<(Changes, Option<u64>)> {
        let (rows, next) = self
            .facts
            .page(usize::try_from(place).unwrap_or(usize::MAX), CHUNK);
        let columns = self.encoding.decode(rows.iter().map(|(row, _)| *row))?;
        let often = rows.iter().map(|(_, often)| *often);
        Ok(((columns, often.collect()), next.map(|next| next as u64)))
    }

    fn size(&self) -> String {
        let step = self.step.as_ref().map(|step| step.description());
        format!(
            "{} rows; the step: {}",
            self.facts.shown(),
            step.unwrap_or_default()
        )
    }

    fn memory_usage(&self) -> usize {
        let step = self.step.as_ref().map_or(0, |step| step.memory_usage());
        self.facts.memory_usage() + self.seeds.memory_usage() + step
    }

    fn steps(&self) -> u64 {
        self.steps + self.step.as_ref().map_or(0, |step| step.steps())
    }

    fn check(&self) {
        assert!(!self.is_broken, "the step could not be undone");
        for (_, fact) in self.facts.all() {
            let counts = fact.support().iter();
            assert!(counts.clone().all(|(_, count)| *count > 0), "{fact:?}");
            if matches!(self.definition.strategy, Strategy::Ranked { .. }) {
                assert!(fact.is_founded(), "{fact:?}");
            }
            if matches!(self.definition.strategy, Strategy::Rederived) {
                assert!(fact.rank.is_some(), "{fact:?}");
            }
        }
        if let Some(step) = &self.step {
            step.check();
        }
    }
}

impl Recursive {
    /// Whether a problem may be one of rows that are there for a moment alone, or of ranks that rose by and by.
    fn may_pass(&self, problem: &Error) -> bool {
        match self.definition.strategy {
            Strategy::Anew { .. } => false,
            Strategy::Levels { .. } if *problem == self.endless() => false,
            _ => !matches!(problem, Error::Interrupted | Error::Memory { .. }),
        }
    }

    /// The error of a recursion without an end.
    fn endless(&self) -> Error {
        Error::Value {
            place: format!("WITH RECURSIVE {}", self.definition.table),
            problem: format!(
                "has gone on for {MOST} levels, and may have no end; nothing of this transaction was applied. Let a \
                 condition end it (WHERE depth < 100), or write UNION in the place of UNION ALL, which follows a cycle once"
            ),
        }
    }
}

fn stepless(table: &str) -> Error {
    Error::Value {
        place: format!("the step of WITH RECURSIVE {table}"),
        problem: "is not there; this is a fault of ringview, so please report it".to_owned(),
    }
}
