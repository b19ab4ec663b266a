//! Lowers pending rows to atoms with plain columns, and to queries.
//!
//! An expression over one atom is computed below the join. Sums of products over several atoms are left to the engine;
//! other expressions over several atoms are computed above the join. Invariant: the result joins the same rows. Cost:
//! O(expressions * columns).

use std::collections::{BTreeMap, BTreeSet};

use datafusion_common::DFSchema;
use datafusion_expr::expr::BinaryExpr;
use datafusion_expr::{Expr, Operator, lit};
use ringview_core::Result;
use ringview_expr::Scalar;
use ringview_query::{Branch, ColumnRef, Query, Rows};

use super::domain::misplaced;
use super::levels::NestedPredicate;
use super::pending::{Pending, atoms_of, column_ref, of_atom, renamed};
use super::state::{Lowering, computing, over};
use crate::row_scalar::row_scalar;

/// Atoms that join, and expressions over their columns.
pub(crate) struct Lowered {
    pub(crate) atoms: Vec<String>,
    aliases: BTreeMap<usize, String>,
    /// By atom: which of its rows take part.
    pub(super) filters: Vec<Option<Scalar>>,
    joins: Vec<Vec<ColumnRef>>,
    pub(super) nested: NestedPredicate,
    pub(crate) wanted: Vec<Expr>,
}

/// An expression that is wanted of rows, and whether it must be a column.
#[derive(Clone)]
pub(crate) struct Wanted {
    pub(crate) expr: Expr,
    /// Whether it must be a column; else it may be a sum of products.
    pub(crate) is_column: bool,
}

impl Wanted {
    /// Columns.
    pub(crate) fn columns(of: &[Expr]) -> Vec<Self> {
        of.iter()
            .map(|expr| Self {
                expr: expr.clone(),
                is_column: true,
            })
            .collect()
    }
}

/// Expressions over the rows of one atom.
#[derive(Default)]
struct Computed {
    filters: Vec<Expr>,
    /// With the name of its column.
    exprs: Vec<(Expr, String)>,
}

impl Lowered {
    /// The query of the join, without outputs.
    pub(crate) fn query(&self) -> Query {
        let mut query = over(&self.atoms);
        for (at, alias) in &self.aliases {
            let others = query.atoms.iter().enumerate();
            let mut others = others.filter(|(other, _)| other != at);
            let is_free = others.all(|(_, atom)| !atom.alias.eq_ignore_ascii_case(alias));
            if is_free {
                query.atoms[*at].alias.clone_from(alias);
            }
        }
        for (atom, filter) in query.atoms.iter_mut().zip(&self.filters) {
            atom.filter.clone_from(filter);
        }
        Query {
            joins: self.joins.clone(),
            condition: Scalar::all_of(self.nested.conditions.iter().cloned()),
            subqueries: self.nested.subqueries.clone(),
            ..query
        }
    }

    /// The one atom whose rows these are, all of them.
    pub(super) fn whole(&self) -> Option<&String> {
        match (&self.atoms[..], &self.filters[..]) {
            ([only], [None]) if self.nested.conditions.is_empty() => Some(only),
            _ => None,
        }
    }

    /// The column of an atom that a wanted expression is.
    pub(crate) fn column(&self, at: usize) -> ColumnRef {
        let (atom, name) = column_ref(&self.wanted[at]).unwrap_or_default();
        ColumnRef {
            atom,
            column: name.to_owned(),
        }
    }
}

impl Lowering<'_> {
    /// The atoms of rows, and what is wanted of them.
    pub(crate) fn lower(&mut self, rows: Pending, wanted: Vec<Wanted>) -> Result<Lowered> {
        self.lower_rows(rows, wanted, false)
    }

    /// The same; a single atom is filtered by a block, which keeps no rows, if `is_block`.
    fn lower_rows(
        &mut self,
        rows: Pending,
        wanted: Vec<Wanted>,
        is_block: bool,
    ) -> Result<Lowered> {
        if !rows.outer.is_empty() || !rows.outer_conditions.is_empty() {
            return Err(misplaced());
        }
        let (rows, wanted) = match rows.windows.is_empty() {
            true => (rows, wanted),
            false => self.without_windows(rows, wanted)?,
        };
        let (mut rows, wanted) = self.fused(rows, wanted)?;
        let mut computed: Vec<Computed> = rows.atoms.iter().map(|_| Computed::default()).collect();
        let mut above = Vec::new();
        for filter in std::mem::take(&mut rows.filters) {
            let atoms = atoms_of(&filter);
            if atoms.len() < 2 {
                let atom = atoms.first().copied().unwrap_or(0);
                computed[atom].filters.push(filter.clone());
                rows.filters.push(filter);
                continue;
            }
            match self.nested_condition(&rows, &filter, &DFSchema::empty()) {
                Ok(nested) => rows.nested.append(nested)?,
                Err(_) => {
                    above.push(filter.clone());
                    rows.filters.push(filter);
                }
            }
        }
        if !above.is_empty() || !wanted.iter().all(Wanted::is_below) {
            return self.lower_above(rows, above, wanted, is_block);
        }
        let mut exprs = Vec::with_capacity(wanted.len());
        for one in wanted {
            exprs.push(self.leaves(one.expr, one.is_column, &rows.atoms, &mut computed)?);
        }
        let mut equal = Vec::with_capacity(rows.equal.len());
        for (left, right) in rows.equal {
            let (left, right) = self.comparable(left, right, &rows.atoms)?;
            let left = self.leaves(left, true, &rows.atoms, &mut computed)?;
            equal.push((left, self.leaves(right, true, &rows.atoms, &mut computed)?));
        }
        let mut read = vec![BTreeSet::new(); rows.atoms.len()];
        for expr in exprs
            .iter()
            .chain(equal.iter().flat_map(|(left, right)| [left, right]))
        {
            for column in expr.column_refs() {
                if let Some((atom, name)) = column_ref(&Expr::Column(column.clone())) {
                    read[atom].insert(name.to_owned());
                }
            }
        }
        for (atom, name) in rows.nested.read() {
            read[atom].insert(name);
        }
        let mut atoms = rows.atoms;
        let is_single = is_block && atoms.len() == 1 && rows.nested.conditions.is_empty();
        let mut filters = vec![None; atoms.len()];
        for (at, (computed, read)) in computed.iter().zip(&read).enumerate() {
            if computed.filters.is_empty() && computed.exprs.is_empty() {
                continue;
            }
            if computed.exprs.is_empty() && !is_single {
                filters[at] = self.filter(&atoms, &computed.filters);
            }
            if filters[at].is_none() {
                atoms[at] = self.mapped(&atoms[at], computed, read)?;
            }
        }
        let reference = |expr: &Expr| {
            let (atom, column) = column_ref(expr).unwrap_or_default();
            ColumnRef {
                atom,
                column: column.to_owned(),
            }
        };
        let joins = equal
            .iter()
            .map(|(left, right)| vec![reference(left), reference(right)]);
        Ok(Lowered {
            joins: joins.collect(),
            atoms,
            aliases: rows.aliases,
            filters,
            nested: rows.nested,
            wanted: exprs,
        })
    }

    /// The same over the rows of the join, where something is computed of several atoms.
    fn lower_above(
        &mut self,
        rows: Pending,
        above: Vec<Expr>,
        wanted: Vec<Wanted>,
        is_block: bool,
    ) -> Result<Lowered> {
        let all = wanted.iter().map(|one| &one.expr).chain(&above);
        let columns: BTreeSet<(usize, String)> = all
            .flat_map(Expr::column_refs)
            .filter_map(|column| {
                let expr = Expr::Column(column.clone());
                column_ref(&expr).map(|(atom, name)| (atom, name.to_owned()))
            })
            .collect();
        let columns: Vec<(usize, String)> = columns.into_iter().collect();
        let below = Pending {
            filters: rows
                .filters
                .iter()
                .filter(|filter| !above.contains(filter))
                .cloned()
                .collect(),
            columns: columns
                .iter()
                .map(|(atom, name)| of_atom(*atom, name))
                .collect(),
            ..rows
        };
        let (name, stored) = self.single(below)?;
        let shown = |atom: usize, column: &str| {
            let at = columns.iter().position(|(a, c)| *a == atom && c == column);
            at.map(|at| of_atom(0, &stored[at]))
        };
        let filters = above.into_iter().map(|filter| renamed(filter, &shown));
        let rows = Pending {
            atoms: vec![name],
            filters: filters.collect::<Result<_>>()?,
            ..Pending::default()
        };
        let wanted = wanted.into_iter().map(|one| {
            Ok(Wanted {
                expr: renamed(one.expr, &shown)?,
                ..one
            })
        });
        let wanted = wanted.collect::<Result<_>>()?;
        self.lower_rows(rows, wanted, is_block)
    }

    /// An expression over plain columns: what is no sum of products is computed below.
    fn leaves(
        &mut self,
        expr: Expr,
        is_column: bool,
        atoms: &[String],
        computed: &mut [Computed],
    ) -> Result<Expr> {
        if column_ref(&expr).is_some() {
            return Ok(expr);
        }
        if !is_column {
            if self.is_polynomial(&expr, atoms)? {
                return Ok(expr);
            }
            if atoms_of(&expr).len() > 1 {
                return Ok(match expr {
                    Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                        Expr::BinaryExpr(BinaryExpr {
                            left: Box::new(self.leaves(*left, false, atoms, computed)?),
                            op,
                            right: Box::new(self.leaves(*right, false, atoms, computed)?),
                        })
                    }
                    Expr::Negative(of) => {
                        Expr::Negative(Box::new(self.leaves(*of, false, atoms, computed)?))
                    }
                    other => other,
                });
            }
        }
        let atom = atoms_of(&expr).first().copied().unwrap_or(0);
        let own = &mut computed[atom].exprs;
        let known = own.iter().find(|(known, _)| *known == expr);
        let name = known.map(|(_, name)| name.clone()).unwrap_or_else(|| {
            // No block of the text has another column of this name.
            self.computed += 1;
            let name = format!("computed {}", self.computed);
            own.push((expr, name.clone()));
            name
        });
        Ok(of_atom(atom, &name))
    }

    /// Whether an expression is a sum of products of numbers.
    pub(super) fn is_polynomial(&self, expr: &Expr, atoms: &[String]) -> Result<bool> {
        Ok(match expr {
            Expr::Column(_) => match column_ref(expr) {
                Some((atom, name)) => self.column(&atoms[atom], name)?.0.to_arrow().is_numeric(),
                None => false,
            },
            Expr::Literal(value, _) => !value.is_null() && value.data_type().is_numeric(),
            Expr::Negative(of) => self.is_polynomial(of, atoms)?,
            Expr::BinaryExpr(binary) if is_arithmetic(binary.op) => {
                self.is_polynomial(&binary.left, atoms)?
                    && self.is_polynomial(&binary.right, atoms)?
            }
            _ => false,
        })
    }

    /// The block that computes something of the rows of an atom.
    fn mapped(
        &mut self,
        atom: &str,
        computed: &Computed,
        read: &BTreeSet<String>,
    ) -> Result<String> {
        let is_made = |name: &String| computed.exprs.iter().any(|(_, made)| made == name);
        let mut names = Vec::with_capacity(read.len());
        let mut columns = Vec::with_capacity(read.len());
        for name in read.iter().filter(|name| !is_made(name)) {
            names.push(name.clone());
            columns.push(Some(Scalar::column(name)));
        }
        for (expr, name) in computed
            .exprs
            .iter()
            .filter(|(_, name)| read.contains(name))
        {
            names.push(name.clone());
            columns.push(Some(row_scalar(bare(expr.clone())?)?));
        }
        if names.is_empty() {
            // Rows of no columns are counted: they need one.
            (names, columns) = (vec!["row".to_owned()], vec![Some(lit(1i64).into())]);
        }
        let branch = Branch {
            filter: filter(&computed.filters)?,
            columns,
            minus: false,
            unnested: Vec::new(),
        };
        let rows = Rows::Map {
            names,
            branches: vec![branch],
        };
        self.emit("computed", computing(&[atom.to_owned()], rows))
    }

    /// One table or block that has the columns of rows, and what it calls them.
    pub(crate) fn single(&mut self, mut rows: Pending) -> Result<(String, Vec<String>)> {
        let wanted = Wanted::columns(&std::mem::take(&mut rows.columns));
        let lowered = self.lower_rows(rows, wanted, true)?;
        let names = |lowered: &Lowered| {
            (0..lowered.wanted.len())
                .map(|at| lowered.column(at).column)
                .collect()
        };
        if let Some(only) = lowered.whole() {
            return Ok((only.clone(), names(&lowered)));
        }
        let stored: Vec<String> = (0..lowered.wanted.len())
            .map(|at| format!("column {at}"))
            .collect();
        let query = self.listed(&lowered, &stored)?;
        Ok((self.emit("rows", query)?, stored))
    }
}

impl Wanted {
    /// Whether it is computed of one atom's rows, or a sum of products of what is.
    fn is_below(&self) -> bool {
        fn is_sum(expr: &Expr) -> bool {
            match expr {
                _ if atoms_of(expr).len() <= 1 => true,
                Expr::BinaryExpr(binary) => {
                    is_arithmetic(binary.op) && is_sum(&binary.left) && is_sum(&binary.right)
                }
                Expr::Negative(of) => is_sum(of),
                _ => false,
            }
        }
        atoms_of(&self.expr).len() <= 1 || (!self.is_column && is_sum(&self.expr))
    }
}

pub(super) fn is_arithmetic(op: Operator) -> bool {
    matches!(op, Operator::Plus | Operator::Minus | Operator::Multiply)
}

/// Conditions on the rows of one atom as a filter.
pub(super) fn filter(all: &[Expr]) -> Result<Option<Scalar>> {
    let all = all.iter().map(|one| row_scalar(bare(one.clone())?));
    Ok(Scalar::all_of(all.collect::<Result<Vec<_>>>()?))
}

/// Names without the atom in front.
pub(super) fn bare(expr: Expr) -> Result<Expr> {
    renamed(expr, &|_, name| {
        Some(Expr::Column(datafusion_common::Column::new_unqualified(
            name,
        )))
    })
}
