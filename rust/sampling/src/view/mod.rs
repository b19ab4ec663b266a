//! A sample of a join as a view of the database.
//!
//! Invariant: its rows are results of the query over the rows of its tables, a row with its multiplicity
//! being that many; `sample` has the guarantees of the sample. Rows that fail the filter of
//! their table never reach the index. Cost: that of the sample, and O(columns) a row; the record of all results is kept
//! from the start, so that rows can be drawn from the whole join.
//!
//! | file | holds |
//! |---|---|
//! | `plan` | [`Samples`]: what queries can be sampled |
//! | `shape` | which words are kept of a row, and where the columns of the sample lie in them |
//! | `rows` | inserts and deletes of tables' rows |
//! | `condition` | conditions across tables: which results count |
//! | `answer`, `weights` | rows as they are read, and drawn, with weights too |
//! | `size` | how many results there are, exactly or between bounds |
//! | `state` | a sample as bytes, to resume from |

mod answer;
mod condition;
mod plan;
mod rows;
mod shape;
mod size;
mod state;
mod weights;

use std::collections::BTreeMap;

use ringview_core::{Column, Dictionary, FreedIds, HoldsStrings, LiveIds, Result};
use ringview_explain::Explanation;
use ringview_view::answer::Cells;
use ringview_view::read::Selection;
use ringview_view::{Answer, Context, Delta, RowDelta, View};

use crate::{QuerySample, Relations, WordRef};
use condition::{Filter, ResultFilter, Words};
pub use plan::Samples;
use shape::Shape;
pub use size::JoinSize;

/// A sample that a database keeps.
#[derive(Debug)]
pub struct SampleView {
    shape: Shape,
    sample: QuerySample<ResultFilter>,
    /// The results that count, as in the sample.
    filter: ResultFilter,
    /// The words of a row in results.
    words: Vec<WordRef>,
    /// The constant part of its explanation.
    explanation: Explanation,
    selection: Selection,
    /// Buffers: the selected rows, a word a column.
    columns: Vec<Vec<u64>>,
    /// Rows that are inserted, one after the other.
    rows: Vec<u64>,
}

impl SampleView {
    fn new(
        shape: Shape,
        relations: Relations,
        size: (u64, u64),
        explanation: Explanation,
    ) -> Result<SampleView> {
        let filter = filter(&shape, &relations);
        let mut sample = QuerySample::of(relations, size, filter.clone())?;
        sample.sample_mut().count_all()?;
        let words = shape.words.iter();
        Ok(SampleView {
            filter,
            words: words.map(|&(of, word)| sample.word_ref(of, word)).collect(),
            shape,
            sample,
            explanation,
            selection: Selection::default(),
            columns: Vec::new(),
            rows: Vec::new(),
        })
    }

    /// Number of rows that it holds, if the join has as many.
    pub fn k(&self) -> u64 {
        self.sample.sample().state().k()
    }

    /// The words of a result.
    fn words(&self, result: &[u32]) -> Vec<u64> {
        let words = self.words.iter();
        words.map(|word| self.sample.word(result, *word)).collect()
    }

    /// Those of all results that are held.
    fn results(&self) -> Vec<Vec<u64>> {
        self.sample
            .sample()
            .results()
            .map(|result| self.words(result))
            .collect()
    }

    /// Rows as a delta, in the columns that are wanted.
    fn delta(&self, rows: &[Vec<u64>], multiplicity: Vec<i64>, wanted: &[bool]) -> Delta {
        let batch = self.shape.batch(rows, |at| wanted[at]);
        let cells = |column: Column| Cells::Words {
            words: column.words,
            high: column.high,
            valid: column.valid,
        };
        let columns = batch.columns.into_iter().map(|column| column.map(cells));
        Delta {
            columns: columns.collect(),
            multiplicity,
        }
    }
}

/// Compiles a condition to words of rows of the acyclic join.
fn filter(shape: &Shape, relations: &Relations) -> ResultFilter {
    let Some(condition) = shape.condition.clone() else {
        return ResultFilter::All;
    };
    let word = |(relation, word): (usize, usize)| {
        let place = relations.word_ref(relation, word);
        // Columns that a condition reads are carried.
        (place.atom(), place.word().unwrap_or_default())
    };
    let columns = shape.columns.iter();
    let columns = columns.map(|(column, ty, [value, high, null])| {
        let words = Words {
            ty: ty.clone(),
            word: value.map(word).unwrap_or_default(),
            high: high.map(word),
            null: null.map(word),
        };
        (*column, words)
    });
    ResultFilter::Matching(Box::new(Filter {
        columns: columns.collect(),
        condition,
    }))
}

impl View for SampleView {
    fn apply(&mut self, rows: RowDelta<'_>, cx: &Context<'_, '_>) -> Result<()> {
        self.take(&rows, cx.budget)
    }

    fn prepare(&mut self, cx: &Context<'_, '_>) -> Result<Delta> {
        self.sample.prepare(cx.budget)?;
        let Some(wanted) = cx.wanted else {
            return Ok(Delta::default());
        };
        let (old, new) = self.sample.sample().delta();
        let mut changed: BTreeMap<Vec<u64>, i64> = BTreeMap::new();
        let old = old.iter().map(|result| (result, -1));
        for (result, sign) in old.chain(new.iter().map(|result| (result, 1))) {
            *changed.entry(self.words(result)).or_default() += sign;
        }
        changed.retain(|_, multiplicity| *multiplicity != 0);
        let (rows, multiplicity): (Vec<Vec<u64>>, Vec<i64>) = changed.into_iter().unzip();
        Ok(self.delta(&rows, multiplicity, wanted))
    }

    fn commit(&mut self, _dictionary: &Dictionary) {
        self.sample.commit();
    }

    fn rollback(&mut self) {
        self.sample.rollback();
    }

    fn answer(&self) -> &dyn Answer {
        self
    }

    fn explanation(&self) -> Explanation {
        Explanation {
            size: Some(self.size()),
            bytes: Some(self.memory_usage() as u64),
            ..self.explanation.clone()
        }
    }

    fn memory_usage(&self) -> usize {
        self.sample.memory_usage()
    }

    fn steps(&self) -> u64 {
        let met = self.sample.sample().counters();
        self.sample.steps() + met.admitted + met.dummies
    }

    fn check(&self) {
        self.sample.check();
    }
}

impl SampleView {
    fn size(&self) -> String {
        let sample = self.sample.sample();
        let (state, met) = (sample.state(), sample.counters());
        let held = self.sample.sample().len();
        let positions = sample.positions().unwrap_or_default();
        let joined = sample.index().results();
        let share = if positions == 0 {
            1.0
        } else {
            joined as f64 / positions as f64
        };
        let filter = match self.filter {
            ResultFilter::All => String::new(),
            ResultFilter::Matching(_) => {
                format!(" that the condition filters ({})", self.join_size())
            }
        };
        format!(
            "{held} of {joined} results held{filter}, k = {}; {positions} positions, {:.0}% of them results; \
             so far {} results admitted, {} deleted, {} dummies met",
            state.k(),
            100.0 * share,
            met.admitted,
            met.deleted,
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
