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

use ringview_core::{Batch, Column, Dictionary, Encoder, Field, Meter, Result, Schema, Type};
use ringview_query::{OutputKind, PlanOutput, Representation};
use ringview_relation::{Change, Part};
use ringview_view::answer::followers::Follower;

use crate::cells::{Cells, retain};
use crate::overflow;
use crate::plan::Plan;
use crate::result::ResultRows;
use crate::view_tree::ViewTree;

/// Slots of a part, or rows of a join, that are handed out at a time.
const BLOCK: usize = 1 << 16;

/// What of a result other views read.
#[derive(Debug)]
pub(crate) struct Feed {
    /// Which columns, of those that can be read.
    needed: Vec<bool>,
    /// Of a factorised join: where its log stands for them, at the last commit.
    place: Option<Follower>,
}

/// Rows with the slots of their keys.
struct Side {
    slots: Vec<u32>,
    batch: Batch,
}

/// The columns of a result that can be read as columns of a table, in their order.
fn readable(plan: &Plan) -> impl Iterator<Item = &PlanOutput> {
    let outputs = plan.outputs.iter();
    outputs.filter(|output| output.kind != OutputKind::Cofactor)
}

impl ViewTree {
    /// Says which columns of the result other views read, of those that can be read; `None` where no
    /// view does. Between transactions.
    pub fn feed(&mut self, needed: Option<&[bool]>) {
        let Some(needed) = needed else {
            if self.feed.take().is_some() {
                self.tidy();
            }
            return;
        };
        let place = match (self.feed.take(), &mut self.factorised) {
            (Some(feed), _) => feed.place,
            (None, Some(factorised)) => Some(factorised.join_here(&self.plan, &mut *self.tree)),
            (None, None) => None,
        };
        let needed = needed.to_vec();
        self.feed = Some(Feed { needed, place });
    }

    /// Behind a commit: what moved was told.
    pub(crate) fn told(&mut self) {
        if let (Some(feed), Some(factorised)) = (&self.feed, &mut self.factorised)
            && let Some(place) = &feed.place
        {
            factorised.advance(place, &self.plan, &mut *self.tree);
        }
    }

    /// What the running transaction moved in the result, once it has settled, in the columns that other
    /// views read: old rows and new ones, with their multiplicities. `dictionary` learns the strings
    /// that are computed. O(groups touched), or O(rows moved) of a join.
    ///
    /// # Errors
    /// `Overflow` for a multiplicity that does not fit, and for too many strings; what the meter says.
    pub fn moved(&self, dictionary: &mut Dictionary, meter: &Meter<'_>) -> Result<Batch> {
        let Some(feed) = &self.feed else {
            return Ok(Batch::new());
        };
        if let Some(factorised) = &self.factorised {
            let (rows, multiplicities) = factorised.running()?;
            return self.weighed(rows, multiplicities, &feed.needed, dictionary);
        }
        let Some(result) = self.tree.result() else {
            return Ok(Batch::new());
        };
        let touched = touched(result);
        meter.work(touched.len() as u64)?;
        if touched.is_empty() {
            return Ok(Batch::new());
        }
        if self.plan.bag == Some(Representation::Listing) {
            let (rows, multiplicities) = listed(result, &touched)?;
            return self.weighed(rows, multiplicities, &feed.needed, dictionary);
        }
        let (slots, rows) = self.before(result, &touched);
        let old = self.side(slots, rows, &feed.needed, dictionary)?;
        let (slots, rows) = self.after(result, &touched, dictionary);
        let new = self.side(slots, rows, &feed.needed, dictionary)?;
        meter.work((old.batch.rows + new.batch.rows) as u64)?;
        Ok(difference(&old, &new))
    }

    /// Some rows of the result as it is, in some of the columns that can be read, from a place on; and
    /// the place behind them, if there may be more. The first place is 0. O(rows handed out).
    ///
    /// # Errors
    /// As `result`.
    pub fn rows_from(
        &self,
        place: u64,
        needed: &[bool],
        dictionary: &mut Dictionary,
        meter: &Meter<'_>,
    ) -> Result<(Batch, Option<u64>)> {
        if self.factorised.is_some() {
            return self.joined_from(place, needed, dictionary, meter);
        }
        let Some(result) = self.tree.result() else {
            return Ok((Batch::new(), None));
        };
        let end = result.slots().min(place as usize + BLOCK);
        let next = (end < result.slots()).then_some(end as u64);
        let slots: Vec<u32> = (place as u32..end as u32)
            .filter(|&slot| result.is_live(slot))
            .collect();
        meter.work(slots.len() as u64)?;
        if self.plan.bag.is_some() {
            let mut rows = ResultRows::new(result.layout().fields(), 0);
            slots
                .iter()
                .for_each(|&slot| rows.push(result, slot, &[], None));
            let counts = slots.iter().map(|&slot| result.payload(slot)[0] as i64);
            let batch = self.weighed(rows, counts.collect(), needed, dictionary)?;
            return Ok((batch, next));
        }
        let rows = match result.layout().fields() {
            0 => ResultRows::all(result, &self.beside),
            _ => ResultRows::of(result, &slots, &self.beside),
        };
        let slots = vec![0; rows.rows];
        let side = self.side(slots, rows, needed, dictionary)?;
        Ok((side.batch, next))
    }

    /// The same of a factorised join.
    fn joined_from(
        &self,
        place: u64,
        needed: &[bool],
        dictionary: &mut Dictionary,
        meter: &Meter<'_>,
    ) -> Result<(Batch, Option<u64>)> {
        let all = self.len(dictionary)? as u64;
        let end = all.min(place + BLOCK as u64);
        let rows = self.slice(place, end, dictionary, meter)?;
        let field = |output: &PlanOutput| Field::new(&output.name, output.ty.clone(), true);
        let schema = Schema::new(readable(&self.plan).map(field).collect())?;
        let mut batch = Batch::new();
        let mut encoder = Encoder::new("a join", &schema);
        encoder.encode(&rows, 0, needed, dictionary, None, &mut batch)?;
        Ok((batch, (end < all).then_some(end)))
    }

    /// The rows of touched keys as they were, with the slots of those that were there.
    fn before(&self, result: &Part, touched: &[Touched<'_>]) -> (Vec<u32>, ResultRows) {
        let fields = result.layout().fields();
        let zero = vec![0; result.stride()];
        let mut rows = ResultRows::new(fields, result.stride());
        let mut slots = Vec::new();
        for &(slot, was) in touched {
            // An aggregate without GROUP BY has a row even over nothing.
            if let Some(payload) = was.or((fields == 0).then_some(&zero[..])) {
                rows.push(result, slot, payload, None);
                slots.push(slot);
            }
        }
        let further = self.beside.before(&rows.columns, rows.rows);
        rows.append(result.stride(), &further);
        (slots, rows)
    }

    /// The rows of touched keys as they will be, with the slots of those that will be there.
    fn after(
        &self,
        result: &Part,
        touched: &[Touched<'_>],
        dictionary: &Dictionary,
    ) -> (Vec<u32>, ResultRows) {
        let fields = result.layout().fields();
        let zero = vec![0; result.stride()];
        let mut rows = ResultRows::new(fields, result.stride());
        let mut slots = Vec::new();
        for &(slot, _) in touched {
            let there = result.is_live(slot) && result.payload(slot)[0] != 0;
            let payload = there.then(|| result.payload(slot));
            if let Some(payload) = payload.or((fields == 0).then_some(&zero[..])) {
                rows.push(result, slot, payload, None);
                slots.push(slot);
            }
        }
        let further = self.beside.settling(&rows.columns, rows.rows, dictionary);
        rows.append(result.stride(), &further);
        (slots, rows)
    }

    /// Rows encoded, without those that HAVING leaves out.
    fn side(
        &self,
        mut slots: Vec<u32>,
        mut rows: ResultRows,
        needed: &[bool],
        dictionary: &mut Dictionary,
    ) -> Result<Side> {
        let assembler = self.assembler(dictionary);
        if let Some(kept) = assembler.kept(&rows)? {
            rows.retain(&kept);
            retain(&mut slots, &kept);
        }
        let outputs: Vec<(&PlanOutput, bool)> =
            readable(&self.plan).zip(needed.iter().copied()).collect();
        let wanted = outputs.iter().filter(|(_, needed)| *needed);
        let cells = assembler.columns(&rows, wanted.map(|(output, _)| *output))?;
        let mut cells = cells.into_iter();
        let mut columns = Vec::with_capacity(outputs.len());
        for (output, needed) in outputs {
            let own = needed.then(|| cells.next()).flatten();
            let own = own.map(|cells| encoded(cells, &output.ty, dictionary));
            columns.push(own.transpose()?);
        }
        let batch = Batch {
            rows: rows.rows,
            columns,
            multiplicity: None,
        };
        Ok(Side { slots, batch })
    }

    /// Rows of a join, with their multiplicities.
    fn weighed(
        &self,
        rows: ResultRows,
        multiplicities: Vec<i64>,
        needed: &[bool],
        dictionary: &mut Dictionary,
    ) -> Result<Batch> {
        let side = self.side(vec![0; rows.rows], rows, needed, dictionary)?;
        Ok(Batch {
            multiplicity: Some(multiplicities),
            ..side.batch
        })
    }
}

/// A slot that the running transaction touched, and what it held before, if it did.
type Touched<'a> = (u32, Option<&'a [u64]>);

/// By slot, each once.
fn touched(result: &Part) -> Vec<Touched<'_>> {
    let change = |change| match change {
        Change::New(slot) => (slot, None),
        Change::Was(slot, payload) => (slot, Some(payload)),
    };
    let mut touched: Vec<Touched<'_>> = result.changes().map(change).collect();
    // The first change of a slot tells what was there before.
    touched.sort_by_key(|&(slot, _)| slot);
    touched.dedup_by_key(|&mut (slot, _)| slot);
    touched
}

/// The rows of a listing whose multiplicity moved, and by how much.
fn listed(result: &Part, touched: &[Touched<'_>]) -> Result<(ResultRows, Vec<i64>)> {
    let mut rows = ResultRows::new(result.layout().fields(), 0);
    let mut multiplicities = Vec::new();
    for &(slot, was) in touched {
        let now = match result.is_live(slot) {
            true => result.payload(slot)[0] as i64,
            false => 0,
        };
        let before = was.map_or(0, |payload| payload[0] as i64);
        let moved = now.checked_sub(before);
        let moved = moved.ok_or_else(|| overflow("a multiplicity of a row".to_owned()))?;
        if moved != 0 {
            rows.push(result, slot, &[], None);
            multiplicities.push(moved);
        }
    }
    Ok((rows, multiplicities))
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
fn encoded(cells: Cells, ty: &Type, dictionary: &mut Dictionary) -> Result<Column> {
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
