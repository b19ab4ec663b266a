//! Random rows, expressions and conditions, typed as `bind` would type them.

use proptest::collection::vec;
use proptest::prelude::*;
use ringview_core::{Batch, Column, Dictionary, Field, Schema, Type};
use ringview_query::{Comparison, Constant, Kind, Op, Polynomial, Predicate};

pub(super) const TEXTS: [&str; 5] = ["", "ant", "bee", "beetle", "Ant"];
/// The verdict on a text, if that is known.
type Verdict = fn(Option<&str>) -> Option<bool>;

/// Conditions on the column `?`, and what they say of a text.
pub(super) const CONDITIONS: [(&str, Verdict); 7] = [
    ("? >= 'bee'", |text| Some(text? >= "bee")),
    ("'ant' <> ?", |text| Some(text? != "ant")),
    ("? IN ('ant', 'x')", |text| Some(text? == "ant")),
    ("? NOT IN ('ant', NULL)", |text| {
        (text? == "ant").then_some(false)
    }),
    ("? LIKE 'b%' OR ? IS NULL", |text| {
        Some(text.is_none_or(|text| text.starts_with('b')))
    }),
    ("? ILIKE 'A!%' ESCAPE '!'", |text| text.map(|_| false)),
    ("? ILIKE 'A_T'", |text| {
        Some(["ant", "Ant"].contains(&text?))
    }),
];
pub(super) const DECIMAL: Kind = Kind::Decimal { scale: 2 };

pub(super) fn schema() -> Schema {
    let decimal = Type::Decimal {
        precision: 38,
        scale: 2,
    };
    let short = Type::Decimal {
        precision: 18,
        scale: 2,
    };
    let field = |name, ty| Field::new(name, ty, true);
    Schema::new(vec![
        field("i", Type::Int64),
        field("j", Type::Int64),
        field("u", Type::UInt64),
        field("d", decimal),
        field("f", Type::Float64),
        field("s", Type::Utf8),
        field("t", Type::Utf8),
        field("e", short),
    ])
    .unwrap()
}

/// One value of each column: i, j, u, d, f, s, t, e.
pub(super) type Row = (
    Option<i64>,
    Option<i64>,
    Option<u64>,
    Option<i128>,
    Option<f64>,
    Option<usize>,
    Option<usize>,
    Option<i64>,
);

pub(super) fn maybe<T: std::fmt::Debug + Clone + 'static>(
    value: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = Option<T>> {
    prop_oneof![4 => value.prop_map(Some), 1 => Just(None)]
}

pub(super) fn integer() -> impl Strategy<Value = i64> {
    prop_oneof![8 => -4i64..5, 1 => any::<i64>(), 1 => Just(i64::MAX), 1 => Just(i64::MIN)]
}

pub(super) fn wide() -> impl Strategy<Value = i128> {
    prop_oneof![8 => -400i128..500, 1 => any::<i128>(), 1 => any::<i64>().prop_map(i128::from)]
}

/// Decimals of 18 digits at the most.
pub(super) fn short() -> impl Strategy<Value = i64> {
    const MOST: i64 = 999_999_999_999_999_999;
    prop_oneof![8 => -400i64..500, 1 => -MOST..=MOST, 1 => Just(MOST), 1 => Just(-MOST)]
}

pub(super) fn row() -> impl Strategy<Value = Row> {
    (
        maybe(integer()),
        maybe(integer()),
        maybe(prop_oneof![8 => 0u64..5, 1 => any::<u64>()]),
        maybe(wide()),
        maybe(prop_oneof![8 => (-4i8..5).prop_map(f64::from), 1 => -1e9f64..1e9]),
        maybe(0usize..5),
        maybe(0usize..5),
        maybe(short()),
    )
}

pub(super) fn batch(rows: &[Row], dictionary: &mut Dictionary) -> Batch {
    let ids = TEXTS.map(|text| dictionary.intern(text).unwrap());
    let column = |value: &dyn Fn(&Row) -> Option<(u64, u64)>, wide: bool| {
        let values: Vec<_> = rows.iter().map(value).collect();
        let nulls = values.contains(&None);
        Some(Column {
            words: values.iter().map(|v| v.map_or(0, |v| v.0)).collect(),
            high: match wide {
                true => values.iter().map(|v| v.map_or(0, |v| v.1)).collect(),
                false => Vec::new(),
            },
            valid: nulls.then(|| values.iter().map(Option::is_some).collect()),
        })
    };
    let text = |id: usize| (u64::from(ids[id]), 0);
    Batch {
        rows: rows.len(),
        columns: vec![
            column(&|r| r.0.map(|v| (v as u64, 0)), false),
            column(&|r| r.1.map(|v| (v as u64, 0)), false),
            column(&|r| r.2.map(|v| (v, 0)), false),
            column(&|r| r.3.map(|v| (v as u64, (v >> 64) as u64)), true),
            column(&|r| r.4.map(|v| ((v + 0.0).to_bits(), 0)), false),
            column(&|r| r.5.map(text), false),
            column(&|r| r.6.map(text), false),
            column(&|r| r.7.map(|v| (v as u64, (v >> 63) as u64)), true),
        ],
        multiplicity: None,
    }
}

pub(super) fn make(kind: Kind, op: Op) -> Polynomial {
    Polynomial { kind, op }
}

pub(super) fn column(column: usize, kind: Kind) -> Polynomial {
    let ty = schema().fields()[column].ty.clone();
    make(kind, Op::Column { column, ty })
}

/// Expressions of kind Int, Decimal of scale 2, and Real.
pub(super) fn expression(kind: Kind) -> BoxedStrategy<Polynomial> {
    let literal = move |value| make(kind, Op::Literal { value });
    let leaf = match kind {
        Kind::Int => prop_oneof![
            (0usize..3).prop_map(|c| column(c, Kind::Int)),
            integer().prop_map(move |v| literal(Constant::Int(v))),
        ]
        .boxed(),
        Kind::Decimal { .. } => prop_oneof![
            Just(column(3, DECIMAL)),
            Just(column(7, DECIMAL)),
            short().prop_map(move |v| literal(Constant::Decimal(v.into()))),
            wide().prop_map(move |v| literal(Constant::Decimal(v))),
        ]
        .boxed(),
        Kind::Real => prop_oneof![
            Just(column(4, Kind::Real)),
            (-9i8..9).prop_map(move |v| literal(Constant::Real(f64::from(v) / 4.0))),
        ]
        .boxed(),
    };
    leaf.prop_recursive(3, 12, 2, move |inner| {
        let two = (inner.clone(), inner.clone()).prop_map(|(l, r)| (Box::new(l), Box::new(r)));
        let converted = match kind {
            Kind::Int => inner.clone(),
            Kind::Decimal { .. } => prop_oneof![expression(Kind::Int), Just(wide_unsigned())]
                .prop_map(move |e| {
                    make(
                        kind,
                        Op::Convert {
                            operand: Box::new(e),
                        },
                    )
                })
                .boxed(),
            Kind::Real => prop_oneof![expression(Kind::Int), expression(DECIMAL)]
                .prop_map(move |e| {
                    make(
                        kind,
                        Op::Convert {
                            operand: Box::new(e),
                        },
                    )
                })
                .boxed(),
        };
        prop_oneof![
            two.clone()
                .prop_map(move |(left, right)| make(kind, Op::Add { left, right })),
            two.clone()
                .prop_map(move |(left, right)| make(kind, Op::Subtract { left, right })),
            (two, factor()).prop_map(move |((left, right), factor)| match kind {
                // Two factors of scale 1 would be needed; a scale of 0 keeps the kinds in order.
                Kind::Decimal { .. } => make(
                    kind,
                    Op::Multiply {
                        left,
                        right: Box::new(factor),
                    }
                ),
                _ => make(kind, Op::Multiply { left, right }),
            }),
            inner.prop_map(move |e| make(
                kind,
                Op::Negate {
                    operand: Box::new(e)
                }
            )),
            converted,
        ]
    })
    .boxed()
}

/// A decimal of scale 0.
fn factor() -> impl Strategy<Value = Polynomial> {
    let literal = |value: i64| {
        let value = Constant::Decimal(value.into());
        make(Kind::Decimal { scale: 0 }, Op::Literal { value })
    };
    prop_oneof![Just(wide_unsigned()), short().prop_map(literal)]
}

pub(super) fn wide_unsigned() -> Polynomial {
    column(2, Kind::Decimal { scale: 0 })
}

pub(super) fn any_expression() -> BoxedStrategy<Polynomial> {
    prop_oneof![
        expression(Kind::Int),
        expression(DECIMAL),
        expression(Kind::Real),
    ]
    .boxed()
}

pub(super) fn comparison() -> impl Strategy<Value = Comparison> {
    use Comparison::{Eq, Ge, Gt, Le, Lt, Ne};
    prop::sample::select(vec![Eq, Ne, Lt, Le, Gt, Ge])
}

pub(super) fn condition() -> BoxedStrategy<Predicate> {
    let compare = prop_oneof![
        (expression(Kind::Int), expression(Kind::Int)),
        (expression(DECIMAL), expression(DECIMAL)),
        (expression(Kind::Real), expression(Kind::Real)),
    ];
    let numbers = vec(-3i64..4, 0..12);
    let leaf = prop_oneof![
        (comparison(), compare).prop_map(|(comparison, (left, right))| Predicate::Compare {
            comparison,
            left,
            right
        }),
        (5usize..7, 0..CONDITIONS.len()).prop_map(|(column, at)| {
            let name = if column == 5 { "s" } else { "t" };
            let condition = CONDITIONS[at].0.replace('?', name);
            Predicate::Text {
                column,
                condition: condition.parse().unwrap(),
            }
        }),
        (any_expression(), numbers, any::<bool>()).prop_map(|(operand, list, null)| {
            let number = |&v: &i64| match operand.kind {
                Kind::Int => Constant::Int(v),
                Kind::Decimal { .. } => Constant::Decimal(i128::from(v) * 100),
                Kind::Real => Constant::Real(v as f64),
            };
            let list = list.iter().map(number).collect();
            Predicate::In {
                operand,
                list,
                null,
            }
        }),
        prop::sample::subsequence((0usize..8).collect::<Vec<_>>(), 1..3)
            .prop_map(|columns| Predicate::IsNull { columns }),
        prop::option::of(any::<bool>()).prop_map(|value| Predicate::Constant { value }),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|operands| Predicate::And { operands }),
            vec(inner.clone(), 0..4).prop_map(|operands| Predicate::Or { operands }),
            inner.clone().prop_map(|operand| Predicate::Not {
                operand: Box::new(operand)
            }),
            (inner, prop::option::of(any::<bool>())).prop_map(|(operand, value)| {
                let operand = Box::new(operand);
                Predicate::Is { operand, value }
            }),
        ]
    })
    .boxed()
}
