//! The rows of triangles as a view: an answer that is read with constant delay, and what moves in it.
//!
//! Invariant: the machine has taken the rows that the view has taken. While somebody follows, or a view
//! above reads, the machine notes the rows that a transaction moves; `settle` hands them to the open
//! segment of the log, `commit` keeps them there. Cost: that of the machine; a row that moves is O(1)
//! more where it is noted, nothing where it is not.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use ringview_core::{Batch, Budget, Dictionary, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_explain::Explanation;
use ringview_query::VarId;
use ringview_ring::{NumberKind, SumProduct};
use ringview_view::answer::followers::Followers;
use ringview_view::answer::{Assembler, Members, MovedRows, Outputs, ResultRows};
use ringview_view::part::{PartRows, mark_strings};
use ringview_view::{Answer, Follower, RowDelta, View};

use super::read::Reading;
use super::told;
use super::waiting::Waiting;
use crate::algebra::Algebra;
use crate::machine::Machine;
use crate::plan::Plan;

/// Rows of a join, kept by heavy and light parts.
pub(crate) struct HeavyLightRows {
    pub(super) plan: Arc<Plan>,
    pub(super) machine: Machine<SumProduct>,
    readings: Vec<Reading>,
    waiting: Waiting,
    /// All variables: the fields of a row.
    variables: Vec<VarId>,
    /// Rows have no payload.
    members: Members,
    followers: Followers<MovedRows>,
    /// Which columns of the result other views read, of those that can be read.
    feed: Option<Vec<bool>>,
    /// How often a transaction was kept: places of before are none any more.
    pub(super) version: u64,
}

impl fmt::Debug for HeavyLightRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeavyLightRows")
            .field("size", &self.machine.size())
            .finish_non_exhaustive()
    }
}

impl HeavyLightRows {
    /// Those of no rows.
    pub(crate) fn new(plan: Arc<Plan>) -> Result<Self> {
        let count = Algebra::pointwise(&[NumberKind::Integer]);
        let machine = Machine::triangles(&plan.join, &plan.epsilons, count);
        let readings = (0..plan.query.atoms.len()).map(|atom| Reading::new(&plan, atom));
        Ok(Self {
            machine: machine.map_err(crate::plan::refused)?,
            readings: readings.collect::<Result<_>>()?,
            waiting: Waiting::new(plan.query.atoms.len()),
            variables: (0..plan.query.variables.len()).collect(),
            members: Members::default(),
            followers: Followers::default(),
            feed: None,
            version: 0,
            plan,
        })
    }

    pub(super) fn assembler<'a>(&'a self, dictionary: &'a Dictionary) -> Assembler<'a> {
        Assembler {
            outputs: Outputs::from(&self.plan.query),
            fields: &self.plan.fields,
            keys: Cow::Borrowed(&self.variables),
            members: &self.members,
            dictionary,
        }
    }

    /// A segment in which nothing moved.
    fn nothing(&self) -> MovedRows {
        let fields: Vec<usize> = (0..self.plan.join.packing.len()).collect();
        MovedRows::new(self.plan.fields.layout(&fields))
    }

    /// Rows as Arrow; of none, the columns.
    pub(super) fn batch(
        &self,
        mut rows: ResultRows,
        dictionary: &Dictionary,
    ) -> Result<RecordBatch> {
        let fields = self.plan.join.packing.len();
        rows.columns.resize_with(fields, Vec::new);
        self.assembler(dictionary).batch(rows)
    }

    /// What the running transaction moved, each row with its multiplicity.
    fn running(&self) -> (ResultRows, Vec<i64>) {
        let mut rows = ResultRows::new(self.plan.join.packing.len(), 0);
        let mut multiplicities = Vec::new();
        if let Some(part) = self.machine.moved_rows() {
            for slot in part.iter().filter(|&slot| part.payload(slot)[0] != 0) {
                rows.push(part, slot, &[], None);
                multiplicities.push(part.payload(slot)[0] as i64);
            }
        }
        (rows, multiplicities)
    }
}

impl View for HeavyLightRows {
    fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        let is_logged = self.feed.is_some() || self.followers.open().is_some();
        self.machine.log_rows(is_logged);
        let shape = self.machine.shape().clone();
        let delta = self.readings[rows.atom].read(rows, &shape)?;
        budget.work(delta.rows as u64)?;
        let taken = (rows.atom, delta);
        self.waiting.take(&mut self.machine, taken, budget)
    }

    fn settle(&mut self, _dictionary: &Dictionary, budget: &Budget<'_>) -> Result<()> {
        self.waiting.enter(&mut self.machine, budget)?;
        self.machine.settle(budget)?;
        if let (Some(open), Some(moved)) = (self.followers.open(), self.machine.moved_rows()) {
            budget.work(moved.len() as u64)?;
            open.rollback();
            open.add_part(moved)?;
        }
        Ok(())
    }

    fn commit(&mut self, _dictionary: &Dictionary) {
        self.machine.commit();
        self.version += 1;
        if let Some(open) = self.followers.open() {
            open.commit();
        }
        if self.followers.lost_one() {
            self.tidy();
        }
    }

    fn rollback(&mut self) {
        self.waiting.clear();
        self.machine.rollback();
        if let Some(open) = self.followers.open() {
            open.rollback();
        }
    }

    fn answer(&self) -> &dyn Answer {
        self
    }

    fn follow(&mut self, from_now: bool) -> Follower {
        let nothing = self.nothing();
        match from_now {
            true => self.followers.join_here(|| nothing),
            false => self.followers.join(),
        }
    }

    fn changes(&self, follower: &Follower, dictionary: &Dictionary) -> Result<RecordBatch> {
        let fields = self.plan.join.packing.len();
        let assembler = self.assembler(dictionary);
        match self.followers.since(follower) {
            Some(parts) => {
                let (rows, multiplicities) = MovedRows::read(&parts, fields)?;
                assembler.changes(rows, multiplicities)
            }
            None => assembler.with_ones(&self.rows(dictionary, &Budget::free())?),
        }
    }

    fn advance(&mut self, follower: &Follower) {
        let nothing = self.nothing();
        let merge = |into: &mut MovedRows, from: &MovedRows, _: &_| into.absorb(from);
        self.followers.advance(follower, || nothing, merge);
    }

    fn tidy(&mut self) {
        self.followers.tidy(|into, from, _| into.absorb(from));
    }

    fn has_moved(&self, follower: &Follower) -> bool {
        self.followers.has_moved(follower).unwrap_or(true)
    }

    fn feed(&mut self, needed: Option<&[bool]>) {
        self.feed = needed.map(<[bool]>::to_vec);
    }

    fn moved(&mut self, dictionary: &mut Dictionary, budget: &Budget<'_>) -> Result<Batch> {
        let (Some(needed), Some(part)) = (&self.feed, self.machine.moved_rows()) else {
            return Ok(Batch::new());
        };
        let over = PartRows {
            outputs: Outputs::from(&self.plan.query),
            fields: &self.plan.fields,
            keys: &self.variables,
            part,
            further: &self.members,
        };
        over.weighed(needed, self.running(), (dictionary, budget))
    }

    fn explanation(&self) -> Explanation {
        Explanation {
            size: Some(format!("{} rows kept factorised", self.machine.row_count())),
            bytes: Some(self.memory_usage() as u64),
            ..told(self.plan.explanation(), &self.machine)
        }
    }

    fn memory_usage(&self) -> usize {
        let readings = self.readings.iter().map(Reading::memory_usage);
        let readings = readings.sum::<usize>();
        let waiting = self.waiting.memory_usage();
        self.machine.memory_usage() + self.followers.memory_usage() + readings + waiting
    }

    fn bytes(&self) -> usize {
        self.memory_usage()
    }

    fn steps(&self) -> u64 {
        self.machine.steps()
    }

    fn check(&self) {
        self.machine.check();
    }
}

impl HoldsStrings for HeavyLightRows {
    fn mark_strings(&self, held: &mut LiveIds) {
        for (atom, part) in self.machine.wholes().enumerate() {
            mark_strings(part, &self.plan.texts(atom), held);
        }
        let texts = self.plan.fields.texts(&self.variables);
        let logs = self.followers.segments().filter_map(MovedRows::rows);
        logs.for_each(|rows| mark_strings(rows, &texts, held));
    }

    fn string_words(&self) -> usize {
        let parts = self.machine.wholes().enumerate();
        let own: usize = parts
            .map(|(atom, part)| part.len() * self.plan.texts(atom).len())
            .sum();
        let logs = self.followers.segments().filter_map(MovedRows::rows);
        let logged: usize = logs.map(|rows| rows.len()).sum();
        own + logged * self.plan.fields.texts(&self.variables).len()
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        self.readings
            .iter_mut()
            .for_each(|reading| reading.forget_strings(gone));
    }
}
