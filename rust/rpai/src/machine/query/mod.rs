//! A query as blocks of aggregates (paper, section 4.1), and its values over rows.
//!
//! Invariant: nothing here depends on how a query is maintained. Cost: linear in the query; of a
//! value, in its expression.
//!
//! | file | holds |
//! |---|---|
//! | `plan`, `visit`, `flat` | blocks, values, conditions; walks through them |
//! | `number`, `row` | exact numbers and doubles; rows of a batch |
//! | `scope`, `exact` | values and conditions interpreted, and compiled |

pub(crate) mod bound;
pub(crate) mod exact;
pub(crate) mod flat;
pub(crate) mod number;
pub(crate) mod plan;
pub(crate) mod row;
pub(crate) mod scope;
pub(crate) mod visit;

pub(crate) use bound::{END, KeyBound, Range, START, equal_keys, key_bound, mirror, ranges, sole};
pub(crate) use exact::{Exact, Ordinal};
pub(crate) use flat::{flat, flat_value};
pub(crate) use number::{Kind, Quantity, floor, power_of_ten, product, rescaled};
pub(crate) use plan::{
    Aggregate, Block, Column, ColumnType, Comparison, Condition, Plan, Value, kind,
};
pub(crate) use row::{Cell, Row, RowAt};
pub(crate) use scope::{
    Binding, Frame, Nowhere, Scope, holds, holds_for, simple, simple_condition, summand, value_for,
    value_with,
};
