//! Aggregates by their names, for texts over groups: an engine computes them.
//!
//! Invariant: the type reported for one is that of DuckDB; the value's is the engine's. Cost: none.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::{Result, not_impl_err};
use datafusion_expr::function::AccumulatorArgs;
use datafusion_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Signature, TypeSignature, Volatility,
};

use crate::calls::{AGGREGATES, aggregate_type};

/// The exact sum of doubles less its rounding.
const SUM_REST: &str = "sum_rest";

/// The aggregate of a name, in any case.
#[must_use]
pub fn aggregate(name: &str) -> Option<Arc<AggregateUDF>> {
    let name = name.to_lowercase();
    let known = AGGREGATES.iter().chain([&SUM_REST]);
    let name = known.into_iter().find(|known| **known == name)?;
    Some(Arc::new(AggregateUDF::new_from_impl(Named {
        name,
        signature: Signature::one_of(
            vec![TypeSignature::VariadicAny, TypeSignature::Nullary],
            Volatility::Immutable,
        ),
    })))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Named {
    name: &'static str,
    signature: Signature,
}

impl AggregateUDFImpl for Named {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match self.name {
            SUM_REST => Ok(DataType::Float64),
            name => aggregate_type(name, types),
        }
    }

    fn supports_null_handling_clause(&self) -> bool {
        true
    }

    fn accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        not_impl_err!("{} is computed by an engine", self.name)
    }
}
