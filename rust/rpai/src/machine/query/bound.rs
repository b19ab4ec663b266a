//! Bounds between the keys of an index, and their numbers.
//!
//! Invariant: a number of any kind has its bound among keys of one kind, between two of them where
//! it is none. Cost: O(1); O(log) of the range of keys where a double is among exact ones.

use std::ops::Range as Keys;

use ringview_core::Result;
use ringview_query::Comparison;
use ringview_query::nested::{Cell, Quantity, floor, power_of_ten, product};

use crate::machine::query::kind::Kind;
use crate::tree::overflow;

/// A bound between entries: a key, and whether it is behind it.
pub(crate) type KeyBound = (i128, bool);

pub(crate) const START: KeyBound = (-i128::MAX, false);
pub(crate) const END: KeyBound = (i128::MAX, true);

/// Keys from one bound to another.
pub(crate) type Range = (KeyBound, KeyBound);

/// The same where keys grow downwards.
pub(crate) fn mirror((key, behind): KeyBound) -> KeyBound {
    (-key, !behind)
}

/// The keys of an exact kind that equal a number, from the first to the one behind the last.
pub(crate) fn equal_keys(number: Quantity, kind: Kind) -> Result<(i128, i128)> {
    let behind = |(key, behind): KeyBound| key + i128::from(behind);
    let (first, end) = (
        key_bound(number, kind, false)?,
        key_bound(number, kind, true)?,
    );
    Ok((behind(first), behind(end)))
}

/// Of numbers that must be equal, the keys that each may be; `None` where one is NULL, or equals no
/// key.
pub(crate) fn ranges(equal: &[Cell], kinds: &[Kind]) -> Result<Option<Vec<Keys<i128>>>> {
    let mut all = Vec::with_capacity(equal.len());
    for (cell, &kind) in equal.iter().zip(kinds) {
        let (first, end) = cell
            .0
            .map_or(Ok((0, 0)), |number| equal_keys(number, kind))?;
        if first >= end {
            return Ok(None);
        }
        all.push(first..end);
    }
    Ok(Some(all))
}

/// The one key of ranges, unless several integers equal a double.
pub(crate) fn sole(ranges: &[Keys<i128>]) -> Option<Vec<i128>> {
    let key = |of: &Keys<i128>| (of.end - of.start == 1).then_some(of.start);
    ranges.iter().map(key).collect()
}

/// The bound behind all keys less than a number, or at most it.
pub(crate) fn key_bound(number: Quantity, kind: Kind, inclusive: bool) -> Result<KeyBound> {
    let ends = |is_great: bool| if is_great { END } else { START };
    match (number, kind) {
        (number, Kind::Real) => Ok((Kind::Real.key(number)?, inclusive)),
        (Quantity::Exact { units, scale: own }, Kind::Exact(scale)) => {
            let power = power_of_ten(own.abs_diff(scale));
            let power = power.ok_or_else(|| overflow("a number"))?;
            if own <= scale {
                let key = product(units, power).filter(|key| *key != i128::MIN);
                return Ok(key.map_or(ends(units > 0), |key| (key, inclusive)));
            }
            // Between two keys, unless the digits behind are zeros.
            let (key, is_key) = floor(units, power);
            Ok((key, inclusive || !is_key))
        }
        (number, Kind::Exact(scale)) => {
            let how = match inclusive {
                true => Comparison::Gt,
                false => Comparison::Ge,
            };
            let (mut low, mut high) = (i128::MIN / 2, i128::MAX / 2);
            while low < high {
                let middle = low + (high - low) / 2;
                let units = Quantity::Exact {
                    units: middle,
                    scale,
                };
                match how.holds(units.compare(number)) {
                    true => high = middle,
                    false => low = middle + 1,
                }
            }
            Ok((low, false))
        }
    }
}
