//! Kinds of values over one table, and in what their sums are kept.
//!
//! Invariant: a sum of doubles is a sum of digits; all else is exact, in units of its scale. Cost:
//! linear in the value.

use crate::machine::indexed::digits::SumKind;
use crate::machine::query::{Column, ColumnType, Kind, Value, kind};

/// Why a query is kept by the general algorithm.
pub(crate) type Why = &'static str;

/// The columns of each table.
pub(crate) type Tables = [Vec<ColumnType>];

/// The kind of a value over one table.
pub(crate) fn kind_in(tables: &Tables, table: usize, value: &Value) -> Kind {
    kind(value, &|column: Column| {
        Kind::of(&tables[table][column.column].ty)
    })
}

/// In what sums of a value over one table are kept.
pub(crate) fn sum_kind(tables: &Tables, table: usize, value: &Value) -> Result<SumKind, Why> {
    match kind_in(tables, table, value) {
        Kind::Exact(scale) => Ok(SumKind::Scale(scale)),
        // Such a value may be NULL where its columns are not.
        Kind::Real if value.divides() => Err("quotients are aggregated"),
        Kind::Real => Ok(SumKind::Real),
    }
}

/// Whether a value over one table may be NULL.
pub(crate) fn is_nullable(tables: &Tables, table: usize, value: &Value) -> bool {
    let mut nullable = value.divides();
    value.columns(&mut |column| nullable |= tables[table][column.column].nullable);
    nullable
}
