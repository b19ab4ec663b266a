//! Groups and rows of a view as partials.
//!
//! Invariant: a group that only companions still know, for its rows came and went elsewhere, is told too, with
//! zeros. A degree-m payload is told as counted from zero, in numbers that have the digits for it. Cost:
//! O(groups and values), in batches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use ringview_core::{Budget, Dictionary, Error, Result, Type};
use ringview_query::{Bound, Companion, OutputKind, PlanOutput, VarId};
use ringview_relation::KeyedTable;
use ringview_ring::{Expansion, Number, NumberKind};

use super::super::ResultTable;
use super::bytes::Payload;
use super::layout::{PartialLayout, companions};
use crate::answer::weighed::{row_schema, weighed};
use crate::answer::{PayloadLayout, ResultRows};
use crate::fields::Aspect;

/// Groups in a batch.
const BLOCK: usize = 1 << 14;

/// Bytes of payloads from which on a batch ends.
const LARGE: usize = 1 << 26;

/// The partial of a view of groups, in whose payloads the terms of the query stand at `places`, or as it numbers them:
/// `values` are those of each companion of the query, those of categories behind the others, in parts whose keys are
/// the groups and the values. One batch at least.
///
/// # Errors
/// `Overflow` for a group of more bytes than Arrow can hold; what the budget says.
pub fn write_groups(
    query: &Bound,
    groups: (ResultTable<'_>, Option<&[usize]>),
    values: Vec<ResultTable<'_>>,
    (dictionary, budget): (&Dictionary, &Budget<'_>),
) -> Result<Vec<RecordBatch>> {
    Groups::new(query, groups, values)?.write(dictionary, budget)
}

/// The partial of a view of rows, each as often as its group counts. One batch at least.
///
/// # Errors
/// `Unsupported` for columns that no table could have; what the budget says.
pub fn write_listed(
    rows: ResultTable<'_>,
    (dictionary, budget): (&Dictionary, &Budget<'_>),
) -> Result<Vec<RecordBatch>> {
    let schema = row_schema(&rows.schema())?;
    let slots: Vec<u32> = rows.table.iter().collect();
    let mut batches = Vec::new();
    for slots in blocks(&slots) {
        budget.work(slots.len() as u64)?;
        let counts = slots.iter().map(|&slot| rows.table.payload(slot)[0] as i64);
        let all = ResultRows::of(rows.table, slots, rows.auxiliary);
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

/// Blocks of some slots; of none, one.
fn blocks(slots: &[u32]) -> impl Iterator<Item = &[u32]> {
    let none = slots.is_empty().then_some(slots);
    slots.chunks(BLOCK).chain(none)
}

/// The groups of a view.
struct Groups<'a> {
    layout: PartialLayout,
    groups: ResultTable<'a>,
    /// By term of the query: its number in the payloads; its own where absent.
    places: Option<&'a [usize]>,
    values: Vec<Values<'a>>,
}

/// The values of a companion.
struct Values<'a> {
    rows: ResultTable<'a>,
    /// The slots that hold those of a group, by its key.
    of: BTreeMap<Vec<u64>, Vec<u32>>,
    /// By value: the field of its word, for decimals that of its upper half, and its type.
    fields: Vec<(usize, Option<usize>, Type)>,
}

impl<'a> Values<'a> {
    fn new(companion: &Companion<Bound>, groups: ResultTable<'_>, rows: ResultTable<'a>) -> Self {
        // By field of the group's key, which field of this key holds it.
        let mut places = vec![0; groups.table.layout().fields()];
        for &(outer, inner) in &companion.groups {
            let at = groups.fields.positions(groups.keys, outer);
            let from = rows.fields.positions(rows.keys, inner);
            at.into_iter()
                .zip(from)
                .for_each(|(at, from)| places[at] = from);
        }
        let mut of: BTreeMap<Vec<u64>, Vec<u32>> = BTreeMap::new();
        for slot in rows.table.iter() {
            let key = places.iter().map(|&field| rows.table.field(slot, field));
            of.entry(key.collect()).or_default().push(slot);
        }
        let all = rows.fields.of_all(rows.keys);
        let field = |variable: VarId, aspect| {
            let mut at = rows.fields.positions(rows.keys, variable).into_iter();
            at.find(|&at| rows.fields.field(all[at]).aspect == aspect)
        };
        let value = |value: &ringview_query::CompanionValue| {
            let word = field(value.variable, Aspect::Word).unwrap_or_default();
            (word, field(value.variable, Aspect::High), value.ty.clone())
        };
        Self {
            fields: companion.values.iter().map(value).collect(),
            rows,
            of,
        }
    }

    /// The values of a group, each with its numbers.
    fn write<'d>(
        &self,
        key: &[u64],
        numbers: &[NumberKind],
        out: &mut Payload<'d>,
        dictionary: &'d Dictionary,
    ) {
        let slots = self.of.get(key).map_or(&[][..], Vec::as_slice);
        let table = self.rows.table;
        out.counts.push(slots.len());
        for &slot in slots {
            for (word, high, ty) in &self.fields {
                let word = table.field(slot, *word);
                match ty {
                    ty if ty.is_interned() => out.texts.push(dictionary.text(word as u32)),
                    _ => out.words.push(word),
                }
                out.words.extend(high.map(|high| table.field(slot, high)));
            }
            let payload_layout = self.rows.auxiliary.payload_layout();
            for number in numbers.iter().copied().enumerate() {
                payload_layout.append_number(number, table.payload(slot), &mut out.words);
            }
        }
    }
}

impl<'a> Groups<'a> {
    fn new(
        query: &Bound,
        (groups, places): (ResultTable<'a>, Option<&'a [usize]>),
        values: Vec<ResultTable<'a>>,
    ) -> Result<Self> {
        let companions = companions(query).zip(values);
        Ok(Self {
            layout: PartialLayout::of(query)?,
            values: companions
                .map(|(companion, rows)| Values::new(companion, groups, rows))
                .collect(),
            groups,
            places,
        })
    }

    fn write(&self, dictionary: &Dictionary, budget: &Budget<'_>) -> Result<Vec<RecordBatch>> {
        let table = self.groups.table;
        let slots: Vec<u32> = table.iter().collect();
        let mut batches = Vec::new();
        for slots in blocks(&slots) {
            budget.work(slots.len() as u64)?;
            // Of a view without groups this is its one row, whether it has any.
            let rows = match slots {
                [] => ResultRows::new(
                    table.layout().fields(),
                    self.groups.auxiliary.payload_layout().width(),
                ),
                _ => ResultRows::untallied(table, slots, self.groups.auxiliary),
            };
            self.write_rows(rows, &mut batches, dictionary)?;
        }
        let left = self.left(table);
        if !left.is_empty() || table.layout().fields() == 0 && slots.is_empty() {
            let payload_layout = self.groups.auxiliary.payload_layout();
            let mut rows = ResultRows::new(table.layout().fields(), payload_layout.width());
            rows.rows = left.len().max(usize::from(table.layout().fields() == 0));
            rows.payloads.resize(rows.rows * rows.width, 0);
            for (at, column) in rows.columns.iter_mut().enumerate() {
                column.extend(left.iter().map(|key| key[at]));
            }
            self.write_rows(rows, &mut batches, dictionary)?;
        }
        if batches.len() > 1 {
            batches.retain(|batch| batch.num_rows() > 0);
        }
        Ok(batches)
    }

    /// The keys of groups that only companions know.
    fn left(&self, table: &KeyedTable) -> Vec<Vec<u64>> {
        let all = self.values.iter().flat_map(|values| values.of.keys());
        let mut left: BTreeSet<Vec<u64>> = all.cloned().collect();
        if left.is_empty() {
            return Vec::new();
        }
        for slot in table.iter() {
            let key = (0..table.layout().fields()).map(|field| table.field(slot, field));
            left.remove(&key.collect::<Vec<u64>>());
        }
        left.into_iter().collect()
    }

    /// Batches of some groups.
    fn write_rows(
        &self,
        rows: ResultRows,
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
        for row in 0..rows.rows {
            let payload = &rows.payloads[row * rows.width..][..rows.width];
            let key: Vec<u64> = rows.columns.iter().map(|column| column[row]).collect();
            for (term, &kind) in self.layout.numbers[..self.layout.terms].iter().enumerate() {
                let term = self.places.map_or(term, |places| places[term]);
                payload_layout.append_number((term, kind), payload, &mut out.words);
            }
            if self.layout.features > 0 {
                let reach = from_zero(payload_layout, payload, &mut moments);
                out.words.extend_from_slice(&moments);
                out.words.extend(reach);
            }
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

/// Makes `out` the sums of features, then of products of each two, as they were asked for and counted from
/// zero; how far their origins have moved while sums were rounded.
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
