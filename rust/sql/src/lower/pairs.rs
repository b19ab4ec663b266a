//! Joins whose pairs must meet more than the equality of keys.
//!
//! Whether a row has a partner depends on the columns that the conditions read: the pairs that meet them are a join,
//! its different values of those columns choose the rows. Invariant: a row that occurs several times, or has several
//! partners, is output as often as it occurs in its side. Cost: that of the join of the pairs.

use datafusion_common::DFSchema;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_expr::{Expr, Operator};
use ringview_core::Result;

use super::pending::{Pending, column_ref, of_atom, renamed};
use super::state::Lowering;
use crate::error::{refusal, unsupported};

/// A side of a join as one block: its name, its columns and its keys.
pub(crate) struct Side {
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    pub(crate) keys: Vec<String>,
}

/// Conditions on two rows besides the equality of their keys, over the columns of a schema: those of both sides.
pub(crate) struct Conditions<'c> {
    pub(crate) all: &'c [Expr],
    pub(crate) schema: Option<&'c DFSchema>,
}

impl Conditions<'_> {
    pub(crate) const fn none() -> Self {
        Self {
            all: &[],
            schema: None,
        }
    }

    /// The same over the atoms of some rows.
    fn over(&self, rows: &Pending) -> Result<Vec<Expr>> {
        let meant = |condition| match self.schema {
            Some(schema) => rows.meant(condition, schema),
            None => Ok(Expr::clone(condition)),
        };
        self.all.iter().map(meant).collect()
    }
}

impl Side {
    pub(crate) fn rows(&self) -> Pending {
        Pending::over(&self.name, &self.columns)
    }
}

impl Lowering<'_> {
    /// The same among pairs that meet conditions: `seen` are the columns of the side that those read, in the block `of`.
    pub(crate) fn partnered_in(
        &mut self,
        one: &Side,
        seen: &[String],
        of: (&str, &[String]),
    ) -> Result<(String, Vec<String>)> {
        let (name, stored) = self.distinct(Pending::over(of.0, of.1))?;
        let mut rows = one.rows();
        rows.atoms.push(name);
        let mut pairs = Vec::with_capacity(seen.len());
        for (own, other) in seen.iter().zip(&stored) {
            let mut pair = vec![(of_atom(0, own), of_atom(1, other))];
            // A key that is NULL has no partner; another column may be NULL where it has one.
            if !one.keys.contains(own) && self.column(&one.name, own)?.1 {
                null_safe(&mut pair);
            }
            pairs.append(&mut pair);
        }
        rows.equal = pairs;
        self.single(rows)
    }

    /// The rows of the left side that have a partner, or those that have none, where pairs must meet conditions of a
    /// subquery on the query around.
    pub(crate) fn semi_join_where(
        &mut self,
        mut left: Pending,
        mut right: Pending,
        keys: Vec<(Expr, Expr)>,
        (conditions, schema): (&[Expr], &DFSchema),
        negated: bool,
    ) -> Result<Pending> {
        let (shown, width) = (left.columns.clone(), right.columns.len());
        // Columns that the conditions read are appended to those of each side.
        let mut meant = Vec::with_capacity(conditions.len());
        for condition in conditions {
            let own = condition.column_refs();
            for column in own {
                right.columns.push(Expr::Column(column.clone()));
            }
            let around = condition.clone().transform_up(|node| match node {
                Expr::OuterReferenceColumn(_, column) => {
                    let at = left.columns.len();
                    let at_schema = schema.index_of_column(&column)?;
                    left.columns.push(shown[at_schema].clone());
                    Ok(Transformed::yes(of_atom(0, &at.to_string())))
                }
                Expr::Column(column) => {
                    let found = right.columns[width..].iter();
                    let mut found = found.enumerate();
                    let at = found.find(|(_, one)| **one == Expr::Column(column.clone()));
                    let at = width + at.map_or(0, |(at, _)| at);
                    Ok(Transformed::yes(of_atom(1, &at.to_string())))
                }
                other => Ok(Transformed::no(other)),
            });
            meant.push(around.map_err(|problem| refusal(&problem))?.data);
        }
        let conditions = Conditions {
            all: &meant,
            schema: None,
        };
        let mut found = self.partnered_pairs(left, right, keys, &conditions, negated)?;
        found.columns.truncate(shown.len());
        Ok(found)
    }

    /// The same for any pairs; without a schema, conditions name columns of both sides by their numbers.
    pub(crate) fn partnered_pairs(
        &mut self,
        left: Pending,
        right: Pending,
        keys: Vec<(Expr, Expr)>,
        conditions: &Conditions<'_>,
        negated: bool,
    ) -> Result<Pending> {
        if keys.is_empty() {
            return Err(unsupported(
                "EXISTS without an equality with the query around is not kept here",
            ));
        }
        if !left.outer.is_empty() || !left.outer_conditions.is_empty() || !left.windows.is_empty() {
            return Err(unsupported(
                "EXISTS within a correlated subquery is not kept here",
            ));
        }
        let (one, other): (Vec<Expr>, Vec<Expr>) = keys.into_iter().unzip();
        let left = self.side(left, one.into_iter())?;
        let right = self.side(right, other.into_iter())?;
        // Kept by key for all rows of the other side, extremes take more memory than the pairs of those that join.
        if self.once
            && let Some(comparison) = self.comparison(&left, &right, conditions)?
        {
            return self.partnered_by_extremes(&left, &right, &comparison, negated);
        }
        let (mut inner, seen) = pairs(&left, &right, conditions)?;
        inner.columns = seen[0].iter().map(|name| of_atom(0, name)).collect();
        let (joined, stored) = self.single(inner)?;
        let partnered = self.partnered_in(&left, &seen[0], (&joined, &stored))?;
        if negated {
            return self.without(&left, partnered);
        }
        Ok(Pending::over(&partnered.0, &partnered.1))
    }
}

/// The pairs of two sides that join, all columns of both; and the conditions over them.
pub(super) fn joined(
    left: &Side,
    right: &Side,
    conditions: &Conditions<'_>,
) -> Result<(Pending, Vec<Expr>)> {
    let mut inner = left.rows();
    inner.atoms.push(right.name.clone());
    inner
        .columns
        .extend(right.columns.iter().map(|name| of_atom(1, name)));
    let pairs = left.keys.iter().zip(&right.keys);
    inner.equal = pairs
        .map(|(key, other)| (of_atom(0, key), of_atom(1, other)))
        .collect();
    let sides = [left, right];
    let numbered = |atom: usize, name: &str| {
        let at: usize = name.parse().ok()?;
        Some(of_atom(atom, sides[atom].columns.get(at)?))
    };
    let mut meant = conditions.over(&inner)?;
    if conditions.schema.is_none() {
        let named = meant.into_iter();
        meant = named
            .map(|condition| renamed(condition, &numbered))
            .collect::<Result<_>>()?;
    }
    Ok((inner, meant))
}

/// The pairs of two sides that join and meet conditions, all columns of both; and by side, the columns that identify
/// its rows in the pairs.
pub(crate) fn pairs(
    left: &Side,
    right: &Side,
    conditions: &Conditions<'_>,
) -> Result<(Pending, [Vec<String>; 2])> {
    let (mut inner, meant) = joined(left, right, conditions)?;
    let mut seen = [left.keys.clone(), right.keys.clone()];
    for condition in &meant {
        for column in condition.column_refs() {
            if let Some((atom, name)) = column_ref(&Expr::Column(column.clone()))
                && !seen[atom].iter().any(|known| known == name)
            {
                seen[atom].push(name.to_owned());
            }
        }
    }
    if conditions.all.is_empty() {
        seen = [Vec::new(), Vec::new()];
    }
    for condition in meant {
        inner.restrict(condition);
    }
    Ok((inner, seen))
}

/// Keys by which NULL equals NULL: each key gets a further one, whether it is NULL.
pub(crate) fn null_safe(keys: &mut Vec<(Expr, Expr)>) {
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

/// The two sides of a condition that is an equality of both sides of a join.
pub(super) fn equality(
    condition: &Expr,
    (left, right): (&Pending, &Pending),
    (of_left, of_right): (&DFSchema, &DFSchema),
) -> Result<Option<(Expr, Expr)>> {
    let Expr::BinaryExpr(binary) = condition else {
        return Ok(None);
    };
    let is_of = |expr: &Expr, schema: &DFSchema| {
        let columns = expr.column_refs();
        !columns.is_empty() && columns.iter().all(|column| schema.has_column(column))
    };
    let (one, other) = (&*binary.left, &*binary.right);
    Ok(match binary.op {
        Operator::Eq if is_of(one, of_left) && is_of(other, of_right) => {
            Some((left.meant(one, of_left)?, right.meant(other, of_right)?))
        }
        Operator::Eq if is_of(one, of_right) && is_of(other, of_left) => {
            Some((left.meant(other, of_left)?, right.meant(one, of_right)?))
        }
        _ => None,
    })
}
