//! `WITH RECURSIVE` to a block: the seed is a block below it, the step a query of its own.
//!
//! Blocks of the step that read the rows so far are moved into its query; all others stay with the seed, where other
//! parts of the text may share them. Invariant: the step has the columns of the seed, in their types, and reads tables
//! by names that mean nothing else in it. Cost: that of lowering both.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use datafusion_expr::{Cast, Expr, LogicalPlan, RecursiveQuery, Union};
use ringview_core::{Field, Result, Schema, SqlProblem, Type};
use ringview_query::{Block, Query, Recursion, Rows, StepTable, Strategy, TableInfo};

use super::linear::{self, Analysed};
use super::pending::{Pending, of_atom};
use super::state::{Lowering, Working, computing, free};
use crate::error::{bare, unsupported};

impl Lowering<'_> {
    /// The rows of a recursion.
    pub(super) fn recursive(&mut self, query: &RecursiveQuery) -> Result<Pending> {
        if let Some(known) = self.existing_recursion(query) {
            return Ok(known);
        }
        let seed = self.relation(&query.static_term)?;
        let (seed, stored) = self.single(seed)?;
        let fields = query.static_term.schema().fields().iter();
        let names: Vec<String> = fields.map(|field| field.name().clone()).collect();
        let twice = |at: &usize| names[..*at].contains(&names[*at]);
        if let Some(at) = (0..names.len()).find(twice) {
            let what = format!(
                "two columns of {} are called \"{}\"; name its columns: WITH RECURSIVE {}(a, b, ..)",
                query.name, names[at], query.name
            );
            return Err(bare(SqlProblem::Query, None, what));
        }
        let Analysed { plan, strategy } =
            linear::analysed(&query.recursive_term, &query.name, query.is_distinct)?;
        let mut types = Vec::with_capacity(names.len());
        for column in &stored {
            types.push(self.column(&seed, column)?.0);
        }
        let table = free(&query.name, &|name| self.infos.contains_key(name));
        let columns = names.iter().zip(&types);
        let columns = columns.map(|(name, ty)| Field::new(name, ty.clone(), true));
        let level = strategy.level();
        let level = level.map(|name| Field::new(name, Type::Int64, false));
        let info = TableInfo {
            schema: Arc::new(Schema::new(columns.chain(level).collect())?),
            is_static: false,
            cancels: false,
            rows: None,
            unique: None,
            cofactors: Vec::new(),
        };
        self.infos.insert(table.clone(), info);
        self.working.push(Working {
            name: query.name.clone(),
            table: table.clone(),
        });
        let is_read = std::mem::replace(&mut self.computes_on_read, false);
        let is_supported = matches!(strategy, Strategy::Anew { .. });
        let step = self.step(&plan, (&names, &types), is_supported);
        self.computes_on_read = is_read;
        self.working.pop();
        let taken = step.and_then(|step| self.split_step(step, &table));
        self.forget(&table);
        let (step, reads) = taken?;
        let mut tables = vec![seed];
        tables.extend(reads.iter().map(|read| read.table.clone()));
        let rows = Rows::Recursive(Recursion {
            names: names.clone(),
            seed: stored,
            table,
            reads,
            step: Box::new(step),
            strategy,
        });
        let block = computing(&tables, rows);
        self.recursions.push((query.clone(), block.clone()));
        let name = self.emit("recursion", block)?;
        Ok(Pending::over(&name, &names))
    }

    /// The rows of a recursion whose block is there already.
    fn existing_recursion(&self, query: &RecursiveQuery) -> Option<Pending> {
        let known = self.recursions.iter().filter(|(known, _)| known == query);
        let same = |(_, of): &(RecursiveQuery, Query)| {
            let mut blocks = self.blocks.iter();
            blocks.find(|block| block.query == *of)
        };
        let block = known.filter_map(same).next()?;
        match &block.query.rows {
            Some(Rows::Recursive(of)) => Some(Pending::over(&block.name, &of.names)),
            _ => None,
        }
    }

    /// The recursion that a UNION is, where the binder takes it for none.
    pub(super) fn unseen(&self, union: &Union, is_distinct: bool) -> Option<RecursiveQuery> {
        linear::unseen(union, is_distinct, &|name| self.working(name).is_some())
    }

    /// The rows so far of the recursion that a scan names.
    pub(super) fn working(&self, name: &str) -> Option<&str> {
        let mut all = self.working.iter().rev();
        let found = all.find(|working| working.name == name);
        found.map(|working| working.table.as_str())
    }

    /// The query of a step, whose columns have these names and types, and a level after them. Its rows are kept where
    /// they are read as a whole; else their changes are enough.
    fn step(
        &mut self,
        plan: &LogicalPlan,
        (names, types): (&[String], &[Type]),
        is_supported: bool,
    ) -> Result<Query> {
        let rows = self.relation(plan)?;
        let shown = plan.schema().fields().iter().skip(names.len());
        let shown = shown.map(|field| field.name().clone());
        let names: Vec<String> = names.iter().cloned().chain(shown).collect();
        let query = self.step_of(rows, &names, is_supported)?;
        let made = self.bound(&query)?.as_table(None)?.schema;
        let casts = types.iter().zip(made.fields());
        let cast = |(at, (ty, field)): (usize, (&Type, &Field))| {
            let column = of_atom(0, &names[at]);
            match field.ty == *ty {
                true => column,
                false => Expr::Cast(Cast::new(Box::new(column), ty.to_arrow())),
            }
        };
        let mut columns: Vec<Expr> = casts.enumerate().map(cast).collect();
        let is_plain = |column: &Expr| matches!(column, Expr::Column(_));
        if columns.iter().all(is_plain) {
            return Ok(query);
        }
        columns.extend(names[types.len()..].iter().map(|name| of_atom(0, name)));
        let name = self.emit("step", query)?;
        let rows = Pending {
            columns,
            ..Pending::over(&name, [])
        };
        self.step_of(rows, &names, is_supported)
    }

    fn step_of(&mut self, rows: Pending, names: &[String], is_supported: bool) -> Result<Query> {
        if is_supported {
            return self.shown(rows, names);
        }
        let (table, branch) = self.branch_of(rows)?;
        let rows = Rows::Map {
            names: names.to_vec(),
            branches: vec![branch],
        };
        Ok(computing(&[table], rows))
    }

    /// A step with the blocks that read the rows so far, and what it reads beside them.
    fn split_step(&mut self, step: Query, table: &str) -> Result<(Query, Vec<StepTable>)> {
        let mut within = BTreeSet::from([table.to_owned()]);
        let mut blocks: Vec<Block> = Vec::new();
        let mut beside = Vec::new();
        for block in std::mem::take(&mut self.blocks) {
            let atoms = block.query.all_atoms().into_iter();
            match atoms
                .map(|atom| &atom.table)
                .any(|name| within.contains(name))
            {
                true => {
                    within.insert(block.name.clone());
                    blocks.push(block);
                }
                false => beside.push(block),
            }
        }
        let mut wanted: BTreeSet<String> = tables(&step);
        let mut read: Vec<Block> = Vec::new();
        for block in blocks.into_iter().rev() {
            if wanted.contains(&block.name) {
                wanted.extend(tables(&block.query));
                read.push(block);
            }
        }
        read.reverse();
        self.blocks = beside;
        let queries = || read.iter().map(|block| &block.query).chain([&step]);
        if queries().any(|query| matches!(query.rows, Some(Rows::Timed(_)))) {
            return Err(unsupported(&format!(
                "a condition on the clock of the rows that \"{table}\" makes is not kept; put it into the SELECT that \
                 reads \"{table}\", or choose by it from the tables below first: WITH recent AS (SELECT .. WHERE ts > now() \
                 - INTERVAL ..)"
            )));
        }
        let blocks = self.pruned(&step, read);
        let (mut columns, mut whole) = (BTreeMap::new(), BTreeSet::new());
        for query in blocks.iter().map(|block| &block.query).chain([&step]) {
            self.note(query, &mut columns, &mut whole);
        }
        within
            .iter()
            .filter(|name| *name != table)
            .for_each(|name| {
                self.forget(name);
            });
        let others = wanted.into_iter().filter(|name| !within.contains(name));
        let mut reads = Vec::new();
        for name in others {
            let schema = ringview_query::Catalog::table(self, &name)?.schema;
            let all = schema.fields().iter().map(|field| &field.name);
            let own = columns.get(&name).filter(|_| !whole.contains(&name));
            let mut found: Vec<String> = match own {
                Some(own) => all.filter(|name| own.contains(*name)).cloned().collect(),
                None => all.cloned().collect(),
            };
            if found.is_empty() {
                // Rows of no columns are counted: they need one.
                found.extend(schema.fields().first().map(|field| field.name.clone()));
            }
            reads.push(StepTable {
                table: name,
                columns: found,
            });
        }
        Ok((Query { blocks, ..step }, reads))
    }
}

/// Tables that a query reads, its subqueries too.
fn tables(query: &Query) -> BTreeSet<String> {
    let atoms = query.all_atoms().into_iter();
    atoms.map(|atom| atom.table.clone()).collect()
}
