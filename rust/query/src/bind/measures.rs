//! Expressions over aggregates, and HAVING: their aggregates and groups become measures.
//!
//! Invariant: what an expression reads is among the measures, each once. Cost: linear in the expression, but for the
//! aggregates that it needs.

use datafusion_common::Column;
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_expr::Expr;
use datafusion_expr::expr::AggregateFunction;
use ringview_core::{Error, Result, Type};
use ringview_expr::Scalar;

use crate::bind::aggregate::Aggregates;
use crate::bind::bound::{OutputKind, PlanOutput};
use crate::bind::computed::Results;
use crate::bind::names::named;
use crate::bind::reading::read;
use crate::logical::{ColumnRef, Function, Named};

impl Aggregates<'_> {
    /// The expression of the output `name`: what it is of by itself, or its number among what is computed.
    pub(crate) fn expression(&mut self, name: &str, value: &Scalar) -> Result<(Type, OutputKind)> {
        let mut expr = read(value, self.scopes)?;
        while let Expr::Alias(alias) = expr {
            expr = *alias.expr;
        }
        if let Some(found) = self.measure(name, &expr)? {
            return Ok(found);
        }
        let expr = self.over_measures(name, expr)?;
        let column = self.computed.len();
        self.computed.push((expr, name.to_owned()));
        // Its type is determined once all measures are known.
        Ok((Type::Bool, OutputKind::Computed { column }))
    }

    /// Computed columns over the measures so far, and a condition on the rows of the result.
    pub(crate) fn results(
        &mut self,
        outputs: &mut [PlanOutput],
        having: Option<&Scalar>,
    ) -> Result<Option<Results>> {
        let place = "HAVING";
        let having = having.map(|one| self.over_measures(place, read(one, self.scopes)?));
        let having = having.transpose()?;
        let columns = std::mem::take(&mut self.computed);
        if columns.is_empty() && having.is_none() {
            return Ok(None);
        }
        let field = |measure: &PlanOutput| {
            let counts = matches!(
                measure.kind,
                OutputKind::Count { .. } | OutputKind::Distinct { .. }
            );
            (measure.ty.clone(), !counts)
        };
        let measures = self.measures.iter().map(field).collect();
        let results = Results::new(columns, having, measures)?;
        for output in outputs {
            if let OutputKind::Computed { column } = output.kind {
                output.ty = results.projection().types()[column].clone();
            }
        }
        Ok(Some(results))
    }

    /// An expression over measures in the place of aggregates and groups.
    fn over_measures(&mut self, name: &str, expr: Expr) -> Result<Expr> {
        let mut problem = None;
        let made = expr.transform_down(|node| {
            let found = match self.measure(name, &node) {
                Ok(Some((ty, kind))) => self.measured(name, ty, kind),
                Ok(None) => return Ok(Transformed::no(node)),
                Err(error) => {
                    problem = Some(error);
                    return Ok(Transformed::new(node, false, TreeNodeRecursion::Stop));
                }
            };
            Ok(Transformed::new(found, true, TreeNodeRecursion::Jump))
        });
        match (problem, made) {
            (Some(problem), _) => Err(problem),
            (None, Ok(made)) => Ok(made.data),
            (None, Err(error)) => Err(Error::Value {
                place: format!("the expression {name:?}"),
                problem: error.strip_backtrace(),
            }),
        }
    }

    /// The measure that a node is: an aggregate, or the column of a group.
    fn measure(&mut self, name: &str, node: &Expr) -> Result<Option<(Type, OutputKind)>> {
        if let Expr::AggregateFunction(call) = node {
            let (function, arguments) = called(call)?;
            return self.aggregate(name, function, arguments).map(Some);
        }
        match named(node) {
            Some(Named::Column { atom, column, .. }) => {
                self.group(name, &ColumnRef { atom, column }).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The column of a measure; equal ones are one.
    fn measured(&mut self, name: &str, ty: Type, kind: OutputKind) -> Expr {
        let same = |other: &PlanOutput| other.kind == kind && other.ty == ty;
        let known = self.measures.iter().position(same);
        let at = known.unwrap_or_else(|| {
            let name = name.to_owned();
            self.measures.push(PlanOutput { name, ty, kind });
            self.measures.len() - 1
        });
        Expr::Column(Column::new_unqualified(at.to_string()))
    }
}

/// The aggregate that a call is, and what it is of.
pub(crate) fn called(call: &AggregateFunction) -> Result<(Function, &[Expr])> {
    let AggregateFunction { func, params } = call;
    let name = func.name();
    #[expect(deprecated, reason = "the binder makes one of COUNT(*)")]
    let is_star = |of: &Expr| matches!(of, Expr::Wildcard { .. } | Expr::Literal(..));
    let is_plain = params.filter.is_none() && params.order_by.is_empty();
    match Function::named(name, params.distinct).filter(|_| is_plain) {
        Some(Function::Count) if params.args.iter().all(is_star) => Ok((Function::Count, &[])),
        Some(function) => Ok((function, &params.args)),
        None => Err(Error::Unsupported {
            what: format!("the aggregate {name}"),
            why: "no engine keeps it in this form".to_owned(),
            instead: "write it with SUM, COUNT, AVG, MIN, MAX, or a variance".to_owned(),
        }),
    }
}
