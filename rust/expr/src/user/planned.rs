//! Functions of the user as the planner takes them.
//!
//! Invariant: reported types are those of the signature. Cost: none but the call.

use std::sync::Arc;

use arrow_array::Array;
use arrow_schema::DataType;
use datafusion_common::{Result, ScalarValue, not_impl_err};
use datafusion_expr::function::AccumulatorArgs;
use datafusion_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, TypeSignature, Volatility,
};

use super::evaluate::handed;
use super::{Kind, UserFunction};

impl UserFunction {
    /// As a function of a row, if it is one.
    #[must_use]
    pub fn scalar(self: &Arc<Self>) -> Option<Arc<ScalarUDF>> {
        let is_one = self.signature.kind == Kind::Scalar;
        is_one.then(|| Arc::new(ScalarUDF::new_from_impl(Planned::new(self))))
    }

    /// As an aggregate, if it is one.
    #[must_use]
    pub fn aggregate(self: &Arc<Self>) -> Option<Arc<AggregateUDF>> {
        let is_one = self.signature.kind == Kind::Aggregate;
        is_one.then(|| Arc::new(AggregateUDF::new_from_impl(Planned::new(self))))
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Planned {
    function: Arc<UserFunction>,
    signature: Signature,
}

impl Planned {
    fn new(function: &Arc<UserFunction>) -> Self {
        // Types are checked where the result's is computed, with our messages.
        let any = vec![TypeSignature::VariadicAny, TypeSignature::Nullary];
        Self {
            function: Arc::clone(function),
            signature: Signature::one_of(any, Volatility::Immutable),
        }
    }

    fn ty(&self, types: &[DataType]) -> Result<DataType> {
        self.function.signature.over(types).map_err(handed)
    }
}

impl ScalarUDFImpl for Planned {
    fn name(&self) -> &str {
        &self.function.unique
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.ty(types)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let of_one = |one: &ColumnarValue| matches!(one, ColumnarValue::Scalar(_));
        let is_constant = args.args.iter().all(of_one);
        let rows = if is_constant { 1 } else { args.number_rows };
        let arrays = args.args.into_iter().map(|one| one.into_array(rows));
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let values = self.function.of_rows(&arrays, rows).map_err(handed)?;
        match is_constant && !values.is_empty() {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(
                &values, 0,
            )?)),
            false => Ok(ColumnarValue::Array(values)),
        }
    }
}

impl AggregateUDFImpl for Planned {
    fn name(&self) -> &str {
        &self.function.unique
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.ty(types)
    }

    fn accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        not_impl_err!("{} is computed by a block", self.function.signature.name)
    }
}
