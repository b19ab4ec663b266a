//! EXISTS, IN, ANY and ALL as values: in SELECT, in CASE, under OR and NOT.
//!
//! The rows of the subquery are counted by its keys: how many there are, how many values are not NULL, the least and the
//! greatest; and whether there is one that equals. Invariant: TRUE, FALSE or NULL as SQL has it. Cost: that of a left
//! join with each summary.

use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::expr::{Exists, InSubquery, SetComparison, SetQuantifier};
use datafusion_expr::{Expr, LogicalPlan, Operator, Subquery, binary_expr, lit, when};
use ringview_core::Result;
use ringview_query::Function;

use super::correlated::without_columns;
use super::pending::Pending;
use super::state::Lowering;
use super::subquery::correlated;
use crate::error::{refusal, unsupported};

/// The rows of a subquery by its keys.
struct Summary {
    /// Number of rows; NULL where there is none.
    rows: Expr,
    /// Number of values that are not NULL.
    values: Expr,
    least: Expr,
    greatest: Expr,
}

impl Lowering<'_> {
    /// Whether a condition on a subquery holds for each row.
    pub(crate) fn truth(
        &mut self,
        rows: &mut Pending,
        exprs: &mut Vec<Expr>,
        node: &Expr,
        schema: &DFSchema,
    ) -> Result<Expr> {
        let (value, negated) = match node {
            Expr::Exists(Exists { subquery, negated }) => {
                let plan = without_columns(&subquery.subquery);
                let (inner, keys) = self.of_subquery(rows, plan, schema)?;
                let count = self.counted(inner, &keys, &[], (rows, schema))?;
                let found = self.looked_up(rows, exprs, count.0, count.1, count.2)?;
                (is_some(&found[0]), *negated)
            }
            Expr::InSubquery(InSubquery {
                expr,
                subquery,
                negated,
            }) => {
                let value = self.is_in(rows, exprs, expr, subquery, schema)?;
                (value, *negated)
            }
            Expr::SetComparison(of) => match (of.op, of.quantifier) {
                (Operator::Eq, SetQuantifier::Any) => {
                    let value = self.is_in(rows, exprs, &of.expr, &of.subquery, schema)?;
                    (value, false)
                }
                (Operator::NotEq, SetQuantifier::All) => {
                    let value = self.is_in(rows, exprs, &of.expr, &of.subquery, schema)?;
                    (value, true)
                }
                _ => (self.all_comparison(rows, exprs, of, schema)?, false),
            },
            _ => return Err(unsupported("this subquery is not kept here")),
        };
        Ok(if negated {
            Expr::Not(Box::new(value))
        } else {
            value
        })
    }

    fn is_in(
        &mut self,
        rows: &mut Pending,
        exprs: &mut Vec<Expr>,
        looked: &Expr,
        subquery: &Subquery,
        schema: &DFSchema,
    ) -> Result<Expr> {
        let (inner, keys) = self.of_subquery(rows, &subquery.subquery, schema)?;
        let there = inner.columns[0].clone();
        let is_certain = !self.may_be_null(looked, rows)? && !self.may_be_null(&there, &inner)?;
        // The value looked for, and its keys, are expressions of the rows.
        let base = exprs.len();
        exprs.push(looked.clone());
        exprs.extend(keys.iter().map(|(around, _)| around.clone()));
        let mut equal = keys.clone();
        equal.push((looked.clone(), there));
        let (block, own, values) = self.counted(inner.clone(), &equal, &[], (rows, schema))?;
        let found = self.looked_up(rows, exprs, block, own, values)?;
        if is_certain {
            exprs.truncate(base);
            return Ok(is_some(&found[0]));
        }
        let around = exprs[base + 1..].iter().cloned();
        let keys = around.zip(keys).map(|(around, (_, key))| (around, key));
        let keys = keys.collect();
        exprs.extend(found);
        let all = self.summary(rows, exprs, inner, keys, schema)?;
        let matched = exprs.pop().unwrap_or_default();
        let unknown_if = is_unknown(&all, &exprs[base]);
        exprs.truncate(base);
        when(is_some(&matched), lit(true))
            .when(unknown_if, unknown())
            .otherwise(lit(false))
            .map_err(|problem| refusal(&problem))
    }

    fn all_comparison(
        &mut self,
        rows: &mut Pending,
        exprs: &mut Vec<Expr>,
        of: &SetComparison,
        schema: &DFSchema,
    ) -> Result<Expr> {
        let (inner, keys) = self.of_subquery(rows, &of.subquery.subquery, schema)?;
        exprs.push((*of.expr).clone());
        let all = self.summary(rows, exprs, inner, keys, schema)?;
        let looked = exprs.pop().unwrap_or_default();
        let with = |bound: &Expr| binary_expr(looked.clone(), of.op, bound.clone());
        let is_any = of.quantifier == SetQuantifier::Any;
        let decides = match of.op {
            Operator::Gt | Operator::GtEq if is_any => with(&all.least),
            Operator::Gt | Operator::GtEq => with(&all.greatest),
            Operator::Lt | Operator::LtEq if is_any => with(&all.greatest),
            Operator::Lt | Operator::LtEq => with(&all.least),
            Operator::NotEq => with(&all.least).or(with(&all.greatest)),
            Operator::Eq => with(&all.least).and(with(&all.greatest)),
            _ => return Err(unsupported("this comparison with ANY or ALL is not kept")),
        };
        let decides = if is_any {
            decides
        } else {
            Expr::Not(Box::new(decides))
        };
        when(decides, lit(is_any))
            .when(is_unknown(&all, &looked), unknown())
            .otherwise(lit(!is_any))
            .map_err(|problem| refusal(&problem))
    }

    /// The rows of a subquery, and what of them equals what of the query around.
    fn of_subquery(
        &mut self,
        rows: &Pending,
        plan: &LogicalPlan,
        schema: &DFSchema,
    ) -> Result<(Pending, Vec<(Expr, Expr)>)> {
        let mut inner = self.correlated_rows(plan, rows, schema)?;
        let keys = correlated(&mut inner, rows, schema)?;
        Ok((inner, keys))
    }

    fn summary(
        &mut self,
        rows: &mut Pending,
        exprs: &mut [Expr],
        inner: Pending,
        keys: Vec<(Expr, Expr)>,
        schema: &DFSchema,
    ) -> Result<Summary> {
        let value = inner.columns[0].clone();
        let calls = [Function::Count, Function::Min, Function::Max].map(|of| (of, value.clone()));
        let (block, keys, values) = self.counted(inner, &keys, &calls, (rows, schema))?;
        let found = self.looked_up(rows, exprs, block, keys, values)?;
        let mut found = found.into_iter();
        let mut next = || found.next().unwrap_or_default();
        Ok(Summary {
            rows: next(),
            values: next(),
            least: next(),
            greatest: next(),
        })
    }

    /// The groups of rows by keys: a block, its keys beside those around, how many rows there are, and other aggregates.
    #[expect(clippy::type_complexity)]
    pub(super) fn counted(
        &mut self,
        inner: Pending,
        keys: &[(Expr, Expr)],
        calls: &[(Function, Expr)],
        (rows, schema): (&Pending, &DFSchema),
    ) -> Result<(Pending, Vec<(Expr, Expr)>, Vec<Expr>)> {
        let groups = keys.iter().map(|(_, key)| key.clone()).collect();
        self.scopes.push((rows.clone(), schema.clone()));
        let block = self.tallied(inner, groups, calls);
        self.scopes.pop();
        let mut block = block?;
        let values = block.columns.split_off(keys.len());
        let own = std::mem::take(&mut block.columns);
        let around = keys.iter().map(|(around, _)| around.clone());
        let mut all: Vec<(Expr, Expr)> = around.zip(own).collect();
        all.extend(correlated(&mut block, rows, schema)?);
        Ok((block, all, values))
    }
}

/// Whether a comparison that does not decide is unknown: there is something to compare with, and NULL on a side.
fn is_unknown(all: &Summary, looked: &Expr) -> Expr {
    let some = binary_expr(all.rows.clone(), Operator::Gt, lit(0i64));
    let has_null = binary_expr(all.rows.clone(), Operator::Gt, all.values.clone());
    some.and(looked.clone().is_null().or(has_null))
}

/// Whether a number of rows is known and not 0.
fn is_some(rows: &Expr) -> Expr {
    binary_expr(rows.clone(), Operator::Gt, lit(0i64)).is_true()
}

fn unknown() -> Expr {
    Expr::Literal(ScalarValue::Boolean(None), None)
}
