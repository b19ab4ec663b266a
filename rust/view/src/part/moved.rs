//! What the running transaction moved in a result, as rows for the views that read it.
//!
//! A view above takes the result as a view takes a table: as a delta of encoded rows, here old rows
//! with multiplicity -1 and new ones with 1, or rows of a join with how much their multiplicity moved.
//! So a view over views is maintained by the delta rule alone, and keeps no copy of what it reads.
//!
//! Invariant: asked behind `settle` and before `commit`, the rows are exactly what tells the result as
//! it will be from the result as it was, in the columns that somebody reads; a row that looks there as
//! it did is none of them. Strings that are computed become ids of the dictionary, to go with the
//! transaction. Cost: O(groups touched), or O(rows moved) of a join; of a factorised join they are
//! logged as they move, and only while somebody reads.

use ringview_core::{Batch, Budget, Column, Dictionary, Error, Result, Type};
use ringview_query::{OutputKind, PlanOutput};
use ringview_relation::{Part, SlotChange};

use super::PartRows;
use crate::answer::values::When;
use crate::answer::{Cells, ResultRows, retain};

/// Slots of a part that are handed out at a time.
const BLOCK: usize = 1 << 16;

/// Rows with the slots of their keys.
struct Side {
    slots: Vec<u32>,
    batch: Batch,
}

/// What is given with a request for rows: a dictionary that learns strings, and who is asked to go on.
pub type Reading<'r, 'm> = (&'r mut Dictionary, &'r Budget<'m>);

impl<'a> PartRows<'a> {
    /// What the running transaction moved among groups: old rows and new ones, in the columns that are
    /// needed of those that can be read.
    ///
    /// # Errors
    /// As [`View::moved`](crate::View::moved).
    pub fn moved(&self, needed: &[bool], (dictionary, budget): Reading<'_, '_>) -> Result<Batch> {
        let touched = touched(self.part);
        budget.work(touched.len() as u64)?;
        if touched.is_empty() {
            return Ok(Batch::new());
        }
        let old = self.side(needed, self.before(&touched), dictionary)?;
        let after = self.after(&touched, dictionary);
        let new = self.side(needed, after, dictionary)?;
        budget.work((old.batch.rows + new.batch.rows) as u64)?;
        Ok(difference(&old, &new))
    }

    /// The same in a listing: rows with how much their multiplicity moved.
    ///
    /// # Errors
    /// As `moved`.
    pub fn listing_moved(
        &self,
        needed: &[bool],
        (dictionary, budget): Reading<'_, '_>,
    ) -> Result<Batch> {
        let touched = touched(self.part);
        budget.work(touched.len() as u64)?;
        let (mut slots, mut multiplicities) = (Vec::new(), Vec::new());
        for &(slot, was) in &touched {
            let now = match self.part.is_live(slot) {
                true => self.part.payload(slot)[0] as i64,
                false => 0,
            };
            let moved = now.checked_sub(was.map_or(0, |payload| payload[0] as i64));
            let moved = moved.ok_or_else(|| Error::Overflow {
                place: "a multiplicity among the changes".to_owned(),
            })?;
            if moved != 0 {
                slots.push(slot);
                multiplicities.push(moved);
            }
        }
        let rows = ResultRows::keys_at(self.part, &slots);
        self.weighed(needed, (rows, multiplicities), (dictionary, budget))
    }

    /// Groups from a slot on, and the place behind them if there may be more.
    ///
    /// # Errors
    /// As [`Answer::rows`](crate::Answer::rows).
    pub fn rows_from(
        &self,
        place: u64,
        needed: &[bool],
        (dictionary, budget): Reading<'_, '_>,
    ) -> Result<(Batch, Option<u64>)> {
        let (slots, next) = slots_from(self.part, place);
        budget.work(slots.len() as u64)?;
        let rows = match self.part.layout().fields() {
            0 => self.all(),
            _ => ResultRows::of(self.part, &slots, self.further),
        };
        let side = self.side(needed, (vec![0; rows.rows], rows), dictionary)?;
        Ok((side.batch, next))
    }

    /// Rows of a listing from a slot on, and the place behind them if there may be more.
    ///
    /// # Errors
    /// As `rows_from`.
    pub fn listing_from(
        &self,
        place: u64,
        needed: &[bool],
        reading: Reading<'_, '_>,
    ) -> Result<(Batch, Option<u64>)> {
        let (slots, next) = slots_from(self.part, place);
        let counts = slots.iter().map(|&slot| self.part.payload(slot)[0] as i64);
        let rows = (ResultRows::keys_at(self.part, &slots), counts.collect());
        Ok((self.weighed(needed, rows, reading)?, next))
    }

    /// Rows of a join over the variables of the keys, wherever they are from, with their multiplicities.
    ///
    /// # Errors
    /// As `rows_from`.
    pub fn weighed(
        &self,
        needed: &[bool],
        (rows, multiplicities): (ResultRows, Vec<i64>),
        (dictionary, budget): Reading<'_, '_>,
    ) -> Result<Batch> {
        budget.work(rows.rows as u64)?;
        let side = self.side(needed, (vec![0; rows.rows], rows), dictionary)?;
        Ok(Batch {
            multiplicity: Some(multiplicities),
            ..side.batch
        })
    }

    /// The columns of a result that can be read as columns of a table, in their order.
    fn readable(&self) -> impl Iterator<Item = &'a PlanOutput> {
        let outputs = self.outputs.columns.iter();
        outputs.filter(|output| output.kind != OutputKind::Cofactor)
    }

    /// The rows of touched keys as they were, with the slots of those that were there.
    fn before(&self, touched: &[Touched<'_>]) -> (Vec<u32>, ResultRows) {
        let (slots, mut rows) = self.present(touched.iter().copied());
        rows.fill(self.further, When::Before);
        (slots, rows)
    }

    /// The rows of touched keys as they will be, with the slots of those that will be there.
    fn after(&self, touched: &[Touched<'_>], dictionary: &Dictionary) -> (Vec<u32>, ResultRows) {
        let part = self.part;
        let there = |slot| part.is_live(slot) && part.payload(slot)[0] != 0;
        let will = |&(slot, _): &Touched<'_>| (slot, there(slot).then(|| part.payload(slot)));
        let (slots, mut rows) = self.present(touched.iter().map(will));
        rows.fill(self.further, When::Settling(dictionary));
        (slots, rows)
    }

    /// The rows of slots that have a payload. An aggregate without GROUP BY has a row even over nothing.
    fn present<'p>(&self, payloads: impl Iterator<Item = Touched<'p>>) -> (Vec<u32>, ResultRows) {
        let fields = self.part.layout().fields();
        let zero = vec![0; self.part.stride()];
        let mut rows = ResultRows::new(fields, self.further.members().width());
        let mut slots = Vec::new();
        for (slot, payload) in payloads {
            if let Some(payload) = payload.or((fields == 0).then_some(&zero[..])) {
                rows.push(self.part, slot, payload, None);
                slots.push(slot);
            }
        }
        (slots, rows)
    }

    /// Rows encoded, without those that HAVING leaves out.
    fn side(
        &self,
        needed: &[bool],
        (mut slots, mut rows): (Vec<u32>, ResultRows),
        dictionary: &mut Dictionary,
    ) -> Result<Side> {
        let outputs = || self.readable().zip(needed.iter().copied());
        let cells = {
            let assembler = self.assembler(dictionary);
            if let Some(kept) = assembler.kept(&rows)? {
                rows.retain(&kept);
                retain(&mut slots, &kept);
            }
            let wanted = outputs().filter(|(_, needed)| *needed);
            let wanted: Vec<&PlanOutput> = wanted.map(|(output, _)| output).collect();
            assembler.columns(&rows, wanted.iter().copied())?
        };
        let mut cells = cells.into_iter();
        let mut columns = Vec::with_capacity(needed.len());
        for (output, needed) in outputs() {
            let own = needed.then(|| cells.next()).flatten();
            let own = own.map(|cells| column(cells, &output.ty, dictionary));
            columns.push(own.transpose()?);
        }
        let batch = Batch {
            rows: rows.rows,
            columns,
            multiplicity: None,
        };
        Ok(Side { slots, batch })
    }
}

/// The live slots from a place on, and the place behind them if there may be more.
fn slots_from(result: &Part, place: u64) -> (Vec<u32>, Option<u64>) {
    let end = result.slots().min(place as usize + BLOCK);
    let slots = (place as u32..end as u32).filter(|&slot| result.is_live(slot));
    (
        slots.collect(),
        (end < result.slots()).then_some(end as u64),
    )
}

/// A slot that the running transaction touched, and what it held before, if it did.
type Touched<'a> = (u32, Option<&'a [u64]>);

/// By slot, each once.
fn touched(result: &Part) -> Vec<Touched<'_>> {
    let change = |change| match change {
        SlotChange::New(slot) => (slot, None),
        SlotChange::Was(slot, payload) => (slot, Some(payload)),
    };
    let mut touched: Vec<Touched<'_>> = result.changes().map(change).collect();
    // The first change of a slot tells what was there before.
    touched.sort_by_key(|&(slot, _)| slot);
    touched.dedup_by_key(|&mut (slot, _)| slot);
    touched
}

/// Old rows with -1 and new ones with 1; what looks the same at one slot is neither.
fn difference(old: &Side, new: &Side) -> Batch {
    let (mut gone, mut come) = (Vec::new(), Vec::new());
    let (mut at, mut to) = (0, 0);
    while at < old.slots.len() || to < new.slots.len() {
        let (left, right) = (old.slots.get(at), new.slots.get(to));
        match (left, right) {
            (Some(left), Some(right)) if left == right => {
                if !same(&old.batch, at, &new.batch, to) {
                    gone.push(at as u32);
                    come.push(to as u32);
                }
                (at, to) = (at + 1, to + 1);
            }
            (Some(left), right) if right.is_none_or(|right| left < right) => {
                gone.push(at as u32);
                at += 1;
            }
            _ => {
                come.push(to as u32);
                to += 1;
            }
        }
    }
    let mut moved = old.batch.gather(&gone);
    moved.multiplicity = Some(vec![-1; gone.len()]);
    let mut new = new.batch.gather(&come);
    new.multiplicity = Some(vec![1; come.len()]);
    moved.append(&new);
    moved
}

/// Whether two rows have equal values in all columns that are there.
fn same(old: &Batch, at: usize, new: &Batch, to: usize) -> bool {
    let columns = old
        .columns
        .iter()
        .flatten()
        .zip(new.columns.iter().flatten());
    let equal = |(old, new): (&Column, &Column)| {
        old.is_null(at) == new.is_null(to)
            && old.words[at] == new.words[to]
            && old.high(at) == new.high(to)
    };
    columns.into_iter().all(equal)
}

/// A column of a result as a column of rows: NULLs are 0, floats canonical, strings known.
fn column(cells: Cells, ty: &Type, dictionary: &mut Dictionary) -> Result<Column> {
    let (mut words, mut high, valid) = match cells {
        Cells::Words { words, high, valid } => (words, high, valid),
        Cells::Texts(texts) => {
            let word = |text: &Option<String>| match text {
                Some(text) => dictionary.intern(text).map(u64::from),
                None => Ok(0),
            };
            let words = texts.iter().map(word).collect::<Result<Vec<u64>>>()?;
            let valid = texts.iter().map(Option::is_some).collect();
            (words, Vec::new(), Some(valid))
        }
        Cells::Array(_) => unreachable!("a COFACTOR is no column to read"),
    };
    if ty.is_float() {
        for word in &mut words {
            let value = f64::from_bits(*word);
            // Adding 0.0 turns -0.0 into 0.0 and changes nothing else.
            *word = match value.is_nan() {
                true => f64::NAN.to_bits(),
                false => (value + 0.0).to_bits(),
            };
        }
    }
    let valid = valid.filter(|valid| valid.contains(&false));
    for (row, _) in valid
        .iter()
        .flatten()
        .enumerate()
        .filter(|(_, valid)| !**valid)
    {
        words[row] = 0;
        if let Some(high) = high.get_mut(row) {
            *high = 0;
        }
    }
    Ok(Column { words, high, valid })
}
