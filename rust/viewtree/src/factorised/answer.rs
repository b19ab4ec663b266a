//! A join that is kept factorised, as an answer and as the form of a view.
//!
//! Invariant: rows are found by their position, in an order that is fixed until the next change. Cost: O(1)
//! for how many there are, O(depth) look-ups for one out of order, constant delay from there on.

use std::borrow::Cow;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ringview_core::{Batch, Budget, Dictionary, Error, LiveIds, Result};
use ringview_relation::Part;
use ringview_view::answer::{Assembler, encoded};
use ringview_view::part::{PartRows, Reading, mark_strings};
use ringview_view::{Answer, Cursor, Follower, Key, RowDelta};

use crate::view_tree::{Form, Kept, ViewTree};

use super::{BLOCK, Factorised, Place, columns};

/// How rows that moved are made into Arrow.
fn assembler<'a>(kept: &'a Kept, dictionary: &'a Dictionary) -> Assembler<'a> {
    Assembler {
        keys: Cow::Owned(columns(&kept.plan)),
        ..kept.rows().assembler(dictionary)
    }
}

impl Form for Factorised {
    const BY_ROW: bool = true;

    fn apply(&mut self, kept: &mut Kept, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        self.apply_to(&mut *kept.tree, rows, budget)
    }

    fn before_commit(&mut self, kept: &Kept, _all_move: bool) {
        self.note_starts(&*kept.tree);
    }

    fn after_commit(&mut self, kept: &mut Kept) {
        self.commit(&mut *kept.tree);
        if let Some(feed) = self.feed.take() {
            self.given(&feed, &kept.plan, &mut *kept.tree);
            self.feed = Some(feed);
        }
    }

    fn rollback(&mut self, kept: &mut Kept) {
        self.undo(&mut *kept.tree);
    }

    fn follow(&mut self, kept: &mut Kept, from_now: bool) -> Follower {
        match from_now {
            true => self.join_here(&kept.plan, &mut *kept.tree),
            false => self.join(),
        }
    }

    fn changes(
        &self,
        kept: &Kept,
        follower: &Follower,
        dictionary: &Dictionary,
    ) -> Result<RecordBatch> {
        let assembler = assembler(kept, dictionary);
        match self.logged(follower)? {
            Some((rows, multiplicities)) => assembler.changes(rows, multiplicities),
            None => {
                let all = (0, self.len(&*kept.tree)?);
                let all = self.slice(
                    &*kept.tree,
                    kept.rows().schema(),
                    all,
                    (dictionary, &Budget::free()),
                )?;
                assembler.with_ones(&all)
            }
        }
    }

    fn advance(&mut self, kept: &mut Kept, follower: &Follower) {
        self.given(follower, &kept.plan, &mut *kept.tree);
    }

    fn tidy(&mut self, _kept: &Kept) {
        self.merge_logs();
    }

    fn has_moved(&self, follower: &Follower) -> bool {
        self.followers.has_moved(follower).unwrap_or(true)
    }

    fn feed(&mut self, kept: &mut Kept, is_read: bool) {
        self.feed = is_read.then(|| self.join_here(&kept.plan, &mut *kept.tree));
        self.merge_logs();
    }

    fn moved(&self, kept: &Kept, needed: &[bool], reading: Reading<'_, '_>) -> Result<Batch> {
        let (rows, multiplicities) = self.running()?;
        let keys = columns(&kept.plan);
        let over = PartRows {
            keys: &keys,
            ..kept.rows()
        };
        over.weighed(needed, (rows, multiplicities), reading)
    }

    fn rows_from(
        &self,
        kept: &Kept,
        place: u64,
        needed: &[bool],
        (dictionary, budget): Reading<'_, '_>,
    ) -> Result<(Batch, Option<u64>)> {
        let all = self.len(&*kept.tree)?;
        let end = all.min(place + BLOCK);
        let schema = kept.rows().schema();
        let rows = self.slice(&*kept.tree, schema, (place, end), (dictionary, budget))?;
        let batch = encoded(&rows, needed, dictionary)?;
        Ok((batch, (end < all).then_some(end)))
    }

    fn size(&self, kept: &Kept) -> String {
        match self.len(&*kept.tree) {
            Ok(rows) => format!("{rows} rows kept factorised"),
            Err(problem) => format!("kept factorised; {problem}"),
        }
    }

    fn mark_strings(&self, kept: &Kept, held: &mut LiveIds) {
        let texts = kept.tree.fields().texts(&columns(&kept.plan));
        self.logs()
            .for_each(|rows| mark_strings(rows, &texts, held));
    }

    fn string_words(&self, kept: &Kept) -> usize {
        let texts = kept.tree.fields().texts(&columns(&kept.plan));
        self.logs().map(Part::len).sum::<usize>() * texts.len()
    }

    fn memory_usage(&self) -> usize {
        self.bytes()
    }

    fn steps(&self) -> u64 {
        self.steps_read()
    }

    fn check(&self, kept: &Kept) {
        self.check_sets(&kept.plan, &*kept.tree);
    }
}

impl Answer for ViewTree<Factorised> {
    fn schema(&self) -> SchemaRef {
        self.kept.rows().schema()
    }

    fn len(&self, _dictionary: &Dictionary) -> Result<u64> {
        self.form.len(&*self.kept.tree)
    }

    fn rows(&self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<RecordBatch> {
        self.slice((0, u64::MAX), dictionary, budget)
    }

    fn slice(
        &self,
        (from, to): (u64, u64),
        dictionary: &Dictionary,
        budget: &Budget<'_>,
    ) -> Result<RecordBatch> {
        let to = to.min(self.form.len(&*self.kept.tree)?);
        let rows = (from.min(to), to);
        let schema = self.kept.rows().schema();
        self.form
            .slice(&*self.kept.tree, schema, rows, (dictionary, budget))
    }

    fn draw(
        &self,
        draws: (u64, u64),
        dictionary: &Dictionary,
        budget: &Budget<'_>,
    ) -> Result<RecordBatch> {
        let schema = self.kept.rows().schema();
        self.form
            .draw(&*self.kept.tree, schema, draws, (dictionary, budget))
    }

    fn cursor(&self, _dictionary: &Dictionary) -> Result<Cursor> {
        Ok(Cursor::at(self.form.start()))
    }

    fn is_current(&self, cursor: &Cursor) -> bool {
        let place = cursor.place::<Place>();
        place.is_some_and(|place| self.form.is_current(place))
    }

    fn next(&self, cursor: &mut Cursor, dictionary: &Dictionary) -> Result<Option<RecordBatch>> {
        let Some(place) = cursor.place_mut::<Place>() else {
            return Ok(None);
        };
        let schema = self.kept.rows().schema();
        self.form.next(&*self.kept.tree, place, schema, dictionary)
    }

    fn rows_where(&self, _key: &Key<'_>, _dictionary: &Dictionary) -> Result<RecordBatch> {
        Err(Error::Unsupported {
            what: "looking for rows of a factorised join".to_owned(),
            why: "no index of it begins with any column".to_owned(),
            instead: "filter the rows as they are streamed".to_owned(),
        })
    }
}
