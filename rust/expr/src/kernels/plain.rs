//! Functions of arrays of set types, each by a function over those arrays.
//!
//! Invariant: arguments are of the declared types, some of the last ones may be absent, and a name has one function.
//! Cost: that of the function.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use datafusion_common::Result;
use datafusion_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    Volatility,
};

/// The result over arguments, all of so many rows.
pub(crate) type OfArrays = fn(&[ArrayRef]) -> Result<ArrayRef>;

/// See the module.
#[derive(Debug)]
pub(crate) struct Plain {
    name: &'static str,
    signature: Signature,
    gives: DataType,
    of: OfArrays,
}

impl Plain {
    /// A function of a name over arguments of these types, of which `fewest` are always there.
    pub(crate) fn function(
        name: &'static str,
        (takes, fewest): (&[DataType], usize),
        gives: DataType,
        of: OfArrays,
    ) -> Arc<ScalarUDF> {
        let forms = (fewest..=takes.len()).map(|many| TypeSignature::Exact(takes[..many].to_vec()));
        Arc::new(ScalarUDF::new_from_impl(Self {
            name,
            signature: Signature::one_of(forms.collect(), Volatility::Immutable),
            gives,
            of,
        }))
    }
}

impl PartialEq for Plain {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Plain {}

impl Hash for Plain {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Plain {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(self.gives.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = args.args.iter().map(|of| of.to_array(args.number_rows));
        (self.of)(&arrays.collect::<Result<Vec<_>>>()?).map(ColumnarValue::Array)
    }
}
