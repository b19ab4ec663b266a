//! Rows with a partner that compares with them: the least or the greatest partner decides.
//!
//! Some `b` of a group is above `a` if MAX(b) is; some differs from `a` if MIN(b) or MAX(b) does. So the partners are
//! grouped by key, and the pairs are never listed. Invariant: NULL is below, above and different from nothing, as MIN
//! and MAX leave it out and are NULL over no other value. Cost: O(1) for each row of both sides. For queries that are
//! run once: a view would keep all values of each key in their order.

use arrow_schema::DataType;
use datafusion_expr::{Expr, Operator, binary_expr};
use ringview_core::Result;
use ringview_query::Function;

use super::engine_calls::{Call, Calls};
use super::pairs::{Conditions, Side, joined};
use super::pending::{Pending, atoms_of, column_ref, of_atom, renamed};
use super::state::Lowering;

/// A comparison of an expression over the left side with one over the right side.
pub(crate) struct Comparison {
    value: Expr,
    operator: Operator,
    partner: Expr,
}

impl Comparison {
    /// The extremes of a group of which one meets the comparison if any of its rows does.
    fn extremes(&self) -> Vec<Function> {
        match self.operator {
            Operator::NotEq => vec![Function::Min, Function::Max],
            Operator::Gt | Operator::GtEq => vec![Function::Min],
            _ => vec![Function::Max],
        }
    }
}

impl Lowering<'_> {
    /// The one condition of two sides, if it is a comparison that extremes decide.
    pub(crate) fn comparison(
        &self,
        left: &Side,
        right: &Side,
        conditions: &Conditions<'_>,
    ) -> Result<Option<Comparison>> {
        let (_, meant) = joined(left, right, conditions)?;
        let [Expr::BinaryExpr(binary)] = &meant[..] else {
            return Ok(None);
        };
        let is_left = |expr: &Expr| atoms_of(expr).into_iter().eq([0]);
        let (value, operator, partner) = match (is_left(&binary.left), is_left(&binary.right)) {
            (true, false) => (&binary.left, Some(binary.op), &binary.right),
            (false, true) => (&binary.right, binary.op.swap(), &binary.left),
            _ => return Ok(None),
        };
        let operator = operator.filter(|operator| {
            use Operator::{Gt, GtEq, Lt, LtEq, NotEq};
            matches!(operator, NotEq | Lt | LtEq | Gt | GtEq)
        });
        let is_right = atoms_of(partner).into_iter().eq([1]);
        let is_ordered = self.compares_by(partner, &right.name).is_some_and(|ty| {
            use DataType::{Date32, Timestamp, Utf8};
            let is_exact = ty.is_integer() || ty.is_decimal();
            is_exact || matches!(ty, Date32 | Timestamp(..) | Utf8)
        });
        let found = operator.filter(|_| is_right && is_ordered);
        let own = |_: usize, name: &str| Some(of_atom(0, name));
        found
            .map(|operator| {
                Ok(Comparison {
                    value: (**value).clone(),
                    operator,
                    partner: renamed((**partner).clone(), &own)?,
                })
            })
            .transpose()
    }

    /// The type of a column, or of one that is widened: MIN and MAX read rows without a partner, too, so nothing may fail.
    fn compares_by(&self, partner: &Expr, table: &str) -> Option<DataType> {
        match partner {
            Expr::Cast(cast) => {
                let narrow = self.compares_by(&cast.expr, table)?;
                let is_wider = narrow.is_integer() && narrow.primitive_width()? < 8;
                let to = cast.field.data_type();
                (is_wider && *to == DataType::Int64).then(|| to.clone())
            }
            column => {
                let (_, name) = column_ref(column)?;
                Some(self.column(table, name).ok()?.0.to_arrow())
            }
        }
    }

    /// The rows of the left side that have such a partner, or those that have none.
    pub(crate) fn partnered_by_extremes(
        &mut self,
        left: &Side,
        right: &Side,
        comparison: &Comparison,
        negated: bool,
    ) -> Result<Pending> {
        let keys: Vec<Expr> = right.keys.iter().map(|key| of_atom(0, key)).collect();
        let calls = comparison.extremes().into_iter().map(|function| Call {
            function,
            arguments: vec![comparison.partner.clone()],
            is_truth: false,
        });
        let calls = Calls::Engine(calls.collect());
        let groups = self.groups(Pending::over(&right.name, &right.keys), keys, &calls)?;
        let mut rows = left.rows();
        let found = rows.join(groups)?;
        let (keys, extremes) = found.split_at(right.keys.len());
        let own = left.keys.iter().map(|key| of_atom(0, key));
        rows.equal.extend(own.zip(keys.iter().cloned()));
        let compared = extremes.iter().map(|extreme| {
            binary_expr(
                comparison.value.clone(),
                comparison.operator,
                extreme.clone(),
            )
        });
        if let Some(condition) = datafusion_expr::utils::disjunction(compared) {
            rows.restrict(condition);
        }
        if !negated {
            return Ok(rows);
        }
        let partnered = self.single(rows)?;
        self.without(left, partnered)
    }
}
