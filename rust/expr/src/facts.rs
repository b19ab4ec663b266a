//! Facts about an expression over columns of certain types: its own type, whether it may be NULL, whether it may fail.
//!
//! Invariant: an expression that may fail in a row in which its operands have values has `may_fail`. Cost: O(nodes)
//! the first time, then O(columns read).

use std::fmt::{self, Formatter};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::{DataType, FieldRef, Schema as ArrowSchema};
use datafusion_common::{Column, DFSchema};
use datafusion_expr::expr::Cast;
use datafusion_expr::{Expr, ExprSchemable};
use ringview_core::{Field, Result, Schema};

use crate::checks::{deciding, is_match, is_value};
use crate::error::broken;
use crate::parts::field_of;
use crate::types::never_fails;

/// An expression with its types, and facts about it.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) expr: Expr,
    /// Its type, and whether it may be NULL.
    pub(crate) field: FieldRef,
    /// Whether it may have no value in a row.
    pub(crate) may_fail: bool,
}

impl Facts {
    /// Of an expression that has its types.
    pub(crate) fn new(expr: Expr, schema: &DFSchema) -> Result<Self> {
        let mut may_fail = false;
        let field = field_of(&expr, schema, &mut |node, frame| {
            may_fail |= !is_safe(node, frame);
        });
        let field = field.map_err(|problem| broken(&problem.to_string()))?;
        Ok(Self {
            expr,
            field,
            may_fail,
        })
    }
}

/// Facts about an expression over the columns of the last schema, for all its copies.
#[derive(Clone, Default)]
pub(crate) struct Memo(Arc<Mutex<Option<Kept>>>);

struct Kept {
    /// The columns that it reads, as they were.
    read: Vec<Field>,
    facts: Arc<Facts>,
}

impl Memo {
    /// Found over these columns before.
    pub(crate) fn over(&self, schema: &Schema) -> Option<Arc<Facts>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.as_ref()?;
        let mut read = kept.read.iter();
        let is_same = read.all(|field| schema.fields().contains(field));
        is_same.then(|| Arc::clone(&kept.facts))
    }

    /// Keeps them for columns as they are in this schema.
    pub(crate) fn note<'c>(
        &self,
        columns: impl Iterator<Item = &'c Column>,
        schema: &Schema,
        facts: &Arc<Facts>,
    ) {
        let field = |column: &Column| {
            let at = schema.index_of(&column.name).ok()?;
            Some(schema.fields()[at].clone())
        };
        let kept = columns.map(field).collect::<Option<_>>();
        let kept = kept.map(|read| Kept {
            read,
            facts: Arc::clone(facts),
        });
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = kept;
    }
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

/// Whether a node has a value in each row in which its operands have: what fits always are columns, constants,
/// comparisons, what is chosen among those, and doubles.
fn is_safe(node: &Expr, frame: &DFSchema) -> bool {
    let fits = |node: &Expr| {
        let ty = node.get_type(frame);
        matches!(ty, Ok(DataType::Float64 | DataType::Boolean))
    };
    match node {
        Expr::BinaryExpr(of) if is_match(of.op) => is_value(&of.right),
        Expr::BinaryExpr(_) | Expr::Negative(_) => fits(node),
        Expr::Cast(Cast { expr, field }) => {
            let from = expr.get_type(frame);
            from.is_ok_and(|from| never_fails(&from, field.data_type()))
        }
        Expr::ScalarFunction(call) => match call.func.name() {
            "coalesce" | "nullif" | "ordered" | "starts_with" | "text_like" => true,
            // Their constants were checked.
            name @ ("date_part" | "regexp_like") => {
                let known = |at: &usize| call.args.get(*at).is_none_or(is_value);
                deciding(name).is_some_and(|all| all.iter().all(known))
            }
            _ => false,
        },
        _ => true,
    }
}

/// Columns as the library has them.
pub(crate) fn frame(schema: &ArrowSchema) -> Result<DFSchema> {
    DFSchema::try_from(schema.clone()).map_err(|problem| broken(&problem.to_string()))
}
