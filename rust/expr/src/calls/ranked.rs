//! Aggregates by rank: quantiles, one or a list of them, and the first rows by an argument.
//!
//! Invariant: rows are ordered by the argument that is named before a value is picked. Cost: a sort of the rows.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_schema::DataType;
use datafusion_common::{Result, ScalarValue, plan_err};

use super::aggregate::{Accumulation, Aggregate};
use super::lists;
use super::ordered_set::{self, Share, WHOLE};

/// A value at or between two rows.
pub(super) fn quantile(of: &DataType, share: Share, is_dense: bool) -> Aggregate {
    let dense = ordered_set::dense(of).filter(|_| is_dense);
    let ty = dense.unwrap_or_else(|| of.clone());
    let takes = vec![ty.clone()];
    let found = if is_dense {
        Aggregate::whole(ty, takes, move |values| {
            ordered_set::continuous(&values[0], share)
        })
    } else {
        Aggregate::whole(ty, takes, move |values| {
            ordered_set::discrete(&values[0], share)
        })
    };
    Aggregate {
        ordered_by: Some((0, false)),
        ..found
    }
}

/// Quantiles as a list, one for each share.
pub(super) fn quantiles(of: &DataType, shares: &ArrayRef, is_dense: bool) -> Result<Aggregate> {
    let shares = (0..shares.len()).map(|at| share(&ScalarValue::try_from_array(shares, at)?));
    let shares = shares.collect::<Result<Vec<Share>>>()?;
    let one = quantile(of, Share(0), is_dense);
    let ty = one.ty.clone();
    Ok(Aggregate {
        ty: lists::list_type(&ty),
        accumulation: Accumulation::Whole(Arc::new(move |values| {
            let value = |&share: &Share| match is_dense {
                true => ordered_set::continuous(&values[0], share),
                false => ordered_set::discrete(&values[0], share),
            };
            let found = shares.iter().map(value).collect::<Result<Vec<_>>>()?;
            let found = match found.is_empty() {
                true => new_empty_array(&ty),
                false => ScalarValue::iter_to_array(found)?,
            };
            lists::list(&found)
        })),
        ..one
    })
}

/// The first argument of the first rows by one of them, as a list.
pub(super) fn first_of(
    by: usize,
    descends: bool,
    types: &[DataType],
    many: &ScalarValue,
) -> Result<Aggregate> {
    let many = match many.cast_to(&DataType::Int64)? {
        ScalarValue::Int64(Some(many @ 1..)) => many as usize,
        _ => return plan_err!("how many rows of these there shall be is a whole number from 1 on"),
    };
    Ok(Aggregate {
        ordered_by: Some((by, descends)),
        ..Aggregate::whole(lists::list_type(&types[0]), types.to_vec(), move |values| {
            lists::list(&values[0].slice(0, values[0].len().min(many)))
        })
    })
}

/// A share of the rows.
pub(super) fn share(of: &ScalarValue) -> Result<Share> {
    match of.cast_to(&DataType::Decimal128(38, 18))? {
        ScalarValue::Decimal128(Some(share), ..) if (0..=WHOLE).contains(&share) => {
            Ok(Share(share))
        }
        _ => plan_err!("a quantile is a number from 0 to 1"),
    }
}
