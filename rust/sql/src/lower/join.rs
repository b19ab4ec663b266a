//! Joins: inner ones are folded, the others are sums of Z-sets.
//!
//! The rows of L that have a partner in R are S = L joined with the different keys of R. An anti join is L - S; a left
//! join is the inner join, and L - S with NULLs. Invariant: keys that are NULL have no partner. Cost of a change: that
//! of the joins; S and the inner join are kept.

use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::{Expr, Join, JoinType, LogicalPlan, Operator, lit};
use ringview_core::Result;
use ringview_query::{Edge, Frame, FrameUnit};

use super::asof;
use super::domain::references;
use super::lateral;
use super::pairs::{Conditions, Side, equality, null_safe, pairs};
use super::pending::{
    Function, Pending, Window, any, atoms_of, column_ref, is_nested, of_atom, of_window, renamed,
    split,
};
use super::set_types::widened;
use super::state::Lowering;
use super::union::branch;
use crate::error::{refusal, unsupported};

impl Lowering<'_> {
    /// The rows of a join.
    pub(crate) fn join(&mut self, join: &Join) -> Result<Pending> {
        // INTERSECT and EXCEPT are joins to the binder.
        let is_of_sets = join.null_equality == datafusion_common::NullEquality::NullEqualsNull
            && matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti);
        if is_of_sets && let Some(widened) = widened(join)? {
            return self.join(&widened);
        }
        let left = self.input(&join.left)?;
        if let Some(subquery) = lateral::subquery(&join.right) {
            return self.lateral(left, join, subquery);
        }
        let mut left = self.flat(left)?;
        let right = self.input(&join.right)?;
        let mut right = self.flat(right)?;
        let read = references([&left, &right])?;
        let mut domains = None;
        if !read.is_empty() {
            if join.join_type != JoinType::Inner && !is_of_sets {
                return Err(unsupported(
                    "an outer join within a correlated subquery is not kept here",
                ));
            }
            let (one, other);
            (left, one) = self.over_domain(left, read.clone())?;
            (right, other) = self.over_domain(right, read)?;
            domains = Some((one, other));
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
        if asof::is_asof(&conditions) {
            return self.asof((left, right), keys, &conditions, join);
        }
        if join.join_type == JoinType::Inner {
            if let Some((one, other)) = &domains {
                let mut values = one.columns().zip(other.columns()).collect();
                null_safe(&mut values);
                keys.append(&mut values);
            }
            let mut joined = self.inner(left, right, keys, (&conditions, &join.schema))?;
            if let Some((one, _)) = domains {
                joined.outer.extend(one.keys(one.columns()));
            }
            return Ok(joined);
        }
        if let Some((one, other)) = &domains {
            keys.extend(one.columns().zip(other.columns()));
            left.columns.extend(one.columns());
        }
        if is_of_sets {
            // With ALL, the first of equal rows meets the first of the other side, the second the second.
            let mut numbers = None;
            if !matches!(*join.left, LogicalPlan::Distinct(_)) {
                let (one, other): (Vec<Expr>, Vec<Expr>) = keys.into_iter().unzip();
                let (one, first) = self.numbered(&mut left, one)?;
                let (other, second) = self.numbered(&mut right, other)?;
                keys = one.into_iter().zip(other).collect();
                numbers = Some((first, second));
            }
            null_safe(&mut keys);
            keys.extend(numbers);
        }
        // Conditions on a side that may be missing choose its rows; a condition that is no equality of both sides is
        // checked on pairs.
        let (mut own, mut pairs) = (Vec::new(), Vec::new());
        let kept = |of_left: bool| match join.join_type {
            JoinType::Left | JoinType::LeftAnti => of_left,
            JoinType::Right => !of_left,
            JoinType::LeftSemi => false,
            _ => true,
        };
        for condition in conditions {
            if any(&condition, is_nested) {
                return Err(unsupported("a subquery in ON of an outer join is not kept"));
            }
            let is_of = |schema: &DFSchema| {
                let columns = condition.column_refs();
                columns.iter().all(|column| schema.has_column(column))
            };
            match (is_of(schemas.0), is_of(schemas.1)) {
                (true, _) if !kept(true) => own.push((true, left.meant(&condition, schemas.0)?)),
                (_, true) if !kept(false) => own.push((false, right.meant(&condition, schemas.1)?)),
                _ => match equality(&condition, (&left, &right), schemas)? {
                    Some(pair) => keys.push(pair),
                    None => pairs.push(condition),
                },
            }
        }
        for (of_left, condition) in own {
            let side = if of_left { &mut left } else { &mut right };
            side.filters.push(condition);
        }
        let both = left_and_right(&join.left, &join.right)?;
        let conditions = Conditions {
            all: &pairs,
            schema: Some(&both),
        };
        let mut found = match join.join_type {
            JoinType::Left | JoinType::Right | JoinType::Full => {
                self.outer(left, right, keys, join.join_type, &conditions)
            }
            JoinType::LeftSemi if pairs.is_empty() => self.semi(left, right, keys),
            JoinType::LeftAnti if pairs.is_empty() => self.anti(left, right, keys),
            JoinType::LeftSemi | JoinType::LeftAnti => {
                let negated = join.join_type == JoinType::LeftAnti;
                self.partnered_pairs(left, right, keys, &conditions, negated)
            }
            other => Err(unsupported(&format!("a {other} join is not kept"))),
        }?;
        if let Some((domain, _)) = domains {
            let values = found.columns.split_off(join.schema.fields().len());
            found.outer = domain.keys(values);
        }
        Ok(found)
    }

    /// Numbers rows that are equal in some expressions; those expressions, and the number.
    fn numbered(&mut self, rows: &mut Pending, of: Vec<Expr>) -> Result<(Vec<Expr>, Expr)> {
        let width = rows.columns.len();
        rows.columns.extend(of.iter().cloned());
        rows.columns.push(of_window(rows.windows.len()));
        rows.windows.push(Window {
            function: Function {
                name: "row_number".to_owned(),
                frame: Some(Frame {
                    unit: FrameUnit::Rows,
                    start: Edge::Preceding(None),
                    end: Edge::CurrentRow,
                }),
                ..Function::default()
            },
            partition: of,
            order: Vec::new(),
        });
        *rows = self.flat(std::mem::take(rows))?;
        let mut made = rows.columns.split_off(width);
        let number = made.pop().unwrap_or_default();
        Ok((made, number))
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
            let other = renamed(other, &|atom, name| Some(of_atom(atom + by, name)))?;
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
    pub(crate) fn side(
        &mut self,
        mut rows: Pending,
        keys: impl Iterator<Item = Expr>,
    ) -> Result<Side> {
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
        conditions: &Conditions<'_>,
    ) -> Result<Pending> {
        let (mut one, mut other): (Vec<Expr>, Vec<Expr>) = keys.into_iter().unzip();
        if one.is_empty() {
            // Each row may be a partner of each.
            (one, other) = (vec![lit(1_i64)], vec![lit(1_i64)]);
        }
        let left = self.side(left, one.into_iter())?;
        let right = self.side(right, other.into_iter())?;
        let width = left.columns.len() + right.columns.len();
        let (mut inner, seen) = pairs(&left, &right, conditions)?;
        let read = |atom: usize| seen[atom].iter().map(move |name| of_atom(atom, name));
        inner.columns.extend(read(0).chain(read(1)));
        let (joined, mut shown) = self.single(inner)?;
        let mut own = [shown.split_off(width), Vec::new()];
        own[1] = own[0].split_off(seen[0].len());
        let mut tables = vec![joined.clone()];
        let plain = shown.iter().map(|name| of_atom(0, name)).collect();
        let mut branches = vec![branch(&[], plain, false)?];
        let null = || Expr::Literal(ScalarValue::Null, None);
        for (at, one, other) in [(0, &left, &right), (1, &right, &left)] {
            let is_whole = match kind {
                JoinType::Left => at == 0,
                JoinType::Right => at == 1,
                _ => true,
            };
            if !is_whole {
                continue;
            }
            let (partnered, stored) = if conditions.all.is_empty() {
                self.partnered(one, other)?
            } else {
                self.partnered_in(one, &seen[at], (&joined, &own[at]))?
            };
            for (name, columns, minus) in [
                (one.name.clone(), &one.columns, false),
                (partnered, &stored, true),
            ] {
                let own = columns.iter().map(|name| of_atom(0, name));
                let missing = std::iter::repeat_with(null).take(width - columns.len());
                let all: Vec<Expr> = if at == 0 {
                    own.chain(missing).collect()
                } else {
                    missing.chain(own).collect()
                };
                tables.push(name);
                branches.push(branch(&[], all, minus)?);
            }
        }
        self.summed("outer", &tables, branches, width)
    }

    /// The rows of a side, without some of them.
    pub(crate) fn without(
        &mut self,
        of: &Side,
        (name, stored): (String, Vec<String>),
    ) -> Result<Pending> {
        let columns = |names: &[String]| names.iter().map(|name| of_atom(0, name)).collect();
        let branches = vec![
            branch(&[], columns(&of.columns), false)?,
            branch(&[], columns(&stored), true)?,
        ];
        let tables = [of.name.clone(), name];
        self.summed("without", &tables, branches, of.columns.len())
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
        let is_single = |expr: &Expr| column_ref(expr).is_some() || atoms_of(expr).len() == 1;
        let is_free =
            left.outer.is_empty() && left.outer_conditions.is_empty() && left.windows.is_empty();
        let mut one = one;
        if !one.iter().all(is_single) {
            if !is_free {
                return Err(unsupported(
                    "a subquery compared with an expression over several tables is not kept here",
                ));
            }
            let side = self.side(left, one.into_iter())?;
            one = side.keys.iter().map(|key| of_atom(0, key)).collect();
            left = side.rows();
        }
        let atom = left.atoms.len();
        left.atoms.push(name);
        for (one, key) in one.into_iter().zip(stored) {
            left.equal.push((one, of_atom(atom, &key)));
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
        let (one, other): (Vec<Expr>, Vec<Expr>) = keys.into_iter().unzip();
        self.keyed(left, |lowering, left| {
            let left = lowering.side(left, one.into_iter())?;
            let right = lowering.side(
                Pending {
                    columns: Vec::new(),
                    ..right
                },
                other.into_iter(),
            )?;
            let partnered = lowering.partnered(&left, &right)?;
            lowering.without(&left, partnered)
        })
    }
}

/// The columns of both sides of a join.
fn left_and_right(left: &LogicalPlan, right: &LogicalPlan) -> Result<DFSchema> {
    left.schema()
        .join(right.schema())
        .map_err(|problem| refusal(&problem))
}
