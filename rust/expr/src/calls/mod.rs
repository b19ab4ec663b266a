//! Aggregates and window functions over the rows of a partition: bound once, then evaluated a partition at a time.
//!
//! Invariant: a value depends on the rows of the partition and their order alone. Meaning is DuckDB's: NULL is left out
//! except by functions that return one of their rows; sums of integers are exact. If DuckDB's answer depends on the
//! order of insertion (MODE between values of equal frequency, ARG_MIN between equal ones), it is the first in the
//! order of the partition. Cost: see `aggregated` and `windows`.
//!
//! | file | holds |
//! |---|---|
//! | `definition` | a function and its frame as data |
//! | `aggregate` | what an aggregate is |
//! | `aggregates` | the aggregates by name; `exact`, `ordered_set`, `lists`: those that the library lacks or would let wrap |
//! | `aggregated` | an aggregate over a partition, or over frames |
//! | `ranked` | quantiles, and the first rows by an argument |
//! | `statistics` | the library's statistics, and moments, means and deviations that it lacks |
//! | `of_user` | the aggregates of the user |
//! | `windows` | the library's window functions |

mod aggregate;
mod aggregated;
mod aggregates;
mod definition;
mod exact;
mod lists;
mod of_user;
mod ordered_set;
mod ranked;
mod statistics;
mod windows;

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, IntervalUnit, SchemaRef, SortOptions};
use datafusion_common::arrow::compute::SortColumn;
use datafusion_common::{DFSchema, DataFusionError, ScalarValue};
use datafusion_expr::{Expr, WindowFrame, WindowFrameBound, WindowFrameUnits};
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr::{PhysicalExpr, PhysicalSortExpr};
use ringview_core::{Error, Result, Schema, Type};

use crate::error::{of_a_row, own};
use crate::scalar::Scalar;
use crate::user;
use aggregated::Aggregated;
pub use aggregates::{AGGREGATES, aggregate_type, columns_of};
pub use definition::{Call, Edge, Frame, FrameUnit, SortKey};
use windows::{Over, Windowed};
pub use windows::{WINDOWS, window_type};

/// Functions over the rows of a partition.
#[derive(Debug)]
pub struct Calls {
    calls: Vec<Bound>,
    order: Vec<(usize, SortOptions)>,
    schema: SchemaRef,
}

#[derive(Debug)]
struct Bound {
    name: String,
    how: How,
    ty: Type,
    nullable: bool,
}

#[derive(Debug)]
enum How {
    Window(Windowed),
    Aggregate(Aggregated),
}

impl Calls {
    /// Binds functions over rows of a schema that are ordered so within a partition.
    ///
    /// # Errors
    /// `UnknownColumn`; `Unsupported` for a function that there is none of, or that does not take its arguments; `Value`
    /// for what is no constant.
    pub fn bind(calls: &[Call], order: &[SortKey], schema: &Schema) -> Result<Self> {
        let keys = sorted(order, schema)?;
        let arrow = Arc::new(schema.to_arrow());
        let bound = calls.iter().map(|call| {
            let (how, ty) = bind(call, &keys, schema, &arrow)?;
            let never = matches!(
                call.function.as_str(),
                "count"
                    | "approx_count_distinct"
                    | "regr_count"
                    | "row_number"
                    | "rank"
                    | "dense_rank"
                    | "percent_rank"
                    | "cume_dist"
                    | "ntile"
            );
            Ok(Bound {
                name: call.name.clone(),
                ty: Type::from_arrow(&ty)?,
                nullable: !never,
                how,
            })
        });
        Ok(Self {
            calls: bound.collect::<Result<_>>()?,
            order: keys,
            schema: arrow,
        })
    }

    /// By function: the type of its values, and whether they may be NULL.
    pub fn columns(&self) -> impl Iterator<Item = (&Type, bool)> {
        self.calls.iter().map(|call| (&call.ty, call.nullable))
    }

    /// The values of each function over the rows of a partition, in order: one a row, or one where it has no frame.
    ///
    /// # Errors
    /// `Overflow`; `Value` for a row that a function cannot take.
    pub fn evaluate(&self, rows: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let order: Vec<SortColumn> = self
            .order
            .iter()
            .map(|(at, options)| SortColumn {
                values: Arc::clone(rows.column(*at)),
                options: Some(*options),
            })
            .collect();
        let value = |call: &Bound| {
            let found = match &call.how {
                How::Window(window) => window.evaluate(rows),
                How::Aggregate(aggregate) => {
                    aggregate.evaluate(rows.columns(), rows.num_rows(), &order)
                }
            };
            found.map_err(|problem| of_a_row(&problem, &format!("the expression {}", call.name)))
        };
        self.calls.iter().map(value).collect()
    }

    /// The columns that `evaluate` takes.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }
}

fn bind(
    call: &Call,
    order: &[(usize, SortOptions)],
    schema: &Schema,
    arrow: &SchemaRef,
) -> Result<(How, DataType)> {
    let refused = |problem: DataFusionError| refusal(call, &problem);
    let arguments = call.arguments.iter().map(|name| schema.index_of(name));
    let arguments = arguments.collect::<Result<Vec<usize>>>()?;
    let constants = call.constants.iter().map(|text| constant(text));
    let constants = constants.collect::<Result<Vec<ScalarValue>>>()?;
    let frame = call
        .frame
        .as_ref()
        .map(|one| frame(one, order, arrow))
        .transpose()?;
    let is_plain = call.filter.is_none() && call.order.is_empty() && !call.distinct;
    if WINDOWS.contains(&call.function.as_str()) {
        let keys = order.iter().map(|(at, options)| PhysicalSortExpr {
            expr: column(*at, arrow),
            options: *options,
        });
        let keys: Vec<PhysicalSortExpr> = keys.collect();
        let over = Over {
            order: &keys,
            frame: frame.unwrap_or_else(|| Arc::new(WindowFrame::new(None))),
            ignore_nulls: call.ignore_nulls,
        };
        let field = |&at: &usize| (column(at, arrow), Arc::clone(&arrow.fields()[at]));
        let of = match &arguments[..] {
            [] => None,
            [one] => Some(field(one)),
            _ => {
                return Err(refused(DataFusionError::Plan(
                    "it is of one column".to_owned(),
                )));
            }
        };
        let found = Windowed::new(&call.function, of, &constants, over).map_err(refused)?;
        if let Some(window) = found.filter(|_| is_plain) {
            let ty = window.ty().clone();
            return Ok((How::Window(window), ty));
        }
        return Err(refused(DataFusionError::Plan(
            "FILTER, DISTINCT and ORDER BY in its arguments are for aggregates".to_owned(),
        )));
    }
    let types = arguments
        .iter()
        .map(|&at| arrow.field(at).data_type().clone());
    let types: Vec<DataType> = types.collect();
    let aggregate = match user::called(&call.function) {
        Some(function) => of_user::aggregate(function, &types),
        None => aggregates::aggregate(&call.function, &types, &constants),
    };
    let aggregate = aggregate.map_err(refused)?;
    let mut keys = sorted(&call.order, schema)?;
    if let Some((at, descending)) = aggregate.ordered_by {
        let by = arguments[at];
        // The order that a text gives may be that of the argument itself, in its direction.
        if keys.first().is_none_or(|(first, _)| *first != by || at > 0) {
            let options = SortOptions {
                descending,
                nulls_first: false,
            };
            if call.function != "mode" || keys.is_empty() {
                keys.insert(0, (by, options));
            }
        }
    }
    let filter = call
        .filter
        .as_ref()
        .map(|name| schema.index_of(name))
        .transpose()?;
    let ty = aggregate.ty.clone();
    let how = How::Aggregate(Aggregated {
        aggregate,
        arguments,
        filter,
        order: keys,
        distinct: call.distinct,
        ignore_nulls: call.ignore_nulls,
        frame,
    });
    Ok((how, ty))
}

fn sorted(order: &[SortKey], schema: &Schema) -> Result<Vec<(usize, SortOptions)>> {
    let key = |key: &SortKey| {
        let options = SortOptions {
            descending: key.descending,
            nulls_first: key.nulls_first,
        };
        Ok((schema.index_of(&key.column)?, options))
    };
    order.iter().map(key).collect()
}

fn column(at: usize, schema: &SchemaRef) -> Arc<dyn PhysicalExpr> {
    Arc::new(Column::new(schema.field(at).name(), at))
}

/// A constant of a text.
fn constant(text: &str) -> Result<ScalarValue> {
    let place = format!("the expression {text}");
    match Scalar::read(text)?.typed(&DFSchema::empty(), &place)? {
        Expr::Literal(value, _) => Ok(value),
        _ => Err(Error::Value {
            place,
            problem: "a constant stands here".to_owned(),
        }),
    }
}

/// A frame as the library has it.
fn frame(
    of: &Frame,
    order: &[(usize, SortOptions)],
    schema: &SchemaRef,
) -> Result<Arc<WindowFrame>> {
    let units = match of.unit {
        FrameUnit::Rows => WindowFrameUnits::Rows,
        // Without an order all rows are equal in it.
        FrameUnit::Range | FrameUnit::Groups if order.is_empty() => WindowFrameUnits::Rows,
        FrameUnit::Range => WindowFrameUnits::Range,
        FrameUnit::Groups => WindowFrameUnits::Groups,
    };
    let is_all = order.is_empty() && of.unit != FrameUnit::Rows;
    let distance = |by: &Option<String>| match by {
        None => Ok(ScalarValue::UInt64(None)),
        Some(text) => distance(text, of.unit, order, schema),
    };
    let edge = |edge: &Edge, otherwise: fn(ScalarValue) -> WindowFrameBound| {
        Ok(match edge {
            _ if is_all => otherwise(ScalarValue::UInt64(None)),
            Edge::CurrentRow => WindowFrameBound::CurrentRow,
            Edge::Preceding(by) => WindowFrameBound::Preceding(distance(by)?),
            Edge::Following(by) => WindowFrameBound::Following(distance(by)?),
        })
    };
    let start = edge(&of.start, WindowFrameBound::Preceding)?;
    let end = edge(&of.end, WindowFrameBound::Following)?;
    Ok(Arc::new(WindowFrame::new_bounds(units, start, end)))
}

/// Distance of an end of a frame.
fn distance(
    text: &str,
    unit: FrameUnit,
    order: &[(usize, SortOptions)],
    schema: &SchemaRef,
) -> Result<ScalarValue> {
    let refused = |why: &str| Error::Value {
        place: format!("the frame distance {text}"),
        problem: why.to_owned(),
    };
    let value = constant(text)?;
    let ty = match (unit, order) {
        (FrameUnit::Range, [(at, _)]) => match schema.field(*at).data_type() {
            DataType::Timestamp(..) => DataType::Interval(IntervalUnit::MonthDayNano),
            ty if ty.is_numeric() => ty.clone(),
            ty => {
                return Err(refused(&format!(
                    "values of type {ty} have no distance; use ROWS or GROUPS"
                )));
            }
        },
        (FrameUnit::Range, _) => {
            return Err(refused(
                "RANGE with a distance is of one column in ORDER BY",
            ));
        }
        _ => DataType::UInt64,
    };
    let found = value
        .cast_to(&ty)
        .map_err(|_| refused("it is no distance"))?;
    let is_negative = ScalarValue::new_zero(&ty).is_ok_and(|zero| found < zero);
    if found.is_null() || is_negative {
        return Err(refused("a distance is not negative"));
    }
    Ok(found)
}

/// A function that does not take what it is given.
fn refusal(call: &Call, problem: &DataFusionError) -> Error {
    if let Some(own) = own(problem) {
        return own;
    }
    let message = problem.find_root().strip_backtrace();
    let message = message.split_once(": ").map_or(&*message, |(_, rest)| rest);
    Error::Unsupported {
        what: format!("{}(..)", call.function),
        why: message.to_owned(),
        instead: "give it columns of types that it takes, and constants behind them".to_owned(),
    }
}
