//! The categorical features of a COFACTOR: their companions' tallies, and those as Arrow.
//!
//! Invariant: within a group the categories of a feature come in order, each with at least one row;
//! the counts of a feature add up to the count of the group, and so do those of a pair of features.
//! The column of the result has, behind count, sums and products, a struct `categories` with a list
//! of (value, count, sums, shifted) for each feature and, from two features on, a struct `pairs` with a
//! list of (left, right, count) for each two. `shifted` are the sums of the distances from the origins
//! that the group's payload is counted from; sums have digits enough to tell them when they are read.
//! Cost: O(categories, and pairs that occur).

use std::sync::Arc;

use crate::plan::CofactorPlan;
use crate::plan::Companion as Planned;
use arrow_array::{ArrayRef, FixedSizeListArray, Float64Array, ListArray, StructArray};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields};
use ringview_core::{Dictionary, Error, Result, Type};
use ringview_ring::{Expansion, Number};

use crate::cells::Cells;
use crate::cofactors::origins_of;
use crate::companion::{Companion, SUM, Tally};
use crate::overflow;
use crate::result::ResultRows;

/// The tallies of a group, one a companion.
pub(crate) type Tallies = Arc<[Tally]>;

/// The tallies of some rows, `columns` being the fields of the view's key; none without categories.
pub(crate) fn tallies(companions: &[Companion], columns: &[Vec<u64>], rows: usize) -> Vec<Tallies> {
    by_row(companions, rows, |c| c.tallies(columns, rows))
}

/// As they were before the running transaction.
pub(crate) fn tallies_before(
    companions: &[Companion],
    columns: &[Vec<u64>],
    rows: usize,
) -> Vec<Tallies> {
    by_row(companions, rows, |c| c.tallies_before(columns, rows))
}

fn by_row(
    companions: &[Companion],
    rows: usize,
    of: impl Fn(&Companion) -> Vec<Tally>,
) -> Vec<Tallies> {
    if companions.is_empty() {
        return Vec::new();
    }
    let mut all: Vec<_> = companions.iter().map(|c| of(c).into_iter()).collect();
    let row = |_| {
        let tallies = all
            .iter_mut()
            .map(|tallies| tallies.next().unwrap_or_default());
        tallies.collect()
    };
    (0..rows).map(row).collect()
}

/// What a group without rows has.
pub(crate) fn nothing(companions: &[Companion]) -> Option<Tallies> {
    let some = !companions.is_empty();
    some.then(|| companions.iter().map(|_| Tally::new()).collect())
}

/// The further fields of the struct of a COFACTOR.
pub(crate) fn fields(plan: &CofactorPlan) -> Vec<Field> {
    let sums = DataType::FixedSizeList(item(DataType::Float64), plan.names.len() as i32);
    let list = |companion: &Planned, names: &[&str], sums: Option<&DataType>| {
        let values = companion.values.iter().zip(names);
        let mut fields: Vec<Field> = values
            .map(|(value, name)| Field::new(*name, value.ty.to_arrow(), false))
            .collect();
        fields.push(Field::new("count", DataType::Int64, false));
        for name in ["sums", "shifted"] {
            fields.extend(sums.map(|sums| Field::new(name, sums.clone(), false)));
        }
        let list = DataType::List(item(DataType::Struct(fields.into())));
        Field::new(&companion.name, list, false)
    };
    let categories = plan.categories.iter();
    let categories: Fields = categories
        .map(|c| list(c, &["value"], Some(&sums)))
        .collect();
    let pairs = plan.pairs.iter().map(|pair| &pair.counts);
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
    plan: &CofactorPlan,
    rows: &ResultRows,
    numbers: &ArrayRef,
    dictionary: &Dictionary,
) -> Result<ArrayRef> {
    let Some(numbers) = numbers.as_any().downcast_ref::<StructArray>() else {
        unreachable!("the numeric part is a struct")
    };
    let (old, mut columns, _) = numbers.clone().into_parts();
    let mut all: Vec<FieldRef> = old.iter().cloned().collect();
    let mut companions = plan.companions().enumerate();
    for field in fields(plan) {
        let DataType::Struct(lists) = field.data_type().clone() else {
            unreachable!("structs of lists")
        };
        let array = |(list, (at, companion)): (&FieldRef, (usize, &Planned))| {
            let tallies: Vec<&Tally> = rows.tallies.iter().map(|row| &row[at]).collect();
            list_of(list.data_type(), companion, (&tallies, rows), dictionary)
        };
        let arrays = lists
            .iter()
            .zip(companions.by_ref().take(lists.len()))
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

/// A list of a companion's values for each row.
fn list_of(
    list: &DataType,
    companion: &Planned,
    (tallies, rows): (&[&Tally], &ResultRows),
    dictionary: &Dictionary,
) -> Result<ArrayRef> {
    let DataType::List(item) = list else {
        unreachable!("a list")
    };
    let DataType::Struct(fields) = item.data_type() else {
        unreachable!("a list of structs")
    };
    // Of a pair there are counts alone.
    let sums = match fields.last().map(|field| field.data_type()) {
        Some(DataType::FixedSizeList(item, size)) => Some((item, *size)),
        _ => None,
    };
    let m = sums.map_or(0, |(_, size)| size as usize);
    let words = |value: &Type| 1 + usize::from(matches!(value, Type::Decimal { .. }));
    let starts: Vec<usize> = companion
        .values
        .iter()
        .scan(0, |at, value| {
            let start = *at;
            *at += words(&value.ty);
            Some(start)
        })
        .collect();
    let count_at: usize = companion.values.iter().map(|v| words(&v.ty)).sum();
    let width = count_at + 1 + SUM * m;
    let entries = || tallies.iter().flat_map(|tally| tally.chunks_exact(width));
    let word = |at: usize| entries().map(|entry| entry[at]).collect::<Vec<u64>>();

    let mut columns = Vec::with_capacity(fields.len());
    for (value, &start) in companion.values.iter().zip(&starts) {
        let cells = Cells::Words {
            words: word(start),
            high: match value.ty {
                Type::Decimal { .. } => word(start + 1),
                _ => Vec::new(),
            },
            valid: None,
        };
        columns.push(cells.array(&value.ty, dictionary)?);
    }
    columns.push(Cells::of_words(word(count_at)).array(&Type::Int64, dictionary)?);
    if let Some((item, size)) = sums {
        let (mut plain, mut shifted) = (Vec::new(), Vec::new());
        let payloads = rows.payloads.chunks_exact(rows.width);
        for (tally, payload) in tallies.iter().zip(payloads) {
            let origins = &origins_of(payload, m)[..m];
            for entry in tally.chunks_exact(width) {
                let (count, sums) = (entry[count_at] as i64, &entry[count_at + 1..]);
                for (sum, &origin) in sums.chunks_exact(SUM).zip(origins) {
                    let sum = Expansion::load(sum, 0);
                    let moved = Expansion::from(count).scaled(-f64::from_bits(origin));
                    plain.push(sum.value());
                    shifted.push(sum.sum(moved).value());
                }
            }
        }
        let entries = entries().count();
        columns.push(lists_of(item, size, plain, entries)?);
        columns.push(lists_of(item, size, shifted, entries)?);
    }
    let mut offsets = vec![0];
    let mut end = 0;
    for tally in tallies {
        end += tally.len() / width;
        let end = i32::try_from(end);
        offsets.push(end.map_err(|_| overflow(format!("the categories of {}", companion.name)))?);
    }
    let entries = made(StructArray::try_new(fields.clone(), columns, None))?;
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let list = ListArray::try_new(Arc::clone(item), offsets, Arc::new(entries), None);
    Ok(Arc::new(made(list)?))
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
