//! An aggregate: what it takes, the type of its value, and how it is computed.
//!
//! Invariant: the declared type of a function is that of its values. Cost: that of each.

use std::fmt;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field, Schema as ArrowSchema};
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::function::AccumulatorArgs;
use datafusion_expr::{Accumulator, AggregateUDF};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;

/// Computation of an aggregate's value.
pub(super) enum Accumulation {
    /// One batch of rows behind the other.
    Streamed(Arc<Make>),
    /// From all rows at once.
    Whole(Arc<OfAll>),
}

/// Makes what takes rows.
type Make = dyn Fn() -> Result<Box<dyn Accumulator>> + Send + Sync;

/// A value of some rows.
type OfAll = dyn Fn(&[ArrayRef]) -> Result<ScalarValue> + Send + Sync;

/// An aggregate over arguments of some types.
#[derive(Debug)]
pub(super) struct Aggregate {
    /// The type of its value.
    pub(super) ty: DataType,
    /// In which types it takes its arguments.
    pub(super) takes: Vec<DataType>,
    pub(super) accumulation: Accumulation,
    /// Whether rows with NULL among the arguments take no part.
    pub(super) skips_nulls: bool,
    /// The argument that it orders its rows by, and whether that descends.
    pub(super) ordered_by: Option<(usize, bool)>,
    /// Whether equal arguments take part once, with or without DISTINCT.
    pub(super) distinct: bool,
    /// Whether it has a value where there is no row.
    pub(super) counts: bool,
    /// Whether rows can be taken back without a residue.
    pub(super) is_invertible: bool,
}

impl fmt::Debug for Accumulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Accumulation::Streamed(_) => "Streamed",
            Accumulation::Whole(_) => "Whole",
        })
    }
}

impl Aggregate {
    pub(super) fn new(ty: DataType, takes: Vec<DataType>, accumulation: Accumulation) -> Self {
        Self {
            ty,
            takes,
            accumulation,
            skips_nulls: true,
            ordered_by: None,
            distinct: false,
            counts: false,
            is_invertible: false,
        }
    }

    /// An aggregate of the library, over arguments of these types.
    pub(super) fn of_library(function: Arc<AggregateUDF>, takes: Vec<DataType>) -> Result<Self> {
        let ty = function.return_type(&takes)?;
        let result = Arc::new(Field::new("result", ty.clone(), true));
        let fields: Vec<_> = takes
            .iter()
            .map(|ty| Arc::new(Field::new("argument", ty.clone(), true)))
            .collect();
        let schema = ArrowSchema::new(fields.clone());
        let column = |at| Arc::new(Column::new("argument", at)) as Arc<dyn PhysicalExpr>;
        let columns: Vec<_> = (0..takes.len()).map(column).collect();
        let is_extreme = matches!(function.name(), "min" | "max");
        let make = move || {
            let args = AccumulatorArgs {
                return_field: Arc::clone(&result),
                schema: &schema,
                ignore_nulls: false,
                order_bys: &[],
                is_reversed: false,
                name: "result",
                is_distinct: false,
                exprs: &columns,
                expr_fields: &fields,
            };
            if is_extreme {
                return function.create_sliding_accumulator(args);
            }
            function.accumulator(args)
        };
        Ok(Self::new(ty, takes, Accumulation::Streamed(Arc::new(make))))
    }

    /// An aggregate computed from all rows at once.
    pub(super) fn whole(
        ty: DataType,
        takes: Vec<DataType>,
        of: impl Fn(&[ArrayRef]) -> Result<ScalarValue> + Send + Sync + 'static,
    ) -> Self {
        Self::new(ty, takes, Accumulation::Whole(Arc::new(of)))
    }
}
