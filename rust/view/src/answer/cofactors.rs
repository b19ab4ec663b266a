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
use ringview_ring::{Expansion, Number};

use super::categories;
use super::cells::Cells;
use super::payload_layout::FeatureColumns;
use super::rows::ResultRows;

/// The metadata key under which the names of the features travel, as a JSON list.
const NAMES: &str = "ringview.cofactor";
/// And the one for the columns by which the view groups.
const GROUPS: &str = "ringview.groups";

/// Means of more than this are not counted from: their squares would leave the range of doubles.
const LARGEST: f64 = 1e140;

/// Payloads as lists: sums feature by feature, products as an upper triangle row by row.
#[derive(Default)]
struct Lists {
    sums: Vec<f64>,
    products: Vec<f64>,
}

impl Lists {
    /// Appends a payload; `at` is the position of each feature in it.
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

    /// The column of a COFACTOR; `at` are the positions of the payload and its origins in a row.
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

    /// The same where the payload is kept as sums: `at` are the words of the sum of each feature, then of the sums of
    /// products, each an expansion; `ends` is the range of origins and, behind them, possible reaches. Origins are
    /// their means, so that no digit is lost.
    pub(crate) fn column_of_moments(
        &self,
        rows: &ResultRows,
        (at, ends): (&[usize], Range<usize>),
        dictionary: &Dictionary,
    ) -> Result<Cells> {
        let m = self.order.len();
        let mut shifted = ResultRows::new(0, self.shape().words() + 2 * m);
        shifted.rows = rows.rows;
        shifted.tallies.clone_from(&rows.tallies);
        for row in rows.payloads() {
            let moments: Vec<Expansion> = at.iter().map(|&at| Expansion::load(row, at)).collect();
            let (sums, products) = moments.split_at(m);
            let count = row[0] as i64;
            let squares = |i: usize| products[i * m - (i * i - i) / 2];
            let origin = |i: usize| origin_of(count as f64, sums[i], squares(i));
            let origins: Vec<f64> = (0..m).map(origin).collect();
            let words = &mut shifted.payloads;
            words.push(row[0]);
            let rows = Expansion::from(count);
            let sum = |(&sum, &origin)| centred(sum, rows, origin).value().to_bits();
            words.extend(sums.iter().zip(&origins).map(sum));
            let mut product = products.iter();
            for i in 0..m {
                for (j, product) in (i..m).zip(&mut product) {
                    // Q - o s' - s o' + n o o' = Q - s o' - o (s' - n o')
                    let rest = centred(sums[j], rows, origins[j]).scaled(origins[i]);
                    let product = product.difference(sums[i].scaled(origins[j]));
                    words.push(product.difference(rest).value().to_bits());
                }
            }
            words.extend(origins.iter().map(|origin| origin.to_bits()));
            match row.get(ends.clone()) {
                Some([]) | None => words.extend(std::iter::repeat_n(0, m)),
                Some(ends) => words.extend(&ends[m..]),
            }
        }
        let words = self.shape().words();
        self.column(&shifted, (0..words, words..words + 2 * m), dictionary)
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

/// Best origin for the values of a feature, by their sum and the sum of their squares: their mean, or the whole number
/// beside it if that is as good, so that whole numbers stay whole.
fn origin_of(count: f64, sum: Expansion, squares: Expansion) -> f64 {
    let mean = sum.value() / count;
    // No number where there are no rows.
    if mean.is_nan() || mean.abs() > LARGEST {
        return 0.0;
    }
    let variance = squares.difference(sum.scaled(mean)).value() / count;
    let away = mean - mean.round();
    match away * away <= 64.0 * variance {
        true => mean.round(),
        false => mean,
    }
}

/// A sum over so many rows, each counted from an origin.
fn centred(sum: Expansion, rows: Expansion, origin: f64) -> Expansion {
    sum.difference(rows.scaled(origin))
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
