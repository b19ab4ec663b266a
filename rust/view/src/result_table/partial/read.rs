//! Partials as changes of what they are merged into.
//!
//! Invariant: nothing is added before all of a partial's rows at hand are read and found to be right. Cost:
//! O(bytes), and a look-up a group and value.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use ringview_core::{Batch, Column, Dictionary, Error, Result, Type};
use ringview_query::VarId;
use ringview_relation::{ABSENT, Delta, GatherScratch, KeyScratch, Keys};
use ringview_ring::{Expansion, Number, NumberKind, PayloadRing, SumProduct};

use super::super::{Grouped, SumGroups};
use super::bytes::{Reader, refused};
use super::layout::PartialLayout;
use super::merged::Merged;
use super::values::ValueKeys;
use crate::fields::Aspect;

/// A change of some relations, on its way in.
#[derive(Debug)]
struct Change {
    groups: Delta,
    values: Vec<Delta>,
}

impl Merged {
    /// Adds rows of a partial, the first of which is row `first` of it. `trusting` takes counts below 0.
    ///
    /// # Errors
    /// What the encoder refuses in names, types and values; `Value` for payloads that are none of this query, or
    /// not as they were written, and for counts below 0; `Unsupported` for a second part of a group that is
    /// taken whole; `Overflow`. The view must then be rolled back.
    pub fn merge(
        &mut self,
        rows: &RecordBatch,
        (first, trusting): (usize, bool),
        dictionary: &mut Dictionary,
    ) -> Result<()> {
        self.steps += rows.num_rows() as u64;
        let mut change = match &self.layout {
            Some(_) => self.read_groups(rows, first, dictionary)?,
            None => self.read_rows(rows, first, dictionary)?,
        };
        if !trusting {
            let stride = SumProduct::stride(self.groups.groups.shape());
            check_counts(&change.groups, stride, first)?;
            for (sums, delta) in self.values.maintainers().zip(&change.values) {
                check_counts(delta, SumProduct::stride(sums.groups.shape()), first)?;
            }
        }
        if self.groups.query.is_nested() {
            self.check_whole(&change.groups)?;
        }
        add(&mut self.groups, &mut change.groups, &mut self.scratch)?;
        for (sums, delta) in self.values.maintainers_mut().zip(&mut change.values) {
            add(sums, delta, &mut self.scratch)?;
        }
        Ok(())
    }

    /// Rows of a join with their multiplicities.
    fn read_rows(
        &mut self,
        rows: &RecordBatch,
        first: usize,
        dictionary: &mut Dictionary,
    ) -> Result<Change> {
        let mut batch = Batch::new();
        let needed = vec![true; self.groups.query.variables.len()];
        let multiplicity = self.multiplicity.as_deref();
        self.encoder
            .encode(rows, first, &needed, dictionary, multiplicity, &mut batch)?;
        let mut groups = self.keys_of(&batch, first)?;
        groups.width = SumProduct::stride(self.groups.groups.shape());
        let counts = (0..batch.rows).map(|row| batch.multiplicity(row) as u64);
        groups.payload = counts.collect();
        Ok(Change {
            groups,
            values: Vec::new(),
        })
    }

    fn read_groups(
        &mut self,
        rows: &RecordBatch,
        first: usize,
        dictionary: &mut Dictionary,
    ) -> Result<Change> {
        let Some(layout) = self.layout.take() else {
            unreachable!("groups have a layout")
        };
        let read = self.read_layout(&layout, rows, first, dictionary);
        self.layout = Some(layout);
        read
    }

    fn read_layout(
        &mut self,
        layout: &PartialLayout,
        rows: &RecordBatch,
        first: usize,
        dictionary: &mut Dictionary,
    ) -> Result<Change> {
        let (columns, payloads) = split_payload(layout, rows)?;
        let mut batch = Batch::new();
        let needed = vec![true; layout.columns.len()];
        self.encoder
            .encode(&columns, first, &needed, dictionary, None, &mut batch)?;
        batch.rows = rows.num_rows();
        let mut change = Change {
            groups: self.keys_of(&batch, first)?,
            values: self.keys.iter().map(ValueKeys::nothing).collect(),
        };
        change.groups.width = SumProduct::stride(self.groups.groups.shape());
        let mut values = Vec::new();
        for row in 0..rows.num_rows() {
            let bytes = match payloads.is_null(row) {
                false => payloads.as_binary::<i32>().value(row),
                true => return Err(refused(first + row, "is NULL; every group has one")),
            };
            let mut from = Reader::new(bytes, layout.mark, first + row)?;
            numbers(&layout.numbers, &mut from, &mut change.groups.payload)?;
            for (most, &word) in self.reach.iter_mut().zip(from.words(layout.features)?) {
                // No number is greater than none.
                *most = most.max(f64::from_bits(word).abs());
            }
            let each = self
                .keys
                .iter()
                .zip(&layout.companions)
                .zip(&mut change.values);
            for ((own, layout), delta) in each {
                for _ in 0..from.count()? {
                    values.clear();
                    for ty in &layout.values {
                        values.push(value(ty, &mut from, dictionary)?);
                    }
                    own.push(&change.groups, row, &values, delta);
                    numbers(&layout.numbers, &mut from, &mut delta.payload)?;
                }
            }
            from.end()?;
        }
        Ok(change)
    }

    /// The keys of some groups, without payloads.
    fn keys_of(&self, batch: &Batch, first: usize) -> Result<Delta> {
        let query = &self.groups.query;
        let ids = self.groups.key_fields();
        let mut delta = Delta::with_registers(ids.len());
        let free = query.variables.iter().enumerate();
        let free: Vec<VarId> = free.filter(|(_, v)| v.free).map(|(id, _)| id).collect();
        for (column, id) in delta.columns.iter_mut().zip(ids) {
            let field = self.groups.fields.field(id);
            let at = free.iter().position(|&id| id == field.variable);
            let from = batch.column(at.unwrap_or_default());
            if query.variables[field.variable].ty.is_float() {
                no_nan(
                    from,
                    (batch.rows, first),
                    &query.variables[field.variable].name,
                )?;
            }
            column.extend((0..batch.rows).map(|row| match field.aspect {
                Aspect::Word => from.words[row],
                Aspect::High => from.high(row),
                Aspect::Null => u64::from(from.is_null(row)),
            }));
        }
        delta.rows = batch.rows;
        Ok(delta)
    }

    /// Whether no group of the delta is there already, or is repeated.
    fn check_whole(&mut self, delta: &Delta) -> Result<()> {
        let table = self.groups.grouped().table;
        let stride = delta.width;
        let fields: Vec<usize> = (0..delta.columns.len()).collect();
        let mut slots = Vec::new();
        match fields.is_empty() {
            true => {
                let there = table.iter().next().unwrap_or(ABSENT);
                slots.resize(delta.rows, there);
            }
            false => {
                let keys = Keys {
                    columns: &delta.columns,
                    fields: &fields,
                    rows: delta.rows,
                };
                table.find(keys, &mut self.scratch, &mut slots);
            }
        }
        let mut come: HashSet<Vec<u64>> = HashSet::new();
        for (row, &slot) in slots.iter().enumerate() {
            if delta.payload[row * stride] == 0 {
                continue;
            }
            let key = delta.columns.iter().map(|column| column[row]).collect();
            let there = slot != ABSENT && table.payload(slot)[0] != 0;
            if there || !come.insert(key) {
                return Err(second_partial(fields.is_empty()));
            }
        }
        Ok(())
    }
}

/// Refuses NaN in a column of groups.
fn no_nan(column: &Column, (rows, first): (usize, usize), name: &str) -> Result<()> {
    let nan = |&row: &usize| !column.is_null(row) && f64::from_bits(column.words[row]).is_nan();
    match (0..rows).find(nan) {
        None => Ok(()),
        Some(row) => Err(Error::NotANumber {
            table: "a partial".to_owned(),
            column: name.to_owned(),
            row: (first + row) as u64,
        }),
    }
}

fn second_partial(single: bool) -> Error {
    let (what, instead) = match single {
        true => (
            "a second part of the only group of this view",
            "bring all rows to one part, or group by what tells the subqueries apart",
        ),
        false => (
            "a second part of a group of this view",
            "bring all rows of a group to one part",
        ),
    };
    Error::Unsupported {
        what: format!("merging {what}"),
        why: "its condition compares with subqueries, so the group is no sum of what its parts make of \
              it; nothing was merged"
            .to_owned(),
        instead: instead.to_owned(),
    }
}

/// Refuses counts below 0.
fn check_counts(delta: &Delta, stride: usize, first: usize) -> Result<()> {
    let mut counts = delta.payload.chunks_exact(stride);
    match counts.any(|payload| (payload[0] as i64) < 0) {
        false => Ok(()),
        true => Err(Error::Value {
            place: format!("a partial, from row {first} on"),
            problem: "has a count below 0: its part lost rows that it did not have; delete rows where they \
                      were inserted, or merge into Database(trust_deletes=True); nothing was merged"
                .to_owned(),
        }),
    }
}

/// Adds a change to a relation.
fn add(to: &mut SumGroups, delta: &mut Delta, scratch: &mut KeyScratch) -> Result<()> {
    let keys: Vec<usize> = (0..delta.columns.len()).collect();
    let added = to
        .groups
        .add(delta, &keys, scratch, &mut GatherScratch::default());
    added.map_err(|fault| to.groups.refusal(fault))
}

/// The columns of groups, and payloads, whatever Arrow type of bytes they have.
fn split_payload(
    layout: &PartialLayout,
    rows: &RecordBatch,
) -> Result<(RecordBatch, arrow_array::ArrayRef)> {
    let schema = rows.schema_ref();
    let at = schema.index_of(&layout.payload).map_err(|_| Error::Value {
        place: format!("the column {:?} of a partial", layout.payload),
        problem: "is missing; hand on partials with all their columns".to_owned(),
    })?;
    let column = rows.column(at);
    let payloads = match column.data_type() {
        DataType::Binary => Arc::clone(column),
        DataType::LargeBinary => Arc::new(binary(column.as_binary::<i64>().iter())),
        DataType::BinaryView => Arc::new(binary(column.as_binary_view().iter())),
        found => {
            return Err(Error::Type {
                place: format!("the column {:?} of a partial", layout.payload),
                expected: "binary".to_owned(),
                found: found.to_string(),
            });
        }
    };
    let others: Vec<usize> = (0..schema.fields().len())
        .filter(|&other| other != at)
        .collect();
    let columns = rows.project(&others).map_err(|problem| Error::Value {
        place: "a partial".to_owned(),
        problem: problem.to_string(),
    })?;
    Ok((columns, payloads))
}

fn binary<'a>(values: impl Iterator<Item = Option<&'a [u8]>>) -> arrow_array::BinaryArray {
    values.collect()
}

/// Appends numbers of some kinds.
fn numbers(kinds: &[NumberKind], from: &mut Reader<'_>, out: &mut Vec<u64>) -> Result<()> {
    for kind in kinds {
        let at = out.len();
        out.extend(from.words(kind.words())?);
        if *kind == NumberKind::Real {
            let number = Expansion::load(out, at);
            let parts = out[at..].iter().map(|&word| f64::from_bits(word));
            if parts.clone().any(|part| !part.is_finite()) {
                return Err(from.refused("has a sum that is no number"));
            }
            // The sum normalises the parts of a foreign number: they do not overlap afterwards.
            let whole = parts.fold(Expansion::default(), |sum, part| {
                sum.sum(Expansion::from(part))
            });
            debug_assert_eq!(whole.value(), number.value());
            whole.store(out, at);
        }
    }
    Ok(())
}

/// A value of a type, as its word and for decimals the upper half.
fn value(ty: &Type, from: &mut Reader<'_>, dictionary: &mut Dictionary) -> Result<(u64, u64)> {
    if ty.is_interned() {
        let text = from.text()?;
        return Ok((u64::from(dictionary.intern(text)?), 0));
    }
    let words = from.words(ty.bits().div_ceil(64) as usize)?;
    let (word, high) = (words[0], words.get(1).copied().unwrap_or_default());
    let fits = match ty {
        Type::Bool => word < 2,
        Type::Float32 | Type::Float64 => !f64::from_bits(word).is_nan(),
        Type::Date32 => i32::try_from(word as i64).is_ok(),
        _ => ty.integer_range().is_none_or(|(least, greatest)| {
            let value = if ty.is_signed() {
                i128::from(word as i64)
            } else {
                i128::from(word)
            };
            least <= value && value <= greatest
        }),
    };
    match fits {
        true => Ok((word, high)),
        false => Err(from.refused(&format!("has a value that is no {ty}"))),
    }
}
