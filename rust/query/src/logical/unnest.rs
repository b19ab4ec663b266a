//! Conditions on the value of one subquery as joins: views over views in the place of an aggregate
//! index.
//!
//! `300 < (SELECT SUM(l.units) FROM l WHERE l.k = o.k)` holds for all rows of a key or for none. So
//! it is the join of o with a block, `SELECT k FROM l GROUP BY k HAVING 300 < SUM(units)`, on k;
//! without a correlation the block has one row, or none. Invariant: what is given back means the
//! same: a row has one partner in the block at the most, and none where the condition is not true.
//! A key that no row within has finds no group, so nothing may hold over no rows: NULL compares
//! with nothing, and of a count it is known. Cost: O(query).

use datafusion_common::ScalarValue;
use datafusion_expr::Expr;
use datafusion_expr::expr::{AggregateFunction, BinaryExpr, ScalarFunction};
use ringview_expr::Scalar;

use super::{
    Atom, Block, ColumnRef, Comparison, Function, Named, Output, Query, UNREAD, Why, free_name,
};

impl Query {
    /// The same, with each condition on the value of one subquery as a join with a block: those
    /// blocks, which precede it, and the rest of the query. `is_taken` tests whether a name is in
    /// use.
    ///
    /// # Errors
    /// Why none of its conditions is one.
    pub fn unnest(&self, is_taken: &dyn Fn(&str) -> bool) -> Result<(Vec<Block>, Query), Why> {
        if self.order.is_some() || self.epsilon.is_some() {
            return Err(
                "its order of variables, or its thresholds, were given for it as it stands",
            );
        }
        let (mut blocks, mut rest, mut why) = (Vec::new(), Vec::new(), None);
        let mut query = self.clone();
        for conjunct in self.conjuncts() {
            match self.block(&conjunct) {
                Ok((block, outer)) => {
                    let name = free_name("groups", blocks.len(), is_taken);
                    query.join(&name, outer);
                    blocks.push(Block { name, query: block });
                }
                Err(reason) => {
                    why = why.or(reason);
                    rest.push(conjunct);
                }
            }
        }
        if blocks.is_empty() {
            return Err(why.unwrap_or("its condition compares with no query within"));
        }
        query.set_conditions(rest).map_err(|_| UNREAD)?;
        Ok((blocks, query))
    }

    /// The conditions of which all must hold.
    fn conjuncts(&self) -> Vec<Scalar> {
        let condition = self.condition.as_ref();
        condition.map(Scalar::conjuncts).unwrap_or_default()
    }

    /// Joins with a block whose columns equal these.
    fn join(&mut self, name: &str, outer: Vec<ColumnRef>) {
        let atom = self.atoms.len();
        self.atoms.push(Atom {
            table: name.to_owned(),
            alias: name.to_owned(),
            filter: None,
        });
        for (at, column) in outer.into_iter().enumerate() {
            let own = ColumnRef {
                atom,
                column: key(at),
            };
            self.joins.push(vec![column, own]);
        }
    }

    /// A condition as a block, and the columns around that its first columns equal; no reason where
    /// it contains no subquery.
    fn block(&self, condition: &Scalar) -> Result<(Query, Vec<ColumnRef>), Option<Why>> {
        let within = self.only_subquery(condition)?;
        let having = Named::renamed(condition, &mut |_| within.value());
        let having = having.map_err(|_| Some(UNREAD))?;
        let (rest, inner, outer) = within.correlated()?;
        if !outer.is_empty() && holds_over_nothing(having.expr()) {
            return Err(Some(
                "its condition may hold where the query within has no rows",
            ));
        }
        let group = |(at, column): (usize, &ColumnRef)| Output::Group {
            name: key(at),
            column: column.clone(),
        };
        let mut outputs: Vec<Output> = inner.iter().enumerate().map(group).collect();
        if outputs.is_empty() {
            outputs.push(Output::Aggregate {
                name: "rows".to_owned(),
                function: Function::Count,
                argument: None,
            });
        }
        let mut group_by = inner;
        group_by.sort_by(|one, other| (one.atom, &one.column).cmp(&(other.atom, &other.column)));
        group_by.dedup();
        let mut block = Query {
            group_by,
            outputs,
            having: Some(having),
            ..within.clone()
        };
        block.set_conditions(rest).map_err(|_| Some(UNREAD))?;
        Ok((block, outer))
    }

    /// The one subquery that a condition compares with what is the same for all rows.
    fn only_subquery(&self, condition: &Scalar) -> Result<&Query, Option<Why>> {
        let named = Named::all(condition).map_err(|_| Some(UNREAD))?;
        let subqueries = named.iter().filter_map(|one| match one {
            Named::Subquery(number) => self.subqueries.get(*number),
            Named::Column { .. } => None,
        });
        let subqueries: Vec<&Query> = subqueries.collect();
        let Some(first) = subqueries.first() else {
            return Err(None);
        };
        if !is_comparison(condition.expr()) {
            return Err(Some(
                "a query within stands in a condition that is no comparison which must hold",
            ));
        }
        if named.iter().any(|one| matches!(one, Named::Column { .. })) {
            return Err(Some(
                "what a query within is compared with differs from row to row",
            ));
        }
        if subqueries.len() > 1 {
            return Err(Some("two queries within are compared with each other"));
        }
        Ok(first)
    }

    /// Its one value.
    fn value(&self) -> Option<Expr> {
        match &self.outputs[..] {
            [value @ (Output::Aggregate { .. } | Output::Expression { .. })] => value.expr(),
            _ => None,
        }
    }

    /// Conditions on its rows without its correlations, and the columns that these make equal: its
    /// own, and those around.
    fn correlated(&self) -> Result<Correlated, Option<Why>> {
        let (mut rest, mut inner, mut outer) = (Vec::new(), Vec::new(), Vec::new());
        for conjunct in self.conjuncts() {
            if let Some((own, around)) = pair(&conjunct) {
                inner.push(own);
                outer.push(around);
            } else if self.reaches(&conjunct, 1) {
                let why = "a query within is correlated by more than equal columns";
                return Err(Some(why));
            } else {
                rest.push(conjunct);
            }
        }
        Ok((rest, inner, outer))
    }

    /// Whether a condition names columns of queries around, so many further out at the least.
    fn reaches(&self, condition: &Scalar, least: usize) -> bool {
        let Ok(named) = Named::all(condition) else {
            return true;
        };
        named.iter().any(|one| match one {
            Named::Column { depth, .. } => *depth >= least,
            Named::Subquery(number) => {
                let within = self.subqueries.get(*number);
                let condition = within.and_then(|one| Some((one, one.condition.as_ref()?)));
                condition.is_some_and(|(one, condition)| one.reaches(condition, least + 1))
            }
        })
    }
}

impl Query {
    /// Replaces its condition by these, of which all must hold; subqueries that none names are
    /// dropped.
    ///
    /// # Errors
    /// As [`Named::all`].
    fn set_conditions(&mut self, conditions: Vec<Scalar>) -> ringview_core::Result<()> {
        let all = std::mem::take(&mut self.subqueries);
        let mut kept: Vec<usize> = Vec::new();
        let number = |named| {
            let Named::Subquery(number) = named else {
                return None;
            };
            let known = kept.iter().position(|other| *other == number);
            let at = known.unwrap_or_else(|| {
                kept.push(number);
                kept.len() - 1
            });
            Some(Named::Subquery(at).expr())
        };
        let condition = Scalar::all_of(conditions);
        let mut number = number;
        self.condition = match condition {
            Some(all) => Some(Named::renamed(&all, &mut number)?),
            None => None,
        };
        let mut all: Vec<Option<Query>> = all.into_iter().map(Some).collect();
        let queries = kept.into_iter().filter_map(|at| all.get_mut(at)?.take());
        self.subqueries = queries.collect();
        Ok(())
    }
}

/// Conditions on the rows of a query, its own columns that equal others, and those others.
type Correlated = (Vec<Scalar>, Vec<ColumnRef>, Vec<ColumnRef>);

fn key(at: usize) -> String {
    format!("key {at}")
}

/// A column of the query and one of the query around it that must equal it.
fn pair(condition: &Scalar) -> Option<(ColumnRef, ColumnRef)> {
    let of = |side: Named| match side {
        Named::Column {
            depth,
            atom,
            column,
        } => Some((depth, ColumnRef { atom, column })),
        Named::Subquery(_) => None,
    };
    let (left, right) = Named::equality(condition)?;
    let (one, other) = (of(left)?, of(right)?);
    match (one.0, other.0) {
        (0, 1) => Some((one.1, other.1)),
        (1, 0) => Some((other.1, one.1)),
        _ => None,
    }
}

fn is_comparison(of: &Expr) -> bool {
    matches!(of, Expr::BinaryExpr(binary) if Comparison::of(binary.op).is_some())
}

/// Whether a comparison may hold over no rows at all.
fn holds_over_nothing(of: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = of else {
        return true;
    };
    if is_null(left) || is_null(right) {
        return false;
    }
    match (number(left), number(right)) {
        (Some(left), Some(right)) => {
            Comparison::of(*op).is_none_or(|comparison| comparison.holds(left.cmp(&right)))
        }
        _ => true,
    }
}

/// Whether a value over no rows is known to be NULL.
fn is_null(value: &Expr) -> bool {
    match value {
        Expr::AggregateFunction(call) => !is_count(call),
        Expr::Literal(value, _) => value.is_null(),
        Expr::BinaryExpr(binary) if binary.op.is_numerical_operators() => {
            is_null(&binary.left) || is_null(&binary.right)
        }
        Expr::Negative(of) => is_null(of),
        Expr::ScalarFunction(ScalarFunction { func, args }) if func.name() == "coalesce" => {
            args.iter().all(is_null)
        }
        _ => false,
    }
}

/// The whole number that a value over no rows is known to be.
fn number(value: &Expr) -> Option<i64> {
    match value {
        Expr::AggregateFunction(call) if is_count(call) => Some(0),
        Expr::Literal(ScalarValue::Int64(value), _) => *value,
        Expr::Negative(of) => number(of)?.checked_neg(),
        _ => None,
    }
}

fn is_count(call: &AggregateFunction) -> bool {
    matches!(call.func.name(), "count" | "regr_count")
}
