//! ORDER BY, LIMIT and OFFSET, and the first rows of each partition.
//!
//! Invariant: the order is kept where it is the result's, or where it chooses rows; elsewhere rows have no order. Cost:
//! O(columns).

use datafusion_common::DFSchema;
use datafusion_expr::expr::BinaryExpr;
use datafusion_expr::{Distinct, DistinctOn, Expr, LogicalPlan, Operator, SortExpr};
use ringview_core::Result;
use ringview_query::{Ordering, Query, Rank, Rows, SortKey};

use super::pending::{Pending, Ranking, SortedBy, any, integer, is_nested, window};
use super::state::{Lowering, computing, free};
use crate::error::unsupported;

/// Rows, what they are ordered by, and which of them are shown.
pub(crate) struct Sorted {
    rows: Pending,
    by: Vec<SortedBy>,
    skip: u64,
    keep: Option<u64>,
}

impl Sorted {
    /// Number of output columns.
    pub(crate) fn columns(&self) -> usize {
        self.rows.columns.len()
    }

    /// Whether a subquery has them for each row around it.
    pub(crate) fn is_correlated(&self) -> bool {
        !self.rows.outer.is_empty() || !self.rows.outer_conditions.is_empty()
    }
}

impl Lowering<'_> {
    /// The rows of a plan that sorts or cuts its result; none of another.
    pub(crate) fn ordered_plan(&mut self, plan: &LogicalPlan) -> Result<Option<Sorted>> {
        let (skip, keep, input) = match plan {
            LogicalPlan::Limit(limit) => {
                let number = |of: &Option<Box<Expr>>| match of.as_deref() {
                    None => Ok(None),
                    Some(expr) => {
                        let found = integer(expr).and_then(|value| u64::try_from(value).ok());
                        found
                            .map(Some)
                            .ok_or_else(|| unsupported("LIMIT and OFFSET take constant numbers"))
                    }
                };
                (
                    number(&limit.skip)?.unwrap_or(0),
                    number(&limit.fetch)?,
                    &*limit.input,
                )
            }
            other => (0, None, other),
        };
        if let LogicalPlan::Distinct(Distinct::On(on)) = input
            && on.sort_expr.is_some()
        {
            let (rows, by) = self.distinct_on(on)?;
            return Ok(Some(Sorted {
                rows,
                by,
                skip,
                keep,
            }));
        }
        let is_cut = matches!(plan, LogicalPlan::Limit(_));
        let (shown, sort) = match input {
            LogicalPlan::Sort(sort) => (None, Some(sort)),
            LogicalPlan::Projection(projection) => match &*projection.input {
                LogicalPlan::Sort(sort) => (Some(&projection.expr), Some(sort)),
                _ => (None, None),
            },
            _ => (None, None),
        };
        let Some(sort) = sort else {
            if !is_cut {
                return Ok(None);
            }
            let rows = self.input(input)?;
            return Ok(Some(Sorted {
                rows,
                by: Vec::new(),
                skip,
                keep,
            }));
        };
        let mut rows = self.input(&sort.input)?;
        let schema = sort.input.schema();
        if sort.expr.iter().any(|key| any(&key.expr, is_nested)) {
            rows = self.flat(rows)?;
        }
        let mut by = keys(&rows, &sort.expr, schema)?;
        let columns = match shown {
            Some(shown) => {
                let meant = shown.iter().map(|expr| rows.meant(expr, schema));
                meant.collect::<Result<_>>()?
            }
            None => rows.columns.clone(),
        };
        let exprs = by.iter().map(|(expr, _, _)| expr.clone()).chain(columns);
        let (mut rows, mut exprs) = self.with_values(rows, exprs.collect(), schema)?;
        rows.columns = exprs.split_off(by.len());
        for ((key, _, _), expr) in by.iter_mut().zip(exprs) {
            *key = expr;
        }
        Ok(Some(Sorted {
            rows,
            by,
            skip,
            keep,
        }))
    }

    /// The query of sorted rows under these names.
    pub(crate) fn ordered(&mut self, sorted: Sorted, names: &[String]) -> Result<Query> {
        let Sorted {
            mut rows,
            by,
            skip,
            keep,
        } = sorted;
        let width = rows.columns.len();
        rows.columns
            .extend(by.iter().map(|(expr, _, _)| expr.clone()));
        let order = by
            .iter()
            .map(|(_, descending, nulls_first)| (*descending, *nulls_first));
        let (table, mut all) = self.named_rows(rows, names)?;
        let keys = all.split_off(width).into_iter().zip(order);
        let keys = keys.map(|(column, (descending, nulls_first))| SortKey {
            column,
            descending,
            nulls_first,
        });
        let ordering = Ordering {
            names: names.to_vec(),
            partition: Vec::new(),
            order: keys.collect(),
            rank: Rank::RowNumber,
            skip,
            keep,
        };
        Ok(computing(&[table], Rows::Ordered(ordering)))
    }

    /// The first rows of a correlated subquery: those of each key by which it is correlated.
    pub(crate) fn first_of_each(&mut self, sorted: Sorted) -> Result<Pending> {
        let Sorted {
            rows,
            by,
            skip,
            keep,
        } = sorted;
        let mut rows = self.decorrelated(rows)?;
        if !rows.windows.is_empty() {
            return Err(unsupported(
                "a window function in a correlated subquery is not kept",
            ));
        }
        let outer = std::mem::take(&mut rows.outer);
        let width = rows.columns.len();
        let keys: Vec<Expr> = outer.iter().map(|(_, key)| key.clone()).collect();
        rows.columns.extend(keys.iter().cloned());
        let Some(keep) = keep else {
            if skip > 0 {
                return Err(unsupported(
                    "OFFSET without LIMIT in a correlated subquery is not kept",
                ));
            }
            rows.columns.truncate(width);
            return Ok(Pending { outer, ..rows });
        };
        let ranking = Ranking {
            rank: Rank::RowNumber,
            partition: keys,
            order: by,
        };
        let mut found = self.first_of(rows, ranking, (skip, keep))?;
        let keys = found.columns.split_off(width);
        let around = outer.into_iter().map(|(around, _)| around);
        found.outer = around.zip(keys).collect();
        Ok(found)
    }

    /// Rows of one table in these columns, or different ones: in no order, for which they may be more than a join has
    /// variables.
    pub(super) fn unordered(
        &mut self,
        rows: Pending,
        names: &[String],
        distinct: bool,
    ) -> Result<Query> {
        let (table, _) = self.named_rows(rows, names)?;
        let ordering = Ordering {
            names: names.to_vec(),
            partition: if distinct { names.to_vec() } else { Vec::new() },
            order: Vec::new(),
            rank: Rank::RowNumber,
            skip: 0,
            keep: distinct.then_some(1),
        };
        Ok(computing(&[table], Rows::Ordered(ordering)))
    }

    /// A block whose first columns have these names; the names of all of its columns.
    fn named_rows(&mut self, rows: Pending, names: &[String]) -> Result<(String, Vec<String>)> {
        let (table, branch) = self.branch_of(rows)?;
        let mut all: Vec<String> = names.to_vec();
        for _ in names.len()..branch.columns.len() {
            all.push(free("key", &|name| all.iter().any(|other| other == name)));
        }
        let rows = Rows::Map {
            names: all.clone(),
            branches: vec![branch],
        };
        Ok((self.emit("computed", computing(&[table], rows))?, all))
    }

    /// The first row of each partition, and what they are ordered by.
    pub(crate) fn distinct_on(&mut self, on: &DistinctOn) -> Result<(Pending, Vec<SortedBy>)> {
        let mut rows = self.input(&on.input)?;
        let schema = on.input.schema();
        let partition = on.on_expr.iter().map(|expr| rows.meant(expr, schema));
        let ranking = Ranking {
            rank: Rank::RowNumber,
            partition: partition.collect::<Result<_>>()?,
            order: keys(&rows, on.sort_expr.as_deref().unwrap_or_default(), schema)?,
        };
        let columns = on.select_expr.iter().map(|expr| rows.meant(expr, schema));
        rows.columns = columns.collect::<Result<_>>()?;
        let width = rows.columns.len();
        let mut order = ranking.order.clone();
        rows.columns
            .extend(order.iter().map(|(expr, _, _)| expr.clone()));
        let mut found = self.first(rows, ranking, 1)?;
        let keys = found.columns.split_off(width);
        for ((expr, _, _), key) in order.iter_mut().zip(keys) {
            *expr = key;
        }
        Ok((found, order))
    }

    /// The first rows of each partition.
    pub(crate) fn first(&mut self, rows: Pending, chosen: Ranking, keep: u64) -> Result<Pending> {
        self.first_of(rows, chosen, (0, keep))
    }

    fn first_of(
        &mut self,
        mut rows: Pending,
        chosen: Ranking,
        (skip, keep): (u64, u64),
    ) -> Result<Pending> {
        let names: Vec<String> = (0..rows.columns.len())
            .map(|at| format!("column {at}"))
            .collect();
        // A column that is shown is kept once, and is the key of a partition under its own name.
        let mut place = |expr: &Expr| {
            let known = rows.columns.iter().position(|column| column == expr);
            known.unwrap_or_else(|| {
                rows.columns.push(expr.clone());
                rows.columns.len() - 1
            })
        };
        let partition: Vec<usize> = chosen.partition.iter().map(&mut place).collect();
        let order: Vec<usize> = (chosen.order.iter())
            .map(|(expr, _, _)| place(expr))
            .collect();
        let (table, all) = self.named_rows(rows, &names)?;
        let order = order
            .iter()
            .zip(&chosen.order)
            .map(|(&at, (_, descending, nulls_first))| SortKey {
                column: all[at].clone(),
                descending: *descending,
                nulls_first: *nulls_first,
            });
        let ordering = Ordering {
            names: names.clone(),
            partition: partition.iter().map(|&at| all[at].clone()).collect(),
            order: order.collect(),
            rank: chosen.rank,
            skip,
            keep: Some(keep),
        };
        let name = self.emit("first", computing(&[table], Rows::Ordered(ordering)))?;
        Ok(Pending::over(&name, &names))
    }
}

/// Keys by which rows are sorted.
pub(crate) fn keys(rows: &Pending, by: &[SortExpr], schema: &DFSchema) -> Result<Vec<SortedBy>> {
    let key = |sort: &SortExpr| Ok((rows.meant(&sort.expr, schema)?, !sort.asc, sort.nulls_first));
    by.iter().map(key).collect()
}

/// Up to which number a condition chooses rows, and of which window function.
pub(crate) fn upper(condition: &Expr) -> Option<(usize, u64)> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = condition else {
        return None;
    };
    let (number, op, bound) = match (window(left), window(right)) {
        (Some(number), None) => (number, *op, integer(right)?),
        (None, Some(number)) => (number, op.swap()?, integer(left)?),
        _ => return None,
    };
    let keep = match op {
        Operator::LtEq => bound,
        Operator::Lt => bound - 1,
        Operator::Eq if bound == 1 => 1,
        _ => return None,
    };
    Some((number, u64::try_from(keep).unwrap_or(0)))
}
