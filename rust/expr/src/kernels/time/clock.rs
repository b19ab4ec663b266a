//! Moments as ticks: microseconds from 1970, of UTC's clock or of one without a zone.
//!
//! Invariant: ticks that are in no calendar are refused by name. Cost: O(1) a moment.

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{Array, ArrayRef, TimestampMicrosecondArray};
use arrow_schema::{DataType, TimeUnit};
use chrono::{DateTime, NaiveDateTime};
use datafusion_common::{Result, exec_datafusion_err};

/// A moment without a zone, as all functions of time compute with it.
pub(crate) const MOMENT: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

/// An instant: a moment with a time zone, whose parts are those of UTC.
pub(crate) fn instant() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// The date and the time of day that ticks of UTC are.
pub(super) fn calendar(ticks: i64) -> Result<NaiveDateTime> {
    DateTime::from_timestamp_micros(ticks)
        .map(|moment| moment.naive_utc())
        .ok_or_else(|| exec_datafusion_err!("a moment {ticks} us from 1970 is in no calendar"))
}

/// Ticks made of the ticks of each row, with the number of the row.
pub(super) fn each_moment(
    of: &ArrayRef,
    mut made: impl FnMut(usize, i64) -> Result<Option<i64>>,
) -> Result<TimestampMicrosecondArray> {
    let ticks = of.as_primitive::<TimestampMicrosecondType>();
    let rows = (0..ticks.len()).map(|row| match ticks.is_null(row) {
        true => Ok(None),
        false => made(row, ticks.value(row)),
    });
    rows.collect()
}
