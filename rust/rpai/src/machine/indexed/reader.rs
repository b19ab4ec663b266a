//! Reading of a table's rows: their keys, and their summands.
//!
//! Invariant: a row adds its multiplicity, or a value times it, to each lane; where something of it
//! is NULL, that lane gets nothing, and a row without a key gets nowhere. Relations that read the
//! same rows by the same key are one reader. Cost: that of the values.

use ringview_core::Result;
use ringview_ring::{CommutativeMonoid, Expansion};

use crate::machine::indexed::digits::{self as sum_kind, Digit, Reals, SumKind, digits, packed};
use crate::machine::query::{
    ColumnType, Condition, Exact, Kind, Ordinal, Quantity, RowAt, Value, holds_for, product,
    summand,
};
use crate::payload::Sums;
use crate::tree::overflow;

/// Rows of one block of a chain, or of the outer relation.
#[derive(Clone, Debug)]
pub(crate) struct Role {
    pub(crate) table: usize,
    pub(crate) filter: Vec<Condition>,
    /// Columns that must equal a closed value.
    pub(crate) equal: Vec<Value>,
    /// The order of its entries; `None` where there is nothing to compare.
    pub(crate) key: Option<Value>,
    /// The summands; rows are counted first.
    pub(crate) sums: Vec<(Value, SumKind)>,
    /// Columns that must not be NULL for a row to count.
    pub(crate) counted: Option<Value>,
}

/// A summand of one of the sums.
#[derive(Clone, Debug)]
struct Lane {
    at: usize,
    value: Summand,
}

#[derive(Clone, Debug)]
enum Summand {
    One,
    Exact(Exact),
    /// Into the lanes of one of the sums of doubles.
    Real(Value, usize),
}

#[derive(Clone, Debug)]
pub(crate) struct RowReader {
    pub(crate) table: usize,
    filter: Vec<Condition>,
    equal: (Vec<Value>, Vec<Ordinal>),
    key: (Option<Value>, Option<Ordinal>),
    lanes: Vec<Lane>,
}

/// The readers of all tables.
#[derive(Clone, Debug)]
pub(crate) struct RowReaders {
    pub(crate) all: Vec<RowReader>,
    /// The sums of doubles.
    reals: Vec<Reals>,
    /// Lanes of all sums, and of digits added later.
    pub(crate) lanes: usize,
}

/// The kinds in which keys are compared: of equalities, and of the order.
#[derive(Clone, Debug)]
pub(crate) struct Kinds {
    pub(crate) equal: Vec<Kind>,
    pub(crate) key: Kind,
}

/// Readers of roles, each with its first lane; `None` where one is not exact.
pub(crate) fn readers(
    roles: &[(Role, usize)],
    tables: &[Vec<ColumnType>],
    kinds: &Kinds,
) -> Option<RowReaders> {
    let mut all: Vec<RowReader> = Vec::new();
    let (mut reals, mut width) = (Vec::new(), 0);
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
        for (value, sum_kind) in &role.sums {
            let value = match sum_kind {
                SumKind::Scale(scale) => {
                    Summand::Exact(Exact::new(value, types)?.at_scale(*scale)?)
                }
                SumKind::Real => {
                    reals.push(Reals::new(at));
                    Summand::Real(value.clone(), reals.len() - 1)
                }
            };
            lanes.push(Lane { at, value });
            at += sum_kind.lanes();
        }
        width = width.max(at);
        let alike = |reader: &&mut RowReader| {
            reader.table == role.table
                && reader.filter == role.filter
                && reader.equal.0 == role.equal
                && reader.key.0 == role.key
        };
        if let Some(reader) = all.iter_mut().find(alike) {
            reader.lanes.append(&mut lanes);
            continue;
        }
        let ordinal = |(value, &kind): (&Value, &Kind)| Ordinal::new(value, types, kind);
        let equal = role.equal.iter().zip(&kinds.equal).map(ordinal);
        let key = match &role.key {
            Some(value) => Some(Ordinal::new(value, types, kinds.key)?),
            None => None,
        };
        all.push(RowReader {
            table: role.table,
            filter: role.filter.clone(),
            equal: (role.equal.clone(), equal.collect::<Option<_>>()?),
            key: (role.key.clone(), key),
            lanes,
        });
    }
    Some(RowReaders {
        all,
        reals,
        lanes: width,
    })
}

impl RowReaders {
    /// A sum of doubles, by its number.
    pub(crate) fn real(&self, number: usize) -> &Reals {
        &self.reals[number]
    }

    /// The number of the sum of doubles that begins at a lane.
    pub(crate) fn real_at(&self, lane: usize) -> Option<usize> {
        self.reals.iter().position(|real| real.at() == lane)
    }

    /// Number of values that must be equal.
    pub(crate) fn keys(&self) -> usize {
        self.all.first().map_or(0, |reader| reader.equal.0.len())
    }

    /// Those of a table.
    #[inline]
    pub(crate) fn of(&self, table: usize) -> impl Iterator<Item = &RowReader> {
        self.all.iter().filter(move |reader| reader.table == table)
    }

    /// The digits of a row's doubles that have no lane yet: of which sum, and their places.
    #[inline]
    pub(crate) fn missing(&self, table: usize, row: &RowAt<'_>) -> Result<Vec<(usize, i32)>> {
        let mut missing = Vec::new();
        if self.reals.is_empty() {
            return Ok(missing);
        }
        for reader in self.of(table) {
            if !reader.takes(row)? {
                continue;
            }
            for lane in &reader.lanes {
                let Summand::Real(value, sum) = &lane.value else {
                    continue;
                };
                for (power, digit) in digits_of(value, row)? {
                    let has_lane = digit == 0 || self.reals[*sum].lane(power).is_some();
                    if !has_lane && !missing.contains(&(*sum, power)) {
                        missing.push((*sum, power));
                    }
                }
            }
        }
        Ok(missing)
    }

    /// Gives digits lanes behind all others.
    pub(crate) fn extend(&mut self, missing: &[(usize, i32)]) {
        for &(sum, power) in missing {
            self.reals[sum].extend(power, self.lanes);
            self.lanes += 1;
        }
    }

    /// Writes the relation's sums of doubles to their lanes of the result, of which `first` is the first.
    #[inline]
    pub(crate) fn write_reals(&self, sums: &[i128], first: usize, into: &mut [i128]) -> Result<()> {
        for reals in self.reals.iter().filter(|reals| reals.at() >= first) {
            let two = packed(reals.total(sums)?);
            into[reals.at() - first..][..two.len()].copy_from_slice(&two);
        }
        Ok(())
    }
}

/// The digits of a row's value, whose own are those of up to three doubles.
fn digits_of(value: &Value, row: &RowAt<'_>) -> Result<impl Iterator<Item = Digit>> {
    let sum = summand(value, row)?
        .0
        .map_or(Expansion::ZERO, Quantity::expansion);
    Ok(sum_kind::doubles(sum).into_iter().flat_map(digits))
}

impl RowReader {
    /// Whether a row takes part.
    #[inline]
    pub(crate) fn takes(&self, row: &RowAt<'_>) -> Result<bool> {
        for one in &self.filter {
            if !holds_for(one, row)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The columns that must be equal; `None` for a row with NULL there.
    #[inline]
    pub(crate) fn equal(&self, row: &RowAt<'_>) -> Result<Option<Vec<i128>>> {
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
    pub(crate) fn key(&self, row: &RowAt<'_>) -> Result<Option<i128>> {
        match &self.key.1 {
            Some(key) => key.of(row),
            None => Ok(Some(0)),
        }
    }

    /// The delta of a row that is inserted so many times. Always inlined: each relation calls it once
    /// a row.
    #[inline(always)]
    pub(crate) fn delta<const N: usize>(
        &self,
        readers: &RowReaders,
        row: &RowAt<'_>,
        times: i64,
    ) -> Result<Sums<N>> {
        let mut delta = Sums::<N>::ZERO;
        let times = i128::from(times);
        for lane in &self.lanes {
            let too_much = || overflow("a sum");
            let units = match &lane.value {
                Summand::One => 1,
                Summand::Exact(value) => value.scaled(row)?.unwrap_or(0),
                Summand::Real(value, sum) => {
                    for (power, digit) in digits_of(value, row)? {
                        let lane = readers.reals[*sum].lane(power).filter(|_| digit != 0);
                        if let Some(lane) = lane {
                            let digit = product(digit, times);
                            let sum = digit.and_then(|digit| delta.0[lane].checked_add(digit));
                            delta.0[lane] = sum.ok_or_else(too_much)?;
                        }
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
