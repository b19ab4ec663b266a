//! Aggregates of the user.
//!
//! Invariant: rows with NULL, and empty groups, are passed only to functions declared to take them. Cost: that of the
//! function.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::{DataFusionError, Result, plan_err};

use super::aggregate::Aggregate;
use crate::user::{Nulls, UserFunction};

/// The aggregate over arguments of these types.
pub(super) fn aggregate(function: Arc<UserFunction>, types: &[DataType]) -> Result<Aggregate> {
    let Some(planned) = function.aggregate() else {
        return plan_err!("{} is a function of one row", function.signature().name);
    };
    let takes_all = function.signature().nulls == Nulls::Special;
    let ty = planned.return_type(types)?;
    let found = Aggregate::whole(ty, types.to_vec(), move |rows| {
        let value = function.of_group(rows);
        value.map_err(|problem| DataFusionError::External(Box::new(problem)))
    });
    Ok(Aggregate {
        skips_nulls: !takes_all,
        counts: takes_all,
        ..found
    })
}
