//! A query as blocks of aggregates (paper, section 4.1), over tables: its columns and rows.
//!
//! Invariant: nothing here depends on how a query is maintained. Cost: linear in the query; of a
//! value, in its expression.
//!
//! | file | holds |
//! |---|---|
//! | `plan` | a query over tables; blocks, values and conditions are those of a bound query |
//! | `row`, `scope` | rows of a batch; where the columns of blocks are found |
//! | `kind`, `bound` | in which order numbers are keys, and bounds between these |
//! | `exact` | values over one row, compiled |

pub(crate) mod bound;
pub(crate) mod exact;
pub(crate) mod kind;
pub(crate) mod plan;
pub(crate) mod row;
pub(crate) mod scope;

pub(crate) use ringview_query::Comparison;
pub(crate) use ringview_query::nested::{
    Aggregate, Block, Cell, Column, Condition, Nowhere, Quantity, Scope, Value, evaluate, floor,
    holds, power_of_ten, product, rescaled, summand,
};

pub(crate) use bound::{END, KeyBound, Range, START, equal_keys, key_bound, mirror, ranges, sole};
pub(crate) use exact::{Exact, Ordinal};
pub(crate) use kind::{Kind, kind};
pub(crate) use plan::{ColumnType, Plan};
pub(crate) use row::{Row, RowAt};
pub(crate) use scope::{Binding, Frame, holds_for, value_for, value_with};
