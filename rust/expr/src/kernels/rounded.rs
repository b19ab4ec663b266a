//! `round_places(x, n)`: a double rounded to a number of decimal places, halves away from zero.
//!
//! Invariant: what is rounded is the double itself and not its product with a power of ten: 0.425 is a little less than
//! 0.425, so at two places it is 0.42, though 0.425 * 100 is 42.5. NULL where an argument is. Cost: one pass; the
//! product is looked at again where it lies halfway.

use std::sync::Arc;

use arrow_array::Float64Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_schema::DataType;
use datafusion_common::{Result, ScalarValue};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

/// `round_places`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct RoundPlaces {
    signature: Signature,
}

impl Default for RoundPlaces {
    fn default() -> Self {
        let types = vec![DataType::Float64, DataType::Int64];
        Self {
            signature: Signature::exact(types, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for RoundPlaces {
    fn name(&self) -> &str {
        "round_places"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = args.args[0].to_array(args.number_rows)?;
        let values = values.as_primitive::<Float64Type>();
        let rounded: Float64Array = match &args.args[1] {
            ColumnarValue::Scalar(ScalarValue::Int64(Some(places))) => {
                let round = Rounding::to(*places);
                values.unary::<_, Float64Type>(|value| round.of(value))
            }
            places => {
                let places = places.to_array(args.number_rows)?;
                let places = places.as_primitive::<Int64Type>();
                let pairs = values.iter().zip(places);
                pairs
                    .map(|(value, places)| Some(Rounding::to(places?).of(value?)))
                    .collect()
            }
        };
        Ok(ColumnarValue::Array(Arc::new(rounded)))
    }
}

/// Place at which values are cut.
#[derive(Clone, Copy)]
struct Rounding {
    /// Ten to the power of the places, or to what is left out in front of the point.
    power: f64,
    is_fraction: bool,
}

impl Rounding {
    fn to(places: i64) -> Self {
        let exponent = places.unsigned_abs().min(400) as i32;
        Self {
            power: 10_f64.powi(exponent),
            is_fraction: places >= 0,
        }
    }

    /// Rounds a value. It stays the same if it has no such place, or none that a double can
    /// represent.
    fn of(self, value: f64) -> f64 {
        if !self.is_fraction {
            if self.power.is_infinite() {
                return if value.is_finite() { 0.0 } else { value };
            }
            let found = (value / self.power).round() * self.power;
            return if found.is_finite() { found } else { value };
        }
        let scaled = value * self.power;
        if !scaled.is_finite() {
            return value;
        }
        let whole = scaled.trunc();
        let is_half = (scaled - whole).abs() == 0.5;
        // The rounding error of the product: the value lies below the half.
        let is_below = is_half && value.mul_add(self.power, -scaled) * value.signum() < 0.0;
        let nearest = if is_below { whole } else { scaled.round() };
        nearest / self.power
    }
}

#[cfg(test)]
mod tests {
    use super::Rounding;

    #[test]
    fn halves_go_away_from_zero_where_they_are_halves() {
        let cases = [
            (0.125, 2, 0.13),
            (-0.125, 2, -0.13),
            (0.425, 2, 0.42),
            (-0.425, 2, -0.42),
            (2.675, 2, 2.67),
            (5410.95, 1, 5410.9),
            (2.5, 0, 3.0),
            (-2.5, 0, -3.0),
            (25.0, -1, 30.0),
            (0.49999999999999994, 0, 0.0),
            (-3.493086902480074e17, -2, -3.493086902480074e17),
        ];
        for (value, places, expected) in cases {
            assert_eq!(
                Rounding::to(places).of(value),
                expected,
                "{value} at {places}"
            );
        }
    }

    #[test]
    fn what_has_no_such_place_stays() {
        for (value, places) in [(1.5e300, 20), (0.1, 25), (5e-324, 330), (f64::MAX, 1)] {
            assert_eq!(Rounding::to(places).of(value), value, "{value} at {places}");
        }
        assert_eq!(Rounding::to(-308).of(1.7e308), 1.7e308);
        assert_eq!(Rounding::to(-400).of(1.7e308), 0.0);
        assert_eq!(Rounding::to(2).of(f64::INFINITY), f64::INFINITY);
        assert!(Rounding::to(-2).of(f64::NAN).is_nan());
    }
}
