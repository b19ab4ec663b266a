//! The column of a COFACTOR as Arrow.
//!
//! A struct of count, sums and products of the columns as they are; behind these, `shifted` has the sums
//! and products of their distances from an origin each, from which statistics are computed: they have
//! the digits that the others have no room for. Then what `categories` adds. Invariant: a row has, beside
//! a degree-m payload, the origins that it is counted from. Cost: O(m^2) a row.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StructArray};
use arrow_schema::{DataType, Field, Fields};
use ringview_core::{Dictionary, Result};
use ringview_query::{OutputKind, PlanOutput};
use ringview_ring::Expansion;

use super::categories;
use super::cells::Cells;
use super::members::FeatureColumns;
use super::rows::ResultRows;

/// The metadata key under which the names of the features travel, as a JSON list.
const NAMES: &str = "ringview.cofactor";
/// And the one for the columns by which the view groups.
const GROUPS: &str = "ringview.groups";

/// Payloads as lists: sums feature by feature, products as an upper triangle row by row.
#[derive(Default)]
struct Lists {
    sums: Vec<f64>,
    products: Vec<f64>,
}

impl Lists {
    /// Appends a payload; `at` says where each feature stands in it.
    fn push(&mut self, payload: &[u64], at: &[usize]) {
        let m = at.len();
        let real = |word: usize| f64::from_bits(payload[word]);
        let product = |i: usize, j: usize| {
            let (i, j) = (at[i].min(at[j]), at[i].max(at[j]));
            real(1 + m + i * m - (i * i - i) / 2 + (j - i))
        };
        self.sums
            .extend(at.iter().map(|&feature| real(1 + feature)));
        for i in 0..m {
            self.products.extend((i..m).map(|j| product(i, j)));
        }
    }
}

impl FeatureColumns {
    /// The Arrow field of a COFACTOR, one of the columns of a result.
    pub(crate) fn field(&self, output: &PlanOutput, columns: &[PlanOutput]) -> Field {
        let is_group = |output: &&PlanOutput| matches!(output.kind, OutputKind::Group { .. });
        let groups = columns.iter().filter(is_group);
        let metadata = [
            (NAMES.to_owned(), json_list(self.names.iter())),
            (
                GROUPS.to_owned(),
                json_list(groups.map(|group| &group.name)),
            ),
        ];
        let numbers = struct_fields(self.names.len());
        let categories = categories::fields(self);
        let fields = numbers.iter().cloned();
        let data = DataType::Struct(fields.chain(categories.into_iter().map(Arc::new)).collect());
        Field::new(&output.name, data, false).with_metadata(metadata.into())
    }

    /// The column of a COFACTOR; `at` says where the payload and its origins stand in a row.
    pub(crate) fn column(
        &self,
        rows: &ResultRows,
        at: (Range<usize>, Range<usize>),
        dictionary: &Dictionary,
    ) -> Result<Cells> {
        let column = self.numbers(rows, (at.0, at.1.clone()))?;
        if self.categories.is_empty() {
            return Ok(Cells::Array(Arc::new(column)));
        }
        categories::column(self, (rows, at.1), column, dictionary).map(Cells::Array)
    }

    /// That of the numeric features.
    fn numbers(
        &self,
        rows: &ResultRows,
        (words, ends): (Range<usize>, Range<usize>),
    ) -> Result<StructArray> {
        let m = self.order.len();
        let (at, shape) = (self.positions(), self.shape());
        let (mut counts, mut origins, mut reach) = (Vec::new(), Vec::new(), Vec::new());
        let (mut plain, mut shifted) = (Lists::default(), Lists::default());
        let (mut payload, mut by, mut scratch) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows.payloads() {
            let (row, ends) = (&row[words.clone()], &row[ends.clone()]);
            let real = |&word: &u64| f64::from_bits(word);
            counts.push(row[0] as i64);
            origins.extend(ends[..m].iter().map(real));
            reach.extend(ends[m..].iter().map(real));
            shifted.push(row, &at);
            payload.clear();
            payload.extend_from_slice(row);
            by.clear();
            let order = self.order.iter();
            by.extend(order.map(|&feature| Expansion::from(real(&ends[feature]))));
            shape.shift(&mut payload, &by, &mut scratch);
            plain.push(&payload, &at);
        }
        let listed = |fields: &Fields, at: usize, values: Vec<f64>| -> Result<ArrayRef> {
            let DataType::FixedSizeList(item, size) = fields[at].data_type() else {
                unreachable!("the lists of the struct")
            };
            categories::lists_of(item, *size, values, rows.rows)
        };
        let distances = shifted_fields(m);
        let columns = vec![
            listed(&distances, 0, origins)?,
            listed(&distances, 1, reach)?,
            listed(&distances, 2, shifted.sums)?,
            listed(&distances, 3, shifted.products)?,
        ];
        let distances = StructArray::new(distances, columns, None);
        let fields = struct_fields(m);
        let columns = vec![
            Arc::new(Int64Array::from(counts)) as ArrayRef,
            listed(&fields, 1, plain.sums)?,
            listed(&fields, 2, plain.products)?,
            Arc::new(distances),
        ];
        Ok(StructArray::new(fields, columns, None))
    }
}

fn list(name: &str, size: usize) -> Field {
    let item = Arc::new(Field::new("item", DataType::Float64, false));
    Field::new(name, DataType::FixedSizeList(item, size as i32), false)
}

fn struct_fields(m: usize) -> Fields {
    Fields::from(vec![
        Field::new("count", DataType::Int64, false),
        list("sums", m),
        list("products", m * (m + 1) / 2),
        Field::new("shifted", DataType::Struct(shifted_fields(m)), false),
    ])
}

fn shifted_fields(m: usize) -> Fields {
    Fields::from(vec![
        list("origin", m),
        list("reach", m),
        list("sums", m),
        list("products", m * (m + 1) / 2),
    ])
}

/// A JSON list of strings.
fn json_list<'a>(texts: impl Iterator<Item = &'a String>) -> String {
    let strings: Vec<String> = texts.map(|text| json_string(text)).collect();
    format!("[{}]", strings.join(", "))
}

/// A JSON string.
fn json_string(text: &str) -> String {
    let mut out = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            control if control < ' ' => out.push_str(&format!("\\u{:04x}", control as u32)),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
