//! Analysis of the step of a recursion: its reads of the rows so far, and the strategy for its
//! fixpoint.
//!
//! A step is linear if each of its rows derives from one row of the table: through projections, filters, and joins of
//! which one side has the table. Then rows can carry the level at which they were derived. It is one more column of the
//! table, which is added to the plan of the step here and passed to its last column. A step that tests rows by `IN` or
//! `EXISTS` of the table cannot pass a level on, yet is linear as a set. Invariant: a step with a level, applied to the
//! rows of one level alone, equals the step as written. Cost: O(plan) for each of its nodes that join or unite.

use std::any::Any;
use std::sync::Arc;

use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_common::{Column, JoinType};
use datafusion_expr::{
    Distinct, Expr, Filter, Join, LogicalPlan, LogicalPlanBuilder, Operator, Projection,
    RecursiveQuery, SubqueryAlias, TableScan, Union,
};
use ringview_core::Result;
use ringview_query::Strategy;

use super::pending::{any, is_nested, split};
use super::state::free;

use crate::error::refusal;
use crate::work::Work;

/// The step of a recursion: its plan, with a level behind its columns where the strategy has one.
pub(super) struct Analysed {
    pub(super) plan: LogicalPlan,
    pub(super) strategy: Strategy,
}

/// Plan and strategy of a step over the table of a name.
pub(super) fn analysed(step: &LogicalPlan, name: &str, distinct: bool) -> Result<Analysed> {
    let level = free("recursion level", &|name| has_column(step, name));
    let of = Recursion {
        name,
        level: &level,
    };
    if let Some(plan) = of.leveled(step).map_err(|problem| refusal(&problem))? {
        let strategy = match distinct {
            true => Strategy::Ranked { level },
            false => Strategy::Levels { level },
        };
        return Ok(Analysed { plan, strategy });
    }
    let strategy = match distinct && of.is_monotone(step, true) {
        true => Strategy::Rederived,
        false => Strategy::Anew { distinct },
    };
    Ok(Analysed {
        plan: step.clone(),
        strategy,
    })
}

/// Whether a column of this name is anywhere in a plan.
fn has_column(plan: &LogicalPlan, name: &str) -> bool {
    let mut has = false;
    let done = plan.apply_with_subqueries(|node| {
        let mut fields = node.schema().fields().iter();
        has |= fields.any(|field| field.name() == name);
        Ok(TreeNodeRecursion::Continue)
    });
    has || done.is_err()
}

/// Whether a scan is one of the rows of a recursion so far.
pub(super) fn is_work(scan: &TableScan) -> bool {
    let source: &dyn Any = &*scan.source;
    source.is::<Work>()
}

/// The recursion that a UNION is, where its step reads the rows so far in subqueries alone: the binder looks for them
/// in FROM. `is_known` tests for the names of recursions around.
pub(super) fn unseen(
    union: &Union,
    is_distinct: bool,
    is_known: &dyn Fn(&str) -> bool,
) -> Option<RecursiveQuery> {
    let [seed, step] = &union.inputs[..] else {
        return None;
    };
    let mut name = None;
    let done = step.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node
            && is_work(scan)
            && !is_known(scan.table_name.table())
        {
            name = Some(scan.table_name.table().to_owned());
        }
        Ok(TreeNodeRecursion::Continue)
    });
    let (seed, step) = (Arc::clone(seed), Arc::clone(step));
    let found = name.filter(|_| done.is_ok())?;
    RecursiveQuery::try_new(found, seed, step, is_distinct).ok()
}

/// The table of the rows so far, and what their level is called.
struct Recursion<'r> {
    name: &'r str,
    level: &'r str,
}

type Planned<T> = datafusion_common::Result<T>;

impl Recursion<'_> {
    fn is_it(&self, scan: &TableScan) -> bool {
        is_work(scan) && scan.table_name.table() == self.name
    }

    /// Whether a plan reads the table, in subqueries too.
    fn reads(&self, plan: &LogicalPlan) -> bool {
        let mut reads = false;
        let done = plan.apply_with_subqueries(|node| {
            reads |= matches!(node, LogicalPlan::TableScan(scan) if self.is_it(scan));
            Ok(TreeNodeRecursion::Continue)
        });
        reads || done.is_err()
    }

    /// Whether the expressions of a node read the table, in subqueries.
    fn is_read_in_subquery(&self, node: &LogicalPlan) -> bool {
        let mut reads = false;
        let done = node.apply_subqueries(|within| {
            reads |= self.reads(within);
            Ok(TreeNodeRecursion::Continue)
        });
        reads || done.is_err()
    }

    /// The column of the level in a plan that has one.
    fn column(&self, plan: &LogicalPlan) -> Planned<Expr> {
        let schema = plan.schema();
        let mut fields = schema.iter();
        let found = fields.find(|(_, field)| field.name() == self.level);
        match found {
            Some(found) => Ok(Expr::Column(Column::from(found))),
            None => datafusion_common::internal_err!("a step without its level"),
        }
    }

    /// A plan that reads the table with the level in its columns; none where it cannot be handed on.
    fn with_level(&self, plan: &LogicalPlan) -> Planned<Option<LogicalPlan>> {
        if !matches!(plan, LogicalPlan::TableScan(_)) && self.is_read_in_subquery(plan) {
            return Ok(None);
        }
        let through = |input: &LogicalPlan| -> Planned<Option<Vec<LogicalPlan>>> {
            Ok(self.with_level(input)?.map(|input| vec![input]))
        };
        let inputs = match plan {
            LogicalPlan::TableScan(scan) if self.is_it(scan) => {
                let source = Work::new(scan.source.schema(), self.level);
                let name = scan.table_name.clone();
                return LogicalPlanBuilder::scan(name, Arc::new(source), None)?
                    .build()
                    .map(Some);
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let Some(input) = self.with_level(&alias.input)? else {
                    return Ok(None);
                };
                let made = SubqueryAlias::try_new(Arc::new(input), alias.alias.clone())?;
                return Ok(Some(LogicalPlan::SubqueryAlias(made)));
            }
            LogicalPlan::Projection(projection) => {
                let Some(input) = self.with_level(&projection.input)? else {
                    return Ok(None);
                };
                let level = self.column(&input)?;
                let exprs = projection.expr.iter().cloned().chain([level]).collect();
                let made = Projection::try_new(exprs, Arc::new(input))?;
                return Ok(Some(LogicalPlan::Projection(made)));
            }
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let input = self.with_level(input)?;
                let made = |input| LogicalPlan::Distinct(Distinct::All(Arc::new(input)));
                return Ok(input.map(made));
            }
            LogicalPlan::Union(union) => {
                let mut inputs = Vec::with_capacity(union.inputs.len());
                for input in &union.inputs {
                    match self.leveled(input)? {
                        Some(input) => inputs.push(Arc::new(input)),
                        None => return Ok(None),
                    }
                }
                return Ok(Some(LogicalPlan::Union(Union::try_new(inputs)?)));
            }
            LogicalPlan::Filter(filter) => through(&filter.input)?,
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => through(&sort.input)?,
            LogicalPlan::Join(join) => self.sides(join)?,
            _ => None,
        };
        let with = |inputs| plan.with_new_exprs(plan.expressions(), inputs);
        inputs.map(with).transpose()
    }

    /// The sides of a join, of which one has the level and keeps all that the join makes of its rows.
    fn sides(&self, join: &Join) -> Planned<Option<Vec<LogicalPlan>>> {
        use JoinType::{Inner, Left, LeftAnti, LeftSemi, Right, RightAnti, RightSemi};
        let (left, right) = (&*join.left, &*join.right);
        let sides = match (self.reads(left), self.reads(right)) {
            (true, false) if matches!(join.join_type, Inner | Left | LeftSemi | LeftAnti) => {
                self.with_level(left)?.map(|left| vec![left, right.clone()])
            }
            (false, true) if matches!(join.join_type, Inner | Right | RightSemi | RightAnti) => {
                self.with_level(right)?
                    .map(|right| vec![left.clone(), right])
            }
            _ => None,
        };
        Ok(sides)
    }

    /// The same with the level behind all columns.
    fn leveled(&self, plan: &LogicalPlan) -> Planned<Option<LogicalPlan>> {
        if !self.reads(plan) {
            return Ok(None);
        }
        let Some(with) = self.with_level(plan)? else {
            return Ok(None);
        };
        let own = plan.schema().iter();
        let own = own.map(|field| Expr::Column(Column::from(field)));
        let level = self.column(&with)?.alias(self.level);
        let exprs = own.chain([level]).collect();
        let made = Projection::try_new(exprs, Arc::new(with))?;
        Ok(Some(LogicalPlan::Projection(made)))
    }

    /// Whether a plan only gains rows where tables do, and reads the recursion in one place if it does so at all.
    fn is_monotone(&self, plan: &LogicalPlan, reads: bool) -> bool {
        if self.reads(plan) != reads {
            return false;
        }
        let is_plain =
            |plan: &LogicalPlan| !plan.expressions().iter().any(|expr| any(expr, is_nested));
        match plan {
            LogicalPlan::TableScan(_) | LogicalPlan::EmptyRelation(_) | LogicalPlan::Values(_) => {
                true
            }
            LogicalPlan::SubqueryAlias(alias) => self.is_monotone(&alias.input, reads),
            LogicalPlan::Projection(projection) => {
                is_plain(plan) && self.is_monotone(&projection.input, reads)
            }
            LogicalPlan::Sort(sort) => sort.fetch.is_none() && self.is_monotone(&sort.input, reads),
            LogicalPlan::Distinct(Distinct::All(input)) => self.is_monotone(input, reads),
            LogicalPlan::Union(union) => {
                let mut inputs = union.inputs.iter();
                inputs.all(|input| self.is_monotone(input, reads))
            }
            LogicalPlan::Join(join) if join.join_type == JoinType::Inner && is_plain(plan) => {
                let sides = (self.reads(&join.left), self.reads(&join.right));
                sides != (true, true)
                    && self.is_monotone(&join.left, sides.0)
                    && self.is_monotone(&join.right, sides.1)
            }
            LogicalPlan::Filter(filter) => self.is_monotone_filter(filter),
            _ => false,
        }
    }

    /// The same of a filter: its subqueries choose rows that are in them.
    fn is_monotone_filter(&self, filter: &Filter) -> bool {
        let below = self.reads(&filter.input);
        let mut conjuncts = Vec::new();
        split(&filter.predicate, Operator::And, &mut conjuncts);
        let mut places = usize::from(below);
        for conjunct in conjuncts.iter().filter(|one| any(one, is_nested)) {
            let within = match conjunct {
                Expr::InSubquery(within) if !within.negated && !any(&within.expr, is_nested) => {
                    &within.subquery
                }
                Expr::Exists(within) if !within.negated => &within.subquery,
                _ => return false,
            };
            let reads = self.reads(&within.subquery);
            places += usize::from(reads);
            if !self.is_monotone(&within.subquery, reads) {
                return false;
            }
        }
        places <= 1 && self.is_monotone(&filter.input, below)
    }
}
