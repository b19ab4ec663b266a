//! Groups of a machine as keys and payloads of a part.
//!
//! Invariant: a number that does not fit its words is an error; a sum over nothing is 0, with a count
//! of 0. Cost: O(1) a number.

use ringview_core::{Error, Result, Type};
use ringview_query::{Kind, Variable};
use ringview_ring::{Element, Number, NumberKind};
use ringview_view::fields::Aspect;

use crate::machine::{Cell, Quantity};

fn overflow(what: &str) -> Error {
    Error::Overflow {
        place: format!("{what} of a query with correlated aggregates"),
    }
}

/// The number of a term, of a kind, into its words.
pub(super) fn store(cell: Cell, kind: Kind, element: Element, words: &mut [u64]) -> Result<()> {
    let number = cell.0.unwrap_or(Quantity::int(0));
    let fits = |fits: bool| if fits { Ok(()) } else { Err(overflow("a sum")) };
    match element.kind {
        NumberKind::Integer => {
            let units = scaled(number, 0)?;
            let word = i64::try_from(units).map_err(|_| overflow("a sum or count"))?;
            word.store(words, element.word);
            Ok(())
        }
        NumberKind::Decimal | NumberKind::Wide => {
            let scale = match kind {
                Kind::Decimal { scale } => scale.max(0) as u8,
                _ => 0,
            };
            scaled(number, scale)?.store(words, element.word);
            Ok(())
        }
        NumberKind::Real => {
            let sum = number.expansion();
            sum.store(words, element.word);
            fits(sum.is_finite())
        }
    }
}

fn scaled(number: Quantity, scale: u8) -> Result<i128> {
    number.units_at(scale)
}

/// A field of a group's key.
pub(super) fn field(cell: Cell, variable: &Variable, aspect: Aspect) -> Result<u64> {
    let Some(number) = cell.0 else {
        return Ok(u64::from(aspect == Aspect::Null));
    };
    let scale = match &variable.ty {
        Type::Decimal { scale, .. } => (*scale).max(0) as u8,
        _ => 0,
    };
    Ok(match (aspect, number) {
        (Aspect::Null, _) => 0,
        (Aspect::Word, Quantity::Real(value)) => value.to_bits(),
        (Aspect::Word, number) if variable.ty.is_float() => number.real().to_bits(),
        (Aspect::Word, number) => scaled(number, scale)? as u64,
        (Aspect::High, number) => (scaled(number, scale)? >> 64) as u64,
    })
}
