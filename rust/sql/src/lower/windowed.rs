//! Blocks that compute functions over the rows of partitions: windows, and aggregates that need all rows of a group.
//!
//! Invariant: an argument is a column of the block below. Windows with one partition and one order share a block;
//! others are stacked. A rank that does nothing but choose the first rows is an order with its first rows. Cost of a
//! change: the rows of the partitions that it touches.

use std::collections::BTreeSet;

use datafusion_common::Column;
use datafusion_expr::{Expr, lit};
use ringview_core::Result;
use ringview_query::{Call, Parted, Rank, Rows, SortKey};

use super::lowered::Wanted;
use super::order::upper;
use super::pending::{
    Function, Pending, Ranking, SortedBy, Window, atoms_of, column_ref, of_atom, replaced, window,
};
use super::state::{Lowering, computing, free};

impl Window {
    /// The numbering of rows that it computes, if it does that.
    fn rank(&self) -> Option<Ranking> {
        let rank = match self.function.name.as_str() {
            "row_number" => Rank::RowNumber,
            "rank" => Rank::Rank,
            "dense_rank" => Rank::DenseRank,
            _ => return None,
        };
        Some(Ranking {
            rank,
            partition: self.partition.clone(),
            order: self.order.clone(),
        })
    }
}

/// Columns of the rows below that functions read, each once.
#[derive(Default)]
struct Read(Vec<Expr>);

impl Read {
    fn add(&mut self, expr: &Expr) {
        if !self.0.contains(expr) {
            self.0.push(expr.clone());
        }
    }

    fn function(&mut self, function: &Function) {
        let by = function.order.iter().map(|(expr, _, _)| expr);
        let all = function.arguments.iter().chain(&function.filter).chain(by);
        all.for_each(|expr| self.add(expr));
    }
}

/// The same once they are columns of a block.
struct Stored {
    read: Vec<Expr>,
    names: Vec<String>,
}

impl Stored {
    fn name(&self, expr: &Expr) -> String {
        let at = self.read.iter().position(|one| one == expr);
        at.map(|at| self.names[at].clone()).unwrap_or_default()
    }

    fn names<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for expr in exprs {
            let name = self.name(expr);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn keys(&self, by: &[SortedBy]) -> Vec<SortKey> {
        let key = |(expr, descending, nulls_first): &SortedBy| SortKey {
            column: self.name(expr),
            descending: *descending,
            nulls_first: *nulls_first,
        };
        by.iter().map(key).collect()
    }

    fn call(&self, name: String, function: &Function) -> Call {
        Call {
            name,
            function: function.name.clone(),
            arguments: function
                .arguments
                .iter()
                .map(|expr| self.name(expr))
                .collect(),
            constants: function.constants.clone(),
            filter: function.filter.as_ref().map(|expr| self.name(expr)),
            order: self.keys(&function.order),
            distinct: function.distinct,
            ignore_nulls: function.ignore_nulls,
            frame: function.frame.clone(),
        }
    }
}

impl Lowering<'_> {
    /// Rows whose columns read no window function: it has become a column of a block.
    pub(crate) fn flat(&mut self, mut rows: Pending) -> Result<Pending> {
        if rows.windows.is_empty() {
            return Ok(rows);
        }
        let wanted = Wanted::columns(&std::mem::take(&mut rows.columns));
        let (rows, wanted) = self.without_windows(rows, wanted)?;
        Ok(Pending {
            columns: wanted.into_iter().map(|one| one.expr).collect(),
            ..rows
        })
    }

    /// The same of rows of which something is wanted.
    pub(crate) fn without_windows(
        &mut self,
        mut rows: Pending,
        wanted: Vec<Wanted>,
    ) -> Result<(Pending, Vec<Wanted>)> {
        let windows = std::mem::take(&mut rows.windows);
        let mut above = std::mem::take(&mut rows.above);
        let found = above.iter().enumerate().find_map(|(at, condition)| {
            let (number, keep) = upper(condition)?;
            Some((at, number, keep, windows[number].rank()?))
        });
        if let Some((at, number, keep, ranking)) = found {
            let rest = above.iter().enumerate().filter(|(other, _)| *other != at);
            let rest = rest.map(|(_, condition)| condition);
            let mut read: BTreeSet<usize> = numbers(rest.chain(wanted.iter().map(|one| &one.expr)));
            if keep == 1 {
                // With one row a partition its number is constant.
                read.remove(&number);
            }
            if read.is_empty() {
                above.remove(at);
                return self.first_rows(rows, above, wanted, (ranking, keep));
            }
        }
        let used = numbers(above.iter().chain(wanted.iter().map(|one| &one.expr)));
        if used.is_empty() {
            rows.filters.extend(above);
            return Ok((rows, wanted));
        }
        let used: Vec<(usize, &Window)> = used.into_iter().map(|at| (at, &windows[at])).collect();
        self.computed_windows(rows, above, wanted, &used)
    }

    /// Replaces the rows by the first ones of each partition.
    fn first_rows(
        &mut self,
        mut rows: Pending,
        above: Vec<Expr>,
        wanted: Vec<Wanted>,
        (ranking, keep): (Ranking, u64),
    ) -> Result<(Pending, Vec<Wanted>)> {
        let read = columns(above.iter().chain(wanted.iter().map(|one| &one.expr)));
        rows.columns.clone_from(&read);
        if read.is_empty() {
            // Rows of no columns are counted: they need one.
            rows.columns.push(lit(1i64));
        }
        let found = self.first(rows, ranking, keep)?;
        let shown = |expr: &Expr| match window(expr) {
            Some(_) => Some(lit(1i64)),
            None => {
                let at = read.iter().position(|one| one == expr)?;
                Some(found.columns[at].clone())
            }
        };
        let (filters, wanted) = over(above, wanted, &shown)?;
        let rows = Pending {
            filters,
            columns: Vec::new(),
            ..found
        };
        Ok((rows, wanted))
    }

    /// Windows as columns of blocks, one for each partition and order.
    fn computed_windows(
        &mut self,
        mut rows: Pending,
        above: Vec<Expr>,
        wanted: Vec<Wanted>,
        used: &[(usize, &Window)],
    ) -> Result<(Pending, Vec<Wanted>)> {
        let shown = columns(above.iter().chain(wanted.iter().map(|one| &one.expr)));
        let mut blocks: Vec<Vec<(usize, &Window)>> = Vec::new();
        for &(at, window) in used {
            let alike = |block: &&mut Vec<(usize, &Window)>| {
                block[0].1.partition == window.partition && block[0].1.order == window.order
            };
            match blocks.iter_mut().find(alike) {
                Some(block) => block.push((at, window)),
                None => blocks.push(vec![(at, window)]),
            }
        }
        let mut read = Read::default();
        shown.iter().for_each(|expr| read.add(expr));
        for (_, window) in used {
            window.partition.iter().for_each(|expr| read.add(expr));
            let by = window.order.iter();
            by.for_each(|(expr, _, _)| read.add(expr));
            read.function(&window.function);
        }
        if read.0.is_empty() {
            // Rows of no columns are counted: they need one.
            read.add(&lit(1i64));
        }
        rows.columns.clone_from(&read.0);
        let (mut table, names) = self.single(rows)?;
        let stored = Stored {
            read: read.0,
            names,
        };
        let mut made: Vec<(usize, String)> = Vec::new();
        for (number, block) in blocks.iter().enumerate() {
            let later = blocks[number + 1..].iter().flatten();
            let mut carried = Read::default();
            shown.iter().for_each(|expr| carried.add(expr));
            for (_, window) in later {
                window.partition.iter().for_each(|expr| carried.add(expr));
                let by = window.order.iter();
                by.for_each(|(expr, _, _)| carried.add(expr));
                carried.function(&window.function);
            }
            let mut names = stored.names(&carried.0);
            names.extend(made.iter().map(|(_, name)| name.clone()));
            if names.is_empty() && block[0].1.is_of_no_column() {
                names.push(stored.names[0].clone());
            }
            let mut calls = Vec::with_capacity(block.len());
            for (at, window) in block {
                self.computed += 1;
                let is_taken = |name: &str| stored.names.iter().any(|other| other == name);
                let name = free(&format!("window {}", self.computed), &is_taken);
                made.push((*at, name.clone()));
                calls.push(stored.call(name, &window.function));
            }
            let parted = Parted {
                names,
                partition: stored.names(&block[0].1.partition),
                order: stored.keys(&block[0].1.order),
                grouped: false,
                calls,
            };
            table = self.emit("windows", computing(&[table], Rows::Parted(parted)))?;
        }
        let shown = |expr: &Expr| match window(expr) {
            Some(number) => {
                let found = made.iter().find(|(at, _)| *at == number);
                found.map(|(_, name)| of_atom(0, name))
            }
            None => column_ref(expr).map(|_| of_atom(0, &stored.name(expr))),
        };
        let (filters, wanted) = over(above, wanted, &shown)?;
        let rows = Pending {
            atoms: vec![table],
            filters,
            ..Pending::default()
        };
        Ok((rows, wanted))
    }

    /// Groups with aggregates that need all their rows: a block, and its columns by group and aggregate.
    pub(crate) fn grouped_per_group(
        &mut self,
        mut rows: Pending,
        groups: &[Expr],
        functions: &[Function],
    ) -> Result<(String, Vec<String>)> {
        let mut read = Read::default();
        groups.iter().for_each(|expr| read.add(expr));
        functions
            .iter()
            .for_each(|function| read.function(function));
        rows.columns.clone_from(&read.0);
        let (table, names) = self.single(rows)?;
        let stored = Stored {
            read: read.0,
            names,
        };
        let mut columns: Vec<String> = groups.iter().map(|expr| stored.name(expr)).collect();
        let mut calls = Vec::with_capacity(functions.len());
        for function in functions {
            self.computed += 1;
            let is_taken = |name: &str| stored.names.iter().any(|other| other == name);
            let name = free(&format!("aggregate {}", self.computed), &is_taken);
            columns.push(name.clone());
            calls.push(stored.call(name, function));
        }
        let partition = stored.names(groups);
        let parted = Parted {
            names: partition.clone(),
            partition,
            order: Vec::new(),
            grouped: true,
            calls,
        };
        let name = self.emit("groups", computing(&[table], Rows::Parted(parted)))?;
        Ok((name, columns))
    }
}

impl Window {
    /// Whether its block would read nothing.
    fn is_of_no_column(&self) -> bool {
        let mut read = Read::default();
        read.function(&self.function);
        read.0.is_empty() && self.partition.is_empty() && self.order.is_empty()
    }
}

/// The numbers of the window functions that expressions read.
fn numbers<'e>(of: impl Iterator<Item = &'e Expr>) -> BTreeSet<usize> {
    let columns = of.flat_map(Expr::column_refs);
    columns
        .filter_map(|column| window(&Expr::Column(column.clone())))
        .collect()
}

/// The columns of atoms that expressions read, each once.
fn columns<'e>(of: impl Iterator<Item = &'e Expr>) -> Vec<Expr> {
    let columns: BTreeSet<&Column> = of.flat_map(Expr::column_refs).collect();
    let columns = columns.into_iter().cloned().map(Expr::Column);
    columns.filter(|expr| !atoms_of(expr).is_empty()).collect()
}

/// Conditions and what is wanted, over other columns.
fn over(
    above: Vec<Expr>,
    wanted: Vec<Wanted>,
    shown: &dyn Fn(&Expr) -> Option<Expr>,
) -> Result<(Vec<Expr>, Vec<Wanted>)> {
    let filters = above.into_iter().map(|one| replaced(one, shown));
    let filters = filters.collect::<Result<_>>()?;
    let wanted = wanted.into_iter().map(|one| {
        Ok(Wanted {
            expr: replaced(one.expr, shown)?,
            ..one
        })
    });
    Ok((filters, wanted.collect::<Result<_>>()?))
}
