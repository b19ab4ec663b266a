//! Sums and averages that the library would let wrap, or lose digits of.
//!
//! Invariant: a sum of integers or decimals is exact, or an overflow. Sums of doubles carry what each addition lost.
//! Cost: O(rows).

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type};
use datafusion_common::{Result, ScalarValue, exec_err, not_impl_err};
use datafusion_expr::Accumulator;

/// One more than the greatest decimal.
const LIMIT: i128 = 10i128.pow(38);

/// The sum of decimals, or their average.
#[derive(Debug)]
pub(super) struct Exact {
    pub(super) scale: i8,
    pub(super) is_average: bool,
    pub(super) sum: i128,
    pub(super) rows: i128,
}

impl Exact {
    fn add(&mut self, values: &[ArrayRef], sign: i128) -> Result<()> {
        for value in values[0].as_primitive::<Decimal128Type>().iter().flatten() {
            let sum = self.sum.checked_add(sign * value);
            match sum.filter(|sum| self.is_average || sum.abs() < LIMIT) {
                Some(sum) => self.sum = sum,
                None => return exec_err!("overflow of a sum"),
            }
            self.rows += sign;
        }
        Ok(())
    }
}

impl Accumulator for Exact {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(values, 1)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(values, -1)
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let some = self.rows > 0;
        if self.is_average {
            let unit = 10f64.powi(i32::from(self.scale));
            let average = some.then(|| self.sum as f64 / unit / self.rows as f64);
            return Ok(ScalarValue::Float64(average));
        }
        Ok(ScalarValue::Decimal128(
            some.then_some(self.sum),
            38,
            self.scale,
        ))
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        not_impl_err!("a sum is made at once")
    }

    fn merge_batch(&mut self, _states: &[ArrayRef]) -> Result<()> {
        not_impl_err!("a sum is made at once")
    }
}

/// The sum of doubles, or their average.
#[derive(Debug, Default)]
pub(super) struct Doubles {
    pub(super) is_average: bool,
    sum: f64,
    lost: f64,
    rows: f64,
}

impl Doubles {
    pub(super) fn new(is_average: bool) -> Self {
        Self {
            is_average,
            ..Self::default()
        }
    }
}

impl Accumulator for Doubles {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in values[0].as_primitive::<Float64Type>().iter().flatten() {
            let sum = self.sum + value;
            let (great, small) = if self.sum.abs() >= value.abs() {
                (self.sum, value)
            } else {
                (value, self.sum)
            };
            // A sum that overflows is infinite, and has no rounding error to keep.
            if sum.is_finite() {
                self.lost += (great - sum) + small;
            }
            self.sum = sum;
            self.rows += 1.0;
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = self.sum + self.lost;
        let value = if self.is_average {
            sum / self.rows
        } else {
            sum
        };
        Ok(ScalarValue::Float64((self.rows > 0.0).then_some(value)))
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        not_impl_err!("a sum is made at once")
    }

    fn merge_batch(&mut self, _states: &[ArrayRef]) -> Result<()> {
        not_impl_err!("a sum is made at once")
    }
}
