//! Dates: the last day of a month, how many boundaries of a part lie between two moments, and multiples of intervals.
//!
//! Invariant: weeks between two moments are whole ones, as DuckDB has it. Cost: one pass.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
    TimestampMicrosecondType,
};
use arrow_array::{Array, Int64Array, PrimitiveArray};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use chrono::{DateTime, Datelike, Months, NaiveDate};
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

const MOMENT: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);
const DAY: i64 = 86_400_000_000;

/// `last_day`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct LastDay {
    signature: Signature,
}

impl Default for LastDay {
    fn default() -> Self {
        Self {
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for LastDay {
    fn name(&self) -> &str {
        "last_day"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Date32)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let days = args.args[0].to_array(args.number_rows)?;
        let days = days.as_primitive::<Date32Type>();
        let last: PrimitiveArray<Date32Type> = days.unary_opt(|day| {
            let first = Date32Type::to_naive_date_opt(day)?.with_day(1)?;
            let next = first.checked_add_months(Months::new(1))?;
            Some(Date32Type::from_naive_date(next.pred_opt()?))
        });
        Ok(ColumnarValue::Array(Arc::new(last)))
    }
}

/// `interval_length`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct IntervalLength {
    signature: Signature,
}

impl Default for IntervalLength {
    fn default() -> Self {
        let interval = DataType::Interval(IntervalUnit::MonthDayNano);
        Self {
            signature: Signature::exact(vec![interval], Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for IntervalLength {
    fn name(&self) -> &str {
        "interval_length"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Decimal128(38, 0))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let intervals = args.args[0].to_array(args.number_rows)?;
        let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>();
        let lengths = intervals.unary::<_, Decimal128Type>(|of| {
            let days = i128::from(of.months) * 30 + i128::from(of.days);
            days * i128::from(DAY) + i128::from(of.nanoseconds / 1000)
        });
        let lengths = lengths.with_precision_and_scale(38, 0)?;
        Ok(ColumnarValue::Array(Arc::new(lengths)))
    }
}

/// `date_diff`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct DateDiff {
    signature: Signature,
}

impl Default for DateDiff {
    fn default() -> Self {
        Self {
            signature: Signature::exact(
                vec![DataType::Utf8, MOMENT, MOMENT],
                Volatility::Immutable,
            ),
        }
    }
}

impl ScalarUDFImpl for DateDiff {
    fn name(&self) -> &str {
        "date_diff"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let ColumnarValue::Scalar(ScalarValue::Utf8(Some(part))) = &args.args[0] else {
            return Err(DataFusionError::Plan(
                "date_diff takes a constant part, as in 'day'".to_owned(),
            ));
        };
        let is_week = part.to_lowercase().trim_end_matches('s') == "week";
        let number = boundary(if is_week { "day" } else { part })?;
        let (from, to) = (
            args.args[1].to_array(args.number_rows)?,
            args.args[2].to_array(args.number_rows)?,
        );
        let from = from.as_primitive::<TimestampMicrosecondType>();
        let to = to.as_primitive::<TimestampMicrosecondType>();
        let pairs = (0..from.len()).map(|row| {
            let is_known = from.is_valid(row) && to.is_valid(row);
            let days = || Some(number(to.value(row))? - number(from.value(row))?);
            let found = is_known.then(days).flatten();
            found.map(|found| if is_week { found / 7 } else { found })
        });
        let counted: PrimitiveArray<Int64Type> = pairs.collect::<Int64Array>();
        Ok(ColumnarValue::Array(Arc::new(counted)))
    }
}

/// `interval_times`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct IntervalTimes {
    signature: Signature,
}

impl Default for IntervalTimes {
    fn default() -> Self {
        let types = vec![
            DataType::Int64,
            DataType::Interval(IntervalUnit::MonthDayNano),
        ];
        Self {
            signature: Signature::exact(types, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for IntervalTimes {
    fn name(&self) -> &str {
        "interval_times"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Interval(IntervalUnit::MonthDayNano))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let numbers = args.args[0].to_array(args.number_rows)?;
        let intervals = args.args[1].to_array(args.number_rows)?;
        let numbers = numbers.as_primitive::<Int64Type>();
        let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>();
        let overflow = || DataFusionError::Execution("overflow of an interval".to_owned());
        let times = |number: i64, of: IntervalMonthDayNano| -> Result<IntervalMonthDayNano> {
            // Any number of times nothing is nothing.
            let whole = |of: i32| i32::try_from(i64::from(of).checked_mul(number)?).ok();
            Ok(IntervalMonthDayNano {
                months: whole(of.months).ok_or_else(overflow)?,
                days: whole(of.days).ok_or_else(overflow)?,
                nanoseconds: of.nanoseconds.checked_mul(number).ok_or_else(overflow)?,
            })
        };
        let pairs = numbers.iter().zip(intervals.iter());
        let made = pairs.map(|pair| match pair {
            (Some(number), Some(of)) => times(number, of).map(Some),
            _ => Ok(None),
        });
        let made = made.collect::<Result<PrimitiveArray<IntervalMonthDayNanoType>>>()?;
        Ok(ColumnarValue::Array(Arc::new(made)))
    }
}

/// The number of the part that a moment lies in, counted from any moment.
type Number = Box<dyn Fn(i64) -> Option<i64>>;

fn boundary(part: &str) -> Result<Number> {
    let of = |ticks: i64| -> Number { Box::new(move |moment| Some(moment.div_euclid(ticks))) };
    let date = |of: fn(NaiveDate) -> i64| -> Number {
        Box::new(move |moment| Some(of(DateTime::from_timestamp_micros(moment)?.date_naive())))
    };
    let part = part.to_lowercase();
    Ok(match part.trim_end_matches('s') {
        "microsecond" => of(1),
        "millisecond" => of(1_000),
        "second" => of(1_000_000),
        "minute" => of(60_000_000),
        "hour" => of(3_600_000_000),
        "day" => of(DAY),
        "month" => date(|day| i64::from(day.year()) * 12 + i64::from(day.month0())),
        "quarter" => date(|day| i64::from(day.year()) * 4 + i64::from(day.month0() / 3)),
        "year" => date(|day| i64::from(day.year())),
        other => {
            return Err(DataFusionError::Plan(format!(
                "date_diff knows no part {other:?}"
            )));
        }
    })
}
