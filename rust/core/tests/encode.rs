//! Round trips of every type through the encoding, and what widens and what does not.

use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::{Int8Type, UInt16Type};
use arrow_array::*;
use proptest::prelude::*;
use ringview_core::{
    Batch, Dictionary, Encoder, Error, Field, Result, Schema, TimeUnit, Type, decode,
};

/// Encodes one column and hands back what it decodes to.
fn through(array: ArrayRef, ty: &Type, nullable: bool) -> Result<ArrayRef> {
    let mut dict = Dictionary::new();
    // A string that is id 0, so that NULLs cannot pass for it.
    dict.intern("zero")?;
    let batch = encoded(array, ty, nullable, &mut dict)?;
    let column = batch.column(0);
    for row in 0..batch.rows {
        assert!(!column.is_null(row) || column.words[row] == 0);
    }
    decode(
        ty,
        &column.words,
        &column.high,
        column.valid.as_deref(),
        &dict,
    )
}

fn encoded(array: ArrayRef, ty: &Type, nullable: bool, dict: &mut Dictionary) -> Result<Batch> {
    let schema = Schema::new(vec![Field::new("x", ty.clone(), nullable)])?;
    let rows = RecordBatch::try_from_iter_with_nullable([("x", array, true)]).unwrap();
    let mut into = Batch::new();
    Encoder::new("t", &schema).encode(&rows, 100, &[true], dict, None, &mut into)?;
    Ok(into)
}

fn timestamp(unit: TimeUnit) -> Type {
    Type::Timestamp {
        unit,
        timezone: None,
    }
}

const DECIMAL: Type = Type::Decimal {
    precision: 38,
    scale: 4,
};

macro_rules! round_trip {
    ($name:ident, $array:ty, $native:ty, $ty:expr, $values:expr) => {
        proptest! {
            #[test]
            fn $name(values in prop::collection::vec(prop::option::weighted(0.8, $values), 0..70),
                     start in 0..70_usize) {
                let array: $array = values.iter().cloned().collect::<Vec<Option<$native>>>().into();
                let start = start.min(array.len());
                let array: ArrayRef = Arc::new(array.slice(start, array.len() - start));
                let back = through(array.clone(), &$ty, true).unwrap();
                prop_assert_eq!(back.as_ref(), array.as_ref());
            }
        }
    };
}

round_trip!(bools, BooleanArray, bool, Type::Bool, any::<bool>());
round_trip!(int8s, Int8Array, i8, Type::Int8, any::<i8>());
round_trip!(int16s, Int16Array, i16, Type::Int16, any::<i16>());
round_trip!(int32s, Int32Array, i32, Type::Int32, any::<i32>());
round_trip!(int64s, Int64Array, i64, Type::Int64, any::<i64>());
round_trip!(uint8s, UInt8Array, u8, Type::UInt8, any::<u8>());
round_trip!(uint16s, UInt16Array, u16, Type::UInt16, any::<u16>());
round_trip!(uint32s, UInt32Array, u32, Type::UInt32, any::<u32>());
round_trip!(uint64s, UInt64Array, u64, Type::UInt64, any::<u64>());
round_trip!(
    float32s,
    Float32Array,
    f32,
    Type::Float32,
    any::<f32>().prop_map(|x| x + 0.0)
);
round_trip!(
    float64s,
    Float64Array,
    f64,
    Type::Float64,
    any::<f64>().prop_map(|x| x + 0.0)
);
round_trip!(dates, Date32Array, i32, Type::Date32, any::<i32>());
round_trip!(strings, StringArray, String, Type::Utf8, "\\PC{0,4}|zero");
round_trip!(
    seconds,
    TimestampSecondArray,
    i64,
    timestamp(TimeUnit::Second),
    any::<i64>()
);
round_trip!(
    millis,
    TimestampMillisecondArray,
    i64,
    timestamp(TimeUnit::Millisecond),
    any::<i64>()
);
round_trip!(
    micros,
    TimestampMicrosecondArray,
    i64,
    timestamp(TimeUnit::Microsecond),
    any::<i64>()
);
round_trip!(
    nanos,
    TimestampNanosecondArray,
    i64,
    timestamp(TimeUnit::Nanosecond),
    any::<i64>()
);

proptest! {
    #[test]
    fn decimal128s(values in prop::collection::vec(prop::option::of(any::<i128>()), 0..70)) {
        let values: Vec<_> = values.iter().map(|v| v.map(|v| v % 10_i128.pow(38))).collect();
        let array = Decimal128Array::from(values).with_precision_and_scale(38, 4).unwrap();
        let array: ArrayRef = Arc::new(array);
        let back = through(array.clone(), &DECIMAL, true).unwrap();
        prop_assert_eq!(back.as_ref(), array.as_ref());
    }

    #[test]
    fn integers_convert_exactly_or_not_at_all(values in prop::collection::vec(
        prop_oneof![any::<i64>(), -300..300_i64, any::<i32>().prop_map(i64::from)], 1..6)) {
        let array: ArrayRef = Arc::new(Int64Array::from(values.clone()));
        for ty in [Type::Int8, Type::UInt8, Type::Int32, Type::UInt32, Type::UInt64] {
            let (low, high) = ty.integer_range().unwrap();
            let misfit = values.iter().position(|&v| !(low..=high).contains(&i128::from(v)));
            match (through(array.clone(), &ty, false), misfit) {
                (Ok(back), None) => {
                    let texts = |a: &dyn Array| format!("{a:?}").split_once('[').unwrap().1.to_owned();
                    prop_assert_eq!(texts(&back), texts(&array));
                }
                (Err(Error::Value { place, problem }), Some(row)) => {
                    prop_assert_eq!(place, format!("row {}, column \"x\" of table \"t\"", 100 + row));
                    prop_assert_eq!(problem, format!("{} does not fit {ty} ({low} to {high})", values[row]));
                }
                (outcome, misfit) => prop_assert!(false, "{:?} {:?}", outcome, misfit),
            }
        }
    }
}

/// `array` must be accepted as `ty` and come back as `expected`.
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
