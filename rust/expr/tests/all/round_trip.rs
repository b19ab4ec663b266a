//! Expressions as text and back, which is the border of JSON and saved definitions: the type and the values stay.

use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, ListArray,
    StringArray, TimestampMicrosecondArray,
};
use datafusion_common::DFSchema;
use proptest::prelude::*;
use ringview_core::{Field, Result, Schema, TimeUnit, Type};
use ringview_expr::{Projection, Scalar};

/// Forms of expressions of a kind; `{}` with the letter of a kind is a placeholder of an operand.
const FORMS: [(char, &[&str]); 7] = [
    (
        'I',
        &[
            "x",
            "3",
            "NULL",
            "-7",
            "({I} + {I})",
            "({I} - {I})",
            "({I} * {I})",
            "({I} // {I})",
            "({I} % {I})",
            "(- {I})",
            "({I} & {I})",
            "({D} - {D})",
            "CASE WHEN {B} THEN {I} ELSE {I} END",
            "CASE {I} WHEN {I} THEN {I} END",
            "length({T})",
            "CAST({F} AS BIGINT)",
            "TRY_CAST({T} AS INTEGER)",
            "coalesce({I}, {I})",
            "nullif({I}, {I})",
            "greatest({I}, {I})",
            "year({D})",
            "date_diff('day', {M}, {M})",
            "l[{I}]",
            "len(l || [{I}])",
            "{'a': {I}, 'b': {T}}['a']",
        ],
    ),
    (
        'F',
        &[
            "f",
            "d",
            "1.50",
            "2.5e-1",
            "({I} / {I})",
            "({F} + {F})",
            "({F} * {F})",
            "({F} ^ 2)",
            "round({F}, 1)",
            "sqrt(abs({F}))",
            "(- {F})",
            "CAST({I} AS DECIMAL(12, 3))",
        ],
    ),
    (
        'T',
        &[
            "t",
            "'it''s'",
            "({T} || {T})",
            "({I} || {T})",
            "upper({T})",
            "CAST({I} AS VARCHAR)",
            "substr({T}, 2, 1)",
            "({T})[1:2]",
            "({T})[{I}]",
            "CASE WHEN {T} = {T} THEN 'yes' END",
            "concat({T}, {B})",
        ],
    ),
    (
        'B',
        &[
            "b",
            "TRUE",
            "({I} < {I})",
            "({F} = {I})",
            "({B} AND {B})",
            "({B} OR {I})",
            "({I} AND {F})",
            "(NOT {B})",
            "(NOT {I})",
            "({T} LIKE 'a%')",
            "({T} NOT ILIKE '%B!%' ESCAPE '!')",
            "({I} IN ({I}, NULL, 4))",
            "({I} NOT BETWEEN {I} AND {I})",
            "({T} IS NULL)",
            "({B} IS NOT TRUE)",
            "({I} IS FALSE)",
            "({I} IS DISTINCT FROM {I})",
            "starts_with({T}, 'a')",
            "({I} = ANY(l))",
            "({D} < {M})",
        ],
    ),
    (
        'D',
        &[
            "day",
            "DATE '2024-02-29'",
            "({D} + {I})",
            "CAST({M} AS DATE)",
            "last_day({D})",
        ],
    ),
    (
        'M',
        &[
            "at",
            "TIMESTAMP '2024-01-31 12:30:00'",
            "({D} + INTERVAL 1 MONTH)",
            "({M} - INTERVAL '3 days')",
            "({M} + 2 * INTERVAL '1 hour')",
            "date_trunc('month', {M})",
            "CAST({I} AS TIMESTAMP)",
        ],
    ),
    ('L', &["l", "[{I}, {I}]", "list_sort(l)", "(l || [{I}])"]),
];

/// The text of an expression of a kind, determined by the choices; leaves are first among the forms.
fn text(kind: char, depth: usize, choices: &mut impl Iterator<Item = usize>) -> String {
    let (_, forms) = FORMS.iter().find(|(of, _)| *of == kind).unwrap();
    let choice = choices.next().unwrap_or(0);
    let leaves = forms.iter().take_while(|form| !form.contains('{')).count();
    let form = match depth {
        0 => forms[choice % leaves],
        _ => forms[choice % forms.len()],
    };
    let (mut made, mut rest) = (String::new(), form);
    while let Some(at) = rest.find('{') {
        let kind = rest[at + 1..].chars().next().unwrap();
        made.push_str(&rest[..at]);
        // A struct begins with a brace, too.
        if rest[at + 2..].starts_with('}') {
            made.push_str(&text(kind, depth - 1, choices));
            rest = &rest[at + 3..];
        } else {
            made.push('{');
            rest = &rest[at + 1..];
        }
    }
    made + rest
}

fn schema() -> Schema {
    let decimal = Type::Decimal {
        precision: 10,
        scale: 2,
    };
    let moment = Type::Timestamp {
        unit: TimeUnit::Microsecond,
        timezone: None,
    };
    let fields = [
        ("x", Type::Int64),
        ("d", decimal),
        ("f", Type::Float64),
        ("t", Type::Utf8),
        ("b", Type::Bool),
        ("day", Type::Date32),
        ("at", moment),
        ("l", Type::List(Arc::new(Type::Int64))),
    ];
    let fields = fields.map(|(name, ty)| Field::new(name, ty, true));
    Schema::new(fields.to_vec()).unwrap()
}

fn columns() -> [ArrayRef; 8] {
    let decimals = Decimal128Array::from(vec![Some(150), None, Some(-25), Some(0)]);
    let lists = [
        Some(vec![Some(1), None, Some(3)]),
        None,
        Some(vec![]),
        Some(vec![Some(2)]),
    ];
    [
        Arc::new(Int64Array::from(vec![Some(2), None, Some(-3), Some(0)])),
        Arc::new(decimals.with_precision_and_scale(10, 2).unwrap()),
        Arc::new(Float64Array::from(vec![
            Some(0.5),
            None,
            Some(-2.0),
            Some(f64::NAN),
        ])),
        Arc::new(StringArray::from(vec![
            Some("abc"),
            None,
            Some("12"),
            Some(""),
        ])),
        Arc::new(BooleanArray::from(vec![
            Some(true),
            None,
            Some(false),
            Some(true),
        ])),
        Arc::new(Date32Array::from(vec![
            Some(19_800),
            None,
            Some(0),
            Some(11_016),
        ])),
        Arc::new(TimestampMicrosecondArray::from(vec![
            Some(1),
            None,
            Some(86_400_000_000),
            Some(-5),
        ])),
        Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists)),
    ]
}

/// The type of an expression, and its values by row: none of a row that cannot be computed.
fn meaning(of: &Scalar, schema: &Schema) -> Result<(Vec<Type>, Vec<Option<ArrayRef>>)> {
    let made = Projection::bind(None, &[of], schema)?;
    let all = columns();
    let value = |row: usize| {
        let inputs = made.inputs().iter().map(|&at| all[at].slice(row, 1));
        let found = made.evaluate(inputs.collect(), 1).ok()?;
        found.columns.into_iter().next()
    };
    Ok((made.types().to_vec(), (0..4).map(value).collect()))
}

proptest! {
    #[test]
    fn a_text_that_is_read_again_means_the_same(
        kind in 0..FORMS.len(),
        choices in prop::collection::vec(0usize..1 << 16, 1..40),
    ) {
        let schema = schema();
        let frame = DFSchema::try_from(schema.to_arrow()).unwrap();
        let written = text(FORMS[kind].0, 4, &mut choices.into_iter());
        let read = Scalar::read(&written).unwrap();
        // An operand without a type is refused either way.
        if let Ok(bound) = read.over(&frame) {
            let bound = Scalar::from(bound);
            let again = Scalar::read(&bound.text().unwrap()).unwrap();
            match meaning(&bound, &schema) {
                Ok(meant) => {
                    prop_assert_eq!(&meaning(&again, &schema).unwrap(), &meant, "{}", written);
                    prop_assert_eq!(&meaning(&read, &schema).unwrap(), &meant, "{}", written);
                }
                Err(_) => prop_assert!(meaning(&again, &schema).is_err(), "{}", written),
            }
            prop_assert_eq!(again.to_string(), bound.to_string());
        }
    }
}
