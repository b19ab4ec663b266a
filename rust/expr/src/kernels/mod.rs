//! Functions that DataFusion lacks, as kernels over Arrow.
//!
//! Invariant: NULL where an argument is NULL. Cost: one pass.

mod bits;
pub(crate) mod bounded;
mod dates;
pub(crate) mod decimals;
mod digits;
mod distances;
mod formats;
mod like;
mod moments;
mod numbers;
mod numerals;
mod patterns;
mod plain;
mod rounded;
pub(crate) mod shifts;
mod single;
mod sums;
mod texts;
pub(crate) mod time;

use std::sync::{Arc, LazyLock};

use datafusion_expr::ScalarUDF;

/// All of them.
pub(crate) fn functions() -> Vec<Arc<ScalarUDF>> {
    let mut all = vec![
        bits::count(),
        interval_times(),
        bits::not(),
        double_of_decimal(),
        interval_length(),
        bits::xor(),
        shifts::left(),
        shifts::right(),
        last_day(),
        text_like(),
        split(),
        patterns::extract(),
        patterns::full_match(),
        round_even(),
        round_places(),
        whole_number(),
        natural_number(),
        plain_number(),
        only(),
        formats::format(),
        formats::printf(),
        sums::exact(),
        texts::slice(),
    ];
    all.extend(distances::functions());
    all.extend(digits::functions());
    all.extend(moments::functions());
    all.extend(time::functions());
    all.extend(patterns::lists());
    all
}

/// The function of this module of a name.
pub(crate) fn named(name: &str) -> Arc<ScalarUDF> {
    static KNOWN: LazyLock<Vec<Arc<ScalarUDF>>> = LazyLock::new(functions);
    match KNOWN.iter().find(|function| function.name() == name) {
        Some(found) => Arc::clone(found),
        None => unreachable!("{name} is a function of this module"),
    }
}

pub(crate) use sums::exact_type;

macro_rules! function {
    ($(#[$doc:meta])* $name:ident, $made:expr) => {
        $(#[$doc])*
        pub(crate) fn $name() -> Arc<ScalarUDF> {
            static MADE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl($made)));
            Arc::clone(&MADE)
        }
    };
}

function!(
    /// `only(value, rows)`: the value, which fails where it is one of several rows.
    only,
    single::Only::default()
);
function!(
    /// `nonzero(x)`: the same double, which fails where it is zero.
    nonzero,
    numbers::NonZero::default()
);
function!(
    /// `substring(text, start [, length])`, a start below zero counted from the end.
    substring,
    texts::Substring::default()
);
function!(
    /// `split_part(text, separator, number)`.
    split_part,
    texts::SplitPart::default()
);
function!(
    /// `string_split(text, separator)`: the texts between separators, or all characters.
    split,
    texts::Split::default()
);
function!(
    /// `as_text(x)`: a float or a moment as DuckDB writes it.
    as_text,
    texts::AsText::default()
);
function!(
    /// `text_like(text, pattern, escape, insensitive)`.
    text_like,
    like::TextLike::default()
);
function!(
    /// `ordered(x)`: the same double, of one zero and one NaN, which is greater than all else.
    ordered,
    numbers::Ordered::default()
);
function!(
    /// `interval_times(n, interval)`.
    interval_times,
    dates::IntervalTimes::default()
);
function!(
    /// `interval_length(interval)`: microseconds, of months of 30 days.
    interval_length,
    dates::IntervalLength::default()
);
function!(
    /// `double_of_decimal(x)`: the double nearest to a decimal.
    double_of_decimal,
    decimals::DoubleOfDecimal::default()
);
function!(
    /// `date_diff(part, from, to)`: boundaries of a part that lie between two moments.
    date_diff,
    dates::DateDiff::default()
);
function!(
    /// `last_day(date)`: the last day of its month.
    last_day,
    dates::LastDay::default()
);
function!(
    /// `round_even(x)`: the nearest integer, ties to the even one.
    round_even,
    numbers::RoundEven::default()
);
function!(
    /// `round_places(x, n)`: a double at a number of decimal places, halves away from zero.
    round_places,
    rounded::RoundPlaces::default()
);
function!(
    /// `in_float32(x)`: the same, which fails where a float32 cannot hold it.
    in_float32,
    numbers::InFloat32::default()
);
function!(
    /// `whole_number(text)`: a number, rounded to an integer, as a text of digits.
    whole_number,
    numerals::Numeral::new(numerals::NumeralKind::Whole)
);
function!(
    /// `natural_number(text)`: the same for types without a sign.
    natural_number,
    numerals::Numeral::new(numerals::NumeralKind::Natural)
);
function!(
    /// `plain_number(text)`: a number as a text without an exponent.
    plain_number,
    numerals::Numeral::new(numerals::NumeralKind::Plain)
);
