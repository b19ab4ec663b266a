//! Groups that are computed as they are read, as a view: what changes touches relations and views alone.
//!
//! Invariant: between transactions the machine behind the lock has taken the rows that the view has taken; groups that
//! were read stay until the next commit. Cost: a change as without groups, and less; a group what a change of
//! each tuple costs that is in it, among those of the relation that has its columns; all of them
//! O(N^(3/2)) at e = 1/2. So it has no delta: that would be to read them all.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ringview_core::{Budget, Dictionary, Error, FreedIds, HoldsStrings, LiveIds, Result, Type};
use ringview_explain::Explanation;
use ringview_query::Bound;
use ringview_relation::KeyedTable;
use ringview_view::answer::{Cell, KeyValue, PayloadLayout};
use ringview_view::result_table::partial::{Since, write_groups};
use ringview_view::result_table::{Maintainer, ResultTable};
use ringview_view::{Answer, Context, Delta, Key, RowDelta, View};

use super::HeavyLightSums;
use crate::plan::Plan;

/// See the module.
#[derive(Debug)]
pub(crate) struct GroupsOnRead {
    plan: Arc<Plan>,
    payload_layout: PayloadLayout,
    state: Mutex<State>,
    /// Without groups, for what needs none.
    none: KeyedTable,
}

#[derive(Debug)]
struct State {
    sums: HeavyLightSums,
    /// All groups, once they were read.
    all: Option<Arc<KeyedTable>>,
}

impl State {
    fn memory_usage(&self) -> usize {
        let read = self.all.as_ref().map_or(0, |table| table.memory_usage());
        self.sums.memory_usage() + read
    }
}

impl GroupsOnRead {
    /// Those of no rows.
    pub(crate) fn new(plan: Arc<Plan>) -> Result<Self> {
        let sums = HeavyLightSums::new(Arc::clone(&plan))?;
        let none = sums.machine.result_table().clone();
        Ok(Self {
            payload_layout: plan.payload_layout(),
            plan,
            state: Mutex::new(State { sums, all: None }),
            none,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A read restores the machine even if it fails, so the state of a poisoned lock is valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The groups of a table as rows.
    fn rows_of<'a>(&'a self, table: &'a KeyedTable) -> ResultTable<'a> {
        self.plan.rows_of(table, &self.payload_layout)
    }

    /// The fields of a whole key.
    fn words(&self, key: &Key<'_>, dictionary: &Dictionary) -> Option<Vec<u64>> {
        self.rows_of(&self.none).key_words(key, dictionary)
    }

    fn state_mut(&mut self) -> &mut State {
        let state = self.state.get_mut();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    /// All groups.
    fn all(&self, budget: &Budget<'_>) -> Result<Arc<KeyedTable>> {
        let mut state = self.state();
        if let Some(table) = &state.all {
            return Ok(Arc::clone(table));
        }
        let table = Arc::new(state.sums.machine.read_groups(None, budget)?);
        state.all = Some(Arc::clone(&table));
        Ok(table)
    }

    /// The groups of some keys, at least.
    fn some<'k>(
        &self,
        keys: impl Iterator<Item = &'k Key<'k>>,
        dictionary: &Dictionary,
    ) -> Result<Arc<KeyedTable>> {
        let mut columns = vec![Vec::new(); self.none.layout().fields()];
        for words in keys.filter_map(|key| self.words(key, dictionary)) {
            let both = columns.iter_mut().zip(words);
            both.for_each(|(column, word)| column.push(word));
        }
        let mut state = self.state();
        if let Some(table) = &state.all {
            return Ok(Arc::clone(table));
        }
        let machine = &mut state.sums.machine;
        let table = machine.read_groups(Some(&columns), &Budget::free())?;
        Ok(Arc::new(table))
    }
}

/// The error of a view whose changes cannot be followed.
fn unfollowed(what: &str) -> Error {
    Error::Unsupported {
        what: format!("{what} by the engine \"epsilon\""),
        why: "these groups are computed as they are read: one change may touch as many as the join finds"
            .to_owned(),
        instead: "leave engine= out, so that they are kept; or read the groups that matter with get()"
            .to_owned(),
    }
}

impl Answer for GroupsOnRead {
    fn schema(&self) -> SchemaRef {
        self.rows_of(&self.none).schema()
    }

    fn len(&self, dictionary: &Dictionary) -> Result<u64> {
        let table = self.all(&Budget::free())?;
        self.rows_of(&table).row_count(dictionary)
    }

    fn rows(&self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<RecordBatch> {
        let table = self.all(budget)?;
        self.rows_of(&table).batch(dictionary, budget)
    }

    fn scan(
        &self,
        _place: u64,
        _wanted: &[bool],
        _reading: (&Dictionary, &Budget<'_>),
    ) -> Result<(Delta, Option<u64>)> {
        Err(unfollowed("a view over this one"))
    }

    fn key_columns(&self) -> Result<Vec<(&str, &Type)>> {
        Ok(self.rows_of(&self.none).key_columns())
    }

    fn get(&self, key: &Key<'_>, dictionary: &Dictionary) -> Result<Option<Vec<Cell>>> {
        let table = self.some([key].into_iter(), dictionary)?;
        self.rows_of(&table).get(key, dictionary)
    }

    fn get_rows(
        &self,
        keys: &[Vec<(&str, KeyValue<'_>)>],
        dictionary: &Dictionary,
    ) -> Result<(RecordBatch, Vec<usize>)> {
        let table = self.some(keys.iter().map(Vec::as_slice), dictionary)?;
        self.rows_of(&table).get_rows(keys, dictionary)
    }

    fn rows_where(&self, key: &Key<'_>, dictionary: &Dictionary) -> Result<RecordBatch> {
        let table = match self.words(key, dictionary) {
            Some(_) => self.some([key].into_iter(), dictionary)?,
            None => self.all(&Budget::free())?,
        };
        let groups = self.rows_of(&table);
        let rows = groups.rows_where(key, dictionary)?;
        groups.assembler(dictionary).batch(rows)
    }
}

impl HoldsStrings for GroupsOnRead {
    fn mark_strings(&self, held: &mut LiveIds) {
        self.state().sums.mark_strings(held);
    }

    fn string_words(&self) -> usize {
        self.state().sums.string_words()
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        self.state_mut().sums.forget_strings(gone);
    }
}

impl View for GroupsOnRead {
    fn apply(&mut self, rows: RowDelta<'_>, cx: &Context<'_, '_>) -> Result<()> {
        self.state_mut().sums.apply(rows, cx.budget)
    }

    fn prepare(&mut self, cx: &Context<'_, '_>) -> Result<Delta> {
        self.state_mut().sums.prepare(cx.dictionary, cx.budget)?;
        Ok(Delta::default())
    }

    fn has_delta(&self) -> Result<()> {
        Err(unfollowed("what moved in this view"))
    }

    fn commit(&mut self, dictionary: &Dictionary) {
        let state = self.state_mut();
        state.all = None;
        state.sums.commit(dictionary);
    }

    fn rollback(&mut self) {
        self.state_mut().sums.rollback();
    }

    fn answer(&self) -> &dyn Answer {
        self
    }

    fn partial(
        &self,
        query: &Bound,
        since: Since,
        (dictionary, budget): (&Dictionary, &Budget<'_>),
    ) -> Result<Vec<RecordBatch>> {
        if since == Since::LastCommit {
            return Err(unfollowed("what moved in this view"));
        }
        let table = self.all(budget)?;
        write_groups(
            query,
            (self.rows_of(&table), None),
            Vec::new(),
            since,
            (dictionary, budget),
        )
    }

    fn explanation(&self) -> Explanation {
        let state = self.state();
        Explanation {
            bytes: Some(state.memory_usage() as u64),
            ..Maintainer::explanation(&state.sums)
        }
    }

    fn memory_usage(&self) -> usize {
        self.state().memory_usage()
    }

    fn steps(&self) -> u64 {
        self.state().sums.steps()
    }

    fn check(&self) {
        self.state().sums.check();
    }
}
