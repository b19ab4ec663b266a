//! The rows of a view: all of them, some, a stream of them, or what moved.
//!
//! Invariant: two reads without a change between them give the same rows in the same order. Cost: of
//! a factorised view, constant delay a row and O(depth) look-ups for one out of order; of any other,
//! O(rows) a read.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ringview_core::{Dictionary, Error, Meter, Result};
use ringview_query::Representation;
use ringview_relation::Part;

use crate::bag;
use crate::changes::ChangeLog;
use crate::factorised::{self, Place};
use crate::result::{Assembler, ResultRows};
use crate::view_tree::ViewTree;
use ringview_view::answer::followers::Follower;

/// The rows of a view, a block at a time: those that it had when the stream was made.
#[derive(Debug)]
pub struct RowStream(Rest);

#[derive(Debug)]
enum Rest {
    /// All of them, made at once.
    Made(Option<RecordBatch>),
    /// To be made from a factorised view that stays as it is.
    Place(Box<Place>),
}

impl RowStream {
    /// Entries and patterns that were handled to make rows one by one: what delay is tested by.
    #[must_use]
    pub fn steps(&self) -> u64 {
        match &self.0 {
            Rest::Made(_) => 0,
            Rest::Place(place) => place.steps(),
        }
    }
}

impl ViewTree {
    /// The number of groups: of the result's rows, where no HAVING leaves some out. O(1).
    #[must_use]
    pub fn groups(&self) -> usize {
        match self.tree.result() {
            Some(result) if result.layout().fields() > 0 => result.len(),
            _ => 1,
        }
    }

    /// The number of rows of the result. O(1), or O(groups) with HAVING or for a listing.
    ///
    /// # Errors
    /// `Overflow` if what HAVING computes does not fit; `Value` if trusted deletes took what was not
    /// there.
    pub fn len(&self, dictionary: &Dictionary) -> Result<usize> {
        if let Some(factorised) = &self.factorised {
            return Ok(factorised.len(&*self.tree)? as usize);
        }
        if let (Some(_), Some(result)) = (self.plan.bag, self.tree.result()) {
            let counts = result.iter().map(|slot| result.payload(slot)[0] as i64);
            return Ok(bag::len(counts)? as usize);
        }
        if self.plan.having.is_none() {
            return Ok(self.groups());
        }
        self.assembler(dictionary).count(&self.grouped())
    }

    /// The schema of the result.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        Arc::new(self.assembler(&Dictionary::new()).schema())
    }

    /// The result. O(rows).
    ///
    /// # Errors
    /// `Overflow` if a sum of several terms, or what is computed from aggregates, does not fit;
    /// `Memory` for more than there is room for.
    pub fn result(&self, dictionary: &Dictionary) -> Result<RecordBatch> {
        self.result_within(dictionary, &Meter::free())
    }

    /// The same within the limits of a meter.
    ///
    /// # Errors
    /// As `result`; what the meter says.
    pub fn result_within(&self, dictionary: &Dictionary, meter: &Meter<'_>) -> Result<RecordBatch> {
        if let Some(factorised) = &self.factorised {
            let all = (0, factorised.len(&*self.tree)?);
            return factorised.slice(&*self.tree, self.schema(), all, (dictionary, meter));
        }
        self.check_room(meter)?;
        let rows = self.grouped();
        meter.work(rows.rows as u64)?;
        match self.plan.bag {
            Some(_) => self.assembler(dictionary).batch(bag::repeated(&rows)?),
            None => self.assembler(dictionary).batch(rows),
        }
    }

    /// Whether there is room for all groups, read at once, or for all rows of a listing.
    fn check_room(&self, meter: &Meter<'_>) -> Result<()> {
        let Some(result) = self.tree.result() else {
            return Ok(());
        };
        let groups = self.groups() as u64;
        let rows = match self.plan.bag {
            Some(_) => self.len(&Dictionary::new())? as u64,
            None => groups,
        };
        // The keys and payloads, and what is made of them.
        let outputs = self.plan.outputs.len() as u64;
        let words = (result.layout().fields() + 2 * (result.stride() + self.beside.width())) as u64;
        let bytes = groups.saturating_mul(8 * words);
        meter.room(
            bytes.saturating_add(rows.saturating_mul(8 * outputs)),
            || format!("a table of the {rows} rows of the view"),
            "read fewer columns or groups, or raise memory_limit",
        )
    }

    /// The rows `from .. to`, as far as there are any. Of a factorised view O(depth) look-ups and
    /// then constant delay; of any other O(rows).
    ///
    /// # Errors
    /// As `result`.
    pub fn slice(
        &self,
        from: u64,
        to: u64,
        dictionary: &Dictionary,
        meter: &Meter<'_>,
    ) -> Result<RecordBatch> {
        if let Some(factorised) = &self.factorised {
            let to = to.min(factorised.len(&*self.tree)?);
            let rows = (from.min(to), to);
            return factorised.slice(&*self.tree, self.schema(), rows, (dictionary, meter));
        }
        let all = self.result_within(dictionary, meter)?;
        let to = usize::try_from(to).map_or(all.num_rows(), |to| to.min(all.num_rows()));
        let from = usize::try_from(from).map_or(to, |from| from.min(to));
        Ok(all.slice(from, to - from))
    }

    /// `rows` rows drawn from the result with equal chances, each independently of the others: a row
    /// may be drawn twice. The same seed draws the same from the same rows. O(depth) look-ups a row.
    ///
    /// # Errors
    /// `Unsupported` unless the view is factorised; `Value` if it has no rows.
    pub fn draw(
        &self,
        rows: u64,
        seed: u64,
        dictionary: &Dictionary,
        meter: &Meter<'_>,
    ) -> Result<RecordBatch> {
        let Some(factorised) = &self.factorised else {
            return Err(Error::Unsupported {
                what: "drawing rows of this view".to_owned(),
                why: "only the rows of a factorised join are found by their position".to_owned(),
                instead:
                    "create the view as SELECT of columns over a join, or sample what you read"
                        .to_owned(),
            });
        };
        factorised.draw(
            &*self.tree,
            self.schema(),
            (rows, seed),
            (dictionary, meter),
        )
    }

    /// A stream of the rows that the view has now. O(1) for a factorised view, else O(rows).
    ///
    /// # Errors
    /// As `result`.
    pub fn stream(&self, dictionary: &Dictionary) -> Result<RowStream> {
        Ok(RowStream(match &self.factorised {
            Some(factorised) => Rest::Place(Box::new(factorised.start())),
            None => Rest::Made(Some(self.result(dictionary)?)),
        }))
    }

    /// Whether a stream can go on: its rows are made, or the view is as it was when it began.
    #[must_use]
    pub fn is_current(&self, stream: &RowStream) -> bool {
        match (&stream.0, &self.factorised) {
            (Rest::Made(_), _) => true,
            (Rest::Place(place), Some(factorised)) => factorised.is_current(place),
            (Rest::Place(_), None) => false,
        }
    }

    /// The next rows of a stream that is current; `None` behind the last.
    ///
    /// # Errors
    /// As `result`.
    pub fn next(
        &self,
        stream: &mut RowStream,
        dictionary: &Dictionary,
    ) -> Result<Option<RecordBatch>> {
        match (&mut stream.0, &self.factorised) {
            (Rest::Made(batch), _) => Ok(batch.take()),
            (Rest::Place(place), Some(factorised)) => {
                factorised.next(&*self.tree, place, self.schema(), dictionary)
            }
            (Rest::Place(_), None) => Ok(None),
        }
    }

    /// One more who follows the changes. What it is given first is the whole view as it is at that
    /// moment; or, `from_now`, what moves from here on.
    pub fn follow(&mut self, from_now: bool) -> Follower {
        if let Some(factorised) = &mut self.factorised {
            return match from_now {
                true => factorised.join_here(&self.plan, &mut *self.tree),
                false => factorised.join(),
            };
        }
        match self.tree.result().filter(|_| from_now) {
            Some(result) => {
                let empty = || ChangeLog::new(result, &self.beside);
                self.followers.join_here(empty)
            }
            None => self.followers.join(),
        }
    }

    /// What moved since a follower of this view was last told to have been given it: old rows with
    /// multiplicity -1, new ones with +1; of a join, each row with how much its multiplicity moved.
    /// Nothing is forgotten: see [`advance`](Self::advance). O(groups touched since), or O(rows moved
    /// since) of a join.
    ///
    /// # Errors
    /// As `result`.
    pub fn changes(&self, follower: &Follower, dictionary: &Dictionary) -> Result<RecordBatch> {
        let assembler = self.assembler(dictionary);
        if let Some(factorised) = &self.factorised {
            return match factorised.changes(follower)? {
                Some((rows, multiplicities)) => assembler.changes(rows, multiplicities),
                None => assembler.with_ones(&self.result(dictionary)?),
            };
        }
        let Some(result) = self.tree.result() else {
            return assembler.with_ones(&self.result(dictionary)?);
        };
        let (mut rows, mut multiplicities) = match self.followers.since(follower) {
            Some(logs) => ChangeLog::read(&logs, result, &self.beside),
            None => {
                let rows = ResultRows::all(result, &self.beside);
                let ones = vec![1; rows.rows];
                (rows, ones)
            }
        };
        if self.plan.bag == Some(Representation::Listing) {
            (rows, multiplicities) = bag::weighed(&rows, &multiplicities);
        }
        assembler.changes(rows, multiplicities)
    }

    /// A follower was given what `changes` says now: the next it is given is what moves from here on.
    /// O(what it was given).
    pub fn advance(&mut self, follower: &Follower) {
        if let Some(factorised) = &mut self.factorised {
            factorised.advance(follower, &self.plan, &mut *self.tree);
        } else if let Some(result) = self.tree.result() {
            let empty = || ChangeLog::new(result, &self.beside);
            let merge = |into: &mut _, from: &_, later: &[_]| merge(into, from, later, result);
            self.followers.advance(follower, empty, merge);
        }
    }

    /// Drops what nobody is to be told any more; else a commit does.
    pub fn tidy(&mut self) {
        if let Some(factorised) = &mut self.factorised {
            factorised.tidy();
        } else if let Some(result) = self.tree.result() {
            let followers = &mut self.followers;
            followers.tidy(|into, from, later| merge(into, from, later, result));
        }
    }

    /// Whether `changes` may have rows for a follower. O(followers).
    #[must_use]
    pub fn has_moved(&self, follower: &Follower) -> bool {
        let moved = match &self.factorised {
            Some(factorised) => factorised.has_moved(follower),
            None => self.followers.has_moved(follower),
        };
        moved.unwrap_or(true)
    }

    pub(crate) fn assembler<'a>(&'a self, dictionary: &'a Dictionary) -> Assembler<'a> {
        let root = &self.plan.tree.nodes[self.plan.tree.root];
        Assembler {
            plan: &self.plan,
            fields: self.tree.fields(),
            keys: match &self.factorised {
                Some(_) => Cow::Owned(factorised::columns(&self.plan)),
                None => Cow::Borrowed(&root.keys),
            },
            aggregates: self.tree.aggregates(),
            matrix: self.beside.matrix.as_ref(),
            origins: self.beside.origins.len(),
            dictionary,
        }
    }

    /// A row for each group.
    pub(crate) fn grouped(&self) -> ResultRows {
        let all = |result| ResultRows::all(result, &self.beside);
        self.tree.result().map(all).unwrap_or_default()
    }
}

/// Makes one log of two, the second beginning where the first ends; `later` are those behind.
fn merge(
    into: &mut ChangeLog,
    from: &ChangeLog,
    later: &[(u64, ChangeLog)],
    result: &Part,
) -> bool {
    into.absorb(from, later.iter().map(|(_, log)| log), result);
    true
}
