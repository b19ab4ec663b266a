//! A machine behind the trait of all views: rows of tables in, one row of sums out.
//!
//! Invariant: the machine has taken the rows that the view has taken; its result is the row that is
//! read. Cost: that of the machine; who follows pays for one entry a transaction.

mod read;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ringview_core::{Batch, Dictionary, Gone, Held, HoldsStrings, Meter, Result, Type};
use ringview_explain::Explanation;
use ringview_relation::{Part, SlotChange};
use ringview_ring::SumProduct;
use ringview_view::answer::followers::Followers;
use ringview_view::answer::{
    Assembler, ChangeLog, Fallible, Members, ResultRows, encoded, number_kind,
};
use ringview_view::{Answer, Cell, Follower, Key, RowDelta, View};

use crate::algebra::Algebra;
use crate::machine::Machine;
use crate::plan::Plan;
use read::Reading;

/// A sum over a join of three relations, kept by heavy and light parts.
pub(crate) struct EpsilonView {
    plan: Arc<Plan>,
    machine: Machine<SumProduct>,
    readings: Vec<Reading>,
    members: Members,
    fallible: Option<Fallible>,
    followers: Followers<ChangeLog>,
    /// Which columns of the result other views read.
    feed: Option<Vec<bool>>,
}

impl fmt::Debug for EpsilonView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EpsilonView")
            .field("size", &self.machine.size())
            .finish_non_exhaustive()
    }
}

impl EpsilonView {
    /// A view without rows.
    pub(crate) fn new(plan: Arc<Plan>) -> Result<Self> {
        let kinds = plan.components.iter();
        let kinds: Vec<_> = kinds.map(|one| number_kind(one.kind)).collect();
        let algebra = Algebra::pointwise(&kinds);
        let machine = match plan.is_cycle {
            true => {
                let field = plan.triple.packing[plan.triple.fields[0][0]];
                Machine::cycle(field, plan.epsilons[0], algebra)
            }
            false => {
                let made = Machine::triple(&plan.triple, plan.epsilons, algebra);
                made.map_err(crate::plan::refused)?
            }
        };
        let members = plan.members();
        let readings = (0..3).map(|atom| Reading::new(&plan, atom));
        Ok(Self {
            readings: readings.collect::<Result<_>>()?,
            fallible: Fallible::of(plan.shown(), &members),
            followers: Followers::default(),
            feed: None,
            machine,
            members,
            plan,
        })
    }

    fn assembler<'a>(&'a self, dictionary: &'a Dictionary) -> Assembler<'a> {
        Assembler {
            outputs: self.plan.shown(),
            fields: &self.plan.fields,
            keys: Cow::Borrowed(&[]),
            members: &self.members,
            dictionary,
        }
    }

    /// The one row, before HAVING.
    fn row(&self) -> ResultRows {
        let all = |part| ResultRows::all(part, &self.members);
        self.machine.result_part().map(all).unwrap_or_default()
    }

    /// A row of this payload; of zeros where there is none.
    fn row_of(&self, part: &Part, payload: Option<&[u64]>) -> ResultRows {
        let mut rows = ResultRows::new(0, self.members.width());
        let zero = vec![0; self.members.width()];
        rows.push(part, 0, payload.unwrap_or(&zero), None);
        rows
    }

    /// The row as it was and as it will be, where the running transaction touched it.
    fn moved_rows(&self) -> Option<[ResultRows; 2]> {
        let part = self.machine.result_part()?;
        let was = match part.changes().next()? {
            SlotChange::New(_) => None,
            SlotChange::Was(_, payload) => Some(payload),
        };
        let mut slots = part.iter();
        let now = slots.next().map(|slot| part.payload(slot));
        let now = now.filter(|payload| payload[0] != 0);
        Some([self.row_of(part, was), self.row_of(part, now)])
    }
}

impl View for EpsilonView {
    fn apply(&mut self, rows: RowDelta<'_>, meter: &Meter<'_>) -> Result<()> {
        // One relation at three places takes its rows once.
        if self.plan.is_cycle && rows.atom > 0 {
            return Ok(());
        }
        let shape = self.machine.shape().clone();
        let delta = self.readings[rows.atom].read(rows, &shape)?;
        meter.work(delta.rows as u64)?;
        self.machine.apply(rows.atom, &delta, meter)
    }

    fn settle(&mut self, dictionary: &Dictionary, meter: &Meter<'_>) -> Result<()> {
        self.machine.settle(meter)?;
        match (&self.fallible, self.machine.result_part()) {
            (Some(fallible), Some(part)) => {
                fallible.check(part, &self.members, &self.assembler(dictionary))
            }
            _ => Ok(()),
        }
    }

    fn commit(&mut self, _dictionary: &Dictionary) {
        if let (Some(log), Some(part)) = (self.followers.open(), self.machine.result_part()) {
            log.record(part, &self.members);
        }
        self.machine.commit();
        if let (Some(log), Some(part)) = (self.followers.open(), self.machine.result_part()) {
            log.settle(part);
        }
        if self.followers.lost_one() {
            self.tidy();
        }
    }

    fn rollback(&mut self) {
        self.machine.rollback();
    }

    fn answer(&self) -> &dyn Answer {
        self
    }

    fn follow(&mut self, from_now: bool) -> Follower {
        match self.machine.result_part().filter(|_| from_now) {
            Some(part) => {
                let empty = || ChangeLog::new(part, &self.members);
                self.followers.join_here(empty)
            }
            None => self.followers.join(),
        }
    }

    fn changes(&self, follower: &Follower, dictionary: &Dictionary) -> Result<RecordBatch> {
        let logs = self.followers.since(follower);
        let (rows, multiplicities) = match (logs, self.machine.result_part()) {
            (Some(logs), Some(part)) => ChangeLog::read(&logs, part, &self.members),
            _ => (self.row(), vec![1]),
        };
        self.assembler(dictionary).changes(rows, multiplicities)
    }

    fn advance(&mut self, follower: &Follower) {
        if let Some(part) = self.machine.result_part() {
            let empty = || ChangeLog::new(part, &self.members);
            let merge = |into: &mut _, from: &_, later: &[_]| merge(into, from, later, part);
            self.followers.advance(follower, empty, merge);
        }
    }

    fn tidy(&mut self) {
        if let Some(part) = self.machine.result_part() {
            self.followers
                .tidy(|into, from, later| merge(into, from, later, part));
        }
    }

    fn has_moved(&self, follower: &Follower) -> bool {
        self.followers.has_moved(follower).unwrap_or(true)
    }

    fn feed(&mut self, needed: Option<&[bool]>) {
        self.feed = needed.map(<[bool]>::to_vec);
    }

    fn moved(&mut self, dictionary: &mut Dictionary, _meter: &Meter<'_>) -> Result<Batch> {
        let (Some(needed), Some([was, now])) = (&self.feed, self.moved_rows()) else {
            return Ok(Batch::new());
        };
        let [was, now] = {
            let assembler = self.assembler(dictionary);
            [assembler.batch(was)?, assembler.batch(now)?]
        };
        let mut old = encoded(&was, needed, dictionary)?;
        let mut new = encoded(&now, needed, dictionary)?;
        if old == new {
            return Ok(Batch::new());
        }
        old.multiplicity = Some(vec![-1; old.rows]);
        new.multiplicity = Some(vec![1; new.rows]);
        if old.rows == 0 {
            return Ok(new);
        }
        old.append(&new);
        Ok(old)
    }

    fn explanation(&self) -> Explanation {
        let mut explanation = self.plan.explanation();
        let (base, tuples) = self.machine.size();
        let rebalancings = self.machine.rebalancings();
        let parts = self.machine.parts();
        let heavy: Vec<String> = parts
            .iter()
            .map(|part| format!("{} of {}", part.heavy, part.tuples))
            .collect();
        let form = &mut explanation.form.because;
        *form = format!(
            "{form}; {tuples} tuples with N = {base}, {} of which are between heavy values, {} keys \
             in views; rebalanced {} times, {} values moved between",
            heavy.join(" and "),
            self.machine.view_keys(),
            rebalancings.major,
            rebalancings.minor,
        );
        for (node, part) in explanation.nodes.iter_mut().zip(self.machine.wholes()) {
            node.rows = Some(part.len() as u64);
            node.bytes = Some(part.memory_usage() as u64);
        }
        if let (Some(root), Some(part)) = (explanation.nodes.last_mut(), self.machine.result_part())
        {
            root.rows = Some(part.len() as u64);
            root.bytes = Some(part.memory_usage() as u64);
        }
        Explanation {
            size: Some("1 groups".to_owned()),
            bytes: Some(self.memory_usage() as u64),
            ..explanation
        }
    }

    fn memory_usage(&self) -> usize {
        let readings = self.readings.iter().map(Reading::memory_usage);
        self.machine.memory_usage() + self.followers.memory_usage() + readings.sum::<usize>()
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

/// Makes one log of two, the second beginning where the first ends; `later` are those behind.
fn merge(into: &mut ChangeLog, from: &ChangeLog, later: &[(u64, ChangeLog)], part: &Part) -> bool {
    into.absorb(from, later.iter().map(|(_, log)| log), part);
    true
}

impl Answer for EpsilonView {
    fn schema(&self) -> SchemaRef {
        Arc::new(self.assembler(&Dictionary::new()).schema())
    }

    fn len(&self, dictionary: &Dictionary) -> Result<u64> {
        Ok(self.assembler(dictionary).count(&self.row())? as u64)
    }

    fn rows(&self, dictionary: &Dictionary, _meter: &Meter<'_>) -> Result<RecordBatch> {
        self.assembler(dictionary).batch(self.row())
    }

    fn key_columns(&self) -> Result<Vec<(&str, &Type)>> {
        Ok(Vec::new())
    }

    fn get(&self, key: &Key<'_>, dictionary: &Dictionary) -> Result<Option<Vec<Cell>>> {
        nothing_to_look_by(key)?;
        let Some(columns) = self.assembler(dictionary).cells(self.row())? else {
            return Ok(None);
        };
        let types = self.plan.query.outputs.iter().map(|output| &output.ty);
        let columns = columns.iter().zip(types);
        Ok(Some(
            columns
                .map(|(cells, ty)| cells.first(ty, dictionary))
                .collect(),
        ))
    }

    fn rows_where(&self, key: &Key<'_>, dictionary: &Dictionary) -> Result<RecordBatch> {
        nothing_to_look_by(key)?;
        self.assembler(dictionary).batch(self.row())
    }
}

/// A sum over all has no column that tells groups apart.
fn nothing_to_look_by(key: &Key<'_>) -> Result<()> {
    match key.first() {
        None => Ok(()),
        Some((column, _)) => Err(ringview_core::Error::UnknownColumn {
            table: String::new(),
            column: (*column).to_owned(),
            known: Vec::new(),
        }),
    }
}

impl HoldsStrings for EpsilonView {
    fn mark_strings(&self, held: &mut Held) {
        for (atom, part) in self.machine.wholes().enumerate() {
            let texts = self.texts(atom);
            for slot in part.iter().filter(|_| !texts.is_empty()) {
                texts
                    .iter()
                    .for_each(|&field| held.mark(part.field(slot, field)));
            }
        }
    }

    fn string_words(&self) -> usize {
        let parts = self.machine.wholes().enumerate();
        parts
            .map(|(atom, part)| part.len() * self.texts(atom).len())
            .sum()
    }

    fn forget_strings(&mut self, gone: &Gone) {
        self.readings
            .iter_mut()
            .for_each(|reading| reading.forget_strings(gone));
    }
}

impl EpsilonView {
    /// The places of strings in the key of a relation.
    fn texts(&self, atom: usize) -> Vec<usize> {
        let key = self.plan.key(atom);
        let is_text = |at: &usize| self.plan.fields.field(key[*at]).is_text;
        (0..key.len()).filter(is_text).collect()
    }
}
