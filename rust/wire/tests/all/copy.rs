//! Rows of every type through the formats of COPY, out and in again.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray, TimestampSecondArray, UInt8Array,
    UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use ringview_wire::backend::Failure;
use ringview_wire::copy::format::Limits;
use ringview_wire::copy::format::{Format, Header};
use ringview_wire::copy::reader::Reader;
use ringview_wire::copy::written::{closing, opening};
use ringview_wire::encode::rows::{Layout, Pieces};

const LIMITS: Limits = Limits {
    bytes: 1 << 30,
    rows: 1 << 20,
};

/// Bytes of rows that are copied out.
fn written(batch: &RecordBatch, format: &Arc<Format>) -> Vec<u8> {
    let (opening, names) = opening(format, &batch.schema());
    let mut messages: Vec<u8> = names.iter().flatten().copied().collect();
    let layout = Layout::Copy(Arc::clone(format));
    let pieces = Pieces::of(batch, 0..batch.num_rows(), layout).unwrap();
    let mut pieces = pieces.behind(opening.clone());
    while let Some(piece) = pieces.piece().unwrap() {
        messages.extend_from_slice(&piece);
    }
    let unsaid = if batch.num_rows() == 0 {
        opening
    } else {
        bytes()
    };
    messages.extend(closing(format, &unsaid).iter().flatten());
    let (mut found, mut rest) = (Vec::new(), &messages[..]);
    while let [b'd', a, b, c, d, tail @ ..] = rest {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize - 4;
        found.extend_from_slice(&tail[..length]);
        rest = &tail[length..];
    }
    assert!(rest.is_empty());
    found
}

fn bytes() -> bytes::Bytes {
    bytes::Bytes::new()
}

fn read(
    data: &[u8],
    schema: &SchemaRef,
    format: &Arc<Format>,
    piece: usize,
) -> Result<Vec<RecordBatch>, Failure> {
    let mut reader = Reader::new(Arc::clone(schema), Arc::clone(format), LIMITS)?;
    for part in data.chunks(piece) {
        reader.push(part)?;
    }
    reader.finish()
}

fn formats() -> Vec<Arc<Format>> {
    let all = vec![
        Format::default(),
        Format::csv(),
        Format::binary(),
        Format {
            delimiter: b'|',
            null: "nil".to_owned(),
            header: Header::Match,
            ..Format::default()
        },
        Format {
            delimiter: b';',
            quote: b'\'',
            escape: b'\\',
            null: "NULL".to_owned(),
            header: Header::Match,
            force_quote: vec![true; 40],
            ..Format::csv()
        },
    ];
    all.into_iter().map(Arc::new).collect()
}

fn every_type() -> RecordBatch {
    let decimal = |all: Vec<Option<i128>>, precision, scale| -> ArrayRef {
        let of = Decimal128Array::from(all).with_precision_and_scale(precision, scale);
        Arc::new(of.unwrap())
    };
    let largest = 10_i128.pow(38) - 1;
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "b",
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
        ),
        (
            "i1",
            Arc::new(Int8Array::from(vec![Some(-128), None, Some(127)])),
        ),
        (
            "i2",
            Arc::new(Int16Array::from(vec![Some(i16::MIN), None, Some(i16::MAX)])),
        ),
        (
            "i4",
            Arc::new(Int32Array::from(vec![Some(i32::MIN), None, Some(i32::MAX)])),
        ),
        (
            "i8",
            Arc::new(Int64Array::from(vec![Some(i64::MIN), None, Some(i64::MAX)])),
        ),
        (
            "u1",
            Arc::new(UInt8Array::from(vec![Some(255), None, Some(0)])),
        ),
        (
            "u2",
            Arc::new(UInt16Array::from(vec![Some(u16::MAX), None, Some(0)])),
        ),
        (
            "u4",
            Arc::new(UInt32Array::from(vec![Some(u32::MAX), None, Some(0)])),
        ),
        (
            "u8",
            Arc::new(UInt64Array::from(vec![Some(u64::MAX), None, Some(0)])),
        ),
        (
            "f4",
            Arc::new(Float32Array::from(vec![
                Some(0.1),
                None,
                Some(f32::NEG_INFINITY),
            ])),
        ),
        (
            "f8",
            Arc::new(Float64Array::from(vec![Some(-0.1), None, Some(1e-300)])),
        ),
        ("d", decimal(vec![Some(-largest), None, Some(5)], 38, 3)),
        ("n", decimal(vec![Some(largest), None, Some(0)], 38, 0)),
        (
            "t",
            Arc::new(StringArray::from(vec![
                Some("\"a\",\tb\\N\r\n;|'é"),
                None,
                Some(""),
            ])),
        ),
        (
            "nil",
            Arc::new(StringArray::from(vec![
                Some("\\."),
                Some("\\"),
                Some("\u{8}\u{b}\u{c}"),
            ])),
        ),
        (
            "day",
            Arc::new(Date32Array::from(vec![
                Some(-800_000),
                None,
                Some(3_672_207),
            ])),
        ),
        (
            "s",
            Arc::new(TimestampSecondArray::from(vec![
                Some(-1),
                None,
                Some(1 << 34),
            ])),
        ),
        (
            "ms",
            Arc::new(TimestampMillisecondArray::from(vec![
                Some(-1),
                None,
                Some(1),
            ])),
        ),
        (
            "us",
            Arc::new(TimestampMicrosecondArray::from(vec![
                Some(-1),
                None,
                Some(1 << 52),
            ])),
        ),
        (
            "z",
            Arc::new(
                TimestampNanosecondArray::from(vec![Some(-1000), None, Some(1_000_000_000)])
                    .with_timezone("UTC"),
            ),
        ),
    ];
    let all = columns.into_iter().map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(all).unwrap()
}

#[test]
fn rows_of_every_type_come_back_as_they_went() {
    let batch = every_type();
    for format in formats() {
        let data = written(&batch, &format);
        for piece in [1, 7, data.len()] {
            let found = read(&data, &batch.schema(), &format, piece).unwrap();
            assert_eq!(found, std::slice::from_ref(&batch), "{format:?}");
        }
        let none = written(&batch.slice(0, 0), &format);
        assert_eq!(read(&none, &batch.schema(), &format, 1), Ok(Vec::new()));
    }
}

#[test]
fn a_row_that_is_none_is_refused_with_its_line_and_its_column() {
    let fields = vec![
        Field::new("n", DataType::Int8, false),
        Field::new("d", DataType::Decimal128(5, 2), true),
        Field::new("at", DataType::Date32, true),
    ];
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    let csv = Arc::new(Format {
        header: Header::Line,
        ..Format::csv()
    });
    for (line, code, problem) in [
        (
            "x,1,",
            "22P02",
            "line 3, column \"n\": \"x\" is no smallint",
        ),
        (
            "128,1,",
            "22003",
            "column \"n\": \"128\" is out of range for smallint (-128 to 127)",
        ),
        (",1,", "23502", "column \"n\": is NULL"),
        (
            "1,1000,",
            "22003",
            "column \"d\": \"1000\" is out of range for numeric(5,2)",
        ),
        (
            "1,1,2024-02-30",
            "22P02",
            "column \"at\": \"2024-02-30\" is no date",
        ),
        ("1,1", "22P04", "column \"at\": there is no field"),
        ("1,1,,", "22P04", "line 3: it has more fields"),
        ("1,\"1", "22P04", "line 3: its quotes are not closed"),
    ] {
        let data = format!("a,b,c\n1,1,\n{line}\n");
        for piece in [1, 100] {
            let failure = read(data.as_bytes(), &schema, &csv, piece).unwrap_err();
            assert_eq!(failure.code, code, "{failure:?}");
            assert!(failure.message.contains(problem), "{failure:?}");
            assert!(failure.hint.is_some());
        }
    }
    let failure = read(b"\xff,,", &schema, &Arc::new(Format::csv()), 9).unwrap_err();
    assert_eq!(failure.code, "22021");
    let matched = Arc::new(Format {
        header: Header::Match,
        ..Format::csv()
    });
    let failure = read(b"n,d,when\n", &schema, &matched, 9).unwrap_err();
    assert!(failure.message.contains("line 1: it has the names"));
}

#[test]
fn a_tuple_that_is_none_is_refused_with_its_number_and_its_column() {
    let fields = vec![
        Field::new("n", DataType::Int8, true),
        Field::new("d", DataType::Decimal128(5, 2), true),
    ];
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    let head = [&b"PGCOPY\n\xff\r\n\0"[..], &[0; 8]].concat();
    let null = [255; 4];
    for (n, d, problem) in [
        (
            &[0, 0, 0, 2, 1, 0][..],
            &null[..],
            "\"256\" is out of range",
        ),
        (&[0, 0, 0, 4, 0, 0, 0, 1], &null, "4 bytes are no smallint"),
        (&null, &[0, 0, 0, 1, 0], "1 bytes are no numeric(5,2)"),
    ] {
        let tuple = [&[0, 2], n, d].concat();
        let data = [&head[..], &[0, 2], &null, &null, &tuple].concat();
        let format = Arc::new(Format::binary());
        for piece in [1, 100] {
            let failure = read(&data, &schema, &format, piece).unwrap_err();
            assert!(
                failure.message.starts_with("tuple 2, column"),
                "{failure:?}"
            );
            assert!(failure.message.contains(problem), "{failure:?}");
        }
    }
}

#[test]
fn a_type_that_is_not_read_is_refused_before_any_row() {
    let of = DataType::Struct(vec![Field::new("a", DataType::Int8, true)].into());
    let schema = Arc::new(Schema::new(vec![Field::new("s", of, true)]));
    let failure = Reader::new(schema, Arc::default(), LIMITS).unwrap_err();
    assert_eq!(failure.code, "0A000");
    assert!(failure.message.contains("column \"s\""));
}
