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
//! | `condition` | conditions across tables: which results count |
//! | `answer`, `weights` | rows as they are read, and drawn, with weights too |
//! | `size` | how many results there are, exactly or between bounds |
//! | `state` | a sample as bytes, to go on from |
//! | `log` | what moved since somebody looked |

mod answer;
mod condition;
mod log;
mod plan;
mod shape;
mod size;
mod state;
mod weights;

use arrow_array::RecordBatch;
use ringview_core::{Batch, Dictionary, Error, Gone, Held, HoldsStrings, Meter, Result};
use ringview_explain::Explanation;
use ringview_query::nested::Where;
use ringview_view::answer::followers::Followers;
use ringview_view::read::{AtomProgram, Selection, key_column};
use ringview_view::{Answer, Follower, RowDelta, View};

use crate::{Place, QuerySample, Relations};
use condition::{Chosen, Condition, Words};
use log::Moved;
pub use plan::Samples;
use shape::Shape;
pub use size::JoinSize;

/// So many rows come together, between two looks at the meter.
const TOGETHER: usize = 4096;

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

/// Whether each of the selected rows passes, as words.
fn judge(
    verdict: &mut AtomProgram,
    rows: &RowDelta<'_>,
    selected: &Selection,
    words: &mut Vec<u64>,
) -> Result<()> {
    let mut passing = Selection::default();
    verdict.select(rows.batch, rows.dictionary, &mut passing)?;
    let mut passes = vec![passing.rows().is_none(); rows.batch.rows];
    for &row in passing.rows().unwrap_or_default() {
        passes[row as usize] = true;
    }
    let row = |at: usize| selected.rows().map_or(at, |rows| rows[at] as usize);
    words.clear();
    words.extend((0..selected.len()).map(|at| u64::from(passes[row(at)])));
    Ok(())
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
    fn apply(&mut self, rows: RowDelta<'_>, meter: &Meter<'_>) -> Result<()> {
        let relation = &mut self.shape.readings[rows.atom];
        relation
            .program
            .select(rows.batch, rows.dictionary, &mut self.selection)?;
        self.columns
            .resize_with(self.columns.len().max(relation.width()), Vec::new);
        for (&(column, part), words) in relation.words.iter().zip(&mut self.columns) {
            words.clear();
            key_column(part, rows.batch.column(column), &self.selection, words);
        }
        let width = relation.width();
        let behind = &mut self.columns[relation.words.len()..];
        for (verdict, words) in relation.verdicts.iter_mut().zip(behind) {
            judge(verdict, &rows, &self.selection, words)?;
        }
        // What comes goes first: a row may come and leave in one batch.
        self.come(&rows, width, meter)?;
        for at in 0..self.selection.len() {
            for _ in 0..self.times(&rows, at, -1) {
                meter.work(1)?;
                self.leave(rows.atom, width, at, meter)?;
            }
        }
        Ok(())
    }

    fn settle(&mut self, _dictionary: &Dictionary, meter: &Meter<'_>) -> Result<()> {
        self.sample.settle(meter)
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

    fn moved(&mut self, _dictionary: &mut Dictionary, _meter: &Meter<'_>) -> Result<Batch> {
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
        meter: &Meter<'_>,
    ) -> Result<(Batch, Option<u64>)> {
        meter.work(self.sample.sample().len() as u64)?;
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
    /// How often a selected row comes, or leaves.
    fn times(&self, rows: &RowDelta<'_>, at: usize, direction: i64) -> i64 {
        let row = self.selection.rows().map_or(at, |rows| rows[at] as usize);
        rows.sign.saturating_mul(rows.batch.multiplicity(row)) * direction
    }

    /// The rows that come, so many together that an interrupt is heard.
    fn come(&mut self, rows: &RowDelta<'_>, width: usize, meter: &Meter<'_>) -> Result<()> {
        // Who died is replaced before anybody comes; here it hears an interrupt.
        self.sample.settle(meter)?;
        let mut words = std::mem::take(&mut self.rows);
        words.clear();
        let mut count = 0;
        let mut done = Ok(());
        'rows: for at in 0..self.selection.len() {
            for _ in 0..self.times(rows, at, 1) {
                words.extend(self.columns[..width].iter().map(|column| column[at]));
                count += 1;
                if count == TOGETHER {
                    done = self.bring(rows.atom, &words, count, meter);
                    words.clear();
                    count = 0;
                }
                if done.is_err() {
                    break 'rows;
                }
            }
        }
        let done = done.and_then(|()| self.bring(rows.atom, &words, count, meter));
        self.rows = words;
        done
    }

    fn bring(&mut self, atom: usize, words: &[u64], count: usize, meter: &Meter<'_>) -> Result<()> {
        meter.work(count as u64)?;
        self.sample.insert_all(atom, words, count, meter)
    }

    fn leave(&mut self, atom: usize, width: usize, at: usize, meter: &Meter<'_>) -> Result<()> {
        let words: Vec<u64> = self.columns[..width].iter().map(|c| c[at]).collect();
        if self.sample.delete(atom, &words, meter)? {
            return Ok(());
        }
        let relation = &self.shape.readings[atom];
        Err(Error::Value {
            place: format!(
                "a delete from table {:?} that a sample reads",
                relation.table
            ),
            problem: format!(
                "there is no such row as {}; delete what was inserted",
                relation.alias
            ),
        })
    }

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
    fn mark_strings(&self, held: &mut Held) {
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

    fn forget_strings(&mut self, gone: &Gone) {
        for reading in &mut self.shape.readings {
            reading.program.forget_strings(gone);
            let verdicts = reading.verdicts.iter_mut();
            verdicts.for_each(|verdict| verdict.forget_strings(gone));
        }
    }
}
