//! Moments: clocks of zones, texts that are read, formats, truncation and buckets.
//!
//! A moment with a time zone is an instant, and its parts are those of UTC, whatever zone its column names; only
//! `AT TIME ZONE` computes the clock of another zone. Invariant: every year that 64 bits of microseconds hold is
//! computed, or refused by name. NULL where an argument is. Cost: one pass.
//!
//! | file | holds |
//! |---|---|
//! | `clock` | moments as ticks |
//! | `zones` | clock to instant, and back |
//! | `texts` | texts that are cast to dates and moments |
//! | `formats` | `strftime` and `strptime` |
//! | `signs` | their formats |
//! | `parse` | a text by such signs |
//! | `buckets` | `date_trunc` and `time_bucket` |

mod buckets;
mod clock;
mod formats;
mod parse;
mod signs;
mod texts;
mod zones;

use std::sync::Arc;

use datafusion_expr::ScalarUDF;

pub(crate) use clock::{MOMENT, instant};
pub(crate) use signs::{is_zoned, signs};

/// All of them.
pub(crate) fn functions() -> Vec<Arc<ScalarUDF>> {
    let mut all = zones::functions().to_vec();
    all.extend(texts::functions());
    all.extend(formats::functions());
    all.extend(buckets::functions());
    all
}
