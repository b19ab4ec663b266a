//! The categorical features of a COFACTOR as Arrow: the tallies of groups.
//!
//! Invariant: within a group the categories of a feature are in order, each with at least one row; the counts of a
//! feature add up to the count of the group, and so do those of a pair of features. The column of the result has,
//! behind count, sums and products, a struct `categories` with a list of (value, count, sums, shifted) for each feature
//! and, from two features on, a struct `pairs` with a list of (left, right, count) for each two. `shifted` are the sums
//! of the distances from the origins of the group's payload; sums have digits enough to compute them at a read.
//! Cost: O(categories, and pairs that occur).

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, FixedSizeListArray, Float64Array, ListArray, StructArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields};
use ringview_core::{Dictionary, Error, Result, Type};
use ringview_ring::{Expansion, Number};

use super::category::Categories;
use super::cells::Cells;
use super::payload_layout::FeatureColumns;
use super::rows::ResultRows;
use super::values::{SUM, Tally};

impl FeatureColumns {
    /// The categorical ones, then the pairs, in the order of tallies.
    fn tallied(&self) -> impl Iterator<Item = &Categories> {
        self.categories.iter().chain(&self.pairs)
    }
}

/// The further fields of the struct of a COFACTOR.
pub(crate) fn fields(features: &FeatureColumns) -> Vec<Field> {
    let sums = DataType::FixedSizeList(item(DataType::Float64), features.names.len() as i32);
    let list = |categories: &Categories, names: &[&str], sums: Option<&DataType>| {
        let values = categories.types.iter().zip(names);
        let mut fields: Vec<Field> = values
            .map(|(ty, name)| Field::new(*name, ty.to_arrow(), false))
            .collect();
        fields.push(Field::new("count", DataType::Int64, false));
        for name in ["sums", "shifted"] {
            fields.extend(sums.map(|sums| Field::new(name, sums.clone(), false)));
        }
        let list = DataType::List(item(DataType::Struct(fields.into())));
        Field::new(&categories.name, list, false)
    };
    let categories = features.categories.iter();
    let categories: Fields = categories
        .map(|c| list(c, &["value"], Some(&sums)))
        .collect();
    let pairs = features.pairs.iter();
    let pairs: Fields = pairs.map(|c| list(c, &["left", "right"], None)).collect();
    [("categories", categories), ("pairs", pairs)]
        .into_iter()
        .filter(|(_, fields)| !fields.is_empty())
        .map(|(name, fields)| Field::new(name, DataType::Struct(fields), false))
        .collect()
}

fn item(data: DataType) -> FieldRef {
    Arc::new(Field::new("item", data, false))
}

/// The column of a COFACTOR with its categories.
pub(crate) fn column(
    features: &FeatureColumns,
    (rows, origins): (&ResultRows, Range<usize>),
    numbers: StructArray,
    dictionary: &Dictionary,
) -> Result<ArrayRef> {
    let (old, mut columns, _) = numbers.into_parts();
    let mut all: Vec<FieldRef> = old.iter().cloned().collect();
    let mut tallied = features.tallied().enumerate();
    for field in fields(features) {
        let DataType::Struct(lists) = field.data_type().clone() else {
            unreachable!("structs of lists")
        };
        let array = |(list, (at, categories)): (&FieldRef, (usize, &Categories))| {
            let tallies = rows.tallies.iter().map(|row| &row[at]);
            let all = Listed {
                categories,
                tallies: tallies.collect(),
                rows,
                origins: origins.clone(),
            };
            all.array(list.data_type(), dictionary)
        };
        let arrays = lists
            .iter()
            .zip(tallied.by_ref().take(lists.len()))
            .map(array);
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        columns.push(Arc::new(made(StructArray::try_new(lists, arrays, None))?));
        all.push(Arc::new(field));
    }
    Ok(Arc::new(made(StructArray::try_new(
        all.into(),
        columns,
        None,
    ))?))
}

/// The categories of a feature, row by row.
struct Listed<'a> {
    categories: &'a Categories,
    tallies: Vec<&'a Tally>,
    rows: &'a ResultRows,
    origins: Range<usize>,
}

impl Listed<'_> {
    /// A list of values for each row.
    fn array(&self, list: &DataType, dictionary: &Dictionary) -> Result<ArrayRef> {
        let DataType::List(item) = list else {
            unreachable!("a list")
        };
        let DataType::Struct(fields) = item.data_type() else {
            unreachable!("a list of structs")
        };
        let mut columns = Vec::with_capacity(fields.len());
        for (start, ty) in self.categories.values() {
            let cells = Cells::Words {
                words: self.word(start),
                high: match ty {
                    Type::Decimal { .. } => self.word(start + 1),
                    _ => Vec::new(),
                },
                valid: None,
            };
            columns.push(cells.array(ty, dictionary)?);
        }
        let counts = Cells::of_words(self.word(self.categories.count_at()));
        columns.push(counts.array(&Type::Int64, dictionary)?);
        // Of a pair there are counts alone.
        if let Some(DataType::FixedSizeList(item, size)) = fields.last().map(|f| f.data_type()) {
            let (plain, shifted) = self.sums();
            let entries = self.entries().count();
            columns.push(lists_of(item, *size, plain, entries)?);
            columns.push(lists_of(item, *size, shifted, entries)?);
        }
        let entries = made(StructArray::try_new(fields.clone(), columns, None))?;
        let list = ListArray::try_new(Arc::clone(item), self.offsets()?, Arc::new(entries), None);
        Ok(Arc::new(made(list)?))
    }

    fn entries(&self) -> impl Iterator<Item = &[u64]> {
        let width = self.categories.width();
        let tallies = self.tallies.iter();
        tallies.flat_map(move |tally| tally.chunks_exact(width))
    }

    fn word(&self, at: usize) -> Vec<u64> {
        self.entries().map(|entry| entry[at]).collect()
    }

    /// The sums as they are, and those of the distances from the origins.
    fn sums(&self) -> (Vec<f64>, Vec<f64>) {
        let (mut plain, mut shifted) = (Vec::new(), Vec::new());
        let count_at = self.categories.count_at();
        for (tally, payload) in self.tallies.iter().zip(self.rows.payloads()) {
            let origins = &payload[self.origins.clone()][..self.categories.sums];
            for entry in tally.chunks_exact(self.categories.width()) {
                let (count, sums) = (entry[count_at] as i64, &entry[count_at + 1..]);
                for (sum, &origin) in sums.chunks_exact(SUM).zip(origins) {
                    let sum = Expansion::load(sum, 0);
                    let moved = Expansion::from(count).scaled(-f64::from_bits(origin));
                    plain.push(sum.value());
                    shifted.push(sum.sum(moved).value());
                }
            }
        }
        (plain, shifted)
    }

    /// End of each row's list.
    fn offsets(&self) -> Result<OffsetBuffer<i32>> {
        let mut offsets = vec![0];
        let mut end = 0;
        for tally in &self.tallies {
            end += tally.len() / self.categories.width();
            let end = i32::try_from(end).map_err(|_| Error::Overflow {
                place: format!("the categories of {}", self.categories.name),
            });
            offsets.push(end?);
        }
        Ok(OffsetBuffer::new(ScalarBuffer::from(offsets)))
    }
}

/// Lists of `size` doubles each; of no doubles there may be some lists too.
pub(crate) fn lists_of(
    item: &FieldRef,
    size: i32,
    values: Vec<f64>,
    rows: usize,
) -> Result<ArrayRef> {
    let values = Arc::new(Float64Array::from(values));
    let item = Arc::clone(item);
    let list = FixedSizeListArray::try_new_with_length(item, size, values, None, rows);
    Ok(Arc::new(made(list)?))
}

fn made<T>(array: std::result::Result<T, ArrowError>) -> Result<T> {
    array.map_err(|problem| Error::Value {
        place: "the result of COFACTOR".to_owned(),
        problem: problem.to_string(),
    })
}
