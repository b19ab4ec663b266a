//! The rows of a view: all of them, some, a stream of them, or what moved.
//!
//! Invariant: two reads without a change between them give the same rows in the same order. Cost: of
//! a factorised view, constant delay a row and O(depth) look-ups for one out of order; of any other,
//! O(rows) a read.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ringview_core::{Dictionary, Error, Result};
use ringview_query::Representation;

use crate::bag;
use crate::changes::ChangeLog;
use crate::factorised::{self, Place};
use crate::result::{Assembler, ResultRows};
use crate::view_tree::ViewTree;

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
    /// `Value` for more rows of a join than fit into memory.
    pub fn result(&self, dictionary: &Dictionary) -> Result<RecordBatch> {
        if let Some(factorised) = &self.factorised {
            let all = (0, factorised.len(&*self.tree)?);
            return factorised.slice(&*self.tree, self.schema(), all, dictionary);
        }
        let rows = self.grouped();
        match self.plan.bag {
            Some(_) => self.assembler(dictionary).batch(bag::repeated(&rows)?),
            None => self.assembler(dictionary).batch(rows),
        }
    }

    /// The rows `from .. to`, as far as there are any. Of a factorised view O(depth) look-ups and
    /// then constant delay; of any other O(rows).
    ///
    /// # Errors
    /// As `result`.
    pub fn slice(&self, from: u64, to: u64, dictionary: &Dictionary) -> Result<RecordBatch> {
        if let Some(factorised) = &self.factorised {
            let to = to.min(factorised.len(&*self.tree)?);
            let rows = (from.min(to), to);
            return factorised.slice(&*self.tree, self.schema(), rows, dictionary);
        }
        let all = self.result(dictionary)?;
        let to = usize::try_from(to).map_or(all.num_rows(), |to| to.min(all.num_rows()));
        let from = usize::try_from(from).map_or(to, |from| from.min(to));
        Ok(all.slice(from, to - from))
    }

    /// `rows` rows drawn from the result with equal chances, each independently of the others: a row
    /// may be drawn twice. The same seed draws the same from the same rows. O(depth) look-ups a row.
    ///
    /// # Errors
    /// `Unsupported` unless the view is factorised; `Value` if it has no rows.
    pub fn draw(&self, rows: u64, seed: u64, dictionary: &Dictionary) -> Result<RecordBatch> {
        let Some(factorised) = &self.factorised else {
            return Err(Error::Unsupported {
                what: "drawing rows of this view".to_owned(),
                why: "only the rows of a factorised join are found by their position".to_owned(),
                instead:
                    "create the view as SELECT of columns over a join, or sample what you read"
                        .to_owned(),
            });
        };
        factorised.draw(&*self.tree, self.schema(), (rows, seed), dictionary)
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

    /// What moved since the last call: old rows with multiplicity -1, new ones with +1; of a join,
    /// each row with how much its multiplicity moved. The first call gives the whole result.
    /// O(groups touched since), or O(rows moved since) of a join.
    ///
    /// # Errors
    /// As `result`.
    pub fn changes(&mut self, dictionary: &Dictionary) -> Result<RecordBatch> {
        if self.factorised.is_some() {
            return self.changes_of_join(dictionary);
        }
        let Some(result) = self.tree.result() else {
            return self.result(dictionary);
        };
        let beside = &self.beside;
        let (mut rows, mut multiplicities) = match &mut self.log {
            Some(log) => log.take(result, beside),
            None => {
                let rows = ResultRows::all(result, beside);
                let ones = vec![1; rows.rows];
                self.log = Some(ChangeLog::new(result, beside));
                (rows, ones)
            }
        };
        if self.plan.bag == Some(Representation::Listing) {
            (rows, multiplicities) = bag::weighed(&rows, &multiplicities);
        }
        self.assembler(dictionary).changes(rows, multiplicities)
    }

    fn changes_of_join(&mut self, dictionary: &Dictionary) -> Result<RecordBatch> {
        let begun = match &mut self.factorised {
            Some(factorised) => factorised.changes(&self.plan, &mut *self.tree),
            None => None,
        };
        let assembler = self.assembler(dictionary);
        match begun {
            Some((rows, multiplicities)) => assembler.changes(rows, multiplicities),
            None => assembler.with_ones(&self.result(dictionary)?),
        }
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
    fn grouped(&self) -> ResultRows {
        let all = |result| ResultRows::all(result, &self.beside);
        self.tree.result().map(all).unwrap_or_default()
    }
}
