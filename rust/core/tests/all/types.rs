//! Types and schemas: every name that is written is read, and Arrow types are converted there and
//! back.

use std::sync::Arc;

use arrow_schema::DataType;
use proptest::prelude::*;
use ringview_core::{Error, Field, Schema, TimeUnit, Type};

fn any_type() -> impl Strategy<Value = Type> {
    let unit = prop_oneof![
        Just(TimeUnit::Second),
        Just(TimeUnit::Millisecond),
        Just(TimeUnit::Microsecond),
        Just(TimeUnit::Nanosecond)
    ];
    let zone = prop_oneof![Just(None), Just(Some("UTC")), Just(Some("Europe/Berlin"))];
    let plain = prop_oneof![
        prop::sample::select(vec![
            Type::Bool,
            Type::Int8,
            Type::Int16,
            Type::Int32,
            Type::Int64,
            Type::UInt8,
            Type::UInt16,
            Type::UInt32,
            Type::UInt64,
            Type::Float32,
            Type::Float64,
            Type::Utf8,
            Type::Date32,
        ]),
        (1..=38_u8)
            .prop_flat_map(|precision| (Just(precision), 0..=precision as i8))
            .prop_map(|(precision, scale)| Type::Decimal { precision, scale }),
        (unit, zone).prop_map(|(unit, zone)| Type::Timestamp {
            unit,
            timezone: zone.map(Arc::from)
        }),
    ];
    plain.prop_recursive(3, 8, 3, |inner| {
        let name = "[a-z]|[ \",:<>]{0,3}".prop_map(Arc::<str>::from);
        let members = prop::collection::vec((name, inner.clone()), 1..3);
        prop_oneof![
            inner.clone().prop_map(|of| Type::List(Arc::new(of))),
            members.prop_map(|members| Type::Struct(members.into())),
            (inner.clone(), inner).prop_map(|pair| Type::Map(Arc::new(pair))),
        ]
    })
}

proptest! {
    #[test]
    fn text_and_arrow_round_trips(ty in any_type()) {
        prop_assert_eq!(ty.to_string().parse::<Type>().unwrap(), ty.clone());
        prop_assert_eq!(Type::from_arrow(&ty.to_arrow()).unwrap(), ty);
    }

    #[test]
    fn parsing_never_panics(text in "\\PC{0,24}") {
        let _ = text.parse::<Type>();
    }
}

#[test]
fn the_other_names_are_read_too() {
    for (text, ty) in [
        ("INT", Type::Int32),
        ("bigint", Type::Int64),
        ("double", Type::Float64),
        (" varchar ", Type::Utf8),
        (
            "Decimal(5,1)",
            Type::Decimal {
                precision: 5,
                scale: 1,
            },
        ),
        (
            "numeric(9)",
            Type::Decimal {
                precision: 9,
                scale: 0,
            },
        ),
        (
            "timestamp",
            Type::Timestamp {
                unit: TimeUnit::Microsecond,
                timezone: None,
            },
        ),
    ] {
        assert_eq!(text.parse::<Type>().unwrap(), ty, "{text}");
    }
}

#[test]
fn what_is_no_type_is_refused_with_the_list_of_types() {
    for text in [
        "",
        "int7",
        "decimal128(39, 2)",
        "decimal128(0, 0)",
        "decimal128(5, 6)",
        "decimal128(5, 2",
        "timestamp[h]",
        "timestamp[us, UTC]",
        "timestamp[us, tz=é",
        "list<binary>",
        "list<int64",
        "struct<int64>",
        "struct<\"a: int64>",
        "map<string>",
        &"list<".repeat(10_000),
    ] {
        let error = text.parse::<Type>().unwrap_err();
        assert!(
            matches!(error, Error::Unsupported { .. }),
            "{text}: {error}"
        );
        assert!(error.to_string().contains("decimal128(p, s)"), "{error}");
    }
}

#[test]
fn every_kind_of_string_is_one_type() {
    let dictionary = |value| DataType::Dictionary(Box::new(DataType::Int8), Box::new(value));
    for arrow in [
        DataType::Utf8,
        DataType::LargeUtf8,
        DataType::Utf8View,
        dictionary(DataType::Utf8),
        dictionary(DataType::LargeUtf8),
        dictionary(DataType::Utf8View),
    ] {
        assert_eq!(Type::from_arrow(&arrow).unwrap(), Type::Utf8);
    }
    assert!(Type::from_arrow(&dictionary(DataType::Int64)).is_err());
    assert!(Type::from_arrow(&DataType::Binary).is_err());
}

#[test]
fn a_schema_knows_its_columns() {
    let schema = Schema::new(vec![
        Field::new("id", Type::Int64, false),
        Field::new("name", Type::Utf8, true),
    ])
    .unwrap();
    assert_eq!(schema.index_of("name"), Ok(1));
    assert_eq!(
        schema.index_of("Name").unwrap_err().to_string(),
        "there is no column \"Name\"; known columns: id, name"
    );
    assert_eq!(Schema::from_arrow(&schema.to_arrow()).unwrap(), schema);
    let twice = Schema::new(vec![Field::new("a", Type::Bool, false); 2]);
    assert_eq!(
        twice,
        Err(Error::Exists {
            kind: "column",
            name: "a".to_owned()
        })
    );
}

#[test]
fn serialised_types_are_their_names() {
    let schema = Schema::new(vec![Field::new(
        "p",
        Type::Decimal {
            precision: 12,
            scale: 2,
        },
        true,
    )])
    .unwrap();
    let json = serde_json::to_string(&schema).unwrap();
    assert_eq!(
        json,
        r#"[{"name":"p","type":"decimal128(12, 2)","nullable":true}]"#
    );
    assert_eq!(serde_json::from_str::<Schema>(&json).unwrap(), schema);
    let twice = json.replace(
        "}]",
        "},{\"name\":\"p\",\"type\":\"bool\",\"nullable\":true}]",
    );
    assert!(serde_json::from_str::<Schema>(&twice).is_err());
}
