//! Relational operators to blocks.
//!
//! Joins and aggregates become queries that an engine keeps; what is computed row by row becomes a block that keeps
//! nothing, below them or above. Invariant: a block stands before whatever reads it and has been bound, so its columns
//! have types. Cost: linear in the plan, and binding each block once.
//!
//! | file | holds |
//! |---|---|
//! | `pending` | rows that are no block yet |
//! | `settle` | pending rows to atoms with plain columns |
//! | `aggregate` | GROUP BY, DISTINCT |
//! | `join` | inner and outer joins, those of EXISTS and IN |
//! | `order` | ORDER BY, LIMIT, the first rows of each partition |

mod aggregate;
mod join;
mod order;
mod pending;
mod settle;
mod subquery;

use std::collections::BTreeMap;

use datafusion_expr::{Distinct, Expr, LogicalPlan};
use ringview_core::{Result, Type};
use ringview_query::{Atom, Bag, Block, Catalog, Output, Query, Rows, TableInfo, bind};

use crate::unsupported;
use pending::{Pending, any, of_rank, ranking, split};

/// The blocks of one text.
pub(crate) struct Lowering<'c> {
    catalog: &'c dyn Catalog,
    known: &'c [String],
    blocks: Vec<Block>,
    infos: BTreeMap<String, TableInfo>,
    /// How many columns were computed so far.
    computed: usize,
}

/// Tables, views, and the blocks so far.
impl Catalog for Lowering<'_> {
    fn table(&self, name: &str) -> Result<TableInfo> {
        match self.infos.get(name) {
            Some(info) => Ok(info.clone()),
            None => self.catalog.table(name),
        }
    }
}

impl<'c> Lowering<'c> {
    pub(crate) fn new(catalog: &'c dyn Catalog, known: &'c [String]) -> Self {
        Self {
            catalog,
            known,
            blocks: Vec::new(),
            infos: BTreeMap::new(),
            computed: 0,
        }
    }

    /// The query of a whole plan.
    pub(crate) fn query(mut self, plan: &LogicalPlan) -> Result<Query> {
        let mut names: Vec<String> = Vec::new();
        for field in plan.schema().fields() {
            names.push(free(field.name(), &|name| {
                names.iter().any(|other| other == name)
            }));
        }
        let query = match self.ordered_plan(plan)? {
            Some(ordered) => self.ordered(ordered, &names)?,
            None => {
                let rows = self.relation(plan)?;
                self.shown(rows, &names)?
            }
        };
        Ok(Query {
            blocks: self.blocks,
            ..query
        })
    }

    /// The rows of a plan.
    pub(crate) fn relation(&mut self, plan: &LogicalPlan) -> Result<Pending> {
        match plan {
            LogicalPlan::TableScan(scan) => {
                let name = scan.table_name.table();
                let columns = scan
                    .projected_schema
                    .fields()
                    .iter()
                    .map(|field| field.name());
                Ok(Pending::over(name, columns))
            }
            LogicalPlan::SubqueryAlias(alias) => self.relation(&alias.input),
            LogicalPlan::Subquery(subquery) => self.relation(&subquery.subquery),
            // Rows of a subquery come in any order.
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => self.relation(&sort.input),
            LogicalPlan::Projection(projection) => {
                let rows = self.relation(&projection.input)?;
                self.projected(rows, &projection.expr, projection.input.schema())
            }
            LogicalPlan::Filter(filter) => {
                let mut rows = self.relation(&filter.input)?;
                let mut conjuncts = Vec::new();
                split(
                    &filter.predicate,
                    datafusion_expr::Operator::And,
                    &mut conjuncts,
                );
                // Conditions on the numbers of rows hold among the rows that meet the others.
                let schema = filter.input.schema();
                for conjunct in conjuncts {
                    let meant = rows.meant(&conjunct, schema)?;
                    rows = self.restricted(rows, meant, schema)?;
                }
                Ok(rows)
            }
            LogicalPlan::Window(window) => {
                let mut rows = self.relation(&window.input)?;
                for expr in &window.window_expr {
                    let made = order::numbered(&rows, expr, window.input.schema())?;
                    rows.columns.push(of_rank(rows.ranks.len()));
                    rows.ranks.push(made);
                }
                Ok(rows)
            }
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate),
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let rows = self.relation(input)?;
                let (name, columns) = self.distinct(rows)?;
                Ok(Pending::over(&name, &columns))
            }
            LogicalPlan::Distinct(Distinct::On(on)) => self.distinct_on(on),
            LogicalPlan::Join(join) => self.join(join),
            LogicalPlan::Union(union) => self.union(union),
            LogicalPlan::Limit(_) | LogicalPlan::Sort(_) => match self.ordered_plan(plan)? {
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

    /// Rows that meet one more condition.
    fn restricted(
        &mut self,
        mut rows: Pending,
        condition: Expr,
        schema: &datafusion_common::DFSchema,
    ) -> Result<Pending> {
        if any(&condition, |node| ranking(node).is_some()) {
            return self.first_of_each(rows, &condition);
        }
        let is_nested = |node: &Expr| {
            matches!(
                node,
                Expr::Exists(_)
                    | Expr::InSubquery(_)
                    | Expr::ScalarSubquery(_)
                    | Expr::SetComparison(_)
            )
        };
        if any(&condition, is_nested) {
            return self.nested(rows, condition, schema);
        }
        if any(&condition, |node| {
            matches!(node, Expr::OuterReferenceColumn(..))
        }) {
            rows.outer.push(subquery::correlation(&condition)?);
            return Ok(rows);
        }
        rows.restrict(condition);
        Ok(rows)
    }

    /// Adds a block, called so or alike.
    pub(crate) fn emit(&mut self, name: &str, query: Query) -> Result<String> {
        let is_taken = |name: &str| {
            self.infos.contains_key(name)
                || self
                    .known
                    .iter()
                    .any(|known| known.eq_ignore_ascii_case(name))
        };
        let name = free(name, &is_taken);
        let info = bind(&query, self)?.as_table(None)?;
        self.infos.insert(name.clone(), info);
        self.blocks.push(Block {
            name: name.clone(),
            query,
        });
        Ok(name)
    }

    /// The type of a column of a table or block.
    pub(crate) fn column(&self, table: &str, name: &str) -> Result<(Type, bool)> {
        let schema = self.table(table)?.schema;
        let field = &schema.fields()[schema.index_of(name)?];
        Ok((field.ty.clone(), field.nullable))
    }
}

/// A name that is not taken: this one, or one like it.
pub(crate) fn free(name: &str, is_taken: &dyn Fn(&str) -> bool) -> String {
    let names = (1..).map(|number| {
        if number == 1 {
            name.to_owned()
        } else {
            format!("{name}_{number}")
        }
    });
    names
        .into_iter()
        .find(|name| !is_taken(name))
        .unwrap_or_default()
}

/// A query over atoms, still without outputs.
pub(crate) fn over(tables: &[String]) -> Query {
    let atom = |(number, table): (usize, &String)| Atom {
        table: table.clone(),
        alias: if number == 0 {
            table.clone()
        } else {
            format!("{table} {number}")
        },
        filter: None,
    };
    Query {
        blocks: Vec::new(),
        atoms: tables.iter().enumerate().map(atom).collect(),
        joins: Vec::new(),
        condition: None,
        group_by: Vec::new(),
        outputs: Vec::<Output>::new(),
        is_chosen: false,
        rows: None,
        bag: None,
        having: None,
        order: None,
        epsilon: None,
    }
}

/// A query that computes rows.
pub(crate) fn computing(tables: &[String], rows: Rows) -> Query {
    Query {
        rows: Some(rows),
        ..over(tables)
    }
}

/// Rows, each as often as it is there.
pub(crate) const BAG: Bag = Bag {
    representation: None,
    distinct: false,
};
