//! A sample of a join as a view of the database.
//!
//! Invariant: its rows are results of the query over the rows of its tables, a row with its multiplicity
//! being that many; what the sample promises, see `sample`. What a filter of one table leaves out never
//! reaches the index. Cost: that of the sample, and O(columns) a row; the record of all results is kept
//! from the start, so that rows can be drawn from the whole join.
//!
//! | file | holds |
//! |---|---|
//! | `plan` | [`Samples`]: what queries can be sampled |
//! | `shape` | which words are kept of a row, and where the columns of the sample lie in them |
//! | `rows` | rows of tables come and go |
//! | `condition` | conditions across tables: which results count |
//! | `answer`, `weights` | rows as they are read, and drawn, with weights too |
//! | `size` | how many results there are, exactly or between bounds |
//! | `state` | a sample as bytes, to go on from |
//! | `log` | what moved since somebody looked |

mod answer;
mod condition;
mod log;
mod plan;
mod rows;
mod shape;
mod size;
mod state;
mod weights;

use arrow_array::RecordBatch;
use ringview_core::{Batch, Budget, Dictionary, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_explain::Explanation;
use ringview_query::nested::Where;
use ringview_view::answer::followers::Followers;
use ringview_view::read::Selection;
use ringview_view::{Answer, Follower, RowDelta, View};

use crate::{Place, QuerySample, Relations};
use condition::{Chosen, Condition, Words};
use log::Moved;
pub use plan::Samples;
use shape::Shape;
pub use size::JoinSize;

/// A sample that a database keeps.
#[derive(Debug)]
pub struct SampleView {
    shape: Shape,
    sample: QuerySample<Chosen>,
    /// Which results count, as the sample has it.
    chosen: Chosen,
    /// Where the words of a row are in results.
    places: Vec<Place>,
    /// What it says of itself, as far as that does not move.
    told: Explanation,
    followers: Followers<Moved>,
    /// Which columns other views read.
    feed: Option<Vec<bool>>,
    selection: Selection,
    /// The rows at hand, a word a column.
    columns: Vec<Vec<u64>>,
    /// Those that come, one after the other.
    rows: Vec<u64>,
}

impl SampleView {
    fn new(
        (shape, condition): (Shape, Option<Where>),
        relations: Relations,
        size: (u64, u64),
        told: Explanation,
    ) -> Result<SampleView> {
        let chosen = match condition {
            None => Chosen::All,
            Some(condition) => Chosen::Where(Box::new(placed(condition, &shape, &relations))),
        };
        let mut sample = QuerySample::of(relations, size, chosen.clone())?;
        sample.sample_mut().count_all()?;
        let places = shape.words.iter();
        Ok(SampleView {
            chosen,
            places: places.map(|&(of, word)| sample.place(of, word)).collect(),
            shape,
            sample,
            told,
            followers: Followers::default(),
            feed: None,
            selection: Selection::default(),
            columns: Vec::new(),
            rows: Vec::new(),
        })
    }

    /// The words of a result.
    fn words(&self, result: &[u32]) -> Vec<u64> {
        let places = self.places.iter();
        places
            .map(|place| self.sample.word(result, *place))
            .collect()
    }

    /// Those of all results that are held.
    fn held(&self) -> Vec<Vec<u64>> {
        self.sample
            .sample()
            .results()
            .map(|result| self.words(result))
            .collect()
    }

    /// What the running transaction moves.
    fn moving(&self) -> Moved {
        let mut moved = Moved::default();
        let (old, new) = self.sample.sample().moved();
        old.iter()
            .for_each(|result| moved.add(&self.words(result), -1));
        new.iter()
            .for_each(|result| moved.add(&self.words(result), 1));
        moved
    }

    /// What moved since a follower looked; all rows where it has not.
    fn since(&self, follower: &Follower) -> Moved {
        let mut moved = Moved::default();
        match self.followers.since(follower) {
            Some(parts) => parts.into_iter().for_each(|part| moved.add_all(part)),
            None => self.held().iter().for_each(|row| moved.add(row, 1)),
        }
        moved
    }

    fn tidy_log(&mut self) {
        self.followers.tidy(merged);
    }
}

/// A condition that finds what it reads in the rows of the acyclic join.
fn placed(condition: Where, shape: &Shape, relations: &Relations) -> Condition {
    let word = |(relation, word): (usize, usize)| {
        let place = relations.place(relation, word);
        // What a condition reads is carried.
        (place.atom(), place.word().unwrap_or_default())
    };
    let columns = shape.columns.iter().map(|(column, [value, high, null])| {
        let words = Words {
            word: value.map(word).unwrap_or_default(),
            high: high.map(word),
            null: null.map(word),
        };
        (*column, words)
    });
    Condition {
        columns: columns.collect(),
        verdicts: shape.verdicts.iter().map(|&of| word(of)).collect(),
        condition,
    }
}

/// A part of the log takes in the one behind it.
fn merged(into: &mut Moved, from: &Moved, _: &[(u64, Moved)]) -> bool {
    into.add_all(from);
    true
}

impl View for SampleView {
    fn apply(&mut self, rows: RowDelta<'_>, budget: &Budget<'_>) -> Result<()> {
        self.take(&rows, budget)
    }

    fn settle(&mut self, _dictionary: &Dictionary, budget: &Budget<'_>) -> Result<()> {
        self.sample.settle(budget)
    }

    fn commit(&mut self, _dictionary: &Dictionary) {
        if self.followers.open().is_some() {
            let moved = self.moving();
            if let Some(log) = self.followers.open() {
                log.add_all(&moved);
            }
        }
        self.sample.commit();
        if self.followers.lost_one() {
            self.tidy_log();
        }
    }

    fn rollback(&mut self) {
        self.sample.rollback();
    }

    fn answer(&self) -> &dyn Answer {
        self
    }

    fn follow(&mut self, from_now: bool) -> Follower {
        match from_now {
            true => self.followers.join_here(Moved::default),
            false => self.followers.join(),
        }
    }

    fn changes(&self, follower: &Follower, dictionary: &Dictionary) -> Result<RecordBatch> {
        let moved = self.since(follower);
        let (rows, multiplicities): (Vec<Vec<u64>>, Vec<i64>) =
            moved.rows().map(|(row, n)| (row.clone(), n)).unzip();
        let batch = self.shape.batch(&rows, |_| true);
        self.arrow(&batch, Some(multiplicities), dictionary)
    }

    fn advance(&mut self, follower: &Follower) {
        self.followers.advance(follower, Moved::default, merged);
    }

    fn tidy(&mut self) {
        self.tidy_log();
    }

    fn has_moved(&self, follower: &Follower) -> bool {
        let moved = self.followers.has_moved(follower);
        moved.unwrap_or_else(|| !self.sample.sample().is_empty())
    }

    fn feed(&mut self, needed: Option<&[bool]>) {
        self.feed = needed.map(<[bool]>::to_vec);
    }

    fn moved(&mut self, _dictionary: &mut Dictionary, _meter: &Budget<'_>) -> Result<Batch> {
        let Some(needed) = &self.feed else {
            return Ok(Batch::new());
        };
        let moved = self.moving();
        let (rows, multiplicities) = moved.rows().map(|(row, n)| (row.clone(), n)).unzip();
        let rows: Vec<Vec<u64>> = rows;
        Ok(Batch {
            multiplicity: Some(multiplicities),
            ..self.shape.batch(&rows, |at| needed[at])
        })
    }

    fn rows_from(
        &self,
        _place: u64,
        needed: &[bool],
        _dictionary: &mut Dictionary,
        budget: &Budget<'_>,
    ) -> Result<(Batch, Option<u64>)> {
        budget.work(self.sample.sample().len() as u64)?;
        Ok((self.shape.batch(&self.held(), |at| needed[at]), None))
    }

    fn explanation(&self) -> Explanation {
        Explanation {
            size: Some(self.size()),
            bytes: Some(self.memory_usage() as u64),
            ..self.told.clone()
        }
    }

    fn memory_usage(&self) -> usize {
        self.sample.memory_usage() + self.followers.memory_usage()
    }

    fn bytes(&self) -> usize {
        self.memory_usage()
    }

    fn steps(&self) -> u64 {
        let met = self.sample.sample().met();
        self.sample.steps() + met.came + met.dummies
    }

    fn check(&self) {
        self.sample.check();
    }
}

impl SampleView {
    fn size(&self) -> String {
        let sample = self.sample.sample();
        let (law, met) = (sample.law(), sample.met());
        let held = self.sample.sample().len();
        let positions = sample.positions().unwrap_or_default();
        let joined = sample.index().results();
        let share = if positions == 0 {
            1.0
        } else {
            joined as f64 / positions as f64
        };
        let chosen = match self.chosen {
            Chosen::All => String::new(),
            Chosen::Where(_) => {
                format!(" that the condition may choose from ({})", self.join_size())
            }
        };
        format!(
            "{held} of {joined} results held{chosen}, k = {}; {positions} positions, {:.0}% of them results; \
             so far {} results came in, {} died, {} dummies were met",
            law.k(),
            100.0 * share,
            met.came,
            met.died,
            met.dummies
        )
    }
}

impl HoldsStrings for SampleView {
    fn mark_strings(&self, held: &mut LiveIds) {
        for (at, reading) in self.shape.readings.iter().enumerate() {
            if !reading.texts.is_empty() {
                let mark = &mut |word| held.mark(word);
                self.sample.each_word(at, &reading.texts, mark);
            }
        }
        let texts = self.shape.texts();
        for (row, _) in self.followers.segments().flat_map(Moved::rows) {
            texts.iter().for_each(|&word| held.mark(row[word]));
        }
    }

    fn string_words(&self) -> usize {
        let readings = self.shape.readings.iter().enumerate();
        let words = readings.map(|(at, reading)| match reading.texts.len() {
            0 => 0,
            texts => self.sample.rows(at) * texts,
        });
        words.sum()
    }

    fn forget_strings(&mut self, gone: &FreedIds) {
        for reading in &mut self.shape.readings {
            reading.program.forget_strings(gone);
            let verdicts = reading.verdicts.iter_mut();
            verdicts.for_each(|verdict| verdict.forget_strings(gone));
        }
    }
}
