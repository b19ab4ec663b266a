//! Values of every type in both formats.

use std::sync::Arc;

use arrow_array::types::{Int32Type, IntervalMonthDayNano};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array,
    DictionaryArray, DurationMillisecondArray, Float32Array, Float64Array, Int8Array, Int32Array,
    IntervalMonthDayNanoArray, ListArray, NullArray, RecordBatch, StringArray, StringViewArray,
    StructArray, Time32SecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    UInt32Array, UInt64Array,
};
use arrow_buffer::i256;
use arrow_schema::{DataType, Field, TimeUnit};
use ringview_wire::copy::format::Format;
use ringview_wire::encode::kind::Kind;
use ringview_wire::encode::rows::{Layout, Pieces, as_described, is_binary};

/// A column of one array.
fn batch(array: ArrayRef) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([("c", array, true)]).unwrap()
}

/// The lines of COPY that an array has.
fn lines(array: ArrayRef) -> Vec<String> {
    let batch = batch(array);
    let mut pieces = Pieces::of(
        &batch,
        0..batch.num_rows(),
        Layout::Copy(Arc::<Format>::default()),
    )
    .unwrap();
    let mut found = Vec::new();
    while let Some(piece) = pieces.piece().unwrap() {
        let mut rest = &piece[..];
        while let [b'd', a, b, c, d, tail @ ..] = rest {
            let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize - 4;
            let line = String::from_utf8(tail[..length].to_vec()).unwrap();
            found.push(line.trim_end_matches('\n').to_owned());
            rest = &tail[length..];
        }
        assert!(rest.is_empty());
    }
    found
}

/// The bytes of the first value in the binary format; `None` for NULL.
fn binary(array: ArrayRef) -> Option<Vec<u8>> {
    let batch = batch(array);
    let mut pieces = Pieces::of(&batch, 0..1, Layout::Rows(vec![true])).unwrap();
    let piece = pieces.piece().unwrap().unwrap();
    let length = i32::from_be_bytes(piece[7..11].try_into().unwrap());
    (length >= 0).then(|| piece[11..].to_vec())
}

#[test]
fn texts_are_those_of_postgresql() {
    let month = IntervalMonthDayNano::new;
    let cases: Vec<(ArrayRef, Vec<&str>)> = vec![
        (
            Arc::new(BooleanArray::from(vec![Some(true), None])),
            vec!["t", "\\N"],
        ),
        (Arc::new(Int8Array::from(vec![-128])), vec!["-128"]),
        (
            Arc::new(UInt32Array::from(vec![u32::MAX])),
            vec!["4294967295"],
        ),
        (
            Arc::new(UInt64Array::from(vec![u64::MAX])),
            vec!["18446744073709551615"],
        ),
        (
            Arc::new(Float32Array::from(vec![0.1, 16_777_216.0])),
            vec!["0.1", "16777216"],
        ),
        (
            Arc::new(Float64Array::from(vec![
                0.1,
                1e300,
                -1e-7,
                0.0,
                f64::NAN,
                f64::NEG_INFINITY,
            ])),
            vec!["0.1", "1e+300", "-1e-7", "0", "NaN", "-Infinity"],
        ),
        (
            Arc::new(
                Decimal128Array::from(vec![-5, 12345])
                    .with_precision_and_scale(10, 3)
                    .unwrap(),
            ),
            vec!["-0.005", "12.345"],
        ),
        (
            Arc::new(StringArray::from(vec!["a\tb\\c\nd\re", ""])),
            vec!["a\\tb\\\\c\\nd\\re", ""],
        ),
        (Arc::new(StringViewArray::from(vec!["ä"])), vec!["ä"]),
        (
            Arc::new(BinaryArray::from(vec![&b"\x00\xff"[..]])),
            vec!["\\\\x00ff"],
        ),
        (
            Arc::new(Date32Array::from(vec![0, -1, 19_782, -719_163])),
            vec!["1970-01-01", "1969-12-31", "2024-02-29", "0001-12-31 BC"],
        ),
        (
            Arc::new(Time32SecondArray::from(vec![3_661])),
            vec!["01:01:01"],
        ),
        (
            Arc::new(TimestampMillisecondArray::from(vec![1_500, -1])),
            vec!["1970-01-01 00:00:01.5", "1969-12-31 23:59:59.999"],
        ),
        (
            Arc::new(TimestampNanosecondArray::from(vec![0]).with_timezone("UTC")),
            vec!["1970-01-01 00:00:00+00"],
        ),
        (
            Arc::new(IntervalMonthDayNanoArray::from(vec![
                month(14, 1, 3_661_500_000_000),
                month(0, -2, 0),
                month(0, 0, -1_000_000_000),
                month(0, 0, 0),
            ])),
            vec![
                "1 year 2 mons 1 day 01:01:01.5",
                "-2 days",
                "-00:00:01",
                "00:00:00",
            ],
        ),
        (
            Arc::new(DurationMillisecondArray::from(vec![1_500])),
            vec!["00:00:01.5"],
        ),
        (Arc::new(NullArray::new(1)), vec!["\\N"]),
        (
            Arc::new(DictionaryArray::<Int32Type>::from_iter([Some("x"), None])),
            vec!["x", "\\N"],
        ),
    ];
    for (array, wanted) in cases {
        assert_eq!(lines(Arc::clone(&array)), wanted, "{}", array.data_type());
    }
}

#[test]
fn binary_values_count_from_2000() {
    let cases: Vec<(ArrayRef, Vec<u8>)> = vec![
        (Arc::new(BooleanArray::from(vec![true])), vec![1]),
        (Arc::new(Int8Array::from(vec![-2])), vec![255, 254]),
        (Arc::new(Date32Array::from(vec![10_957])), vec![0; 4]),
        (Arc::new(Date32Array::from(vec![10_956])), vec![255; 4]),
        (
            Arc::new(TimestampMillisecondArray::from(vec![946_684_800_000])),
            vec![0; 8],
        ),
        (
            Arc::new(Time32SecondArray::from(vec![1])),
            1_000_000_i64.to_be_bytes().to_vec(),
        ),
        (
            Arc::new(IntervalMonthDayNanoArray::from(vec![
                IntervalMonthDayNano::new(1, 2, 3000),
            ])),
            [
                &3_i64.to_be_bytes()[..],
                &2_i32.to_be_bytes(),
                &1_i32.to_be_bytes(),
            ]
            .concat(),
        ),
        (
            Arc::new(BinaryArray::from(vec![&b"ab"[..]])),
            b"ab".to_vec(),
        ),
        (Arc::new(StringArray::from(vec!["ab"])), b"ab".to_vec()),
        // 2^64 - 1 = 1844 6744 0737 0955 1615.
        (
            Arc::new(UInt64Array::from(vec![u64::MAX])),
            [5_i16, 4, 0, 0, 1844, 6744, 737, 955, 1615]
                .map(i16::to_be_bytes)
                .concat(),
        ),
    ];
    for (array, wanted) in cases {
        assert_eq!(
            binary(Arc::clone(&array)),
            Some(wanted),
            "{}",
            array.data_type()
        );
    }
    assert_eq!(binary(Arc::new(Int32Array::from(vec![None::<i32>]))), None);
}

#[test]
fn lists_are_arrays_and_what_has_no_type_is_json() {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
    ]);
    let list: ArrayRef = Arc::new(list);
    assert_eq!(Kind::of(list.data_type()).oid(), 1007);
    assert_eq!(lines(Arc::clone(&list)), ["{1,NULL}", "\\N", "{}"]);
    let wanted = [1, 1, 23, 2, 1, 4, 1, -1].map(i32::to_be_bytes).concat();
    assert_eq!(binary(Arc::clone(&list)), Some(wanted));
    assert_eq!(
        binary(list.slice(2, 1)),
        Some([0, 0, 23].map(i32::to_be_bytes).concat())
    );

    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("a \"b\"\n"), None, Some("")]));
    let field =
        |name: &str, array: &ArrayRef| Arc::new(Field::new(name, array.data_type().clone(), true));
    let both = StructArray::from(vec![
        (field("t", &texts), Arc::clone(&texts)),
        (field("l", &list), Arc::clone(&list)),
    ]);
    let both: ArrayRef = Arc::new(both);
    assert_eq!(Kind::of(both.data_type()), Kind::Json);
    let shown: Vec<String> = lines(both)
        .iter()
        .map(|line| line.replace("\\\\", "\\"))
        .collect();
    assert_eq!(
        shown,
        [
            r#"{"t":"a \"b\"\n","l":[1,null]}"#,
            r#"{"t":null,"l":null}"#,
            r#"{"t":"","l":[]}"#
        ]
    );
    let nested = DataType::new_list(DataType::new_list(DataType::Int32, true), true);
    assert_eq!(Kind::of(&nested), Kind::Json);
}

#[test]
fn types_say_what_they_are() {
    for (data_type, oid, size, modifier) in [
        (DataType::Decimal128(10, 2), 1700, -1, ((10 << 16) | 2) + 4),
        (
            DataType::Decimal128(5, -1),
            1700,
            -1,
            ((5 << 16) | 0x7ff) + 4,
        ),
        (DataType::Timestamp(TimeUnit::Second, None), 1114, 8, -1),
        (
            DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
            1184,
            8,
            -1,
        ),
        (DataType::UInt8, 21, 2, -1),
        (DataType::Null, 25, -1, -1),
        (DataType::new_list(DataType::Utf8, true), 1009, -1, -1),
    ] {
        let kind = Kind::of(&data_type);
        assert_eq!(
            (kind.oid(), kind.size(), kind.modifier()),
            (oid, size, modifier)
        );
    }
}

#[test]
fn a_value_that_cannot_be_sent_is_an_error() {
    let huge = Decimal256Array::from(vec![i256::from_i128(7), i256::MAX]);
    let huge = huge.with_precision_and_scale(76, 0).unwrap();
    let batch = batch(Arc::new(huge));
    // NULL would be another value.
    assert!(Pieces::of(&batch, 0..2, Layout::Copy(Arc::<Format>::default())).is_err());
    assert_eq!(lines(batch.column(0).slice(0, 1)), ["7"]);
}

#[test]
fn pieces_are_whole_messages_of_a_bounded_size() {
    let text = "x".repeat(1000);
    let batch = batch(Arc::new(StringArray::from(vec![text.as_str(); 500])));
    let mut pieces = Pieces::of(&batch, 100..400, Layout::Rows(Vec::new())).unwrap();
    let (mut count, mut rows) = (0, 0);
    while let Some(piece) = pieces.piece().unwrap() {
        assert!(piece.len() < (1 << 16) + 1100);
        assert_eq!(piece.len() % 1011, 0);
        (count, rows) = (count + 1, rows + piece.len() / 1011);
    }
    assert_eq!((count, rows), (5, 300));
}

#[test]
fn rows_are_cast_to_what_was_described() {
    let is = batch(Arc::new(Int32Array::from(vec![7])));
    let said = |data_type| {
        Arc::new(arrow_schema::Schema::new(vec![Field::new(
            "c", data_type, true,
        )]))
    };
    let found = as_described(&is, &said(DataType::Int64)).unwrap();
    assert_eq!(found.column(0).data_type(), &DataType::Int64);
    assert!(as_described(&is, &Arc::new(arrow_schema::Schema::empty())).is_err());
    let of: ArrayRef = Arc::clone(is.column(0));
    let field = Arc::new(Field::new("n", DataType::Int32, true));
    let structs = batch(Arc::new(StructArray::from(vec![(field, of)])));
    let found = as_described(
        &structs,
        &said(DataType::Struct(arrow_schema::Fields::empty())),
    )
    .unwrap();
    assert_eq!(lines(Arc::clone(found.column(0))), [r#"{"n":7}"#]);
}

#[test]
fn formats_are_one_for_all_or_one_a_column() {
    assert!(!is_binary(&[], 3));
    assert!(is_binary(&[true], 3));
    assert!(is_binary(&[false, true], 1) && !is_binary(&[false, true], 0));
}
