//! Joins: inner ones are folded, the others are sums of Z-sets.
//!
//! The rows of L that have a partner in R are S = L joined with the different keys of R. An anti join is L - S; a left
//! join is the inner join, and L - S with NULLs. Invariant: keys that are NULL have no partner. Cost of a change: that
//! of the joins; S and the inner join are kept.

use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::{Expr, Join, JoinType, Operator};
use ringview_core::Result;
use ringview_query::Rows;

use super::pending::{Pending, any, atoms_of, of_atom, place, split};
use super::settle::branch;
use super::state::{Lowering, computing};
use crate::error::unsupported;

/// A side of a join as one block: its name, its columns and its keys.
struct Side {
    name: String,
    columns: Vec<String>,
    keys: Vec<String>,
}

impl Side {
    fn rows(&self) -> Pending {
        Pending::over(&self.name, &self.columns)
    }
}

impl Lowering<'_> {
    /// The rows of a join.
    pub(crate) fn join(&mut self, join: &Join) -> Result<Pending> {
        let left = self.relation(&join.left)?;
        let mut left = self.flat(left)?;
        let right = self.relation(&join.right)?;
        let mut right = self.flat(right)?;
        if !left.outer.is_empty() || !right.outer.is_empty() {
            return Err(unsupported("LATERAL is not kept"));
        }
        let schemas: (&DFSchema, &DFSchema) = (join.left.schema(), join.right.schema());
        let mut keys = Vec::with_capacity(join.on.len());
        for (one, other) in &join.on {
            keys.push((left.meant(one, schemas.0)?, right.meant(other, schemas.1)?));
        }
        let mut conditions = Vec::new();
        if let Some(filter) = &join.filter {
            split(filter, Operator::And, &mut conditions);
        }
        if join.join_type == JoinType::Inner {
            return self.inner(left, right, keys, (&conditions, &join.schema));
        }
        if join.null_equality == datafusion_common::NullEquality::NullEqualsNull {
            null_safe(&mut keys);
        }
        // Conditions on the side that may be missing choose its rows; those on both must be equalities.
        let mut own = Vec::new();
        for condition in &conditions {
            if any(condition, |node| {
                matches!(
                    node,
                    Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_)
                )
            }) {
                return Err(unsupported("a subquery in ON of an outer join is not kept"));
            }
            let is_of = |schema: &DFSchema| {
                condition
                    .column_refs()
                    .iter()
                    .all(|column| schema.has_column(column))
            };
            match (is_of(schemas.0), is_of(schemas.1)) {
                (true, _) => own.push((true, left.meant(condition, schemas.0)?)),
                (_, true) => own.push((false, right.meant(condition, schemas.1)?)),
                _ => keys.push(equality(condition, (&left, &right), schemas)?),
            }
        }
        let chosen = |of_left: bool| {
            own.iter()
                .filter(move |(side, _)| *side == of_left)
                .map(|(_, one)| one.clone())
        };
        match join.join_type {
            JoinType::Left | JoinType::Right | JoinType::Full => {
                let is_full = join.join_type == JoinType::Full;
                let is_left = join.join_type == JoinType::Left;
                if (is_full && !own.is_empty())
                    || own.iter().any(|(of_left, _)| *of_left == is_left)
                {
                    return Err(unsupported(
                        "a condition on the side of an outer join that is kept whole is not kept",
                    ));
                }
                left.filters.extend(chosen(true));
                right.filters.extend(chosen(false));
                self.outer(left, right, keys, join.join_type)
            }
            JoinType::LeftSemi => {
                left.filters.extend(chosen(true));
                right.filters.extend(chosen(false));
                self.semi(left, right, keys)
            }
            JoinType::LeftAnti if chosen(true).next().is_none() => {
                right.filters.extend(chosen(false));
                self.anti(left, right, keys)
            }
            other => Err(unsupported(&format!("a {other} join is not kept"))),
        }
    }

    fn inner(
        &mut self,
        mut left: Pending,
        right: Pending,
        keys: Vec<(Expr, Expr)>,
        (conditions, schema): (&[Expr], &DFSchema),
    ) -> Result<Pending> {
        let by = left.atoms.len();
        let width = left.columns.len();
        let columns = left.join(right)?;
        left.columns.extend(columns);
        for (one, other) in keys {
            let other =
                super::pending::renamed(other, &|atom, name| Some(of_atom(atom + by, name)))?;
            left.restrict(datafusion_expr::binary_expr(one, Operator::Eq, other));
        }
        debug_assert!(width <= left.columns.len());
        for condition in conditions {
            let meant = left.meant(condition, schema)?;
            left = self.restricted(left, meant, schema)?;
        }
        Ok(left)
    }

    /// One block of a side, with the keys that it joins by.
    fn side(&mut self, mut rows: Pending, keys: impl Iterator<Item = Expr>) -> Result<Side> {
        let width = rows.columns.len();
        rows.columns.extend(keys);
        let (name, mut columns) = self.single(rows)?;
        let keys = columns.split_off(width);
        Ok(Side {
            name,
            columns,
            keys,
        })
    }

    /// The different keys of a side, as a block; the side itself where no two of its rows agree in them.
    fn keys(&mut self, side: &Side) -> Result<(String, Vec<String>)> {
        let info = ringview_query::Catalog::table(self, &side.name)?;
        let names: Vec<&String> = info
            .unique
            .iter()
            .flatten()
            .map(|&at| &info.schema.fields()[at].name)
            .collect();
        if info.unique.is_some() && names.iter().all(|name| side.keys.contains(name)) {
            return Ok((side.name.clone(), side.keys.clone()));
        }
        self.distinct(Pending::over(&side.name, &side.keys))
    }

    /// The rows of one side that have a partner among the other's.
    fn partnered(&mut self, one: &Side, other: &Side) -> Result<(String, Vec<String>)> {
        let (name, keys) = self.keys(other)?;
        let mut rows = one.rows();
        rows.atoms.push(name);
        let pairs = one.keys.iter().zip(&keys);
        rows.equal = pairs
            .map(|(key, other)| (of_atom(0, key), of_atom(1, other)))
            .collect();
        self.single(rows)
    }

    pub(crate) fn outer(
        &mut self,
        left: Pending,
        right: Pending,
        keys: Vec<(Expr, Expr)>,
        kind: JoinType,
    ) -> Result<Pending> {
        if keys.is_empty() {
            return Err(unsupported(
                "an outer join without an equality in ON is not kept",
            ));
        }
        let (one, other): (Vec<Expr>, Vec<Expr>) = keys.into_iter().unzip();
        let left = self.side(left, one.into_iter())?;
        let right = self.side(right, other.into_iter())?;
        let width = left.columns.len() + right.columns.len();
        let mut inner = left.rows();
        inner.atoms.push(right.name.clone());
        inner
            .columns
            .extend(right.columns.iter().map(|name| of_atom(1, name)));
        let pairs = left.keys.iter().zip(&right.keys);
        inner.equal = pairs
            .map(|(key, other)| (of_atom(0, key), of_atom(1, other)))
            .collect();
        let (joined, shown) = self.single(inner)?;
        let mut tables = vec![joined];
        let plain = shown.iter().map(|name| of_atom(0, name)).collect();
        let mut branches = vec![branch(&[], plain, false)?];
        let null = || Expr::Literal(ScalarValue::Null, None);
        let mut alone =
            |lowering: &mut Self, one: &Side, other: &Side, is_left: bool| -> Result<()> {
                let (partnered, stored) = lowering.partnered(one, other)?;
                for (name, columns, minus) in [
                    (one.name.clone(), &one.columns, false),
                    (partnered, &stored, true),
                ] {
                    let own = columns.iter().map(|name| of_atom(0, name));
                    let missing = std::iter::repeat_with(null).take(width - columns.len());
                    let all: Vec<Expr> = if is_left {
                        own.chain(missing).collect()
                    } else {
                        missing.chain(own).collect()
                    };
                    tables.push(name);
                    branches.push(branch(&[], all, minus)?);
                }
                Ok(())
            };
        if kind != JoinType::Right {
            alone(self, &left, &right, true)?;
        }
        if kind != JoinType::Left {
            alone(self, &right, &left, false)?;
        }
        let names: Vec<String> = (0..width).map(|at| format!("column {at}")).collect();
        let name = self.emit(
            "outer",
            computing(
                &tables,
                Rows::Map {
                    names: names.clone(),
                    branches,
                },
            ),
        )?;
        Ok(Pending::over(&name, &names))
    }

    /// The rows of the left side that have a partner.
    pub(crate) fn semi(
        &mut self,
        mut left: Pending,
        right: Pending,
        keys: Vec<(Expr, Expr)>,
    ) -> Result<Pending> {
        if keys.is_empty() {
            return Err(unsupported(
                "EXISTS without an equality with the query around is not kept here",
            ));
        }
        let (one, other): (Vec<Expr>, Vec<Expr>) = keys.into_iter().unzip();
        let right = self.side(
            Pending {
                columns: Vec::new(),
                ..right
            },
            other.into_iter(),
        )?;
        let (name, stored) = self.keys(&right)?;
        let atom = left.atoms.len();
        left.atoms.push(name);
        for (one, key) in one.into_iter().zip(stored) {
            left.equal.push(single_atom(one, of_atom(atom, &key))?);
        }
        Ok(left)
    }

    /// The rows of the left side that have none.
    pub(crate) fn anti(
        &mut self,
        left: Pending,
        right: Pending,
        keys: Vec<(Expr, Expr)>,
    ) -> Result<Pending> {
        if keys.is_empty() {
            return Err(unsupported(
                "NOT EXISTS without an equality with the query around is not kept here",
            ));
        }
        let outer = left.outer.clone();
        if !outer.is_empty() {
            return Err(unsupported(
                "NOT EXISTS within a correlated subquery is not kept here",
            ));
        }
        let (one, other): (Vec<Expr>, Vec<Expr>) = keys.into_iter().unzip();
        let left = self.side(left, one.into_iter())?;
        let right = self.side(
            Pending {
                columns: Vec::new(),
                ..right
            },
            other.into_iter(),
        )?;
        let (partnered, stored) = self.partnered(&left, &right)?;
        let columns = |names: &[String]| names.iter().map(|name| of_atom(0, name)).collect();
        let branches = vec![
            branch(&[], columns(&left.columns), false)?,
            branch(&[], columns(&stored), true)?,
        ];
        let names: Vec<String> = (0..left.columns.len())
            .map(|at| format!("column {at}"))
            .collect();
        let tables = [left.name, partnered];
        let name = self.emit(
            "without",
            computing(
                &tables,
                Rows::Map {
                    names: names.clone(),
                    branches,
                },
            ),
        )?;
        Ok(Pending::over(&name, &names))
    }
}

/// The two sides of an equality of both sides of a join.
fn equality(
    condition: &Expr,
    (left, right): (&Pending, &Pending),
    (of_left, of_right): (&DFSchema, &DFSchema),
) -> Result<(Expr, Expr)> {
    let refused = || unsupported("ON of an outer join compares both sides by equality alone");
    let Expr::BinaryExpr(binary) = condition else {
        return Err(refused());
    };
    let is_of = |expr: &Expr, schema: &DFSchema| {
        expr.column_refs()
            .iter()
            .all(|column| schema.has_column(column))
    };
    if binary.op != Operator::Eq {
        return Err(refused());
    }
    let (one, other) = (&*binary.left, &*binary.right);
    if is_of(one, of_left) && is_of(other, of_right) {
        return Ok((left.meant(one, of_left)?, right.meant(other, of_right)?));
    }
    if is_of(one, of_right) && is_of(other, of_left) {
        return Ok((left.meant(other, of_left)?, right.meant(one, of_right)?));
    }
    Err(refused())
}

/// An equality whose left side is of one atom.
fn single_atom(one: Expr, other: Expr) -> Result<(Expr, Expr)> {
    if place(&one).is_none() && atoms_of(&one).len() != 1 {
        return Err(unsupported(
            "a subquery compared with an expression over several tables is not kept here",
        ));
    }
    Ok((one, other))
}

/// NULL equals NULL: it is told by a column of its own.
fn null_safe(keys: &mut Vec<(Expr, Expr)>) {
    let texts = |of: &Expr| {
        let text = datafusion_expr::cast(of.clone(), arrow_schema::DataType::Utf8);
        datafusion_expr::when(of.clone().is_null(), datafusion_expr::lit("")).otherwise(text)
    };
    let mut told = Vec::new();
    for (one, other) in keys.iter() {
        told.push((one.clone().is_null(), other.clone().is_null()));
        if let (Ok(one), Ok(other)) = (texts(one), texts(other)) {
            told.push((one, other));
        }
    }
    *keys = told;
}
