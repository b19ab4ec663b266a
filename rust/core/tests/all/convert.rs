//! Values that widen without loss, and values that are refused, with their row.
use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::{Int8Type, UInt16Type};
use arrow_array::*;
use ringview_core::{Dictionary, Error, TimeUnit, Type, decode};

use crate::common::{DECIMAL, encoded, through, timestamp};

/// `array` must be accepted as `ty` and be decoded as `expected`.
fn becomes(array: impl Array + 'static, ty: &Type, expected: impl Array + 'static) {
    let back = through(Arc::new(array), ty, true).unwrap_or_else(|error| panic!("{ty}: {error}"));
    assert_eq!(back.as_ref(), &expected as &dyn Array, "{ty}");
}

/// `array` must be refused in its second row.
fn misfits(array: impl Array + 'static, ty: &Type, expected: &str) {
    match through(Arc::new(array), ty, true) {
        Err(Error::Value { place, problem }) => {
            assert_eq!(place, "row 101, column \"x\" of table \"t\"");
            assert_eq!(problem, expected);
        }
        outcome => panic!("{ty}: {outcome:?}"),
    }
}

fn decimals(units: Vec<i128>, precision: u8, scale: i8) -> Decimal128Array {
    Decimal128Array::from(units)
        .with_precision_and_scale(precision, scale)
        .unwrap()
}

#[test]
fn what_loses_nothing_widens() {
    becomes(
        Int32Array::from(vec![-1, 7]),
        &Type::Int64,
        Int64Array::from(vec![-1, 7]),
    );
    becomes(
        UInt32Array::from(vec![u32::MAX]),
        &Type::Int64,
        Int64Array::from(vec![4_294_967_295]),
    );
    becomes(
        UInt64Array::from(vec![7]),
        &Type::Int8,
        Int8Array::from(vec![7]),
    );
    becomes(
        Float32Array::from(vec![0.1]),
        &Type::Float64,
        Float64Array::from(vec![f64::from(0.1_f32)]),
    );
    becomes(
        Float64Array::from(vec![0.5, f64::NAN]),
        &Type::Float32,
        Float32Array::from(vec![0.5, f32::NAN]),
    );
    becomes(
        Int64Array::from(vec![Some(1 << 53), None]),
        &Type::Float64,
        Float64Array::from(vec![Some(9_007_199_254_740_992.0), None]),
    );
    let price = Type::Decimal {
        precision: 5,
        scale: 2,
    };
    becomes(
        Int64Array::from(vec![999, -999]),
        &price,
        decimals(vec![99_900, -99_900], 5, 2),
    );
    becomes(
        decimals(vec![-15_000, 0], 38, 3),
        &price,
        decimals(vec![-1_500, 0], 5, 2),
    );
    becomes(
        decimals(vec![12, 5], 2, 1),
        &price,
        decimals(vec![120, 50], 5, 2),
    );
    becomes(
        Decimal64Array::from(vec![-7])
            .with_precision_and_scale(4, 2)
            .unwrap(),
        &price,
        decimals(vec![-7], 5, 2),
    );
    becomes(
        TimestampSecondArray::from(vec![-3]),
        &timestamp(TimeUnit::Nanosecond),
        TimestampNanosecondArray::from(vec![-3_000_000_000]),
    );
    becomes(
        TimestampNanosecondArray::from(vec![-3_000]),
        &timestamp(TimeUnit::Microsecond),
        TimestampMicrosecondArray::from(vec![-3]),
    );
    becomes(
        NullArray::new(2),
        &Type::Utf8,
        StringArray::from(vec![None::<&str>, None]),
    );
    becomes(
        NullArray::new(1),
        &DECIMAL,
        Decimal128Array::new_null(1)
            .with_precision_and_scale(38, 4)
            .unwrap(),
    );
}

#[test]
fn what_would_lose_is_refused_with_its_row() {
    misfits(
        Int64Array::from(vec![0, 128]),
        &Type::Int8,
        "128 does not fit int8 (-128 to 127)",
    );
    misfits(
        UInt64Array::from(vec![0, u64::MAX]),
        &Type::Int64,
        "18446744073709551615 does not fit int64 (-9223372036854775808 to 9223372036854775807)",
    );
    misfits(
        Int64Array::from(vec![0, (1 << 53) + 1]),
        &Type::Float64,
        "9007199254740993 cannot be kept exactly as float64; round or cast it first",
    );
    misfits(
        Float64Array::from(vec![0.5, 0.1]),
        &Type::Float32,
        "0.1 cannot be kept exactly as float32; round or cast it first",
    );
    let price = Type::Decimal {
        precision: 5,
        scale: 2,
    };
    misfits(
        Int64Array::from(vec![0, 1000]),
        &price,
        "1000 cannot be kept exactly as decimal128(5, 2); round or cast it first",
    );
    misfits(
        decimals(vec![0, 1_001], 10, 3),
        &price,
        "1.001 cannot be kept exactly as decimal128(5, 2); round or cast it first",
    );
    misfits(
        TimestampNanosecondArray::from(vec![0, 1]),
        &timestamp(TimeUnit::Second),
        "1970-01-01 00:00:00.000000001 cannot be kept exactly as timestamp[s]; round or cast it first",
    );
    misfits(
        TimestampSecondArray::from(vec![0, i64::MAX]),
        &timestamp(TimeUnit::Nanosecond),
        "tick 9223372036854775807 cannot be kept exactly as timestamp[ns]; round or cast it first",
    );
    misfits(
        Int64Array::from(vec![0, -1]),
        &Type::UInt64,
        "-1 does not fit uint64 (0 to 18446744073709551615)",
    );
}

#[test]
fn a_decimal_has_no_more_digits_than_its_type_says() {
    let array = decimals(vec![99, 100], 38, 1);
    let price = Type::Decimal {
        precision: 2,
        scale: 1,
    };
    misfits(
        array,
        &price,
        "10.0 cannot be kept exactly as decimal128(2, 1); round or cast it first",
    );
    // Arrow lets an array lie about its digits.
    misfits(
        decimals(vec![-99, -100], 2, 1),
        &price,
        "-10.0 cannot be kept exactly as decimal128(2, 1); round or cast it first",
    );
}

#[test]
fn other_types_are_refused_by_name() {
    let arrays: [(ArrayRef, Type, &str); 5] = [
        (
            Arc::new(StringArray::from(vec!["1"])),
            Type::Int64,
            "string",
        ),
        (
            Arc::new(Float64Array::from(vec![1.0])),
            Type::Int64,
            "float64",
        ),
        (Arc::new(Int64Array::from(vec![1])), Type::Utf8, "int64"),
        (Arc::new(Int64Array::from(vec![1])), Type::Bool, "int64"),
        (
            Arc::new(TimestampSecondArray::from(vec![1]).with_timezone("UTC")),
            timestamp(TimeUnit::Second),
            "timestamp[s, tz=UTC]",
        ),
    ];
    for (array, ty, name) in arrays {
        let expected = Error::Type {
            place: "column \"x\" of table \"t\"".to_owned(),
            expected: ty.to_string(),
            found: name.to_owned(),
        };
        assert_eq!(through(array, &ty, true).unwrap_err(), expected);
    }
}

#[test]
fn floats_are_canonical() {
    let mut dict = Dictionary::new();
    let odd = f64::from_bits(f64::NAN.to_bits() | (1 << 63) | 5);
    let array = Arc::new(Float64Array::from(vec![-0.0, 0.0, f64::NAN, odd]));
    let words = encoded(array, &Type::Float64, false, &mut dict)
        .unwrap()
        .column(0)
        .words
        .clone();
    assert_eq!(words, [0, 0, f64::NAN.to_bits(), f64::NAN.to_bits()]);
}

#[test]
fn every_kind_of_string_gives_the_same_ids() {
    let texts = vec![Some("b"), None, Some("a"), Some("b"), Some("")];
    let mut builder = StringDictionaryBuilder::<Int8Type>::new();
    builder.extend(texts.iter().copied());
    let nulls_inside = DictionaryArray::<UInt16Type>::new(
        UInt16Array::from(vec![2, 0, 1, 2, 3]),
        Arc::new(StringViewArray::from(vec![
            None,
            Some("a"),
            Some("b"),
            Some(""),
        ])),
    );
    let arrays: [ArrayRef; 5] = [
        Arc::new(StringArray::from(texts.clone())),
        Arc::new(LargeStringArray::from(texts.clone())),
        Arc::new(StringViewArray::from(texts.clone())),
        Arc::new(builder.finish()),
        Arc::new(nulls_inside),
    ];
    let expected = StringArray::from(texts);
    for array in arrays {
        let mut dict = Dictionary::new();
        let batch = encoded(array.clone(), &Type::Utf8, true, &mut dict).unwrap();
        assert_eq!(
            batch.column(0).words,
            [0, 0, 1, 0, 2],
            "{:?}",
            array.data_type()
        );
        let valid = batch.column(0).valid.as_deref();
        let back = decode(&Type::Utf8, &batch.column(0).words, &[], valid, &dict).unwrap();
        assert_eq!(back.as_ref(), &expected as &dyn Array);
        let tail = encoded(array.slice(2, 2), &Type::Utf8, true, &mut dict).unwrap();
        assert_eq!(tail.column(0).words, [1, 0]);
    }
}
