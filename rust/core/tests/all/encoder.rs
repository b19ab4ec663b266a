//! The encoder on whole batches: names, NULLs, multiplicities, columns nobody needs, messages.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int8Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_buffer::{Buffer, OffsetBuffer};
use ringview_core::{Batch, Dictionary, Encoder, Error, Field, Result, Schema, Type, format_row};

fn schema() -> Schema {
    Schema::new(vec![
        Field::new("id", Type::Int64, false),
        Field::new("name", Type::Utf8, true),
        Field::new(
            "price",
            Type::Decimal {
                precision: 12,
                scale: 2,
            },
            true,
        ),
    ])
    .unwrap()
}

fn ids(values: Vec<Option<i64>>) -> ArrayRef {
    Arc::new(Int64Array::from(values))
}

fn names() -> ArrayRef {
    Arc::new(StringArray::from(vec![Some("it's"), None]))
}

fn rows(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields = columns.into_iter().map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(fields).unwrap()
}

fn good() -> RecordBatch {
    let prices = Arc::new(Int8Array::from(vec![Some(-5), None])) as ArrayRef;
    // Another order than the table's.
    rows(vec![
        ("price", prices),
        ("id", ids(vec![Some(1), Some(2)])),
        ("name", names()),
    ])
}

fn encode(rows: &RecordBatch, needed: &[bool], multiplicity: Option<&str>) -> Result<Batch> {
    let mut batch = Batch::new();
    let mut dict = Dictionary::new();
    Encoder::new("t", &schema()).encode(rows, 40, needed, &mut dict, multiplicity, &mut batch)?;
    Ok(batch)
}

#[test]
fn columns_are_matched_by_name_and_a_batch_is_refilled() {
    let (mut dict, mut batch) = (Dictionary::new(), Batch::new());
    let mut encoder = Encoder::new("t", &schema());
    for _ in 0..2 {
        encoder
            .encode(&good(), 0, &[true; 3], &mut dict, None, &mut batch)
            .unwrap();
        assert_eq!(batch.rows, 2);
        assert_eq!(batch.column(0).words, [1, 2]);
        assert_eq!(batch.column(2).decimal(0), -500);
        assert_eq!(batch.column(2).high, [u64::MAX, 0]);
        let row = |row| format_row(&schema(), &[0, 1, 2], &batch, row, &dict);
        assert_eq!(row(0), "(id = 1, name = 'it''s', price = -5.00)");
        assert_eq!(row(1), "(id = 2, name = NULL, price = NULL)");
    }
    let empty = good().slice(0, 0);
    encoder
        .encode(&empty, 0, &[true; 3], &mut dict, None, &mut batch)
        .unwrap();
    assert_eq!((batch.rows, batch.column(0).len()), (0, 0));
}

#[test]
fn what_nobody_needs_is_checked_but_not_read() {
    let batch = encode(&good(), &[true, false, false], None).unwrap();
    assert!(batch.columns[1].is_none() && batch.columns[2].is_none());
    let wrong = rows(vec![
        ("id", ids(vec![Some(1)])),
        ("name", ids(vec![None])),
        ("price", ids(vec![None])),
    ]);
    assert!(matches!(
        encode(&wrong, &[true, false, false], None),
        Err(Error::Type { .. })
    ));
}

#[test]
fn names_are_all_there_once_and_no_others() {
    let two = || ids(vec![Some(1), Some(2)]);
    let error = |columns| {
        encode(&rows(columns), &[true; 3], None)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error(vec![("id", two()), ("name", names())]),
        "column \"price\" of table \"t\": is missing from the data; \
         every column must be given: NULL for what is unknown when a row is inserted, the row as it was \
         inserted when it is deleted"
    );
    assert_eq!(
        error(vec![
            ("id", two()),
            ("name", names()),
            ("price", two()),
            ("cost", two())
        ]),
        "there is no column \"cost\" in table \"t\"; known columns: id, name, price"
    );
    assert_eq!(
        error(vec![
            ("id", two()),
            ("name", names()),
            ("price", two()),
            ("id", two())
        ]),
        "column \"id\" of table \"t\": appears more than once in the data; keep one of them"
    );
}

#[test]
fn null_is_refused_where_it_must_not_be_and_nothing_is_left() {
    let bad = rows(vec![
        ("id", ids(vec![Some(1), None])),
        ("name", names()),
        ("price", ids(vec![None, None])),
    ]);
    for needed in [[true; 3], [false, true, true]] {
        let expected = Error::Null {
            table: "t".to_owned(),
            column: "id".to_owned(),
            row: 41,
        };
        assert_eq!(encode(&bad, &needed, None), Err(expected));
    }
    let (mut dict, mut batch) = (Dictionary::new(), Batch::new());
    let mut encoder = Encoder::new("t", &schema());
    encoder
        .encode(&good(), 0, &[true; 3], &mut dict, None, &mut batch)
        .unwrap();
    encoder
        .encode(&bad, 0, &[true; 3], &mut dict, None, &mut batch)
        .unwrap_err();
    assert_eq!((batch.rows, batch.column(0).len()), (0, 0));
}

#[test]
fn multiplicities_come_from_any_integer_column() {
    let with = |name, column: ArrayRef| {
        let (id, price) = (ids(vec![Some(1), Some(2)]), ids(vec![None, None]));
        rows(vec![
            (name, column),
            ("id", id),
            ("name", names()),
            ("price", price),
        ])
    };
    let count = |values| Arc::new(UInt64Array::from(values)) as ArrayRef;
    let batch = encode(&with("n", count(vec![3, 0])), &[true; 3], Some("n")).unwrap();
    assert_eq!(batch.multiplicity, Some(vec![3, 0]));
    let batch = encode(
        &with("n", Arc::new(Int8Array::from(vec![-1, 2]))),
        &[true; 3],
        Some("n"),
    );
    assert_eq!(batch.unwrap().multiplicity, Some(vec![-1, 2]));

    let error = |rows| encode(&rows, &[true; 3], Some("n")).unwrap_err();
    let place = "row 41, column \"n\" of table \"t\"";
    for (bad, problem) in [
        (
            count(vec![0, u64::MAX]),
            "18446744073709551615 does not fit int64",
        ),
        (
            ids(vec![Some(1), Some(i64::MIN)]),
            "is too large for a multiplicity",
        ),
    ] {
        let text = error(with("n", bad)).to_string();
        assert!(text.starts_with(place) && text.contains(problem), "{text}");
    }
    assert!(matches!(
        error(with("n", ids(vec![None, Some(1)]))),
        Error::Null { row: 40, .. }
    ));
    let mistyped = error(with("n", names())).to_string();
    assert!(
        mistyped.contains("expected int64, found string"),
        "{mistyped}"
    );
    let own = encode(&good(), &[true; 3], Some("id"))
        .unwrap_err()
        .to_string();
    assert!(own.contains("a column of their own"), "{own}");
    assert!(matches!(error(good()), Error::Value { .. }));
}

/// All bytes together are UTF-8, and what was read before is known; neither makes a piece of it a
/// text.
#[test]
fn text_cut_within_a_character() {
    let fields = vec![Field::new("name", Type::Utf8, true)];
    let mut encoder = Encoder::new("t", &Schema::new(fields).unwrap());
    let (mut dict, mut into) = (Dictionary::new(), Batch::new());
    let text = |lengths: &[usize]| {
        let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
        let bytes = Buffer::from("aé".as_bytes());
        // SAFETY: as in `invalid_text`.
        let text = unsafe { StringArray::new_unchecked(offsets, bytes, None) };
        rows(vec![("name", Arc::new(text) as ArrayRef)])
    };
    let whole = encoder.encode(&text(&[1, 2]), 0, &[true], &mut dict, None, &mut into);
    whole.unwrap();
    let cut = encoder.encode(&text(&[2, 1]), 0, &[true], &mut dict, None, &mut into);
    let message = cut.unwrap_err().to_string();
    assert!(message.starts_with("row 0, "), "{message}");
    assert!(message.ends_with("is not valid UTF-8"), "{message}");
    assert_eq!(dict.len(), 2);
}

/// Bytes that are not UTF-8 are an error, and leave a dictionary that still works.
#[test]
fn invalid_text() {
    let offsets = OffsetBuffer::from_lengths([1, 2]);
    let bytes = Buffer::from(b"a\xff\xfe".as_slice());
    // SAFETY: the text is never looked at as a `str`; it represents data received over the C
    // interface.
    let text = unsafe { StringArray::new_unchecked(offsets, bytes, None) };
    let fields = vec![Field::new("name", Type::Utf8, true)];
    let mut encoder = Encoder::new("t", &Schema::new(fields).unwrap());
    let (mut dict, mut into) = (Dictionary::new(), Batch::new());
    let bad = rows(vec![("name", Arc::new(text) as ArrayRef)]);
    let found = encoder.encode(&bad, 0, &[true], &mut dict, None, &mut into);
    let message = found.unwrap_err().to_string();
    assert_eq!(
        message,
        "row 1, column \"name\" of table \"t\": is not valid UTF-8"
    );
    let good = rows(vec![("name", names())]);
    encoder
        .encode(&good, 0, &[true], &mut dict, None, &mut into)
        .unwrap();
    assert_eq!(dict.text(into.column(0).words[0] as u32), "it's");
}

#[test]
fn one_encoder_serves_streams_of_different_schemas() {
    let (mut dict, mut batch) = (Dictionary::new(), Batch::new());
    let mut encoder = Encoder::new("t", &schema());
    let (id, price) = (|| ids(vec![Some(1), Some(2)]), || ids(vec![None, Some(9)]));
    let counted = rows(vec![
        ("n", id()),
        ("id", id()),
        ("name", names()),
        ("price", price()),
    ]);
    let plain = rows(vec![("name", names()), ("price", price()), ("id", id())]);
    let mut encode = |rows: &RecordBatch, multiplicity| {
        encoder.encode(rows, 0, &[true; 3], &mut dict, multiplicity, &mut batch)?;
        Ok::<_, Error>((batch.column(2).decimal(1), batch.multiplicity.clone()))
    };
    for _ in 0..2 {
        assert_eq!(encode(&plain, None), Ok((900, None)));
        assert_eq!(encode(&counted, Some("n")), Ok((900, Some(vec![1, 2]))));
        assert!(encode(&counted, None).is_err());
        assert_eq!(encode(&good(), None), Ok((0, None)));
    }
}
