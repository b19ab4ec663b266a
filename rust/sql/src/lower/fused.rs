//! What is asked of the groups of a block, by the engine that keeps the groups: HAVING, and expressions over aggregates.
//!
//! Invariant: a block with more outputs, or with fewer groups, stands beside the one that it is made of; whichever
//! nothing reads is left out in the end. What an engine does not know stays, to be computed row by row above the groups.
//! Cost: O(expressions * outputs), and binding the new block.

use datafusion_expr::Expr;
use datafusion_expr::expr::ScalarFunction;
use ringview_core::{Result, Type};
use ringview_query::{Block, ColumnRef, Condition, Measure, Output, Query};

use super::pending::{Pending, of_atom, place};
use super::recognise::{condition, tree};
use super::settle::{Settled, Wanted};
use super::state::{Lowering, all_of, free, named};

impl Lowering<'_> {
    /// Rows of groups of which the engine of the groups computes what it can, and what is wanted of them.
    pub(super) fn fused(
        &mut self,
        mut rows: Pending,
        mut wanted: Vec<Wanted>,
    ) -> Result<(Pending, Vec<Wanted>)> {
        let is_alone = rows.conditions.is_empty() && rows.equal.is_empty();
        let [name] = &rows.atoms[..] else {
            return Ok((rows, wanted));
        };
        let Some(block) = self.groups_of(name).filter(|_| is_alone) else {
            return Ok((rows, wanted));
        };
        let (name, mut query) = (block.name.clone(), block.query.clone());
        let known = query.outputs.clone();
        let mut operand = |expr: &Expr| measure(expr, &known);
        let having = rows.filters.iter().map(|one| condition(one, &mut operand));
        let having: Option<Vec<Condition<Measure>>> = having.collect();
        let mut is_changed = false;
        if let Some(having) = having.filter(|having| !having.is_empty()) {
            query.having = all_of(query.having.into_iter().chain(having).collect());
            is_changed = true;
        }
        let is_whole = is_changed || rows.filters.is_empty();
        let mut computed = Vec::new();
        for (at, one) in wanted.iter().enumerate() {
            if !is_whole || place(&one.expr).is_some() || self.reads_single(&name, &one.expr) {
                continue;
            }
            let Some(value) = measure(&one.expr, &known).filter(reads_groups) else {
                continue;
            };
            let is_taken = |name: &str| query.outputs.iter().any(|output| output.name() == name);
            let name = free(&format!("value {at}"), &is_taken);
            query.outputs.push(Output::Expression {
                name: name.clone(),
                value,
            });
            computed.push((at, name));
        }
        if !is_changed && computed.is_empty() {
            return Ok((rows, wanted));
        }
        // What the engine does not take after all is computed above it.
        let Ok(name) = self.emit(&name, query) else {
            return Ok((rows, wanted));
        };
        rows.atoms = vec![name];
        if is_changed {
            rows.filters.clear();
        }
        for (at, name) in computed {
            wanted[at].expr = of_atom(0, &name);
        }
        Ok((rows, wanted))
    }

    /// Whether an expression reads a float32 of a block: an engine would compute a double.
    fn reads_single(&self, block: &str, expr: &Expr) -> bool {
        let is_single = |name: &str| {
            let found = self.column(block, name);
            found.is_ok_and(|(ty, _)| ty == Type::Float32)
        };
        let columns = expr.column_refs();
        columns.iter().any(|column| is_single(&column.name))
    }

    /// A block that keeps groups.
    pub(super) fn groups_of(&self, name: &str) -> Option<&Block> {
        let block = self.blocks.iter().find(|block| block.name == name)?;
        let has_groups = block.query.rows.is_none() && block.query.bag.is_none();
        has_groups.then_some(block)
    }

    /// The query of a block under other names, where that is all that is shown.
    pub(super) fn inlined(&self, settled: &Settled, names: &[String]) -> Option<Query> {
        let whole = settled.whole()?;
        let block = self.blocks.iter().find(|block| block.name == *whole)?;
        if block.query.rows.is_some() {
            return None;
        }
        let known = |column: &str| {
            let mut outputs = block.query.outputs.iter();
            outputs.find(|output| output.name() == column)
        };
        let output = |(at, name): (usize, &String)| {
            known(&settled.column(at).column).map(|output| named(output.clone(), name))
        };
        let outputs = names.iter().enumerate().map(output);
        let outputs = outputs.collect::<Option<Vec<Output>>>()?;
        let mut group_by = block.query.group_by.clone();
        if let Some(bag) = block.query.bag {
            let shown = |column: &ColumnRef| {
                let is_it = |output: &Output| matches!(output, Output::Group { column: of, .. } if of == column);
                outputs.iter().any(is_it)
            };
            if bag.distinct && !group_by.iter().all(shown) {
                return None;
            }
            group_by.retain(shown);
        }
        Some(Query {
            outputs,
            group_by,
            ..block.query.clone()
        })
    }
}

/// An expression over the columns of a block, by what those are.
fn measure(expr: &Expr, outputs: &[Output]) -> Option<Measure> {
    tree(expr, &mut |node| match node {
        Expr::Column(_) => {
            let (_, name) = place(node)?;
            let output = outputs.iter().find(|output| output.name() == name)?;
            Some(match output {
                Output::Group { column, .. } => Measure::Group {
                    column: column.clone(),
                },
                Output::Aggregate {
                    function, argument, ..
                } => Measure::Aggregate {
                    function: *function,
                    arguments: argument.iter().cloned().collect(),
                },
                Output::Expression { value, .. } => value.clone(),
                Output::Cofactor { .. } => return None,
            })
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) => {
            let mut operands = args.iter().map(|one| measure(one, outputs));
            match (func.name(), args.len()) {
                ("coalesce" | "ifnull", 1..) => Some(Measure::Coalesce {
                    operands: operands.collect::<Option<_>>()?,
                }),
                ("nullif", 2) => Some(Measure::NullIf {
                    left: Box::new(operands.next()??),
                    right: Box::new(operands.next()??),
                }),
                _ => None,
            }
        }
        _ => None,
    })
}

/// Whether a value differs from group to group; another is no output of a block.
fn reads_groups(of: &Measure) -> bool {
    match of {
        Measure::Group { .. } | Measure::Aggregate { .. } => true,
        Measure::Literal { .. } => false,
        Measure::Add { left, right }
        | Measure::Subtract { left, right }
        | Measure::Multiply { left, right }
        | Measure::Divide { left, right }
        | Measure::NullIf { left, right } => reads_groups(left) || reads_groups(right),
        Measure::Negate { operand } => reads_groups(operand),
        Measure::Coalesce { operands } => operands.iter().any(reads_groups),
    }
}
