//! Groups and rows of a view as partials, all of them or as the running transaction changed them.
//!
//! Invariant: a group that only companions hold is written with zeros: its rows were inserted and deleted elsewhere, or
//! its values alone changed. A degree-m payload is written as counted from zero, in numbers that have the digits for
//! it.
//! Cost: O(groups and values that are written), in batches.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use ringview_core::{Budget, Dictionary, Error, Result};
use ringview_query::{Bound, OutputKind, PlanOutput, VarId};
use ringview_ring::{Expansion, Number};

use super::super::ResultTable;
use super::bytes::Payload;
use super::layout::{PartialLayout, companions};
use super::since::{ChangedSlot, Since, difference};
use super::written::Values;
use crate::answer::values::When;
use crate::answer::weighed::{row_schema, weighed};
use crate::answer::{PayloadLayout, ResultRows};

/// Groups in a batch.
const BLOCK: usize = 1 << 14;

/// Bytes of payloads from which on a batch ends.
const LARGE: usize = 1 << 26;

/// The partial of a view of groups, in whose payloads the terms of the query are at `places`, or in the order of the
/// query: `values` are those of each companion of the query, those of categories behind the others, in parts whose keys
/// are the groups and the values. One batch at least.
///
/// # Errors
/// `Overflow` for a group of more bytes than Arrow can hold; what the budget says.
pub fn write_groups(
    query: &Bound,
    groups: (ResultTable<'_>, Option<&[usize]>),
    values: Vec<ResultTable<'_>>,
    since: Since,
    (dictionary, budget): (&Dictionary, &Budget<'_>),
) -> Result<Vec<RecordBatch>> {
    Groups::new(query, groups, values, since)?.write(dictionary, budget)
}

/// The partial of a view of rows, each as often as its group counts. One batch at least.
///
/// # Errors
/// `Unsupported` for columns that no table could have; what the budget says.
pub fn write_listed(
    rows: ResultTable<'_>,
    since: Since,
    (dictionary, budget): (&Dictionary, &Budget<'_>),
) -> Result<Vec<RecordBatch>> {
    let schema = row_schema(&rows.schema())?;
    let count = |payload: Option<&[u64]>| payload.map_or(0, |payload| payload[0] as i64);
    let all = since.slots(rows.table);
    let mut batches = Vec::new();
    for block in blocks(&all) {
        budget.work(block.len() as u64)?;
        let slots: Vec<u32> = block.iter().map(|changed| changed.slot).collect();
        let counts = block.iter();
        let counts = counts.map(|changed| count(changed.now).wrapping_sub(count(changed.was)));
        let all = ResultRows::keys_at(rows.table, &slots);
        let all = rows.assembler(dictionary).batch(all)?;
        batches.push(weighed(&schema, &all, counts.collect())?);
    }
    Ok(batches)
}

fn made(schema: &SchemaRef, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
    RecordBatch::try_new(Arc::clone(schema), columns).map_err(|problem| Error::Value {
        place: "a partial".to_owned(),
        problem: problem.to_string(),
    })
}

/// Blocks of some keys; of none, one.
fn blocks<'t, 'a>(all: &'t [ChangedSlot<'a>]) -> impl Iterator<Item = &'t [ChangedSlot<'a>]> {
    let none = all.is_empty().then_some(all);
    all.chunks(BLOCK).chain(none)
}

/// The groups of a view.
struct Groups<'a> {
    layout: PartialLayout,
    groups: ResultTable<'a>,
    /// By term of the query: its number in the payloads; its own where absent.
    places: Option<&'a [usize]>,
    values: Vec<Values<'a>>,
    since: Since,
}

impl<'a> Groups<'a> {
    fn new(
        query: &Bound,
        (groups, places): (ResultTable<'a>, Option<&'a [usize]>),
        values: Vec<ResultTable<'a>>,
        since: Since,
    ) -> Result<Self> {
        let companions = companions(query).zip(values);
        Ok(Self {
            layout: PartialLayout::of(query)?,
            values: companions
                .map(|(companion, rows)| Values::new(companion, groups, rows, since))
                .collect(),
            groups,
            places,
            since,
        })
    }

    fn write(&self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<Vec<RecordBatch>> {
        let table = self.groups.table;
        let all = self.slots();
        let mut batches = Vec::new();
        for block in blocks(&all) {
            budget.work(block.len() as u64)?;
            let before = block.iter().map(|changed| (changed.slot, changed.was));
            let was = (self.since == Since::LastCommit).then(|| self.rows(before, When::Before));
            let when = match self.since {
                Since::Ever => When::Now,
                Since::LastCommit => When::Settling(dictionary),
            };
            let after = block.iter().map(|changed| (changed.slot, changed.now));
            let now = self.rows(after, when);
            self.write_rows((was, now), &mut batches, dictionary)?;
        }
        let left = self.left(&all);
        // Of a view without groups this is its one row, whether it has any.
        let is_one = self.since == Since::Ever && table.layout().fields() == 0 && all.is_empty();
        if !left.is_empty() || is_one {
            let payload_layout = self.groups.auxiliary.payload_layout();
            let mut rows = ResultRows::new(table.layout().fields(), payload_layout.width());
            rows.rows = left.len().max(usize::from(is_one));
            rows.payloads.resize(rows.rows * rows.width, 0);
            for (at, column) in rows.columns.iter_mut().enumerate() {
                column.extend(left.iter().map(|key| key[at]));
            }
            self.write_rows((None, rows), &mut batches, dictionary)?;
        }
        if batches.len() > 1 {
            batches.retain(|batch| batch.num_rows() > 0);
        }
        Ok(batches)
    }

    /// The groups to be written: of a change, those too whose payload changed beside the table.
    fn slots(&self) -> Vec<ChangedSlot<'a>> {
        let table = self.groups.table;
        if self.since == Since::Ever || self.layout.features == 0 {
            return self.since.slots(table);
        }
        let now = |slot| table.is_live(slot).then(|| table.payload(slot));
        let touched = self.groups.touched().into_iter();
        touched
            .map(|(slot, was)| ChangedSlot {
                slot,
                was,
                now: now(slot),
            })
            .collect()
    }

    /// The rows of slots with these payloads, zeros where one has none.
    fn rows<'p>(
        &self,
        payloads: impl Iterator<Item = (u32, Option<&'p [u64]>)>,
        when: When<'_>,
    ) -> ResultRows {
        let (table, auxiliary) = (self.groups.table, self.groups.auxiliary);
        let fields = table.layout().fields();
        let mut rows = ResultRows::new(fields, auxiliary.payload_layout().width());
        payloads.for_each(|(slot, payload)| rows.push(table, slot, payload.unwrap_or_default()));
        if self.layout.features > 0 && rows.rows > 0 {
            rows.fill(auxiliary, when);
        }
        rows
    }

    /// The keys of groups that only companions hold.
    fn left(&self, written: &[ChangedSlot<'_>]) -> Vec<Vec<u64>> {
        let all = self.values.iter().flat_map(|values| values.of.keys());
        let mut left: BTreeSet<Vec<u64>> = all.cloned().collect();
        if left.is_empty() {
            return Vec::new();
        }
        let table = self.groups.table;
        for &ChangedSlot { slot, .. } in written {
            let key = (0..table.layout().fields()).map(|field| table.field(slot, field));
            left.remove(&key.collect::<Vec<u64>>());
        }
        left.into_iter().collect()
    }

    /// Batches of some groups: what they have more than they had.
    fn write_rows(
        &self,
        (was, rows): (Option<ResultRows>, ResultRows),
        batches: &mut Vec<RecordBatch>,
        dictionary: &Dictionary,
    ) -> Result<()> {
        let schema = self.layout.schema();
        let groups = self.columns(&rows, dictionary)?;
        let payload_layout = self.groups.auxiliary.payload_layout();
        let mut out = Payload::of(self.layout.mark);
        let (mut bytes, mut moments) = (Vec::new(), Vec::new());
        let mut payloads = BinaryBuilder::new();
        let (mut first, mut held) = (0, 0);
        let mut end = |from: usize, to: usize, payloads: &mut BinaryBuilder| -> Result<()> {
            let slice = |column: &ArrayRef| column.slice(from, to - from);
            let mut columns: Vec<ArrayRef> = groups.iter().map(slice).collect();
            columns.push(Arc::new(payloads.finish()));
            batches.push(made(&schema, columns)?);
            Ok(())
        };
        let of = |rows: &'_ ResultRows, row: usize| row * rows.width..(row + 1) * rows.width;
        for row in 0..rows.rows {
            let was = was.as_ref().map(|was| &was.payloads[of(was, row)]);
            let now = &rows.payloads[of(&rows, row)];
            let key: Vec<u64> = rows.columns.iter().map(|column| column[row]).collect();
            let mut reach = Vec::new();
            let numbers = &self.layout.numbers;
            difference(numbers, (was, Some(now)), &mut out.words, |payload, out| {
                for (term, &kind) in numbers[..self.layout.terms].iter().enumerate() {
                    let term = self.places.map_or(term, |places| places[term]);
                    payload_layout.append_number((term, kind), payload, out);
                }
                if self.layout.features > 0 {
                    let reached = from_zero(payload_layout, payload, &mut moments);
                    out.extend_from_slice(&moments);
                    // The reach of the current payload, which is read first.
                    if reach.is_empty() {
                        reach = reached;
                    }
                }
            });
            out.words.extend(reach);
            for (values, layout) in self.values.iter().zip(&self.layout.companions) {
                values.write(&key, &layout.numbers, &mut out, dictionary);
            }
            out.write(&mut bytes)?;
            if i32::try_from(bytes.len()).is_err() {
                return Err(Error::Overflow {
                    place: "the bytes of one group of a partial".to_owned(),
                });
            }
            if held > 0 && held + bytes.len() > LARGE {
                end(first, row, &mut payloads)?;
                (first, held) = (row, 0);
            }
            held += bytes.len();
            payloads.append_value(&bytes);
        }
        end(first, rows.rows, &mut payloads)
    }

    /// The columns of groups.
    fn columns(&self, rows: &ResultRows, dictionary: &Dictionary) -> Result<Vec<ArrayRef>> {
        let column = |(field, &variable): (&ringview_core::Field, &VarId)| PlanOutput {
            name: field.name.clone(),
            ty: field.ty.clone(),
            kind: OutputKind::Group { variable },
        };
        let outputs = self.layout.columns.fields().iter().zip(&self.layout.keys);
        let outputs: Vec<PlanOutput> = outputs.map(column).collect();
        let assembler = self.groups.assembler(dictionary);
        let cells = assembler.columns(rows, outputs.iter())?;
        let cells = cells.iter().zip(&outputs);
        cells
            .map(|(cells, output)| cells.array(&output.ty, dictionary))
            .collect()
    }
}

/// Makes `out` the sums of features, then of products of each two, in the order of the query and counted from zero.
/// Returns the distance that their origins have moved while sums were rounded.
fn from_zero(payload_layout: &PayloadLayout, payload: &[u64], out: &mut Vec<u64>) -> Vec<u64> {
    let Some((words, features)) = payload_layout.features() else {
        unreachable!("a COFACTOR has features")
    };
    let at = features.positions();
    let m = at.len();
    let triangle = |i: usize, j: usize| {
        let (i, j) = (at[i].min(at[j]), at[i].max(at[j]));
        i * m - (i * i - i) / 2 + (j - i)
    };
    let (origins, moments) = (&payload[payload_layout.origins()], payload_layout.moments());
    let plain = &payload[words];
    let real = |word: usize| Expansion::from(f64::from_bits(plain[word]));
    let origin = |feature: usize| f64::from_bits(origins[feature]);
    let count = Expansion::from(plain[0] as i64);
    let sum = |i: usize| match &moments {
        Some(moments) => Expansion::load(payload, moments[at[i]]),
        None => real(1 + at[i]).sum(count.scaled(origin(i))),
    };
    let product = |i: usize, j: usize| match &moments {
        Some(moments) => Expansion::load(payload, moments[m + triangle(i, j)]),
        // Q + o s' + o' (s + c o), s and s' counted from o and o'
        None => real(1 + m + triangle(i, j))
            .sum(real(1 + at[j]).scaled(origin(i)))
            .sum(sum(i).scaled(origin(j))),
    };
    let pairs = (0..m).flat_map(|i| (i..m).map(move |j| (i, j)));
    let all: Vec<Expansion> = (0..m)
        .map(sum)
        .chain(pairs.map(|(i, j)| product(i, j)))
        .collect();
    out.clear();
    out.resize(all.len() * Expansion::WORDS, 0);
    for (at, number) in all.into_iter().enumerate() {
        number.store(out, at * Expansion::WORDS);
    }
    match moments {
        Some(_) if origins.is_empty() => vec![0; m],
        _ => origins[m..].to_vec(),
    }
}
