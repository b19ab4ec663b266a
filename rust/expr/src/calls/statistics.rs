//! Statistics of numbers: the library's, and those that it lacks.
//!
//! Invariant: moments are of the differences from the mean, so that equal values have none. Cost: O(rows), for `mad` a
//! sort of them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type};
use arrow_array::{Array, ArrayRef, Decimal128Array, Float64Array};
use arrow_schema::DataType;
use datafusion_common::arrow::buffer::NullBuffer;
use datafusion_common::arrow::row::{RowConverter, SortField};
use datafusion_common::{Result, ScalarValue, exec_err, plan_err};
use datafusion_expr::Accumulator;
use datafusion_functions_aggregate::{correlation, covariance, regr, stddev, variance};

use super::aggregate::{Accumulation, Aggregate};
use super::exact::Doubles;
use super::ordered_set::{self, Share, WHOLE};

/// A statistic of a name over arguments of some types, if it is one.
pub(super) fn statistic(name: &str, types: &[DataType]) -> Result<Option<Aggregate>> {
    let takes = match name {
        "covar_pop" | "covar_samp" | "corr" | "wavg" | "weighted_avg" => 2,
        _ if name.starts_with("regr_") => 2,
        _ => 1,
    };
    let doubles = vec![DataType::Float64; takes];
    let of_moments = |of: fn(Moments) -> Option<f64>| {
        Aggregate::whole(DataType::Float64, doubles.clone(), move |values| {
            moments(&values[0], of)
        })
    };
    let function = match name {
        "stddev" | "stddev_samp" => stddev::stddev_udaf(),
        "stddev_pop" => stddev::stddev_pop_udaf(),
        "variance" | "var_samp" => variance::var_samp_udaf(),
        "var_pop" => variance::var_pop_udaf(),
        "covar_pop" => covariance::covar_pop_udaf(),
        "covar_samp" => covariance::covar_samp_udaf(),
        "corr" => correlation::corr_udaf(),
        "regr_count" => regr::regr_count_udaf(),
        "regr_intercept" => regr::regr_intercept_udaf(),
        "regr_r2" => regr::regr_r2_udaf(),
        "regr_slope" => regr::regr_slope_udaf(),
        "entropy" => return entropy(types).map(Some),
        _ => {
            let own = match name {
                "kurtosis" => of_moments(Moments::kurtosis),
                "kurtosis_pop" => of_moments(Moments::kurtosis_pop),
                "skewness" => of_moments(Moments::skewness),
                "sem" => of_moments(Moments::error_of_mean),
                "geomean" | "geometric_mean" => {
                    Aggregate::whole(DataType::Float64, doubles, |values| {
                        let logarithms = of_doubles(&values[0]).map(f64::ln);
                        let sum: f64 = logarithms.sum();
                        Ok(ScalarValue::from((sum / values[0].len() as f64).exp()))
                    })
                }
                "favg" | "fsum" | "kahan_sum" | "sumkahan" => {
                    let is_average = name == "favg";
                    let accumulation = Accumulation::Streamed(Arc::new(move || {
                        Ok(Box::new(Doubles::new(is_average)))
                    }));
                    Aggregate::new(DataType::Float64, doubles, accumulation)
                }
                "wavg" | "weighted_avg" => Aggregate::whole(DataType::Float64, doubles, weighted),
                "mad" => match types {
                    [one] => deviation(one)?,
                    _ => return arity_error(name, takes),
                },
                _ => return Ok(None),
            };
            return match types.len() == takes && types.iter().all(DataType::is_numeric) {
                true => Ok(Some(own)),
                false => arity_error(name, takes),
            };
        }
    };
    if types.len() != takes || !types.iter().all(DataType::is_numeric) {
        return arity_error(name, takes);
    }
    let mut found = Aggregate::of_library(function, doubles)?;
    if let ("corr" | "regr_slope", Accumulation::Streamed(make)) = (name, &found.accumulation) {
        let make = Arc::clone(make);
        let quotient = move || Ok(Box::new(Quotient::new(make()?)) as Box<dyn Accumulator>);
        found.accumulation = Accumulation::Streamed(Arc::new(quotient));
    }
    let counts = name == "regr_count";
    let ty = match counts {
        true => DataType::Int64,
        false => DataType::Float64,
    };
    Ok(Some(Aggregate {
        ty,
        counts,
        ..found
    }))
}

fn arity_error(name: &str, takes: usize) -> Result<Option<Aggregate>> {
    plan_err!(
        "{name} takes {takes} {}",
        if takes == 1 { "number" } else { "numbers" }
    )
}

fn of_doubles(values: &ArrayRef) -> impl Iterator<Item = f64> + '_ {
    values.as_primitive::<Float64Type>().iter().flatten()
}

/// Means of powers of the differences from the mean.
#[derive(Clone, Copy)]
struct Moments {
    rows: f64,
    second: f64,
    third: f64,
    fourth: f64,
}

fn moments(values: &ArrayRef, of: fn(Moments) -> Option<f64>) -> Result<ScalarValue> {
    let rows = values.len() as f64;
    let mean = of_doubles(values).sum::<f64>() / rows;
    let power = |by: i32| of_doubles(values).map(|x| (x - mean).powi(by)).sum::<f64>() / rows;
    let found = of(Moments {
        rows,
        second: power(2),
        third: power(3),
        fourth: power(4),
    });
    Ok(ScalarValue::Float64(found))
}

impl Moments {
    /// Excess kurtosis of a sample: the weight of its tails compared with the normal distribution.
    fn kurtosis(self) -> Option<f64> {
        let n = self.rows;
        let ratio = self.fourth / (self.second * self.second);
        let found = (n - 1.0) * ((n + 1.0) * ratio - 3.0 * (n - 1.0)) / ((n - 2.0) * (n - 3.0));
        (n > 3.0 && self.second > 0.0).then_some(found)
    }

    /// The same of all there is.
    fn kurtosis_pop(self) -> Option<f64> {
        let found = self.fourth / (self.second * self.second) - 3.0;
        (self.rows > 1.0 && self.second > 0.0).then_some(found)
    }

    fn skewness(self) -> Option<f64> {
        let n = self.rows;
        let found = (n * (n - 1.0)).sqrt() / (n - 2.0) * self.third / self.second.powf(1.5);
        (n > 2.0 && self.second > 0.0).then_some(found)
    }

    /// The standard error of the mean, by the deviation of all there is.
    fn error_of_mean(self) -> Option<f64> {
        Some((self.second / self.rows).sqrt())
    }
}

fn weighted(values: &[ArrayRef]) -> Result<ScalarValue> {
    let weights = || of_doubles(&values[1]);
    let products = of_doubles(&values[0]).zip(weights());
    let sum: f64 = products.map(|(value, weight)| value * weight).sum();
    Ok(ScalarValue::from(sum / weights().sum::<f64>()))
}

/// A quotient of moments: of rows that do not vary it is NaN, which the library makes NULL.
#[derive(Debug)]
struct Quotient {
    of: Box<dyn Accumulator>,
    rows: usize,
}

impl Quotient {
    fn new(of: Box<dyn Accumulator>) -> Self {
        Self { of, rows: 0 }
    }
}

/// Pairs without NULL.
fn pairs(values: &[ArrayRef]) -> usize {
    let Some(first) = values.first() else {
        return 0;
    };
    let nulls = values.iter().map(|of| of.logical_nulls());
    let nulls = nulls.reduce(|one, other| NullBuffer::union(one.as_ref(), other.as_ref()));
    let missing = nulls.flatten().map_or(0, |nulls| nulls.null_count());
    first.len() - missing
}

impl Accumulator for Quotient {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.rows += pairs(values);
        self.of.update_batch(values)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.rows -= pairs(values);
        self.of.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.of.supports_retract_batch()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let found = self.of.evaluate()?;
        Ok(match found.is_null() && self.rows > 0 {
            true => ScalarValue::from(f64::NAN),
            false => found,
        })
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.of.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.of.state()
    }

    fn merge_batch(&mut self, _states: &[ArrayRef]) -> Result<()> {
        exec_err!("rows of a window are not merged")
    }
}

/// Entropy: the mean number of bits that identify the value of a row.
fn entropy(types: &[DataType]) -> Result<Aggregate> {
    let [of] = types else {
        return plan_err!("entropy takes one argument");
    };
    let of_rows = |values: &[ArrayRef]| {
        let converter = RowConverter::new(vec![SortField::new(values[0].data_type().clone())])?;
        let rows = converter.convert_columns(&values[..1])?;
        let mut often: HashMap<&[u8], f64> = HashMap::new();
        for row in &rows {
            *often.entry(row.data()).or_default() += 1.0;
        }
        let all = values[0].len() as f64;
        let mut often: Vec<f64> = often.into_values().collect();
        // The same sum for the same counts, whatever order the map has.
        often.sort_by(f64::total_cmp);
        let bits = often.iter().map(|count| count / all * (all / count).log2());
        // The sum of no numbers is -0.
        Ok(ScalarValue::from(bits.sum::<f64>() + 0.0))
    };
    Ok(Aggregate {
        counts: true,
        ..Aggregate::whole(DataType::Float64, vec![of.clone()], of_rows)
    })
}

/// The median of the distances from the median.
fn deviation(of: &DataType) -> Result<Aggregate> {
    let half = Share(WHOLE / 2);
    let Some(ty) = ordered_set::dense(of).filter(|_| of.is_numeric()) else {
        return plan_err!("mad takes a number");
    };
    let of_rows = move |values: &[ArrayRef]| {
        let sorted: ArrayRef = match ordered_set::continuous(&values[0], half)? {
            ScalarValue::Float64(Some(middle)) => {
                let mut far: Vec<f64> =
                    of_doubles(&values[0]).map(|x| (x - middle).abs()).collect();
                far.sort_by(f64::total_cmp);
                Arc::new(Float64Array::from(far))
            }
            ScalarValue::Decimal128(Some(middle), precision, scale) => {
                let numbers = values[0].as_primitive::<Decimal128Type>().iter().flatten();
                let mut far: Vec<i128> = numbers.map(|x| (x - middle).abs()).collect();
                far.sort_unstable();
                Arc::new(Decimal128Array::from(far).with_precision_and_scale(precision, scale)?)
            }
            other => return exec_err!("mad of {other}"),
        };
        ordered_set::continuous(&sorted, half)
    };
    Ok(Aggregate {
        ordered_by: Some((0, false)),
        ..Aggregate::whole(ty.clone(), vec![ty], of_rows)
    })
}
