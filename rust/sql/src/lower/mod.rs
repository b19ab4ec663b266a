//! Relational operators to blocks.
//!
//! Joins and aggregates become queries that an engine keeps; row-by-row computations become blocks that keep nothing,
//! below them or above. Invariant: a block precedes all that read it and has been bound, so its columns have types.
//! Cost: linear in the plan, and binding each block once.
//!
//! | file | holds |
//! |---|---|
//! | `pending` | rows that are no block yet |
//! | `state` | the blocks so far |
//! | `lowered` | pending rows to atoms with plain columns |
//! | `compare` | equalities that join, filters that an engine takes |
//! | `shown` | lowered rows as a query |
//! | `aggregate` | GROUP BY, DISTINCT |
//! | `engine_calls` | aggregates that an engine keeps |
//! | `cofactor` | the features of COFACTOR |
//! | `sets` | GROUPING SETS, ROLLUP, CUBE |
//! | `set_types` | INTERSECT and EXCEPT of different types |
//! | `indicator` | sums of what one table chooses and another has |
//! | `pairs` | joins whose pairs must meet conditions |
//! | `union` | UNION, and other blocks that add up rows |
//! | `unnest` | UNNEST |
//! | `constant` | VALUES |
//! | `recursive` | WITH RECURSIVE |
//! | `linear` | how a recursion reads its own rows |
//! | `prune` | blocks without the columns that nobody reads |
//! | `truth` | EXISTS, IN, ANY and ALL as values |
//! | `correlated` | conditions with subqueries as an engine keeps them |
//! | `levels` | columns of conditions within conditions |
//! | `fused` | HAVING and expressions over aggregates, by the engine of the groups |
//! | `subquery` | subqueries in conditions, and as values |
//! | `join` | inner and outer joins, those of EXISTS and IN |
//! | `lateral` | LATERAL |
//! | `domain` | the values of the row around that a subquery reads, joined with its rows |
//! | `over_nothing` | the row of a correlated aggregate over no rows |
//! | `order` | ORDER BY, LIMIT, the first rows of each partition |
//! | `call` | functions over the rows of a partition, as a plan has them |
//! | `time` | conditions on the clock |
//! | `windowed` | the blocks that compute those: windows, and aggregates that need all rows of a group |

mod aggregate;
mod asof;
mod call;
mod cofactor;
mod compare;
mod constant;
mod correlated;
mod domain;
mod eager;
mod engine_calls;
mod extremes;
mod firsts;
mod fused;
mod indicator;
mod join;
mod lateral;
mod levels;
mod linear;
mod lowered;
mod null_rejecting;
mod order;
mod over_nothing;
mod pairs;
mod pending;
mod prune;
mod recursive;
mod scalar;
mod set_types;
mod sets;
mod shown;
mod state;
mod subquery;
mod time;
mod truth;
mod union;
mod unnest;
mod windowed;

use datafusion_expr::{Distinct, Expr, LogicalPlan};
use ringview_core::Result;
use ringview_query::Query;

use crate::error::unsupported;
use crate::order::{self as variable_order, Named};
use crate::outputs::distinct_names;
use domain::is_reference;
use pending::{Pending, any, is_nested, of_window, split, window};
pub(crate) use state::Lowering;
use unnest::lists_of;

impl Lowering<'_> {
    /// The query of a whole plan.
    pub(crate) fn query(mut self, plan: &LogicalPlan, order: Option<&[Named]>) -> Result<Query> {
        let fields = plan.schema().fields().iter();
        let names: Vec<String> = fields.map(|field| field.name().clone()).collect();
        let names = distinct_names(&names);
        let mut query = match self.ordered_plan(plan)? {
            Some(ordered) => self.ordered(ordered, &names)?,
            None => {
                let rows = self.relation(plan)?;
                self.shown(rows, &names)?
            }
        };
        if let Some(order) = order {
            query.order = Some(variable_order::resolve(order, &query, &self)?);
        }
        let blocks = self.read_by(&query);
        Ok(Query {
            blocks: self.pruned(&query, blocks),
            ..query
        })
    }

    /// The rows of a plan.
    pub(crate) fn relation(&mut self, plan: &LogicalPlan) -> Result<Pending> {
        match plan {
            LogicalPlan::TableScan(scan) if linear::is_work(scan) => {
                let Some(name) = self.working(scan.table_name.table()) else {
                    return Err(unsupported("this recursion is not kept"));
                };
                let fields = scan.projected_schema.fields().iter();
                Ok(Pending::over(name, fields.map(|field| field.name())))
            }
            LogicalPlan::RecursiveQuery(query) => self.recursive(query),
            LogicalPlan::TableScan(scan) => {
                let name = scan.table_name.table();
                if scan.source.schema().fields().is_empty() {
                    return Err(unsupported(&format!(
                        "the view \"{name}\" holds matrices, and is not read by another view; \
                         read it with ringview.ml"
                    )));
                }
                let columns = scan
                    .projected_schema
                    .fields()
                    .iter()
                    .map(|field| field.name());
                Ok(Pending::over(name, columns))
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let before = self.blocks.len();
                let rows = self.relation(&alias.input)?;
                let name = alias.alias.table();
                Ok(self.renamed_block(rows, before, name).called(name))
            }
            LogicalPlan::Subquery(subquery) => self.relation(&subquery.subquery),
            // Rows of a subquery have no order.
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => self.relation(&sort.input),
            LogicalPlan::Projection(projection) => {
                let rows = match projection.expr.iter().any(|expr| any(expr, is_reference)) {
                    true => self.input(&projection.input)?,
                    false => self.relation(&projection.input)?,
                };
                let schema = projection.input.schema();
                let (exprs, lists) = lists_of(&projection.expr);
                let rows = self.projected(rows, &exprs, schema)?;
                match lists.is_empty() {
                    true => Ok(rows),
                    false => self.keyed(rows, |lowering, rows| lowering.of_lists(rows, &lists)),
                }
            }
            LogicalPlan::Filter(filter) => {
                let mut rows = self.input_of_filter(&filter.input, &filter.predicate)?;
                let mut conjuncts = Vec::new();
                split(
                    &filter.predicate,
                    datafusion_expr::Operator::And,
                    &mut conjuncts,
                );
                let schema = filter.input.schema();
                let (mut conjuncts, on_time) = time::split_clock(conjuncts);
                // A subquery may make a block of the rows so far, so the conditions that restrict them are applied
                // before it.
                conjuncts.sort_by_key(|conjunct| any(conjunct, is_nested));
                for conjunct in conjuncts {
                    let mut meant = rows.meant(&conjunct, schema)?;
                    if !rows.windows.is_empty() && any(&meant, looks_elsewhere) {
                        rows = self.flat(rows)?;
                        meant = rows.meant(&conjunct, schema)?;
                    }
                    rows = self.restricted(rows, meant, schema)?;
                }
                self.timed(rows, &on_time, schema)
            }
            LogicalPlan::Window(window) => {
                let rows = self.input(&window.input)?;
                self.windows(rows, window)
            }
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate),
            LogicalPlan::Distinct(Distinct::All(input)) => {
                if let LogicalPlan::Union(union) = &**input
                    && let Some(query) = self.unseen(union, true)
                {
                    return self.recursive(&query);
                }
                let rows = self.input(input)?;
                self.keyed(rows, |lowering, rows| {
                    let (name, columns) = lowering.distinct(rows)?;
                    Ok(Pending::over(&name, &columns))
                })
            }
            LogicalPlan::Distinct(Distinct::On(on)) => Ok(self.distinct_on(on)?.0),
            LogicalPlan::Join(join) => self.join(join),
            LogicalPlan::Unnest(unnest) => self.unnest(unnest),
            LogicalPlan::Union(union) => match self.unseen(union, false) {
                Some(query) => self.recursive(&query),
                None => self.union(union),
            },
            LogicalPlan::Values(values) => self.values(&values.values),
            LogicalPlan::EmptyRelation(empty) if empty.produce_one_row => {
                self.values(&[Vec::new()])
            }
            LogicalPlan::Limit(_) | LogicalPlan::Sort(_) => match self.ordered_plan(plan)? {
                Some(ordered) if ordered.is_correlated() => self.first_of_each(ordered),
                Some(ordered) => {
                    let names: Vec<String> = (0..ordered.columns())
                        .map(|at| format!("column {at}"))
                        .collect();
                    let query = self.ordered(ordered, &names)?;
                    let name = self.emit("first", query)?;
                    Ok(Pending::over(&name, &names))
                }
                None => Err(unsupported("this LIMIT is not kept")),
            },
            other => Err(unsupported(&format!("{} is not kept", other.display()))),
        }
    }

    /// Rows with window functions. Those of a correlated subquery have the partitions of each row around.
    fn windows(&mut self, rows: Pending, plan: &datafusion_expr::Window) -> Result<Pending> {
        let mut rows = self.decorrelated(rows)?;
        let schema = plan.input.schema();
        let mut reads_window = !rows.above.is_empty();
        for expr in &plan.window_expr {
            let meant = rows.meant(expr, schema)?;
            reads_window |= any(&meant, |node| window(node).is_some());
        }
        if reads_window {
            rows = self.flat(rows)?;
        }
        let outer = std::mem::take(&mut rows.outer);
        for expr in &plan.window_expr {
            let mut made = call::windowed(&rows, expr, schema)?;
            made.partition
                .extend(outer.iter().map(|(_, key)| key.clone()));
            rows.columns.push(of_window(rows.windows.len()));
            rows.windows.push(made);
        }
        if outer.is_empty() {
            return Ok(rows);
        }
        // The keys are columns of the block of the windows, as what is correlated reads them above.
        let width = rows.columns.len();
        rows.columns
            .extend(outer.iter().map(|(_, key)| key.clone()));
        let mut rows = self.flat(rows)?;
        let keys = rows.columns.split_off(width);
        let around = outer.into_iter().map(|(around, _)| around);
        rows.outer = around.zip(keys).collect();
        Ok(rows)
    }

    /// Rows that meet one more condition.
    fn restricted(
        &mut self,
        mut rows: Pending,
        condition: Expr,
        schema: &datafusion_common::DFSchema,
    ) -> Result<Pending> {
        if any(&condition, is_nested) {
            return self.with_subqueries(rows, condition, schema);
        }
        if any(&condition, is_reference) {
            match subquery::correlation(&condition) {
                Some(pair) => rows.outer.push(pair),
                None => rows.outer_conditions.push(condition),
            }
            return Ok(rows);
        }
        rows.restrict(condition);
        Ok(rows)
    }
}

/// Whether a node reads a subquery, or the query around.
fn looks_elsewhere(node: &Expr) -> bool {
    is_nested(node) || is_reference(node)
}
