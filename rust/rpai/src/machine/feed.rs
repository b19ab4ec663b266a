//! What the rows of a table are to a part: by which key they are found, and what they add to its sums.
//!
//! Invariant: a row adds its multiplicity, or a value times it, to each lane; where something of it is NULL, that lane
//! gets nothing, and a row without a key gets nowhere. Relations that read the same rows by the same key are one
//! feed. Cost: that of the values.

use ringview_core::Result;
use ringview_ring::CommutativeMonoid;

use super::exact::{Exact, Ordinal};
use super::number::{Kind, Quantity, product};
use super::plan::{ColumnType, Condition, Value};
use super::row::RowAt;
use super::scope::{holds_for, value_for};
use super::unit::{self, Unit};
use crate::payload::Sums;
use crate::tree::overflow;

/// Rows of one block of a chain, or of the outer relation.
#[derive(Clone, Debug)]
pub(super) struct Role {
    pub(super) table: usize,
    pub(super) filter: Vec<Condition>,
    /// What must be equal to something known from outside.
    pub(super) equal: Vec<Value>,
    /// What its entries are ordered by; `None` where there is nothing to compare.
    pub(super) key: Option<Value>,
    /// What is summed; rows are counted first.
    pub(super) sums: Vec<(Value, Unit)>,
    /// What of a row must not be NULL to count.
    pub(super) counted: Option<Value>,
}

/// What is added to one of the sums.
#[derive(Clone, Debug)]
struct Lane {
    at: usize,
    value: Summand,
}

#[derive(Clone, Debug)]
enum Summand {
    One,
    Exact(Exact),
    /// Into two lanes.
    Real(Value),
}

#[derive(Clone, Debug)]
pub(super) struct Feed {
    pub(super) table: usize,
    filter: Vec<Condition>,
    equal: (Vec<Value>, Vec<Ordinal>),
    key: (Option<Value>, Option<Ordinal>),
    lanes: Vec<Lane>,
}

/// The kinds in which keys are compared: of what must be equal, and of what orders.
#[derive(Clone, Debug)]
pub(super) struct Kinds {
    pub(super) equal: Vec<Kind>,
    pub(super) key: Kind,
}

/// Feeds of roles, each with the place of its first lane; `None` for what is not exact.
pub(super) fn feeds(
    roles: &[(Role, usize)],
    tables: &[Vec<ColumnType>],
    kinds: &Kinds,
) -> Option<Vec<Feed>> {
    let mut all: Vec<Feed> = Vec::new();
    for (role, first) in roles {
        let types = &tables[role.table];
        let mut lanes = vec![Lane {
            at: *first,
            value: match &role.counted {
                Some(value) => Summand::Exact(Exact::new(value, types)?),
                None => Summand::One,
            },
        }];
        let mut at = first + 1;
        for (value, unit) in &role.sums {
            let value = match unit {
                Unit::Scale(scale) => Summand::Exact(Exact::new(value, types)?.at_scale(*scale)?),
                Unit::Real => Summand::Real(value.clone()),
            };
            lanes.push(Lane { at, value });
            at += unit.lanes();
        }
        let alike = |feed: &&mut Feed| {
            feed.table == role.table
                && feed.filter == role.filter
                && feed.equal.0 == role.equal
                && feed.key.0 == role.key
        };
        if let Some(feed) = all.iter_mut().find(alike) {
            feed.lanes.append(&mut lanes);
            continue;
        }
        let ordinal = |(value, &kind): (&Value, &Kind)| Ordinal::new(value, types, kind);
        let equal = role.equal.iter().zip(&kinds.equal).map(ordinal);
        let key = match &role.key {
            Some(value) => Some(Ordinal::new(value, types, kinds.key)?),
            None => None,
        };
        all.push(Feed {
            table: role.table,
            filter: role.filter.clone(),
            equal: (role.equal.clone(), equal.collect::<Option<_>>()?),
            key: (role.key.clone(), key),
            lanes,
        });
    }
    Some(all)
}

impl Feed {
    /// Whether a row takes part.
    #[inline]
    pub(super) fn takes(&self, row: &RowAt<'_>) -> Result<bool> {
        if self.filter.is_empty() {
            return Ok(true);
        }
        holds_for(&self.filter, row)
    }

    /// What must be equal; `None` for a row with NULL there.
    #[inline]
    pub(super) fn equal(&self, row: &RowAt<'_>) -> Result<Option<Vec<i128>>> {
        let mut all = Vec::with_capacity(self.equal.1.len());
        for one in &self.equal.1 {
            match one.of(row)? {
                Some(ordinal) => all.push(ordinal),
                None => return Ok(None),
            }
        }
        Ok(Some(all))
    }

    /// The key, 0 where nothing is compared; `None` for NULL.
    #[inline]
    pub(super) fn key(&self, row: &RowAt<'_>) -> Result<Option<i128>> {
        match &self.key.1 {
            Some(key) => key.of(row),
            None => Ok(Some(0)),
        }
    }

    /// What a row that comes so many times adds.
    #[inline]
    pub(super) fn delta<const N: usize>(&self, row: &RowAt<'_>, times: i64) -> Result<Sums<N>> {
        let mut delta = Sums::<N>::ZERO;
        let times = i128::from(times);
        for lane in &self.lanes {
            let too_much = || overflow("a sum");
            let units = match &lane.value {
                Summand::One => 1,
                Summand::Exact(value) => value.units(row)?.unwrap_or(0),
                Summand::Real(value) => {
                    let value = value_for(value, row)?.0.map_or(0.0, Quantity::real);
                    for (at, part) in unit::parts(value)?.into_iter().enumerate() {
                        let part = product(part, times);
                        delta.0[lane.at + at] = part.ok_or_else(too_much)?;
                    }
                    continue;
                }
            };
            delta.0[lane.at] = match times {
                1 => units,
                times => product(units, times).ok_or_else(too_much)?,
            };
        }
        Ok(delta)
    }
}
